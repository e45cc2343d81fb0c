/*
 * SHA-256 through libcrypto (FIPS 180-4). Knows bytes only.
 */
#pragma once

#include "base/err.h"
#include "formats/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct digest {
    uint8_t bytes[DIGEST_BYTES];
};

/* A running hash; owned by the caller, free with digest_run_free. */
struct digest_run;

/* Starts one. NULL: out of memory. */
struct digest_run *digest_run_new(void);

/* Adds bytes. Cannot fail on a valid run. */
void digest_run_add(struct digest_run *run, const void *from, size_t size_bytes);

/* Gives the digest of what was added so far; adding may go on afterwards. */
struct digest digest_run_now(const struct digest_run *run);

/* Gives the digest of what was added so far and then these bytes; the run stays as it is. */
struct digest digest_run_with(const struct digest_run *run, const void *tail, size_t size_bytes);

/* Starts over, as after digest_run_new. */
void digest_run_reset(struct digest_run *run);

/* Releases it; NULL is harmless. */
void digest_run_free(struct digest_run *run);

/* The digest of size_bytes bytes. */
struct digest digest_of(const void *from, size_t size_bytes);

/* The digest and length of everything that can be read from fd from offset 0. ERR_SYSTEM: a read error. */
int digest_of_fd(int fd, struct digest *out, uint64_t *out_size_bytes, struct err *err);

/* The same of `before_bytes` bytes and then of fd; the length is that of fd alone. */
int digest_of_fd_after(const void *before, size_t before_bytes, int fd, struct digest *out, uint64_t *out_size_bytes,
                       struct err *err);

/* Whether two are equal. */
static inline bool digest_equal(const struct digest *a, const struct digest *b)
{
    return memcmp(a->bytes, b->bytes, DIGEST_BYTES) == 0;
}

/* Copies a protobuf bytes field. False: it is not of DIGEST_BYTES bytes; out unset. */
static inline bool digest_from(const uint8_t *data, size_t size_bytes, struct digest *out)
{
    if (size_bytes != DIGEST_BYTES)
        return false;
    memcpy(out->bytes, data, DIGEST_BYTES);
    return true;
}

/*
 * Sorts `count` records of record_bytes (at most 64) that begin with a digest each, ascending. In place, for as many as
 * there may be: a library's sort may take as much memory again.
 */
void digest_sort(void *records, size_t count, size_t record_bytes);

/* Whether a digest (DIGEST_BYTES of them) is among `count` that stand in order, one after the other. */
bool digest_is_among(const void *digests, size_t count, const uint8_t *digest);
