/*
 * What the parts of the observer share: its state, and what each does for the others. Nobody else includes this.
 */
#pragma once

#include "record/executables.h"
#include "record/members.h"
#include "record/networks.h"
#include "record/observer.h"
#include "record/observer_put.h"
#include "record/process_events.h"
#include "record/routes.h"

enum { OBSERVER_NETWORKS = 8 }; /* in which routes are listened for; others are only looked at again and again */

struct observer {
    struct loop *loop;
    struct observer_log log;
    struct process_events *events; /* NULL: snapshots */
    struct loop_source source;
    char note[200];
    struct members members;
    struct bytes fresh; /* the pids that became known since fresh_look */
    struct executables *executables;
    struct networks networks;
    struct routes routes[OBSERVER_NETWORKS];
    size_t routes_count;
    pid_t root;
    uint64_t swept_at_ns;
    uint64_t window_at_ns; /* when the counting of window_execs began */
    unsigned window_execs;
    bool exits_pending;          /* some members' are */
    uint64_t exits_looked_at_ns; /* 0: somebody's is new */
    uint64_t lost;
    void (*identity)(void *context, const Exhibit__ProcessIdentity *identity, uint64_t at_ns);
    void *context;
};

/* ---- observer_look.c ---- */

/*
 * Reads who a member is and writes it down, if that is new or `always`. Errors of all of these are those of
 * journal_put; ERR_LIMIT and ERR_SYSTEM where a member becomes known.
 */
int observer_identity_look(struct observer *observer, pid_t pid, Exhibit__Source source, bool always, struct err *err);

/* Makes a process known that was seen now. start_time 0: not read yet. */
int observer_member_add(struct observer *observer, pid_t pid, uint64_t start_time, struct err *err);

/*
 * Looks at each member once: those that are gone are written down and forgotten. With process events a process shows
 * that it is gone before its event tells how, so that it must have been gone the last time, too, unless it is `late`.
 */
int observer_sweep(struct observer *observer, bool late, struct err *err);

/* Makes known every process that descends from a member, and sweeps. */
int observer_snapshot(struct observer *observer, struct err *err);

/*
 * Reads identities that no exec event announced: of forks that never execute, and with snapshots of all, again and
 * again, since an exec shows in nothing else.
 */
int observer_identities_look(struct observer *observer, struct err *err);

/* ---- observer_events.c ---- */

/*
 * Reads when the processes started that became known at least `youth_ns` ago and have not ended yet: in a storm that is
 * hardly one of them, and to read each at once would slow the storm down. The younger ones are for the next call.
 */
void observer_fresh_look(struct observer *observer, uint64_t youth_ns);

/* Takes what process events there are. */
int observer_events_drain(struct observer *observer, struct err *err);

/* The loop's, in each turn: takes what process events there are. `context` is the observer. */
int observer_events_first(void *context, struct err *err);

/* The loop's: somebody executed something, and is looked at. `context` is the observer. */
int observer_execs_ready(void *context, uint32_t ready, struct err *err);
