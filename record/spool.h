/*
 * Bytes that come faster than they can be digested and compressed: they wait in a file without a name, first in, first
 * out. Knows no stream.
 */
#pragma once

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* SPOOL_NONE is the empty one; release with spool_done. */
struct spool {
    int fd; /* -1: nothing was ever put in */
    uint64_t put_bytes;
    uint64_t taken_bytes;
};

#define SPOOL_NONE ((struct spool){.fd = -1})

/* How many bytes wait. */
static inline uint64_t spool_waiting(const struct spool *spool)
{
    return spool->put_bytes - spool->taken_bytes;
}

/* Appends bytes; the first time makes the file in `folder`, on whose disk they wait. ERR_SYSTEM. */
int spool_put(struct spool *spool, const char *folder, const void *from, size_t size_bytes, struct err *err);

/*
 * Appends what a pipe has, up to max_bytes, without a copy of our own. Gives the number of bytes; 0: the pipe is at its
 * end; -1 with errno: EAGAIN (nothing there now), EINVAL (not to be had between these two), or another.
 */
ssize_t spool_put_pipe(struct spool *spool, int pipe_fd, size_t max_bytes);

/* Takes up to room_bytes of those that wait longest. *out_bytes is 0 where none does. ERR_SYSTEM. */
int spool_take(struct spool *spool, void *to, size_t room_bytes, size_t *out_bytes, struct err *err);

/* Takes the last size_bytes back, as if they had not been put. ERR_SYSTEM. */
int spool_forget(struct spool *spool, size_t size_bytes, struct err *err);

/* Releases it and what waits. Harmless on the empty one. */
void spool_done(struct spool *spool);
