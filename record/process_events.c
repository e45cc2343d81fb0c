#include "record/process_events.h"

#include "record/loop.h"
#include "record/process_events_source.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SELF_TEST_MS 1000
#define RING_BYTES (4u << 20) /* a storm of 10,000 forks takes half a megabyte of it */

/* What the self-test waits for. */
struct self_test {
    pid_t child;
    bool forked;
    bool exited;
};

static int self_test_take(void *context, const struct process_event *event, struct err *err)
{
    struct self_test *test = context;

    (void)err;
    if (event->pid != test->child)
        return 0;
    if (event->kind == PROCESS_EVENT_FORK && event->parent_pid == getpid())
        test->forked = true;
    if (event->kind == PROCESS_EVENT_EXIT && test->forked && event->wait_status == 7 << 8)
        test->exited = true;
    return 0;
}

/* Starts a process that ends with status 7 and waits for exactly that in the events. */
static bool self_test(struct process_events *events)
{
    struct self_test test = {0};
    struct err err;
    uint64_t lost = 0, deadline_ns = clock_now_ns() + SELF_TEST_MS * 1000000ull;

    test.child = fork();
    if (test.child == 0)
        _exit(7);
    if (test.child < 0)
        return false;
    while (!test.exited && clock_now_ns() < deadline_ns) {
        (void)poll(NULL, 0, 1);
        if (process_events_read(events, self_test_take, &test, &lost, &err) < 0)
            break;
    }
    (void)waitpid(test.child, NULL, 0);
    return test.exited;
}

/* Whether the source shows two processes that this one starts; closed if not. */
static bool is_ours(struct process_events *events)
{
    if (self_test(events) && self_test(events))
        return true;
    process_events_close(events);
    return false;
}

struct process_events *process_events_open(char *note, size_t room_bytes)
{
    struct process_events *events = process_events_ring(RING_BYTES);

    if (events != NULL && is_ours(events))
        return events;
    events = process_events_netlink();
    if (events == NULL)
        (void)snprintf(note, room_bytes, "the kernel refuses process events: %s", strerror(errno));
    else if (is_ours(events))
        return events;
    else
        (void)snprintf(note, room_bytes, "process events do not show this process's own children");
    return NULL;
}

int process_events_bell(const struct process_events *events)
{
    return events->bell_fd;
}

void process_events_hush(struct process_events *events)
{
    events->kind->hush(events);
}

int process_events_read(struct process_events *events, process_event_take *take, void *context, uint64_t *lost,
                        struct err *err)
{
    return events->kind->read(events, take, context, lost, err);
}

void process_events_close(struct process_events *events)
{
    if (events != NULL)
        events->kind->close(events);
}
