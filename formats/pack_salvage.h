/*
 * What a file without a footer holds all the same: the objects that its whole groups list (FORMAT 1.8).
 */
#pragma once

#include "base/bytes.h"
#include "formats/pack.h"

/* An object that was found, its digest checked. Valid during the call only. */
struct pack_found {
    enum pack_part part;
    struct digest digest;
    uint64_t size_bytes;
    const void *content; /* NULL where it has more than LIMIT_BLOCK_BYTES; then it is in fd, from its start */
    int fd;
};

/* Reads an object of at most max_bytes, replacing what was in out. ERR_LIMIT: it has more. ERR_SYSTEM. */
int pack_found_read(const struct pack_found *found, size_t max_bytes, struct bytes *out, struct err *err);

/*
 * Hands on each object in the order of the file, until the first group that is not whole; an object whose last byte is
 * missing is left out. `take` returns 0 or a negative err_code with err filled, which ends the reading. Large objects
 * are spooled in the folder spool_fd. *out_whole_bytes: how far the whole groups go. ERR_FORMAT: it does not begin as a
 * pack. ERR_LIMIT: its groups hold more than a pack of its size may, and nothing was handed on. ERR_USAGE: not a
 * regular file. ERR_SYSTEM.
 */
int pack_salvage(int fd, int spool_fd, int (*take)(void *context, const struct pack_found *found, struct err *err),
                 void *context, uint64_t *out_whole_bytes, struct err *err);
