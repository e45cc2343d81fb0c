/*
 * Undoing xz in bounded memory, through liblzma itself: libarchive's filter lets the file choose, up to 4 GiB. Knows no
 * archive.
 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* Owned by the caller; free with archive_xz_free. */
struct archive_xz;

/* Whether the bytes begin as an xz file does. */
bool archive_xz_is_one(const void *from, size_t size_bytes);

/* Begins to undo bytes in memory (borrowed until archive_xz_free). NULL: out of memory. */
struct archive_xz *archive_xz_new(const void *from, size_t size_bytes);

/*
 * Gives the next bytes, valid until the next call; none at the end of the last stream. ERR_FORMAT: damaged or cut.
 * ERR_LIMIT: it asks for more than LIMIT_XZ_MEMORY_BYTES. ERR_SYSTEM: out of memory.
 */
int archive_xz_next(struct archive_xz *xz, const void **out, size_t *out_bytes, struct err *err);

/* Releases it; NULL is harmless. */
void archive_xz_free(struct archive_xz *xz);
