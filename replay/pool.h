/*
 * Threads that replay bundles, and hand the outlines out in the order of the paths. What is done but not yet taken is
 * bounded, so that memory does not grow with the number of bundles.
 */
#pragma once

#include "replay/outline.h"

struct pool_request {
    char *const *paths; /* borrowed while the pool lives */
    size_t path_count;
    unsigned jobs; /* at least 1 */
    bool with_recordings;
};

/* Owned by the caller, free with pool_stop. */
struct pool;

/* Starts the threads, which wait: whatever a start asks of the kernel is over. ERR_SYSTEM: they cannot be started. */
int pool_start(const struct pool_request *request, struct pool **out, struct err *err);

/* Lets them work, under an oracle (borrowed while the pool lives) or, NULL, each under its bundle's own. Once only. */
void pool_work(struct pool *pool, const struct oracle *oracle);

/*
 * Waits for the next outline, at most so long. False: not yet. True: *out is the caller's, release with outline_done;
 * to be called once for each path.
 */
bool pool_take(struct pool *pool, unsigned wait_ms, struct outline *out);

/* Ends the threads, with what they have begun, and releases all. NULL is harmless. */
void pool_stop(struct pool *pool);
