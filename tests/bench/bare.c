/*
 * How long a command takes that nobody records: bench-bare COUNT COMMAND... Runs it so often, one after the other, with
 * its output thrown away, and prints a line for each: milliseconds from just before it is spawned to its end.
 *
 * `sent` before COUNT: while the kernel sends all process events to a socket that nobody reads. `read`: that is read
 * every 10 ms, and all of it forgotten: less than that no recorder can do.
 */
#include <fcntl.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <poll.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { AT_ONCE = 64, EVENT_BYTES = 256, READ_EACH_MS = 10, ROOM_BYTES = 256 << 20 };

extern char **environ;

static double now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* A socket to which the kernel sends all process events, or -1. */
static int events_open(void)
{
    struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = CN_IDX_PROC};
    enum proc_cn_mcast_op operation = PROC_CN_MCAST_LISTEN;
    struct nlmsghdr header = {.nlmsg_type = NLMSG_DONE};
    struct cn_msg message = {.id = {.idx = CN_IDX_PROC, .val = CN_VAL_PROC}, .len = sizeof operation};
    char request[NLMSG_HDRLEN + sizeof message + sizeof operation];
    int fd = socket(PF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_CONNECTOR), room_bytes = ROOM_BYTES;

    header.nlmsg_len = sizeof request;
    memcpy(request, &header, sizeof header);
    memcpy(request + NLMSG_HDRLEN, &message, sizeof message);
    memcpy(request + NLMSG_HDRLEN + sizeof message, &operation, sizeof operation);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room_bytes, sizeof room_bytes) < 0 ||
        send(fd, request, sizeof request, 0) != (ssize_t)sizeof request)
        return -1;
    return fd;
}

/* Takes all events that are there. */
static void events_forget(int fd)
{
    static char bytes[AT_ONCE][EVENT_BYTES];
    struct iovec rooms[AT_ONCE];
    struct mmsghdr messages[AT_ONCE];

    for (size_t i = 0; i < AT_ONCE; i++) {
        rooms[i] = (struct iovec){bytes[i], EVENT_BYTES};
        messages[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = &rooms[i], .msg_iovlen = 1}};
    }
    while (recvmmsg(fd, messages, AT_ONCE, MSG_DONTWAIT, NULL) == AT_ONCE)
        ;
}

/* Runs the command once. False: it did not end with 0. */
static bool run(char *argv[], const posix_spawn_file_actions_t *actions, int events_fd)
{
    int status = 0, pid_fd;
    pid_t pid;

    if (posix_spawn(&pid, argv[0], actions, NULL, argv, environ) != 0)
        return false;
    if (events_fd >= 0) {
        struct pollfd end = {.events = POLLIN};

        pid_fd = (int)syscall(SYS_pidfd_open, pid, 0u);
        end.fd = pid_fd;
        while (poll(&end, 1, READ_EACH_MS) == 0)
            events_forget(events_fd);
        events_forget(events_fd);
        (void)close(pid_fd);
    }
    return waitpid(pid, &status, 0) == pid && status == 0;
}

int main(int argc, char *argv[])
{
    bool sent = argc > 1 && strcmp(argv[1], "sent") == 0, read = argc > 1 && strcmp(argv[1], "read") == 0;
    char **words = argv + (sent || read);
    int count = argv + argc - words > 2 ? atoi(words[1]) : 0, events_fd = sent || read ? events_open() : -1;
    posix_spawn_file_actions_t actions;

    if (count < 1 || ((sent || read) && events_fd < 0) || posix_spawn_file_actions_init(&actions) != 0 ||
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0) != 0 ||
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0) != 0 ||
        posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO) != 0) {
        (void)fputs("usage: bench-bare [sent|read] COUNT COMMAND... (process events can be had by root alone)\n",
                    stderr);
        return 2;
    }
    for (int i = 0; i < count; i++) {
        double started_ms = now_ms();

        if (!run(words + 2, &actions, read ? events_fd : -1)) {
            (void)fprintf(stderr, "bench-bare: %s: did not end with 0\n", words[2]);
            return 1;
        }
        (void)printf("%.3f\n", now_ms() - started_ms);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return 0;
}
