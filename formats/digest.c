/* The plain calls are deprecated for EVP, which allocates: a digest must not fail for want of memory. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "formats/digest.h"

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
