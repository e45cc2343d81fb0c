/*
 * Kernel process events: each fork, exec and exit of every process of the machine, in order, while it happens, from
 * programs in the kernel (bpf(2)) or, where those are not to be had, by netlink. Knows nothing of runs or members.
 */
#pragma once

#include "base/err.h"
#include "record/process_event.h"

#include <stddef.h>
#include <stdint.h>

/* Owned by the caller, free with process_events_close. */
struct process_events;

/* Takes one event. Returns 0 or a negative err_code. */
typedef int process_event_take(void *context, const struct process_event *event, struct err *err);

/*
 * Opens the source and proves with two processes of its own that the events are those of this machine's processes under
 * the pids that we see. NULL: not to be had here; `note` (room_bytes) says why in a few words.
 */
struct process_events *process_events_open(char *note, size_t room_bytes);

/*
 * A descriptor that becomes readable (EPOLLIN | EPOLLET: it may stay so) when any process of the machine executes a
 * program, with process_events_hush: who wants to see it before it ends has to be quick. Nothing else is worth being
 * woken for, and to be woken takes from the subject what it is measured with. Borrowed.
 */
int process_events_bell(const struct process_events *events);

/* Makes the bell silent until the next time. It tells nothing: that is what process_events_read is for. */
void process_events_hush(struct process_events *events);

/*
 * Hands on all events that are there, without waiting. Adds to *lost the number of events that the kernel dropped (at
 * least that many). `take` returns 0 or a negative err_code, which ends the reading. ERR_SYSTEM: the source broke.
 */
int process_events_read(struct process_events *events, process_event_take *take, void *context, uint64_t *lost,
                        struct err *err);

/* Releases it; NULL is harmless. */
void process_events_close(struct process_events *events);
