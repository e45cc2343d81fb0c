/*
 * A few threads that do jobs in the order in which they are given, one for each core. Knows no job's meaning. Where no
 * thread can be had (one core, a limit, a filter), who gives a job does it.
 */
#pragma once

#include <stdbool.h>

/* A job, borrowed by the crew from crew_give until it is done. Set `work`; the rest is the crew's. */
struct crew_job {
    /* `worker`: 0 to crew_size - 1; no two jobs run at once with the same one. */
    void (*work)(struct crew_job *job, unsigned worker);
    struct crew_job *next;
    bool done;
};

/* Owned by the caller, free with crew_free. */
struct crew;

/* As many threads as this process may use cores, at most `most` of them; signals stay with others. NULL: no memory. */
struct crew *crew_new(unsigned most);

/* How many workers there are, at least 1. */
unsigned crew_size(const struct crew *crew);

/* Queues a job. Without threads it is done on return. */
void crew_give(struct crew *crew, struct crew_job *job);

/* Whether a job that was given is done; what it wrote can be read then. */
bool crew_is_done(struct crew *crew, const struct crew_job *job);

/* Waits until a job that was given is done. */
void crew_wait(struct crew *crew, const struct crew_job *job);

/* Waits for all jobs and ends the threads; NULL is harmless. */
void crew_free(struct crew *crew);
