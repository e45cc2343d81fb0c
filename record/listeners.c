#include "record/listeners.h"

#include "base/cleanup.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTIONS_MAX 512 /* more than that at once wait in the kernel's queue */
#define RECEIVE_ROOM_BYTES (4 << 20)
#define AT_ONCE 64 /* taken of one listener in a turn, so that a flood here starves nothing else */

struct connection {
    struct loop_source source; /* fd -1: free */
    struct listeners *listeners;
    uint32_t number;
    uint32_t run;
    char peer[32];
    uint8_t payload[LIMIT_MESSAGE_BYTES];
    size_t size_bytes;
    bool truncated;
};

struct listeners {
    struct loop *loop;
    struct journal *journal;
    struct loop_source tcp;
    struct loop_source udp;
    uint16_t tcp_port;
    uint16_t udp_port;
    uint32_t run;
    uint32_t accepted;              /* over the recording */
    struct connection *connections; /* CONNECTIONS_MAX of them */
};

static void peer_format(const struct sockaddr_in *peer, char *out, size_t room_bytes)
{
    char address[INET_ADDRSTRLEN] = "?";

    (void)inet_ntop(AF_INET, &peer->sin_addr, address, sizeof address);
    (void)snprintf(out, room_bytes, "%s:%u", address, ntohs(peer->sin_port));
}

static int put_message(struct listeners *listeners, uint32_t run, Exhibit__Message *message, struct err *err)
{
    Exhibit__Event event = journal_event(EXHIBIT__SOURCE__SOURCE_LISTENER, EXHIBIT__VANTAGE__VANTAGE_HOST, run);

    JOURNAL_WHAT(event, message, MESSAGE, message);
    return journal_put(listeners->journal, &event, NULL, 0, err);
}

/* Writes down what a connection sent, and frees its place. */
static int connection_end(struct connection *connection, struct err *err)
{
    Exhibit__Message message = EXHIBIT__MESSAGE__INIT;

    loop_remove(connection->listeners->loop, &connection->source);
    (void)close(connection->source.fd);
    connection->source.fd = -1;
    if (connection->size_bytes == 0)
        return 0; /* its Accept event stands */
    message.protocol = EXHIBIT__PROTOCOL__PROTOCOL_TCP;
    message.connection = connection->number;
    message.peer = (ProtobufCBinaryData){strlen(connection->peer), (uint8_t *)connection->peer};
    message.payload = (ProtobufCBinaryData){connection->size_bytes, connection->payload};
    message.truncated = connection->truncated;
    return put_message(connection->listeners, connection->run, &message, err);
}

static int connection_ready(void *context, uint32_t ready, struct err *err)
{
    struct connection *connection = context;

    (void)ready;
    for (;;) {
        size_t room_bytes = sizeof connection->payload - connection->size_bytes;
        uint8_t rest[1];
        ssize_t got = recv(connection->source.fd, room_bytes > 0 ? connection->payload + connection->size_bytes : rest,
                           room_bytes > 0 ? room_bytes : sizeof rest, 0);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return 0;
        if (got <= 0) /* its end; a reset is one, too */
            return connection_end(connection, err);
        if (room_bytes == 0) {
            connection->truncated = true;
            return connection_end(connection, err);
        }
        connection->size_bytes += (size_t)got;
    }
}

static struct connection *connection_free_one(struct listeners *listeners)
{
    for (size_t i = 0; i < CONNECTIONS_MAX; i++)
        if (listeners->connections[i].source.fd < 0)
            return &listeners->connections[i];
    return NULL;
}

static int put_accept(struct connection *connection, struct err *err)
{
    Exhibit__Event event =
        journal_event(EXHIBIT__SOURCE__SOURCE_LISTENER, EXHIBIT__VANTAGE__VANTAGE_HOST, connection->run);
    Exhibit__Accept accept_seen = EXHIBIT__ACCEPT__INIT;

    accept_seen.connection = connection->number;
    accept_seen.peer = (ProtobufCBinaryData){strlen(connection->peer), (uint8_t *)connection->peer};
    JOURNAL_WHAT(event, accept, ACCEPT, &accept_seen);
    return journal_put(connection->listeners->journal, &event, NULL, 0, err);
}

