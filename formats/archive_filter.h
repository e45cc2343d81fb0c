/*
 * What an archive was compressed by, undone: gzip, zstd and bzip2 through libarchive, xz through liblzma. Every byte
 * that comes out is counted. Knows no member.
 */
#pragma once

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct archive;

/* Owned by the caller; free with archive_filter_free. */
struct archive_filter;

/*
 * Begins to undo bytes in memory (borrowed until archive_filter_free); *out is NULL where they are not compressed.
 * ERR_FORMAT: damaged. ERR_LIMIT: compressed more than once, or as archive_filter_next. ERR_SYSTEM.
 */
int archive_filter_open(const void *from, size_t size_bytes, struct archive_filter **out, struct err *err);

/*
 * Gives the next bytes, valid until the next call; none at the end, which is that of the compressed stream. ERR_FORMAT:
 * damaged or cut. ERR_LIMIT: more than twice LIMIT_ARCHIVE_CONTENT_BYTES in all, or too much memory. ERR_SYSTEM.
 */
int archive_filter_next(struct archive_filter *filter, const void **out, size_t *out_bytes, struct err *err);

/* How many bytes came out so far. 0 for NULL. */
uint64_t archive_filter_total(const struct archive_filter *filter);

/* Releases it; NULL is harmless. */
void archive_filter_free(struct archive_filter *filter);

/* Says what libarchive said of a fault, as the kind of error that it is. */
int archive_fault(struct archive *archive, struct err *err);
