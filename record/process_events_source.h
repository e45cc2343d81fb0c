/*
 * What process events come from, one of two: a ring that programs in the kernel fill, or netlink. Only
 * process_events*.c and their test include this.
 */
#pragma once

#include "record/process_events.h"

struct process_events_kind {
    int (*read)(struct process_events *events, process_event_take *take, void *context, uint64_t *lost,
                struct err *err);
    void (*hush)(struct process_events *events);
    void (*close)(struct process_events *events);
};

/* The first member of what each kind has. */
struct process_events {
    const struct process_events_kind *kind;
    int bell_fd;
};

/*
 * Events from programs of ours in the kernel (process_events.bpf.c), through a ring of so many bytes (a power of two,
 * whole pages). NULL, and errno: not for this user, or not with this kernel (before 5.16, or without BTF).
 */
struct process_events *process_events_ring(unsigned ring_bytes);

/* Events by netlink. NULL, and errno: refused. */
struct process_events *process_events_netlink(void);
