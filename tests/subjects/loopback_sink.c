/*
 * Listens on loopback, TCP and UDP, for a test. Prints "PORT PORT" (TCP, UDP), then each payload that comes, as it
 * came. Ends itself after the given number of seconds.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static int listener(int type, unsigned *out_port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size_bytes = sizeof at;
    int fd = socket(AF_INET, type, 0);

    if (fd < 0 || bind(fd, (const struct sockaddr *)&at, sizeof at) < 0 ||
        (type == SOCK_STREAM && listen(fd, 64) < 0) || getsockname(fd, (struct sockaddr *)&at, &size_bytes) < 0) {
        perror("loopback_sink");
        exit(1);
    }
    *out_port = ntohs(at.sin_port);
    return fd;
}

static void print_all(int fd)
{
    char part[1024];
    ssize_t got = recv(fd, part, sizeof part, 0);

    if (got > 0)
        (void)!write(STDOUT_FILENO, part, (size_t)got);
}

int main(int argc, char **argv)
{
    unsigned tcp_port, udp_port;
    struct pollfd fds[2] = {{.events = POLLIN}, {.events = POLLIN}};

    (void)alarm(argc == 2 ? (unsigned)atoi(argv[1]) : 1);
    fds[0].fd = listener(SOCK_STREAM, &tcp_port);
    fds[1].fd = listener(SOCK_DGRAM, &udp_port);
    (void)printf("%u %u\n", tcp_port, udp_port);
    (void)fflush(stdout);
    while (poll(fds, 2, -1) > 0) {
        if (fds[0].revents != 0) {
            int fd = accept(fds[0].fd, NULL, NULL);

            print_all(fd);
            (void)close(fd);
        }
        if (fds[1].revents != 0)
            print_all(fds[1].fd);
    }
    return 1;
}
