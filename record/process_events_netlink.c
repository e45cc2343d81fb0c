/*
 * Process events by the netlink connector (linux/cn_proc.h): a message for each, to two sockets. For kernels and users
 * that have no ring; since Linux 6.6 for any user.
 */
#include "record/process_events_source.h"

#include "base/cleanup.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define RECEIVE_ROOM_BYTES                                                                                             \
    (64 << 20) /* a storm of 10,000 forks makes about 30,000 messages of some 600 bytes of room */
#define WAITING_MOST (RECEIVE_ROOM_BYTES / 512) /* messages: each takes more than so many bytes of the room */
#define CPUS_MAX 4096
#define SWARM 64           /* messages taken by one call: a storm is not to cost a call for each */
#define MESSAGE_BYTES 256u /* an event has under 80 */

struct netlink_events {
    struct process_events source; /* the bell gets execs alone */
    int fd;
    uint32_t next_seq[CPUS_MAX]; /* the kernel numbers its events for each CPU: a gap is a loss */
    bool seen[CPUS_MAX];
};

/* Asks the kernel to send process events to this socket. */
static bool listen_ask(int fd)
{
    enum proc_cn_mcast_op operation = PROC_CN_MCAST_LISTEN;
    struct nlmsghdr header = {.nlmsg_type = NLMSG_DONE};
    struct cn_msg message = {.id = {.idx = CN_IDX_PROC, .val = CN_VAL_PROC}, .len = sizeof operation};
    char request[NLMSG_HDRLEN + sizeof message + sizeof operation];

    header.nlmsg_len = sizeof request;
    memcpy(request, &header, sizeof header);
    memcpy(request + NLMSG_HDRLEN, &message, sizeof message);
    memcpy(request + NLMSG_HDRLEN + sizeof message, &operation, sizeof operation);
    return send(fd, request, sizeof request, 0) == (ssize_t)sizeof request;
}

static int socket_open(const struct sock_fprog *filter)
{
    struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = CN_IDX_PROC};
    int room_bytes = RECEIVE_ROOM_BYTES;
    AUTO_FD int fd = socket(PF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_CONNECTOR);

    if (fd < 0 || (filter != NULL && setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, filter, sizeof *filter) < 0) ||
        bind(fd, (struct sockaddr *)&address, sizeof address) < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room_bytes, sizeof room_bytes) < 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room_bytes, sizeof room_bytes);
    return listen_ask(fd) ? take_fd(&fd) : -1;
}

/* A socket that gets execs alone. A filter reads words in the network's order, the kernel wrote the machine's. */
static int bell_open(void)
{
    enum { WHAT_AT = NLMSG_HDRLEN + sizeof(struct cn_msg) + offsetof(struct proc_event, what) };
    struct sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, WHAT_AT),
                                 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(PROC_EVENT_EXEC), 0, 1),
                                 BPF_STMT(BPF_RET | BPF_K, MESSAGE_BYTES), BPF_STMT(BPF_RET | BPF_K, 0)};
    const struct sock_fprog filter = {.len = sizeof code / sizeof *code, .filter = code};

    return socket_open(&filter);
}

/* Counts the events of this CPU that are missing before this one. */
static uint64_t gap_count(struct netlink_events *events, uint32_t cpu, uint32_t seq)
{
    uint64_t missing = 0;

    if (cpu >= CPUS_MAX)
        return 0;
    if (events->seen[cpu])
        missing = (uint32_t)(seq - events->next_seq[cpu]);
    events->seen[cpu] = true;
    events->next_seq[cpu] = seq + 1;
    return missing;
}

/* Turns the kernel's form into ours. False: not an event that matters here (a thread's end, another kind). */
static bool event_translate(const struct proc_event *from, struct process_event *out)
{
    *out = (struct process_event){0};
    switch (from->what) {
    case PROC_EVENT_FORK:
        out->kind = PROCESS_EVENT_FORK;
        out->pid = from->event_data.fork.child_pid;
        out->parent_pid = from->event_data.fork.parent_tgid;
        if (from->event_data.fork.child_pid != from->event_data.fork.child_tgid)
            *out = (struct process_event){.kind = PROCESS_EVENT_THREAD, .pid = from->event_data.fork.child_tgid};
        return true;
    case PROC_EVENT_EXEC:
        out->kind = PROCESS_EVENT_EXEC;
        out->pid = from->event_data.exec.process_tgid;
        return true;
    case PROC_EVENT_EXIT:
        out->kind = PROCESS_EVENT_EXIT;
        out->pid = from->event_data.exit.process_pid;
        out->wait_status = (int)from->event_data.exit.exit_code;
        return from->event_data.exit.process_pid == from->event_data.exit.process_tgid;
    default:
        return false;
    }
}

