/*
 * Whole reads and writes on descriptors, and temporary names. Knows no format.
 */
#pragma once

#include "base/bytes.h"
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Writes all of size_bytes to fd, whatever short writes and EINTR there are. ERR_SYSTEM: the rest was not written. */
int file_write_all(int fd, const void *from, size_t size_bytes, struct err *err);

/* Reads exactly size_bytes at offset. ERR_SYSTEM: a read error. ERR_FORMAT: the file ends before (names the offset). */
int file_pread_all(int fd, void *to, size_t size_bytes, uint64_t offset, struct err *err);

/* Reads from fd to its end into `out` (owned by the caller). ERR_LIMIT: more than max_bytes. ERR_SYSTEM: a read error.
 */
int file_read_all(int fd, size_t max_bytes, struct bytes *out, struct err *err);

/*
 * Reads a whole regular file, not following a symbolic link at its last part where `no_follow`.
 * ERR_SYSTEM: cannot be opened or read. ERR_LIMIT: larger than max_bytes. ERR_USAGE: not a regular file.
 * Never blocks on a FIFO or device. `dir_fd` may be AT_FDCWD.
 */
int file_read_path(int dir_fd, const char *path, int no_follow, size_t max_bytes, struct bytes *out, struct err *err);

/* Creates `path` (which must not exist) with mode and writes all bytes; no fsync. ERR_SYSTEM on any failure. */
int file_create(int dir_fd, const char *path, mode_t mode, const void *from, size_t size_bytes, struct err *err);

/* Fills size_bytes (at most 256) random bytes from the kernel. ERR_SYSTEM: could not. */
int file_random(void *out, size_t size_bytes, struct err *err);
