#include "record/routes.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOOPBACK_INDEX = 1 }; /* in every namespace */

/* The index of the interface that a route leads to; 0: none, or several. */
static int route_interface(const struct rtmsg *route, size_t size_bytes)
{
    size_t at = NLMSG_ALIGN(sizeof *route);

    while (at + sizeof(struct rtattr) <= size_bytes) {
        const struct rtattr *attribute = (const void *)((const uint8_t *)route + at);
        int index;

        if (attribute->rta_len < sizeof *attribute || attribute->rta_len > size_bytes - at)
            break;
        if (attribute->rta_type == RTA_OIF && attribute->rta_len >= RTA_LENGTH(sizeof index)) {
            memcpy(&index, RTA_DATA(attribute), sizeof index);
            return index;
        }
        at += RTA_ALIGN(attribute->rta_len);
    }
    return 0;
}

/* Whether one message tells of a route that is neither one of the loopback nor of the host's own addresses. */
static bool is_way_out(const struct nlmsghdr *message)
{
    const struct rtmsg *route = NLMSG_DATA(message);

    return message->nlmsg_type == RTM_NEWROUTE && message->nlmsg_len >= NLMSG_LENGTH(sizeof *route) &&
           route->rtm_table != RT_TABLE_LOCAL &&
           route_interface(route, message->nlmsg_len - NLMSG_HDRLEN) != LOOPBACK_INDEX;
}

static bool tells_way_out(const uint8_t *bytes, size_t size_bytes)
{
    for (size_t at = 0; at + sizeof(struct nlmsghdr) <= size_bytes;) {
        const struct nlmsghdr *message = (const void *)(bytes + at);

        if (message->nlmsg_len < sizeof *message || message->nlmsg_len > size_bytes - at)
            return false;
        if (is_way_out(message))
            return true;
        at += NLMSG_ALIGN(message->nlmsg_len);
    }
    return false;
}

static int routes_ready(void *context, uint32_t ready, struct err *err)
{
    struct routes *routes = context;
    uint8_t bytes[16384] __attribute__((aligned(__alignof__(struct nlmsghdr))));
    bool came = false;
    ssize_t got;

    (void)ready;
    while ((got = recv(routes->source.fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0 || (got < 0 && errno == ENOBUFS))
        came =
            came || got < 0 || tells_way_out(bytes, (size_t)got); /* too many to be told: none of the loopback's few */
    return came ? routes->came(routes->context, routes->network, err) : 0;
}

/* Makes a socket in that namespace; *out_fd -1: that is not permitted. Fails only where there is no way back. */
static int socket_there(int own_fd, int there_fd, int *out_fd, struct err *err)
{
    struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE};

    *out_fd = -1;
    if (setns(there_fd, CLONE_NEWNET) < 0)
        return 0;
    *out_fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    if (*out_fd >= 0 && bind(*out_fd, (const struct sockaddr *)&address, sizeof address) < 0) {
        (void)close(*out_fd);
        *out_fd = -1;
    }
    return setns(own_fd, CLONE_NEWNET) < 0 ? err_set_errno(err, "go back into the recorder's network namespace") : 0;
}

int routes_open(struct routes *routes, struct loop *loop, pid_t pid, uint64_t network,
                int (*came)(void *context, uint64_t network, struct err *err), void *context, struct err *err)
{
    AUTO_FD int own_fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), there_fd = -1;
    struct stat there;
    char path[64];

    *routes = (struct routes){.loop = loop, .network = network, .came = came, .context = context};
    routes->source = (struct loop_source){.fd = -1, .urgent = true, .ready = routes_ready, .context = routes};
    (void)snprintf(path, sizeof path, "/proc/%d/ns/net", (int)pid);
    there_fd = open(path, O_RDONLY | O_CLOEXEC);
    if (own_fd < 0 || there_fd < 0 || fstat(there_fd, &there) < 0 || there.st_ino != network)
        return 0;
    if (socket_there(own_fd, there_fd, &routes->source.fd, err) < 0)
        return err->code;
    return routes->source.fd < 0 ? 0 : loop_add(loop, &routes->source, EPOLLIN, err);
}

void routes_close(struct routes *routes)
{
    if (routes->loop == NULL)
        return;
    loop_remove(routes->loop, &routes->source);
    if (routes->source.fd >= 0)
        (void)close(routes->source.fd);
    *routes = (struct routes){.source.fd = -1};
}
