#include "formats/digest.h"

#include <assert.h>
#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <unistd.h>

struct digest_run {
    EVP_MD_CTX *context;
    EVP_MD_CTX *scratch; /* digest_run_now finishes a copy */
};

struct digest_run *digest_run_new(void)
{
    struct digest_run *run = calloc(1, sizeof *run);

    if (run == NULL)
        return NULL;
    run->context = EVP_MD_CTX_new();
    run->scratch = EVP_MD_CTX_new();
    if (run->context == NULL || run->scratch == NULL || EVP_DigestInit_ex(run->context, EVP_sha256(), NULL) != 1) {
        digest_run_free(run);
        return NULL;
    }
    return run;
}

void digest_run_add(struct digest_run *run, const void *from, size_t size_bytes)
{
    int done = EVP_DigestUpdate(run->context, from, size_bytes);

    assert(done == 1);
}

struct digest digest_run_now(const struct digest_run *run)
{
    struct digest digest;
    unsigned size_bytes = 0;
    int done = EVP_MD_CTX_copy_ex(run->scratch, run->context) == 1 &&
               EVP_DigestFinal_ex(run->scratch, digest.bytes, &size_bytes) == 1;

    assert(done && size_bytes == DIGEST_BYTES);
    return digest;
}

void digest_run_reset(struct digest_run *run)
{
    int done = EVP_DigestInit_ex(run->context, EVP_sha256(), NULL);

    assert(done == 1);
}

void digest_run_free(struct digest_run *run)
{
    if (run == NULL)
        return;
    EVP_MD_CTX_free(run->context);
    EVP_MD_CTX_free(run->scratch);
    free(run);
}

struct digest digest_of(const void *from, size_t size_bytes)
{
    struct digest digest;
    unsigned out_bytes = 0;
    int done = EVP_Digest(from, size_bytes, digest.bytes, &out_bytes, EVP_sha256(), NULL);

    assert(done == 1 && out_bytes == DIGEST_BYTES);
    return digest;
}

int digest_of_fd(int fd, struct digest *out, uint64_t *out_size_bytes, struct err *err)
{
    struct digest_run *run = digest_run_new();
    uint64_t offset = 0;

    if (run == NULL)
        return err_set(err, ERR_SYSTEM, "libcrypto gives no SHA-256");
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
