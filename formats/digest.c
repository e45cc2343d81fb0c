/* The plain calls are deprecated for EVP, which allocates: a digest must not fail for want of memory. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "formats/digest.h"

#include <assert.h>
#include <errno.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <unistd.h>

struct digest_run {
    SHA256_CTX sha;
};

struct digest_run *digest_run_new(void)
{
    struct digest_run *run = calloc(1, sizeof *run);

    if (run != NULL)
        digest_run_reset(run);
    return run;
}

void digest_run_add(struct digest_run *run, const void *from, size_t size_bytes)
{
    (void)SHA256_Update(&run->sha, from, size_bytes);
}

struct digest digest_run_now(const struct digest_run *run)
{
    SHA256_CTX copy = run->sha;
    struct digest digest;

    (void)SHA256_Final(digest.bytes, &copy);
    return digest;
}

struct digest digest_run_with(const struct digest_run *run, const void *tail, size_t size_bytes)
{
    struct digest_run copy = *run;

    digest_run_add(&copy, tail, size_bytes);
    return digest_run_now(&copy);
}

void digest_run_reset(struct digest_run *run)
{
    (void)SHA256_Init(&run->sha);
}

void digest_run_free(struct digest_run *run)
{
    free(run);
}

struct digest digest_of(const void *from, size_t size_bytes)
{
    struct digest_run run;

    digest_run_reset(&run);
    digest_run_add(&run, from, size_bytes);
    return digest_run_now(&run);
}

int digest_of_fd(int fd, struct digest *out, uint64_t *out_size_bytes, struct err *err)
{
    return digest_of_fd_after(NULL, 0, fd, out, out_size_bytes, err);
}

int digest_of_fd_after(const void *before, size_t before_bytes, int fd, struct digest *out, uint64_t *out_size_bytes,
                       struct err *err)
{
    struct digest_run *run = digest_run_new();
    uint64_t offset = 0;

    if (run == NULL)
        return err_set(err, ERR_SYSTEM, "memory for a digest");
    if (before_bytes > 0)
        digest_run_add(run, before, before_bytes);
    for (;;) {
        uint8_t part[65536];
        ssize_t got = pread(fd, part, sizeof part, (off_t)offset);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            err_set_errno(err, "read at %llu", (unsigned long long)offset);
            digest_run_free(run);
            return err->code;
        }
        if (got == 0)
            break;
        digest_run_add(run, part, (size_t)got);
        offset += (uint64_t)got;
    }
    *out = digest_run_now(run);
    *out_size_bytes = offset;
    digest_run_free(run);
    return 0;
}

static int record_order(const void *a, const void *b)
{
    return memcmp(a, b, DIGEST_BYTES);
}

/* Puts records by the byte of their digests at `depth`, then each lot by the next one while it is large. */
static void lots_sort(uint8_t *records, size_t count, size_t record_bytes, unsigned depth)
{
    enum { LOTS = 256, SMALL = 4096, RECORD_MOST_BYTES = 64 };
    size_t next[LOTS], end[LOTS], at = 0;

    if (count <= SMALL && count > 1)
        qsort(records, count, record_bytes, record_order);
    if (count <= SMALL || depth == DIGEST_BYTES) /* all are the same then */
        return;
    assert(record_bytes <= RECORD_MOST_BYTES);
    memset(end, 0, sizeof end);
    for (size_t i = 0; i < count; i++)
        end[records[i * record_bytes + depth]]++;
    for (size_t lot = 0; lot < LOTS; lot++) {
        next[lot] = at;
        at += end[lot];
        end[lot] = at;
    }
    for (size_t lot = 0; lot < LOTS; lot++)
        while (next[lot] < end[lot]) {
            uint8_t *here = records + next[lot] * record_bytes, kept[RECORD_MOST_BYTES], *there;
            uint8_t belongs = here[depth];

            there = records + next[belongs]++ * record_bytes;
            if (belongs == lot)
                continue;
            memcpy(kept, there, record_bytes);
            memcpy(there, here, record_bytes);
            memcpy(here, kept, record_bytes);
        }
    for (size_t lot = 0, from = 0; lot < LOTS; from = end[lot++])
        lots_sort(records + from * record_bytes, end[lot] - from, record_bytes, depth + 1);
}

void digest_sort(void *records, size_t count, size_t record_bytes)
{
    lots_sort(records, count, record_bytes, 0);
}

bool digest_is_among(const void *digests, size_t count, const uint8_t *digest)
{
    return count > 0 && bsearch(digest, digests, count, DIGEST_BYTES, record_order) != NULL;
}
