/*
 * SHA-256 for the probe. Of libcrypto it uses the bare functions: the EVP layer would read a configuration file at run
 * time and load providers by dlopen(), and a static program can rely on neither.
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "record/probe/proof.h"

#include "base/bytes.h"

#include <assert.h>
#include <inttypes.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>

_Static_assert(SHA256_DIGEST_LENGTH == DIGEST_BYTES, "one digest everywhere");

struct proof {
    SHA256_CTX sha;
};

static struct proof the_proof;

struct proof *proof_start(void)
{
    (void)SHA256_Init(&the_proof.sha);
    return &the_proof;
}

void proof_add(struct proof *proof, const void *content, size_t size_bytes)
{
    (void)SHA256_Update(&proof->sha, content, size_bytes);
}

static void finish(struct proof *proof, char out[PROOF_DIGITS + 1])
{
    uint8_t digest[DIGEST_BYTES];

    (void)SHA256_Final(digest, &proof->sha);
    hex_encode(digest, sizeof digest, out);
}

void proof_finish(struct proof *proof, const char *nonce, uint32_t round, char out[PROOF_DIGITS + 1])
{
    char tail[NONCE_DIGITS + 16];
    int size_bytes = snprintf(tail, sizeof tail, " %s %" PRIu32, nonce, round);

    assert(size_bytes > 0 && (size_t)size_bytes < sizeof tail);
    proof_add(proof, tail, (size_t)size_bytes);
    finish(proof, out);
}

void nonce_derive(enum role role, const char *nonce_before, char out[NONCE_DIGITS + 1])
{
    char text[64], digits[PROOF_DIGITS + 1];
    struct proof *proof = proof_start();
    int size_bytes = snprintf(text, sizeof text, "exhibit %s %s", role_name(role), nonce_before);

    assert(role != ROLE_IS_PARENT && size_bytes > 0 && (size_t)size_bytes < sizeof text);
    proof_add(proof, text, (size_t)size_bytes);
    finish(proof, digits);
    memcpy(out, digits, NONCE_DIGITS);
    out[NONCE_DIGITS] = '\0';
}
