/*
 * The digits of the proofs that strict trial runs could tell (docs/DECISION.md 5.2): which they are, and whether bytes
 * hold them. Knows no rule and no outcome.
 */
#pragma once

#include "verify/ledger.h"

#define DIGITS_OF_PROOF (2 * DIGEST_BYTES)

/* One proof, as the probe would tell it, and the sequence number of the RunStart of who could. */
struct digits_entry {
    uint64_t run_seq; /* 0: an empty slot */
    char text[DIGITS_OF_PROOF];
};

/* All of them; a hash table by their text. All zero is the empty one. */
struct digits {
    struct digits_entry *slots; /* owned */
    size_t slot_count;          /* a power of two, more than twice the entries; 0: there are no proofs */
};

/*
 * Works them out from the ledger. ERR_LIMIT: more than LIMIT_TRIALS strict trial runs. ERR_SYSTEM: out of memory.
 * Release with digits_done, also after a failure.
 */
int digits_collect(const struct ledger *ledger, struct digits *out, struct err *err);

/* Whether the bytes hold a proof of a trial run whose RunStart is not after run_seq. */
bool digits_are_in(const struct digits *digits, uint64_t run_seq, const void *bytes, size_t size_bytes);

/* Releases what is owned. Harmless on the empty one. */
void digits_done(struct digits *digits);
