/*
 * The facts about processes as they are written down: one function for each kind. Knows nothing of how they came to be
 * known.
 */
#pragma once

#include "record/journal.h"
#include "record/members.h"

/* Where the facts go and to which run they belong. */
struct observer_log {
    struct journal *journal; /* borrowed */
    uint32_t run;            /* 0: none */
};

/* A process event: `parent` started `pid`. Errors of all of these are those of journal_put. */
int observer_put_fork(const struct observer_log *log, pid_t parent, pid_t pid, struct err *err);

/* A process event: the process executes another program. */
int observer_put_exec(const struct observer_log *log, pid_t pid, struct err *err);

/* A process event: the member ended with this wait status. */
int observer_put_exit(const struct observer_log *log, const struct member *member, int wait_status, struct err *err);

/* A look into /proc: the member is there no more. */
int observer_put_gone(const struct observer_log *log, const struct member *member, struct err *err);

/* Process events were lost: so many, 0 for an unknown number. */
int observer_put_lost(const struct observer_log *log, uint64_t count, struct err *err);
