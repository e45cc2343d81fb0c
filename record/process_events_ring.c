/*
 * Process events from programs of ours in the kernel (process_events.bpf.c): a ring that both map, so that an event
 * takes no allocation, no message and no call. With netlink a storm of forks took twice as much longer.
 */
#include "record/process_events_source.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "record/process_events.skel.h"

enum { PROGRAMS = 3 };

struct ring_events {
    struct process_events source;
    struct process_events_bpf *kernel; /* programs, ring and counter */
    struct ring_buffer *ring;
    uint64_t lost_told; /* what was added to somebody's count */
    /* while it is read */
    process_event_take *take;
    void *context;
    struct err *err;
    size_t left; /* how many may still be taken */
};

static int print_nothing(enum libbpf_print_level level, const char *format, va_list arguments)
{
    (void)level;
    (void)format;
    (void)arguments;
    return 0;
}

static int record_take(void *context, void *record, size_t size_bytes)
{
    struct ring_events *events = context;

    if (size_bytes < sizeof(struct process_event))
        return 0;
    if (events->take(events->context, record, events->err) < 0)
        return events->err->code;
    return --events->left == 0 ? -ECANCELED : 0; /* it has been taken nevertheless */
}

/* How often an event found its own program at work on the same processor, and passed it by. */
static int missed_count(const struct bpf_program *program, uint64_t *sum, struct err *err)
{
    struct bpf_prog_info info = {0};
    unsigned size_bytes = sizeof info;

    if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size_bytes) < 0)
        return err_set_errno(err, "ask what process events were missed");
    *sum += info.recursion_misses;
    return 0;
}

static int lost_add(struct ring_events *events, uint64_t *lost, struct err *err)
{
    const struct process_events_bpf *kernel = events->kernel;
    const struct bpf_program *const programs[PROGRAMS] = {kernel->progs.tell_fork, kernel->progs.tell_exec,
                                                          kernel->progs.tell_exit};
    uint64_t sum = __atomic_load_n(&kernel->bss->lost, __ATOMIC_RELAXED);

    for (size_t i = 0; i < PROGRAMS; i++)
        if (missed_count(programs[i], &sum, err) < 0)
            return err->code;
    *lost += sum - events->lost_told;
    events->lost_told = sum;
    return 0;
}

static int ring_read(struct process_events *source, process_event_take *take, void *context, uint64_t *lost,
                     struct err *err)
{
    struct ring_events *events = (struct ring_events *)source;
    int count;

    events->take = take;
    events->context = context;
    events->err = err;
    /* All that was there when it began; not without end where more comes than can be taken. */
    events->left = bpf_map__max_entries(events->kernel->maps.ring) / sizeof(struct process_event);
    err->code = 0;
    count = ring_buffer__consume(events->ring);
    if (count < 0 && err->code < 0)
        return err->code;
    if (count < 0 && count != -ECANCELED) {
        errno = -count;
        return err_set_errno(err, "read process events");
    }
    return lost_add(events, lost, err);
}

static void ring_hush(struct process_events *source)
{
    (void)source; /* it rings once for each exec and is silent by itself */
}

static void ring_close(struct process_events *source)
{
    struct ring_events *events = (struct ring_events *)source;

    ring_buffer__free(events->ring);
    process_events_bpf__destroy(events->kernel);
    free(events);
}

static const struct process_events_kind ring_kind = {.read = ring_read, .hush = ring_hush, .close = ring_close};

struct process_events *process_events_ring(unsigned ring_bytes)
{
    struct ring_events *events = calloc(1, sizeof *events);
    int reason;

    if (events == NULL)
        return NULL;
    events->source.kind = &ring_kind;
    (void)libbpf_set_print(print_nothing);
    (void)libbpf_set_memlock_rlim(0); /* a limit that is raised would be the subject's, too */
    events->kernel = process_events_bpf__open();
    if (events->kernel == NULL || bpf_map__set_max_entries(events->kernel->maps.ring, ring_bytes) < 0 ||
        process_events_bpf__load(events->kernel) < 0 || process_events_bpf__attach(events->kernel) < 0)
        goto refused;
    events->source.bell_fd = bpf_map__fd(events->kernel->maps.ring);
    events->ring = ring_buffer__new(events->source.bell_fd, record_take, events, NULL);
    if (events->ring == NULL)
        goto refused;
    return &events->source;

refused:
    reason = errno;
    ring_close(&events->source);
    errno = reason;
    return NULL;
}