/* Takes one message apart. */
static int message_take(struct netlink_events *events, const char *bytes, size_t size_bytes, process_event_take *take,
                        void *context, uint64_t *lost, struct err *err)
{
    struct cn_msg message;
    struct proc_event raw = {0};
    struct process_event event;
    size_t body_bytes;

    if (size_bytes < NLMSG_HDRLEN + sizeof message)
        return 0;
    memcpy(&message, bytes + NLMSG_HDRLEN, sizeof message);
    body_bytes = size_bytes - NLMSG_HDRLEN - sizeof message;
    if (message.id.idx != CN_IDX_PROC || message.id.val != CN_VAL_PROC ||
        body_bytes < offsetof(struct proc_event, event_data))
        return 0;
    memcpy(&raw, bytes + NLMSG_HDRLEN + sizeof message, body_bytes < sizeof raw ? body_bytes : sizeof raw);
    *lost += gap_count(events, raw.cpu, message.seq); /* the answer to anybody's listen_ask is numbered, too */
    return event_translate(&raw, &event) ? take(context, &event, err) : 0;
}

/* Receives up to SWARM messages. Returns how many, 0 when none is there, or a negative err_code. */
static int swarm_receive(int fd, struct mmsghdr messages[SWARM], uint64_t *lost, struct err *err)
{
    for (;;) {
        int got = recvmmsg(fd, messages, SWARM, MSG_DONTWAIT, NULL);

        if (got >= 0)
            return got;
        if (errno == EAGAIN || errno == EWOULDBLOCK)
            return 0;
        if (errno == ENOBUFS) /* the gaps in the numbers will tell how many; one at the least */
            (*lost)++;
        else if (errno != EINTR)
            return err_set_errno(err, "read process events");
    }
}

static struct netlink_events *netlink_of(struct process_events *source)
{
    return (struct netlink_events *)source;
}

static int netlink_read(struct process_events *source, process_event_take *take, void *context, uint64_t *lost,
                        struct err *err)
{
    struct netlink_events *events = netlink_of(source);
    char bytes[SWARM][MESSAGE_BYTES];
    struct sockaddr_nl from[SWARM];
    struct iovec rooms[SWARM];
    struct mmsghdr messages[SWARM];
    int count = SWARM;

    /* All that was there when it began; not without end where more comes than can be taken. */
    for (size_t taken = 0; count == SWARM && taken < WAITING_MOST; taken += SWARM) {
        for (size_t i = 0; i < SWARM; i++) {
            rooms[i] = (struct iovec){bytes[i], MESSAGE_BYTES};
            from[i] = (struct sockaddr_nl){.nl_pid = UINT32_MAX};
            messages[i] = (struct mmsghdr){
                .msg_hdr = {
                    .msg_name = &from[i], .msg_namelen = sizeof from[i], .msg_iov = &rooms[i], .msg_iovlen = 1}};
        }
        count = swarm_receive(events->fd, messages, lost, err);
        for (int i = 0; i < count; i++)
            if (from[i].nl_pid == 0 && /* only the kernel is believed */
                message_take(events, bytes[i], messages[i].msg_len, take, context, lost, err) < 0)
                return err->code;
    }
    return count < 0 ? count : 0;
}

static void netlink_hush(struct process_events *source)
{
    char bytes[MESSAGE_BYTES];

    for (size_t i = 0; i < WAITING_MOST; i++)
        if (recv(source->bell_fd, bytes, sizeof bytes, MSG_DONTWAIT) < 0 && errno != ENOBUFS && errno != EINTR)
            return;
}

static void netlink_close(struct process_events *source)
{
    struct netlink_events *events = netlink_of(source);

    if (events->fd >= 0)
        (void)close(events->fd);
    if (source->bell_fd >= 0)
        (void)close(source->bell_fd);
    free(events);
}

static const struct process_events_kind netlink_kind = {
    .read = netlink_read, .hush = netlink_hush, .close = netlink_close};

struct process_events *process_events_netlink(void)
{
    struct netlink_events *events = calloc(1, sizeof *events);

    if (events == NULL)
        return NULL;
    events->source.kind = &netlink_kind;
    /* The last to come is asked first: what the bell does not take is not copied for it then. */
    events->fd = socket_open(NULL);
    events->source.bell_fd = events->fd < 0 ? -1 : bell_open();
    if (events->source.bell_fd < 0) {
        int reason = errno;

        netlink_close(&events->source);
        errno = reason;
        return NULL;
    }
    return &events->source;
}
