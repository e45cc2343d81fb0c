/*
 * A sorted table of texts with an index over their first digits: a look into it costs the same wherever a subject has
 * digits, and nothing elsewhere.
 */
#include "replay/proofs.h"

#include "base/bytes.h"
#include "base/sort.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INDEX_DIGITS = 4, INDEX_ROOM = 1 << (4 * INDEX_DIGITS) };

struct proof_text {
    char digits[PROOF_DIGITS + 1];
    uint64_t start_seq; /* of the trial run whose role could tell it */
};

static int compare_texts(const void *left, const void *right)
{
    const struct proof_text *a = left, *b = right;
    int order = memcmp(a->digits, b->digits, PROOF_DIGITS);

    return order != 0 ? order : (a->start_seq > b->start_seq) - (a->start_seq < b->start_seq);
}

/* 0 to 15; 16 for what is no digit as the probe writes them. */
static unsigned value_of(uint8_t byte)
{
    if (byte >= 'a' && byte <= 'f')
        return byte - 'a' + 10u;
    return byte >= '0' && byte <= '9' ? byte - '0' + 0u : 16;
}

static size_t index_of(const void *digits)
{
    const uint8_t *at = digits;
    size_t index = 0;

    for (int i = 0; i < INDEX_DIGITS; i++)
        index = index * 16 + value_of(at[i]);
    return index;
}

/* What one canary gives: a proof of each role and round. `hash` holds the canary's content. */
static int gather_canary(const struct run *run, const struct digest_run *hash, struct proofs *out, struct err *err)
{
    for (int role = 1; role < ROLE_ROOM; role++)
        for (uint32_t round = 1; run->listed[role] && round <= run->rounds[role]; round++) {
            struct proof_text text = {.start_seq = run->event->seq};
            char tail[NONCE_DIGITS + 16];
            int tail_bytes = snprintf(tail, sizeof tail, " %s %" PRIu32, run->nonces[role], round);

            hex_encode(digest_run_with(hash, tail, (size_t)tail_bytes).bytes, DIGEST_BYTES, text.digits);
            if (table_add(&out->texts, &out->count, &text, sizeof text, err) < 0)
                return err->code;
        }
    return 0;
}

static int gather_run(const struct facts *facts, const struct run *run, struct digest_run *hash, struct proofs *out,
                      struct err *err)
{
    struct span resets = tables_of_kind(&facts->tables, EXHIBIT__EVENT__WHAT_TARGETS);
    size_t before = span_before(resets, run->event->seq);

    for (int target = EXHIBIT__TARGET_NAME__TARGET_CANARY_READ;
         before > 0 && target <= EXHIBIT__TARGET_NAME__TARGET_CANARY_LINK; target++) {
        const ProtobufCBinaryData *content =
            targets_content(resets.events[before - 1]->targets, (Exhibit__TargetName)target);

        digest_run_reset(hash);
        digest_run_add(hash, content->data, content->len);
        if (content->len > 0 && gather_canary(run, hash, out, err) < 0)
            return err->code;
    }
    return 0;
}

/* Sorts the texts, leaves of equal ones the earliest, and notes where each beginning begins. */
static int make_index(struct proofs *proofs, struct err *err)
{
    size_t kept = 0;

    sort_rows(proofs->texts, proofs->count, sizeof *proofs->texts, compare_texts);
    for (size_t i = 0; i < proofs->count; i++)
        if (kept == 0 || memcmp(proofs->texts[kept - 1].digits, proofs->texts[i].digits, PROOF_DIGITS) != 0)
            proofs->texts[kept++] = proofs->texts[i];
    proofs->count = kept;
    proofs->first = calloc(INDEX_ROOM + 1, sizeof *proofs->first);
    if (proofs->first == NULL)
        return err_set_errno(err, "memory for an index of proofs");
    for (size_t i = 0; i < kept; i++)
        proofs->first[index_of(proofs->texts[i].digits) + 1]++;
    for (size_t i = 0; i < INDEX_ROOM; i++)
        proofs->first[i + 1] += proofs->first[i];
    return 0;
}

int proofs_gather(const struct facts *facts, struct proofs *out, struct err *err)
{
    struct digest_run *hash = digest_run_new();
    unsigned strict_trials = 0;
    int code = hash == NULL ? err_set(err, ERR_SYSTEM, "memory for a digest") : 0;

    for (size_t i = 0; i < facts->tables.run_count && code == 0; i++) {
        const struct run *run = facts->tables.runs[i];

        if (run->derived == NULL || run->start->mode != EXHIBIT__MODE__MODE_STRICT)
            continue;
        if (++strict_trials > LIMIT_TRIALS)
            code = err_set(err, ERR_LIMIT, "DECISION 1.1: more than %u strict trial runs", LIMIT_TRIALS);
        else
            code = gather_run(facts, run, hash, out, err);
    }
    digest_run_free(hash);
    return code == 0 && out->count > 0 ? make_index(out, err) : code;
}

static bool is_proof(const struct proofs *proofs, uint64_t start_seq, const uint8_t *digits)
{
    size_t index = index_of(digits), low = proofs->first[index], high = proofs->first[index + 1];

    while (low < high) {
        const struct proof_text *text = &proofs->texts[low + (high - low) / 2];
        int order = memcmp(digits, text->digits, PROOF_DIGITS);

        if (order == 0)
            return text->start_seq <= start_seq;
        if (order > 0)
            low = (size_t)(text - proofs->texts) + 1;
        else
            high = (size_t)(text - proofs->texts);
    }
    return false;
}

bool proofs_find(const struct proofs *proofs, uint64_t start_seq, const struct bytes *in, size_t *out_at)
{
    size_t digits = 0;

    for (size_t i = 0; i < in->size_bytes && proofs->count > 0; i++) {
        digits = value_of(in->data[i]) < 16 ? digits + 1 : 0;
        if (digits >= PROOF_DIGITS && is_proof(proofs, start_seq, in->data + i + 1 - PROOF_DIGITS)) {
            *out_at = i + 1 - PROOF_DIGITS;
            return true;
        }
    }
    return false;
}

void proofs_done(struct proofs *proofs)
{
    table_free(proofs->texts);
    free(proofs->first);
    *proofs = (struct proofs){0};
}
