/*
 * The proofs that strict trial runs could tell (docs/DECISION.md 5.2), and the search for their digits in bytes as they
 * arrive: the last 64 digits are one number, so nothing else is kept from piece to piece. Knows no row and no outcome.
 */
#include "record/judge_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROOF_DIGITS (2 * DIGEST_BYTES)

/* The slot of a proof, or the empty one where it belongs. */
static struct judge_proof *judge_proof_slot(struct judge_proof *table, size_t slots, const uint64_t words[4])
{
    size_t at = (size_t)words[0] & (slots - 1);

    while (table[at].start_seq != 0 && memcmp(table[at].words, words, sizeof table[at].words) != 0)
        at = (at + 1) & (slots - 1);
    return &table[at];
}

/* Makes room, so that half of the slots stay empty. */
static int table_widen(struct judge *judge, size_t more, struct err *err)
{
    size_t slots = judge->proof_slots == 0 ? 256 : judge->proof_slots;
    struct judge_proof *wider;

    while (slots / 2 < judge->proof_count + more)
        slots *= 2;
    if (slots == judge->proof_slots)
        return 0;
    wider = calloc(slots, sizeof *wider);
    if (wider == NULL)
        return err_set_errno(err, "memory for the judge");
    for (size_t i = 0; i < judge->proof_slots; i++)
        if (judge->proofs[i].start_seq != 0)
            *judge_proof_slot(wider, slots, judge->proofs[i].words) = judge->proofs[i];
    free(judge->proofs);
    judge->proofs = wider;
    judge->proof_slots = slots;
    return 0;
}

static void proof_put(struct judge *judge, const struct digest *digest, uint64_t start_seq)
{
    struct judge_proof proof = {.start_seq = start_seq};
    struct judge_proof *slot;

    for (size_t i = 0; i < DIGEST_BYTES; i++)
        proof.words[3 - i / 8] = proof.words[3 - i / 8] << 8 | digest->bytes[i];
    slot = judge_proof_slot(judge->proofs, judge->proof_slots, proof.words);
    if (slot->start_seq != 0) /* an earlier run had the same nonce and canary */
        return;
    *slot = proof;
    judge->proof_count++;
}

int judge_proofs_add(struct judge *judge, const struct judge_run *run, struct err *err)
{
    const struct bytes *canaries[] = {&run->canary_read, &run->canary_link};
    size_t rounds = 0;

    if (judge->strict_trial_count++ >= LIMIT_TRIALS)
        return err_set(err, ERR_LIMIT, "more than %u strict trial runs", LIMIT_TRIALS);
    for (int role = EXHIBIT__ROLE__ROLE_PARENT; role < JUDGE_ROLES; role++)
        rounds += run->roles[role].rounds;
    if (rounds > (JUDGE_ROLES - 1) * LIMIT_ROUNDS)
        return err_set(err, ERR_LIMIT, "%zu rounds in a run", rounds);
    if (table_widen(judge, 2 * rounds, err) < 0)
        return err->code;
    for (size_t i = 0; i < sizeof canaries / sizeof *canaries; i++) {
        if (canaries[i]->size_bytes == 0) /* a digest over nothing proves no read */
            continue;
        digest_run_reset(run->hash);
        digest_run_add(run->hash, canaries[i]->data, canaries[i]->size_bytes);
        for (int role = EXHIBIT__ROLE__ROLE_PARENT; role < JUDGE_ROLES; role++)
            for (uint32_t round = 1; round <= run->roles[role].rounds; round++) {
                char tail[64];
                int size = snprintf(tail, sizeof tail, " %s %" PRIu32, run->roles[role].nonce, round);
                struct digest digest = digest_run_with(run->hash, tail, (size_t)size);

                proof_put(judge, &digest, run->start_seq);
            }
    }
    return 0;
}

/* What a digit stands for, or -1: only lower case is told by the probe. */
static int digit_value(uint8_t byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

void judge_proofs_search(const struct judge *judge, struct judge_run *run, struct judge_digits *digits,
                         const uint8_t *bytes, size_t size_bytes, uint64_t seq)
{
    uint64_t *words = digits->words;

    for (size_t i = 0; i < size_bytes && judge->proof_count > 0 && run->proof_seq == 0; i++) {
        const struct judge_proof *found;
        int value = digit_value(bytes[i]);

        if (value < 0) {
            digits->count = 0;
            continue;
        }
        for (int word = 3; word > 0; word--)
            words[word] = words[word] << 4 | words[word - 1] >> 60;
        words[0] = words[0] << 4 | (uint64_t)value;
        digits->count += digits->count < PROOF_DIGITS;
        if (digits->count < PROOF_DIGITS)
            continue;
        found = judge_proof_slot(judge->proofs, judge->proof_slots, words);
        if (found->start_seq != 0 && found->start_seq <= run->start_seq)
            run->proof_seq = seq;
    }
}
