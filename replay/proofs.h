/*
 * The proofs that the roles of strict trial runs could tell (DECISION 5.2), and where the digits of one stand in bytes.
 * Knows no row and no rule.
 */
#pragma once

#include "replay/derive.h"

enum { PROOF_DIGITS = 2 * DIGEST_BYTES };

struct proof_text;

/* All zero is the empty one. Release with proofs_done. */
struct proofs {
    struct proof_text *texts; /* sorted, each once */
    size_t count;
    uint32_t *first; /* by the first four digits as a number: where those texts begin; one more for the end */
};

/* Gathers them for all strict trial runs. ERR_LIMIT: more than LIMIT_TRIALS such runs. ERR_SYSTEM. */
int proofs_gather(const struct facts *facts, struct proofs *out, struct err *err);

/*
 * Where the first proof begins of a trial run that started by start_seq. False: there is none, *out_at is unset. What
 * runs over the end of the bytes is found by who searches its last PROOF_DIGITS - 1 bytes again with what follows.
 */
bool proofs_find(const struct proofs *proofs, uint64_t start_seq, const struct bytes *in, size_t *out_at);

/* Releases them. Harmless on the empty one. */
void proofs_done(struct proofs *proofs);
