/*
 * Is there any trace of the strict runs outside of them, whatever the probe said (boundary.traces, DECISION 5.2).
 */
#include "verify/proof.h"

#include "base/sort.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void proof_refute_contacts(struct proof *proof, const struct proof_run *run)
{
    for (size_t i = 0; i < run->run->events.count; i++) {
        const Exhibit__Event *event = run->run->events.items[i];
        const char *what = NULL;

        if (event->what_case == EXHIBIT__EVENT__WHAT_ACCEPT)
            what = "a connection";
        if (event->what_case == EXHIBIT__EVENT__WHAT_MESSAGE)
            what = "a message";
        if (event->what_case == EXHIBIT__EVENT__WHAT_FILE_EVENT)
            what = "a file event";
        if (what != NULL)
            proof_refute(proof, proof_event_text(event).text, "%s in run %s (event %" PRIu64 ")", what,
                         proof_run_text(run).text, event->seq);
    }
}

static int proof_compare_nonces(const void *a, const void *b)
{
    return memcmp(*(const char *const *)a, *(const char *const *)b, LEDGER_NONCE_DIGITS);
}

/* Whether any of 32 bytes is a sorted nonce: only hexadecimal digits can begin one. */
static bool proof_holds_nonce(const ProtobufCBinaryData *payload, const char **nonces, size_t count)
{
    for (size_t i = 0; i + LEDGER_NONCE_DIGITS <= payload->len; i++) {
        const char *at = (const char *)payload->data + i;

        if (bsearch(&at, nonces, count, sizeof *nonces, proof_compare_nonces) != NULL)
            return true;
    }
    return false;
}

/* A strict run's nonce in a payload, whoever brought it there. */
static void proof_refute_nonces(struct proof *proof)
{
    const struct ledger_list *messages = &proof->ledger.by_kind[EXHIBIT__EVENT__WHAT_MESSAGE];
    const char **nonces = calloc(proof->ledger.run_count * LEDGER_ROLES + 1, sizeof *nonces);
    size_t count = 0;

    if (nonces == NULL) {
        proof_no_memory(proof);
        return;
    }
    for (size_t i = 0; i < proof->ledger.run_count; i++)
        for (int role = 1; role < LEDGER_ROLES; role++)
            if (ledger_is_trial(proof->runs[i].run) && proof_is_strict(&proof->runs[i]) &&
                ledger_rounds(proof->runs[i].run, (Exhibit__Role)role) > 0)
                nonces[count++] = proof->runs[i].run->nonces[role];
    sort_rows(nonces, count, sizeof *nonces, proof_compare_nonces);
    for (size_t i = 0; i < messages->count; i++)
        if (proof_holds_nonce(&messages->items[i]->message->payload, nonces, count))
            proof_refute(proof, proof_event_text(messages->items[i]).text,
                         "a message holds a nonce of a strict run (event %" PRIu64 ")", messages->items[i]->seq);
    free(nonces);
}

static void proof_refute_changes(struct proof *proof, const struct proof_run *run)
{
    static const char *const target_names[] = {"", "canary_read", "canary_link", "write", "folder"};

    for (int target = 1; target < PROOF_TARGETS; target++)
        if (run->changed[target])
            proof_refute(proof, proof_event_text(run->run->exit).text, "target %s changed over run %s",
                         target_names[target], proof_run_text(run).text);
}

void proof_rule_traces(struct proof *proof)
{
    for (size_t i = 0; i < proof->ledger.run_count; i++) {
        const struct proof_run *run = &proof->runs[i];

        if (!proof_is_strict(run))
            continue;
        proof_refute_contacts(proof, run);
        if (!ledger_is_trial(run->run))
            continue;
        proof_refute_changes(proof, run);
        if (run->spoken->right_proofs > 0)
            proof_refute(proof, proof_run_text(run).text,
                         "run %s proves reads in %" PRIu64 " attempts, the first in row %s", proof_run_text(run).text,
                         run->spoken->right_proofs, run->spoken->first_proof);
    }
    proof_refute_nonces(proof);
    proof_refute_leaks(proof);
    proof_refute_thaw(proof);
}
