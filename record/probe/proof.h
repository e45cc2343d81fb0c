/*
 * The two digests the probe makes: proofs of a read (docs/DECISION.md 3.1) and derived nonces (1.3).
 * Knows bytes only.
 */
#pragma once

#include "record/probe/assignment.h"

#define PROOF_DIGITS (2 * DIGEST_BYTES)

/* A proof in the making: content is added as it is read. */
struct proof;

/* Starts one; the only one at a time. Never fails. */
struct proof *proof_start(void);

/* Adds size_bytes of content. */
void proof_add(struct proof *proof, const void *content, size_t size_bytes);

/* Ends it for nonce and round: PROOF_DIGITS lower-case digits and a NUL in out. */
void proof_finish(struct proof *proof, const char *nonce, uint32_t round, char out[PROOF_DIGITS + 1]);

/* The nonce of `role` (child or grandchild), derived from that of the role before: NONCE_DIGITS and a NUL in out. */
void nonce_derive(enum role role, const char *nonce_before, char out[NONCE_DIGITS + 1]);
