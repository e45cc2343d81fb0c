/*
 * Watches the processes of the current run, by kernel process events where they can be had, else by snapshots of /proc,
 * and writes what it sees into the journal. Signals only what it proved: through pidfds whose identity was compared.
 */
#pragma once

#include "record/journal.h"
#include "record/loop.h"

#include <sys/types.h>

/* Owned by the caller, free with observer_free. */
struct observer;

/* Opens process events, or decides on snapshots (also where `snapshots_only`). Borrows all. ERR_SYSTEM. */
int observer_new(struct loop *loop, struct journal *journal, bool snapshots_only, struct observer **out,
                 struct err *err);

/* SOURCE_PROCESS_EVENTS or SOURCE_SNAPSHOT. */
Exhibit__Source observer_source(const struct observer *observer);

/* Why snapshots; empty where events are used. Valid until observer_free. */
const char *observer_note(const struct observer *observer);

/*
 * From now on the process `root` (our unreaped child) and all that descends from it belong to `run`. `identity` is
 * called with each identity that is read (borrowed during the call). Large executables that changed last before
 * `older_than_s` (executables_defer) are digested by observer_digest.
 */
int observer_run_begin(struct observer *observer, uint32_t run, int64_t older_than_s, pid_t root, uint64_t start_time,
                       void (*identity)(void *context, const Exhibit__ProcessIdentity *identity, uint64_t at_ns),
                       void *context, struct err *err);

/*
 * Looks again: events that are there, members that vanished unseen, identities not read yet. At least each 50 ms during
 * a run; and right before a process is started, so that nothing older is taken for the run's.
 */
int observer_tick(struct observer *observer, struct err *err);

/* The same at the end of a run: waits a little for the last events; every member that is gone is written down. */
int observer_settle(struct observer *observer, struct err *err);

/* Digests the executables that waited for the end of the run, and writes down whose they were. */
int observer_digest(struct observer *observer, struct err *err);

/* Fills step->alive (owned by the caller: free with observer_alive_free) with the members that are alive now. */
int observer_alive(struct observer *observer, Exhibit__Step *step, struct err *err);

/* Releases what observer_alive filled in. */
void observer_alive_free(Exhibit__Step *step);

/* Whether the process is a member of the run whose end was not written down yet. */
bool observer_has(const struct observer *observer, pid_t pid, uint64_t start_time);

/* How many known members are not gone. Each is looked at. */
size_t observer_remaining(struct observer *observer);

/* Ends each known member that is alive with SIGKILL. */
void observer_kill(struct observer *observer);

/* Waits for adopted processes that have ended, but never for the root. */
void observer_reap(struct observer *observer);

/* The run is over: forgets its members. Whoever of them is left was counted by observer_remaining. */
void observer_run_end(struct observer *observer);

/* Releases it; NULL is harmless. */
void observer_free(struct observer *observer);
