/*
 * A short-lived fork of a role that makes its attempts, so that an attempt that hangs or dies is an outcome and not
 * the end of the role. Never outlives the role.
 */
#pragma once

#include "record/probe/lines.h"

#include <sys/types.h>

#define ATTEMPT_LIMIT_MS 100

/* All of it is owned by whoever started it; end it with worker_stop. */
struct worker {
    pid_t pid;     /* 0: there is none */
    int ask_fd;    /* a byte to it: try that effect */
    int answer_fd; /* a struct told from it */
};

/*
 * Has an effect tried for a round within ATTEMPT_LIMIT_MS. Starts a worker where there is none, which runs before
 * `lines` announces the attempt, and ends one that hung or died. False: no attempt was made or nothing is known of it
 * (no process could be made, or none that ran); out is then unset. `verb` is the role's own argv[ARG_VERB].
 */
bool worker_attempt(struct worker *worker, const struct lines *lines, char *verb, enum effect effect, uint32_t round,
                    struct told *out);

/* Ends the worker and waits for its end. Harmless where there is none. */
void worker_stop(struct worker *worker);