static int tcp_ready(void *context, uint32_t ready, struct err *err)
{
    struct listeners *listeners = context;

    (void)ready;
    for (int i = 0; i < AT_ONCE; i++) {
        struct connection *connection = connection_free_one(listeners);
        struct sockaddr_in peer = {0};
        socklen_t peer_bytes = sizeof peer;
        int fd;

        if (connection == NULL)
            return 0;
        fd = accept4(listeners->tcp.fd, (struct sockaddr *)&peer, &peer_bytes, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return 0;
        if (fd < 0 && (errno == EINTR || errno == ECONNABORTED || errno == EPROTO))
            continue;
        if (fd < 0)
            return err_set_errno(err, "accept a connection");
        connection->source = (struct loop_source){.fd = fd, .ready = connection_ready, .context = connection};
        connection->listeners = listeners;
        connection->number = ++listeners->accepted;
        connection->run = listeners->run;
        connection->size_bytes = 0;
        connection->truncated = false;
        peer_format(&peer, connection->peer, sizeof connection->peer);
        if (put_accept(connection, err) < 0 || loop_add(listeners->loop, &connection->source, EPOLLIN, err) < 0)
            return err->code;
    }
    return 0;
}

/* Takes one datagram. Returns 1 when there was one, 0 when none is left. */
static int datagram_take(struct listeners *listeners, struct err *err)
{
    uint8_t payload[LIMIT_MESSAGE_BYTES];
    char peer_text[32];
    struct sockaddr_in peer = {0};
    socklen_t peer_bytes = sizeof peer;
    Exhibit__Message message = EXHIBIT__MESSAGE__INIT;
    ssize_t got =
        recvfrom(listeners->udp.fd, payload, sizeof payload, MSG_TRUNC, (struct sockaddr *)&peer, &peer_bytes);

    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return 0;
    if (got < 0)
        return errno == EINTR ? 1 : err_set_errno(err, "receive a datagram");
    peer_format(&peer, peer_text, sizeof peer_text);
    message.protocol = EXHIBIT__PROTOCOL__PROTOCOL_UDP;
    message.peer = (ProtobufCBinaryData){strlen(peer_text), (uint8_t *)peer_text};
    message.truncated = (size_t)got > sizeof payload;
    message.payload = (ProtobufCBinaryData){message.truncated ? sizeof payload : (size_t)got, payload};
    return put_message(listeners, listeners->run, &message, err) < 0 ? err->code : 1;
}

static int udp_ready(void *context, uint32_t ready, struct err *err)
{
    (void)ready;
    for (int i = 0; i < AT_ONCE; i++) {
        int code = datagram_take(context, err);

        if (code <= 0)
            return code;
    }
    return 0;
}

/* Opens a socket on a free port of 127.0.0.1. */
static int listener_open(int type, uint16_t *out_port, struct err *err)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t address_bytes = sizeof address;
    int room_bytes = RECEIVE_ROOM_BYTES;
    AUTO_FD int fd = socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return err_set_errno(err, "open a listener");
    if (type == SOCK_DGRAM && setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room_bytes, sizeof room_bytes) < 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room_bytes, sizeof room_bytes);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) < 0 ||
        (type == SOCK_STREAM && listen(fd, SOMAXCONN) < 0) ||
        getsockname(fd, (struct sockaddr *)&address, &address_bytes) < 0)
        return err_set_errno(err, "listen on 127.0.0.1");
    *out_port = ntohs(address.sin_port);
    return take_fd(&fd);
}

