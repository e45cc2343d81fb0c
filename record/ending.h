/*
 * How a tree trial is brought to its end: the planned steps, each sent when its trigger is met and written down with
 * what was seen alive just before. Signals only the run's own launcher, through its pidfd, the group that it leads
 * while it is our unreaped child, and the control group that was made for the run.
 */
#pragma once

#include "record/cgroup.h"
#include "record/session.h"

#include <sys/types.h>

struct ending {
    struct session *session;               /* borrowed, as the next */
    const Exhibit__ProbeAssignment *probe; /* NULL: there is nothing to do */
    const struct text_list *command;       /* the parent's own argv */
    const struct cgroup *cgroup;           /* the run's; may be CGROUP_NONE */
    uint32_t run;
    pid_t leader;
    int leader_fd;
    uint64_t leader_start_time;
    bool leader_ended;
    pid_t parent; /* the probe's, as it was identified first; 0: not yet */
    uint64_t parent_start_time;
    Exhibit__Step look; /* who was alive beside the parent when that was looked at last */
    uint64_t looked_at_ns;
    uint64_t started_at_ns;
    size_t sent; /* steps so far */
    uint64_t last_sent_at_ns;
    uint32_t rounds_seen;  /* of the role that the first step waits for */
    struct bytes parts[2]; /* of a line that is not whole yet: on stdout, and in the role's copy */
};

/*
 * Takes what came on stdout or in the copy of the role that the first step waits for, and counts its rounds; a launcher
 * may swallow either. Other streams count for nothing.
 */
void ending_lines(struct ending *ending, Exhibit__StreamName stream, const uint8_t *bytes, size_t size_bytes);

/* Takes the identity of a process that executes the probe: the parent's own end may be a step. */
void ending_identity(struct ending *ending, const Exhibit__ProcessIdentity *identity);

/* Sends each step whose time has come. Call at least each 50 ms while the leader is unreaped. */
int ending_tick(struct ending *ending, struct err *err);

/* Releases what is owned. */
void ending_done(struct ending *ending);
