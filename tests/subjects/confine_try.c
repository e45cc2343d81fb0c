/*
 * Tries one thing and prints what came of it: "ok" or the name of an errno. Ends with 0 either way; 2 for wrong usage.
 *
 *   call NAME [ARG]...   a system call by name; an argument is a number, or s:TEXT for the address of a text
 *   listen | bind PORT | connect PORT | fastopen CALL PORT     on loopback, over TCP
 *   ring                 io_uring_setup() with one entry
 *   pair                 socketpair(AF_UNIX)
 *   fork                 fork() through libc
 *   i386 | x32           a call of a foreign architecture
 *   descriptors          prints how many are open beside 0 to 2
 *   status               prints whether no_new_privs is set and whether there is no capability left
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/io_uring.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct {
    const char *name;
    long number;
} calls[] = {{"socket", SYS_socket},
             {"io_uring_enter", SYS_io_uring_enter},
             {"io_uring_register", SYS_io_uring_register},
             {"ptrace", SYS_ptrace},
             {"process_vm_readv", SYS_process_vm_readv},
             {"process_vm_writev", SYS_process_vm_writev},
             {"pidfd_getfd", SYS_pidfd_getfd},
             {"perf_event_open", SYS_perf_event_open},
             {"bpf", SYS_bpf},
             {"userfaultfd", SYS_userfaultfd},
             {"add_key", SYS_add_key},
             {"request_key", SYS_request_key},
             {"keyctl", SYS_keyctl},
             {"mq_open", SYS_mq_open},
             {"shmget", SYS_shmget},
             {"memfd_create", SYS_memfd_create},
             {"mount", SYS_mount},
             {"umount2", SYS_umount2},
             {"fsopen", SYS_fsopen},
             {"open_tree", SYS_open_tree},
             {"move_mount", SYS_move_mount},
             {"unshare", SYS_unshare},
             {"setns", SYS_setns},
             {"clone", SYS_clone},
             {"clone3", SYS_clone3},
             {"kexec_load", SYS_kexec_load},
             {"init_module", SYS_init_module},
             {"finit_module", SYS_finit_module},
             {"delete_module", SYS_delete_module},
             {"name_to_handle_at", SYS_name_to_handle_at},
             {"open_by_handle_at", SYS_open_by_handle_at},
             {"fchmodat", SYS_fchmodat},
             {"fchownat", SYS_fchownat},
             {"utimensat", SYS_utimensat},
             {"setxattr", SYS_setxattr},
             {"prlimit64", SYS_prlimit64},
             {"kill", SYS_kill},
             {"openat", SYS_openat},
             {"truncate", SYS_truncate},
             {"unlinkat", SYS_unlinkat},
             {"mkdirat", SYS_mkdirat},
             {"mknodat", SYS_mknodat},
             {"symlinkat", SYS_symlinkat},
             {"linkat", SYS_linkat},
             {"renameat2", SYS_renameat2},
             {"execve", SYS_execve}};

static void tell(long result)
{
    (void)printf("%s\n", result >= 0 ? "ok" : strerrorname_np(errno));
}

static int try_call(int argc, char **argv)
{
    long args[6] = {0}, number = -1;

    for (size_t i = 0; argc >= 3 && i < sizeof calls / sizeof calls[0]; i++) {
        if (strcmp(calls[i].name, argv[2]) == 0)
            number = calls[i].number;
    }
    if (number < 0 || argc > 9)
        return 2;
    for (int i = 3; i < argc; i++) {
        const char *arg = argv[i];

        args[i - 3] = strncmp(arg, "s:", 2) == 0 ? (long)(uintptr_t)(arg + 2) : (long)strtoull(arg, NULL, 0);
    }
    tell(syscall(number, args[0], args[1], args[2], args[3], args[4], args[5]));
    return 0;
}

static struct sockaddr_in loopback(const char *port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static int try_tcp(const char *what, const char *port)
{
    struct sockaddr_in at = loopback(port);
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (fd < 0) {
        tell(-1);
        return 1;
    }
    if (strcmp(what, "listen") == 0)
        tell(listen(fd, 1));
    else if (strcmp(what, "bind") == 0)
        tell(bind(fd, (const struct sockaddr *)&at, sizeof at));
    else
        tell(connect(fd, (const struct sockaddr *)&at, sizeof at));
    return 0;
}

static int try_fastopen(const char *call, const char *port)
{
    struct sockaddr_in at = loopback(port);
    struct iovec part = {.iov_base = (void *)(uintptr_t) "x", .iov_len = 1};
    struct mmsghdr message = {
        .msg_hdr = {.msg_name = &at, .msg_namelen = sizeof at, .msg_iov = &part, .msg_iovlen = 1}};
    int fd = socket(AF_INET, SOCK_STREAM, 0), flags = MSG_FASTOPEN | MSG_NOSIGNAL;

    if (fd < 0)
        return 1;
    if (strcmp(call, "sendto") == 0)
        tell(sendto(fd, "x", 1, flags, (const struct sockaddr *)&at, sizeof at));
    else if (strcmp(call, "sendmsg") == 0)
        tell(sendmsg(fd, &message.msg_hdr, flags));
    else if (strcmp(call, "sendmmsg") == 0)
        tell(sendmmsg(fd, &message, 1, flags));
    else
        return 2;
    return 0;
}

/* An unfiltered process goes on to print "ok"; a filtered one is killed. */
static int try_foreign(const char *which)
{
#ifdef __x86_64__
    long result = 20; /* getpid() of i386 */

    if (strcmp(which, "i386") == 0)
        __asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
    else
        result = syscall(0x40000000 | SYS_getpid);
    (void)printf("%s\n", result > 0 ? "ok" : "ENOSYS");
    return 0;
#else
    (void)which;
    return 2;
#endif
}

static int print_status(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct held[_LINUX_CAPABILITY_U32S_3] = {{0}};
    long failed = syscall(SYS_capget, &header, held);
    int none = failed == 0 && held[0].effective == 0 && held[1].effective == 0 && held[0].permitted == 0 &&
               held[1].permitted == 0;

    (void)printf("no_new_privs=%d no_capabilities=%d\n", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), none);
    return 0;
}

static int print_descriptors(void)
{
    int count = 0;

    for (int fd = 3; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    (void)printf("%d\n", count);
    return 0;
}

static int try_fork(void)
{
    pid_t pid = fork();

    if (pid == 0)
        _exit(0);
    tell(pid);
    return pid > 0 && waitpid(pid, NULL, 0) != pid;
}

int main(int argc, char **argv)
{
    const char *what = argc >= 2 ? argv[1] : "";
    struct io_uring_params ring = {0};
    int pair[2];

    if (strcmp(what, "call") == 0)
        return try_call(argc, argv);
    if (strcmp(what, "fastopen") == 0 && argc == 4)
        return try_fastopen(argv[2], argv[3]);
    if (strcmp(what, "listen") == 0 || ((strcmp(what, "bind") == 0 || strcmp(what, "connect") == 0) && argc == 3))
        return try_tcp(what, argc == 3 ? argv[2] : "0");
    if (strcmp(what, "ring") == 0)
        tell(syscall(SYS_io_uring_setup, 1, &ring));
    else if (strcmp(what, "pair") == 0)
        tell(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    else if (strcmp(what, "fork") == 0)
        return try_fork();
    else if (strcmp(what, "i386") == 0 || strcmp(what, "x32") == 0)
        return try_foreign(what);
    else if (strcmp(what, "descriptors") == 0)
        return print_descriptors();
    else if (strcmp(what, "status") == 0)
        return print_status();
    else
        return 2;
    return 0;
}