int listeners_new(struct loop *loop, struct journal *journal, struct listeners **out, struct err *err)
{
    struct listeners *listeners = calloc(1, sizeof *listeners);

    if (listeners == NULL)
        return err_set_errno(err, "memory for the listeners");
    listeners->loop = loop;
    listeners->journal = journal;
    listeners->tcp = (struct loop_source){.fd = -1, .ready = tcp_ready, .context = listeners};
    listeners->udp = (struct loop_source){.fd = -1, .ready = udp_ready, .context = listeners};
    listeners->connections = calloc(CONNECTIONS_MAX, sizeof *listeners->connections);
    if (listeners->connections == NULL) {
        err_set_errno(err, "memory for the listeners");
        goto undo;
    }
    for (size_t i = 0; i < CONNECTIONS_MAX; i++)
        listeners->connections[i].source.fd = -1;
    listeners->tcp.fd = listener_open(SOCK_STREAM, &listeners->tcp_port, err);
    if (listeners->tcp.fd < 0)
        goto undo;
    listeners->udp.fd = listener_open(SOCK_DGRAM, &listeners->udp_port, err);
    if (listeners->udp.fd < 0 || loop_add(loop, &listeners->tcp, EPOLLIN, err) < 0 ||
        loop_add(loop, &listeners->udp, EPOLLIN, err) < 0)
        goto undo;
    *out = listeners;
    return 0;

undo:
    listeners_free(listeners);
    return err->code;
}

uint16_t listeners_tcp_port(const struct listeners *listeners)
{
    return listeners->tcp_port;
}

uint16_t listeners_udp_port(const struct listeners *listeners)
{
    return listeners->udp_port;
}

void listeners_set_run(struct listeners *listeners, uint32_t run)
{
    listeners->run = run;
}

static int put_drops(struct listeners *listeners, Exhibit__Protocol protocol, int fd, struct err *err)
{
    Exhibit__Event event =
        journal_event(EXHIBIT__SOURCE__SOURCE_LISTENER, EXHIBIT__VANTAGE__VANTAGE_HOST, listeners->run);
    Exhibit__Drops drops = EXHIBIT__DROPS__INIT;
    uint32_t info[SK_MEMINFO_VARS] = {0};
    socklen_t info_bytes = sizeof info;

    if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info, &info_bytes) < 0 ||
        info_bytes < (SK_MEMINFO_DROPS + 1) * sizeof info[0])
        return err_set_errno(err, "read a listener's drop counter");
    drops.protocol = protocol;
    drops.count = info[SK_MEMINFO_DROPS];
    JOURNAL_WHAT(event, drops, DROPS, &drops);
    return journal_put(listeners->journal, &event, NULL, 0, err);
}

int listeners_drain(struct listeners *listeners, struct err *err)
{
    int code;
    uint32_t accepted;

    do {
        accepted = listeners->accepted;
        if (tcp_ready(listeners, 0, err) < 0)
            return err->code;
        for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
            struct connection *connection = &listeners->connections[i];

            if (connection->source.fd >= 0 && connection_ready(connection, 0, err) < 0)
                return err->code;
            if (connection->source.fd >= 0 && connection_end(connection, err) < 0)
                return err->code;
        }
    } while (accepted != listeners->accepted);
    while ((code = datagram_take(listeners, err)) > 0)
        ;
    if (code < 0 || put_drops(listeners, EXHIBIT__PROTOCOL__PROTOCOL_TCP, listeners->tcp.fd, err) < 0 ||
        put_drops(listeners, EXHIBIT__PROTOCOL__PROTOCOL_UDP, listeners->udp.fd, err) < 0)
        return err->code;
    return 0;
}

void listeners_free(struct listeners *listeners)
{
    if (listeners == NULL)
        return;
    for (size_t i = 0; listeners->connections != NULL && i < CONNECTIONS_MAX; i++)
        if (listeners->connections[i].source.fd >= 0) {
            loop_remove(listeners->loop, &listeners->connections[i].source);
            (void)close(listeners->connections[i].source.fd);
        }
    loop_remove(listeners->loop, &listeners->tcp);
    loop_remove(listeners->loop, &listeners->udp);
    if (listeners->tcp.fd >= 0)
        (void)close(listeners->tcp.fd);
    if (listeners->udp.fd >= 0)
        (void)close(listeners->udp.fd);
    free(listeners->connections);
    free(listeners);
}
