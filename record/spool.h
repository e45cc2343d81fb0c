/*
 * Bytes that come faster than they can be digested and compressed: they wait in files without a name, first in, first
 * out. Knows no stream.
 *
 * They are moved from pipe to pipe and from there by threads into two files, a stripe to the one, the next to the
 * other: who writes to the first pipe waits neither for the memory that a file needs nor, with two cores, for one of
 * them.
 */
#pragma once

#include "base/crew.h"
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { SPOOL_LANES = 2 };

/* One of the files, and the pipe before it. */
struct spool_lane {
    struct crew_job job;
    int ends[2]; /* of the pipe, as pipe(2) gives them */
    int fd;
    uint64_t put_bytes;     /* into the pipe */
    uint64_t written_bytes; /* of these, into the file: the job's while it is not done */
    int error;              /* errno of what ended the writing, or 0: the job's while it is not done */
};

/* All zero is the empty one; release with spool_done. Stays where it is: threads know its address. */
struct spool {
    struct crew *crew; /* NULL: nothing was ever put in */
    struct spool_lane lanes[SPOOL_LANES];
    uint64_t put_bytes;
    uint64_t taken_bytes;
};

/* How many bytes wait. */
static inline uint64_t spool_waiting(const struct spool *spool)
{
    return spool->put_bytes - spool->taken_bytes;
}

/*
 * Appends what a pipe has, up to max_bytes, which are not 0; the first time makes the files in `folder`, on whose disk
 * they wait. *out_moved is how many bytes came; 0: the pipe is at its end; -1: nothing is there now. ERR_SYSTEM, also
 * where bytes that came before could not be written.
 */
int spool_put_pipe(struct spool *spool, const char *folder, int pipe_fd, uint64_t max_bytes, ssize_t *out_moved,
                   struct err *err);

/* Sees to it that what was put is being written. ERR_SYSTEM: some of it could not be. */
int spool_check(struct spool *spool, struct err *err);

/* Takes up to room_bytes of those that wait longest. *out_bytes is 0 where none does. ERR_SYSTEM. */
int spool_take(struct spool *spool, void *to, size_t room_bytes, size_t *out_bytes, struct err *err);

/* Releases it and what waits. Harmless on the empty one. */
void spool_done(struct spool *spool);
