/*
 * Stretches of digits that are long enough for a proof are looked for first, from their far end on, so that bytes which
 * are no such digits cost next to nothing; each place in a stretch then costs one look into the table.
 */
#include "verify/proof_digits.h"

#include "base/bytes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool digits_is_one(char c)
{
    static const char all[] = "0123456789abcdef";

    return memchr(all, c, sizeof all - 1) != NULL;
}

/* The entry with this text, or the empty slot for it. */
static struct digits_entry *digits_look_up(const struct digits *digits, const char *text)
{
    uint64_t middle;
    size_t at;

    memcpy(&middle, text + DIGITS_OF_PROOF / 2, sizeof middle);
    at = (size_t)((middle * 0x9e3779b97f4a7c15u) >> 32);
    for (;; at++) {
        struct digits_entry *entry = &digits->slots[at & (digits->slot_count - 1)];

        if (entry->run_seq == 0 || memcmp(entry->text, text, DIGITS_OF_PROOF) == 0)
            return entry;
    }
}

static bool digits_is_of_strict_trial(const struct ledger_run *run)
{
    return ledger_is_trial(run) && ledger_told(run)->mode == EXHIBIT__MODE__MODE_STRICT;
}

/* Makes the table, with room for two proofs of every planned round. */
static int digits_make_room(const struct ledger *ledger, struct digits *digits, struct err *err)
{
    size_t trials = 0, rounds = 0;

    for (size_t i = 0; i < ledger->run_count; i++) {
        if (!digits_is_of_strict_trial(ledger->runs[i]))
            continue;
        trials++;
        for (int role = 1; role < LEDGER_ROLES; role++)
            rounds += ledger_rounds(ledger->runs[i], (Exhibit__Role)role);
        if (trials > LIMIT_TRIALS)
            return err_set(err, ERR_LIMIT, "DECISION 1.1: event %" PRIu64 ": more than %d strict trial runs",
                           ledger->runs[i]->start->seq, LIMIT_TRIALS);
    }
    if (rounds == 0)
        return 0;
    for (digits->slot_count = 8; digits->slot_count <= 4 * rounds;)
        digits->slot_count *= 2;
    digits->slots = calloc(digits->slot_count, sizeof *digits->slots);
    return digits->slots == NULL ? err_set(err, ERR_SYSTEM, "out of memory") : 0;
}

/* Adds the proofs over one canary, whose content was put into `canary`. */
static void digits_add(struct digits *digits, const struct ledger_run *run, const struct digest_run *canary)
{
    for (int role = 1; role < LEDGER_ROLES; role++) {
        uint32_t rounds = ledger_rounds(run, (Exhibit__Role)role);

        for (uint32_t round = 1; round <= rounds; round++) {
            char tail[64], text[DIGITS_OF_PROOF + 1];
            int size = snprintf(tail, sizeof tail, " %s %" PRIu32, run->nonces[role], round);
            struct digest proof = digest_run_with(canary, tail, (size_t)size);
            struct digits_entry *entry;

            hex_encode(proof.bytes, sizeof proof.bytes, text);
            entry = digits_look_up(digits, text);
            if (entry->run_seq != 0) /* the runs come in the order of their starts: the first stays */
                continue;
            memcpy(entry->text, text, DIGITS_OF_PROOF);
            entry->run_seq = run->start->seq;
        }
    }
}

int digits_collect(const struct ledger *ledger, struct digits *out, struct err *err)
{
    struct digest_run *canary;

    *out = (struct digits){0};
    if (digits_make_room(ledger, out, err) < 0)
        return err->code;
    canary = digest_run_new();
    if (canary == NULL)
        return err_set(err, ERR_SYSTEM, "out of memory");
    for (size_t i = 0; i < ledger->run_count && out->slot_count > 0; i++) {
        const struct ledger_run *run = ledger->runs[i];
        const Exhibit__Event *set = ledger_before(ledger, EXHIBIT__EVENT__WHAT_TARGETS, 0, run->start->seq);

        for (int link = 0; link < 2 && set != NULL && digits_is_of_strict_trial(run); link++) {
            const ProtobufCBinaryData *content = link ? &set->targets->canary_link : &set->targets->canary_read;

            if (content->len == 0) /* who proves to have read nothing has read nothing */
                continue;
            digest_run_reset(canary);
            digest_run_add(canary, content->data, content->len);
            digits_add(out, run, canary);
        }
    }
    digest_run_free(canary);
    return 0;
}

bool digits_are_in(const struct digits *digits, uint64_t run_seq, const void *bytes, size_t size_bytes)
{
    const char *text = bytes;
    size_t from = 0, known = 0; /* text[from] begins what may be a proof; up to text[known] there are digits alone */

    while (digits->slot_count > 0 && size_bytes >= DIGITS_OF_PROOF && from <= size_bytes - DIGITS_OF_PROOF) {
        const struct digits_entry *entry;
        size_t back = from + DIGITS_OF_PROOF;

        while (back > known && digits_is_one(text[back - 1]))
            back--;
        if (back > known) { /* no proof lies over this byte */
            from = known = back;
            continue;
        }
        known = from + DIGITS_OF_PROOF;
        entry = digits_look_up(digits, text + from);
        if (entry->run_seq != 0 && entry->run_seq <= run_seq)
            return true;
        from++;
    }
    return false;
}

void digits_done(struct digits *digits)
{
    free(digits->slots);
    *digits = (struct digits){0};
}
