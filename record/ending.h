/*
 * How a tree trial is brought to its end: the planned steps, each sent when its trigger is met and written down with
 * what was seen alive just before. Signals only the run's own launcher, through its pidfd, and the group that it leads
 * while it is our unreaped child.
 */
#pragma once

#include "record/session.h"

#include <sys/types.h>

struct ending {
    struct session *session;               /* borrowed, as the next */
    const Exhibit__ProbeAssignment *probe; /* NULL: there is nothing to do */
    uint32_t run;
    pid_t leader;
    int leader_fd;
    uint64_t leader_start_time;
    uint64_t started_at_ns;
    size_t sent; /* steps so far */
    uint64_t last_sent_at_ns;
    uint32_t rounds_seen; /* of the role that the first step waits for */
    struct bytes part;    /* of a line that is not whole yet */
};

/* Takes what came on stdout or in a role's copy: counts the rounds of the role that the first step waits for. */
void ending_lines(struct ending *ending, const uint8_t *bytes, size_t size_bytes);

/* Sends each step whose time has come. Call at least each 50 ms while the leader is unreaped. */
int ending_tick(struct ending *ending, struct err *err);

/* Releases what is owned. */
void ending_done(struct ending *ending);
