/*
 * How each effect is tried. What reaches the other side has the exact form of docs/DECISION.md 3.1.
 */
#include "record/probe/attempt.h"

#include "base/cleanup.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define READ_MAX_BYTES (1u << 20)

/* Each of these returns 0, or the errno of the first call that failed. */

static int try_read(const char *path, const struct assignment *assignment, uint32_t round, char *out_proof)
{
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    struct proof *proof = proof_start();
    char part[4096];

    if (fd < 0)
        return errno;
    for (size_t done_bytes = 0; done_bytes < READ_MAX_BYTES;) {
        ssize_t got = read(fd, part, sizeof part);

        if (got < 0)
            return errno;
        if (got == 0)
            break;
        proof_add(proof, part, (size_t)got);
        done_bytes += (size_t)got;
    }
    proof_finish(proof, assignment->nonce, round, out_proof);
    return 0;
}

static int try_write(const char *path, const char *text, size_t size_bytes)
{
    AUTO_FD int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);

    if (fd < 0 || write(fd, text, size_bytes) < 0)
        return errno;
    return 0;
}

static struct sockaddr_in loopback(uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* Waits, as long as it takes, for a connect() that is under way. */
static int finish_connect(int fd)
{
    struct pollfd ready = {.fd = fd, .events = POLLOUT};
    int outcome = 0;
    socklen_t size_bytes = sizeof outcome;

    if (poll(&ready, 1, -1) < 0 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &outcome, &size_bytes) < 0)
        return errno;
    return outcome;
}

static int try_tcp(uint16_t port, const char *text, size_t size_bytes)
{
    struct sockaddr_in to = loopback(port);
    AUTO_FD int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int failed;

    if (fd < 0)
        return errno;
    if (connect(fd, (const struct sockaddr *)&to, sizeof to) < 0) {
        failed = errno == EINPROGRESS ? finish_connect(fd) : errno;
        if (failed != 0)
            return failed;
    }
    if (send(fd, text, size_bytes, MSG_NOSIGNAL) < 0)
        return errno;
    (void)shutdown(fd, SHUT_WR);
    return 0;
}

static int try_udp(uint16_t port, const char *text, size_t size_bytes)
{
    struct sockaddr_in to = loopback(port);
    AUTO_FD int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || sendto(fd, text, size_bytes, MSG_NOSIGNAL, (const struct sockaddr *)&to, sizeof to) < 0)
        return errno;
    return 0;
}

struct told attempt_make(const struct assignment *assignment, enum effect effect, uint32_t round)
{
    struct told told = {.kind = TOLD_OK};
    char text[128];
    int size_bytes = snprintf(text, sizeof text, "EXHIBIT1 %s %s %s %" PRIu32 "\n", effect_name(effect),
                              assignment->nonce, role_name(assignment->role), round);
    int failed = 0;

    assert(size_bytes > 0 && (size_t)size_bytes < sizeof text);
    switch (effect) {
    case EFFECT_READ:
        failed = try_read(assignment->read_path, assignment, round, told.proof);
        break;
    case EFFECT_READ_LINK:
        failed = try_read(assignment->read_link_path, assignment, round, told.proof);
        break;
    case EFFECT_WRITE:
        failed = try_write(assignment->write_path, text, (size_t)size_bytes);
        break;
    case EFFECT_TCP:
        failed = try_tcp(assignment->tcp_port, text, (size_t)size_bytes);
        break;
    case EFFECT_UDP:
        failed = try_udp(assignment->udp_port, text, (size_t)size_bytes);
        break;
    case EFFECT_COUNT:
        assert(effect < EFFECT_COUNT);
    }
    if (failed != 0)
        return (struct told){.kind = TOLD_ERRNO, .number = failed};
    return told;
}
