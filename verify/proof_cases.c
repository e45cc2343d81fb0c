/*
 * The cases in the claim, and the two rules of whether each is met (DECISION 6.1 to 6.3).
 */
#include "verify/proof.h"

#include <stdlib.h>
#include <string.h>

/* The archives of the oracle's patterns that a run left, each once, sorted by path. */
static void proof_state_archives(struct proof *proof, const struct oracle_case *named, const struct proof_run *run,
                                 Exhibit__CaseResult *result);

static void proof_state_case(struct proof *proof, const struct oracle_case *named, Exhibit__Mode mode, uint32_t repeat)
{
    struct proof_run *run = proof_find(proof, EXHIBIT__RUN_KIND__RUN_CASE, named->name, mode, repeat);
    Exhibit__CaseResult *result;

    if (run == NULL)
        return;
    result = proof_slot(proof, &proof->claim->cases, &proof->claim->n_cases, sizeof *result);
    if (result == NULL)
        return;
    exhibit__case_result__init(result);
    result->name = strdup(named->name);
    result->mode = strdup(ledger_mode_text(mode));
    if (result->name == NULL || result->mode == NULL)
        proof_no_memory(proof);
    result->repeat = repeat;
    if (run->run->exit != NULL) {
        const Exhibit__RunExit *exit = run->run->exit->run_exit;

        if (exit->how_case == EXHIBIT__RUN_EXIT__HOW_EXIT_STATUS) {
            result->how_case = EXHIBIT__CASE_RESULT__HOW_EXIT;
            result->exit = exit->exit_status;
        }
        if (exit->how_case == EXHIBIT__RUN_EXIT__HOW_TERM_SIGNAL) {
            result->how_case = EXHIBIT__CASE_RESULT__HOW_SIGNAL;
            result->signal = exit->term_signal;
        }
    }
    proof_meet(proof, named, run);
    result->met = run->unmet_count == 0;
    proof_state_archives(proof, named, run, result);
}

void proof_state_cases(struct proof *proof)
{
    for (size_t i = 0; i < proof->oracle->case_count && !proof->failed; i++) {
        proof_state_case(proof, &proof->oracle->cases[i], EXHIBIT__MODE__MODE_BASELINE, 1);
        proof_state_case(proof, &proof->oracle->cases[i], EXHIBIT__MODE__MODE_BASELINE, 2);
        proof_state_case(proof, &proof->oracle->cases[i], EXHIBIT__MODE__MODE_STRICT, 1);
    }
}

static int proof_compare_archives(const void *a, const void *b)
{
    const Exhibit__ArchiveResult *left = *(Exhibit__ArchiveResult *const *)a;
    const Exhibit__ArchiveResult *right = *(Exhibit__ArchiveResult *const *)b;
    size_t shorter = left->path.len < right->path.len ? left->path.len : right->path.len;
    int order = shorter == 0 ? 0 : memcmp(left->path.data, right->path.data, shorter);

    if (order != 0)
        return order;
    return left->path.len < right->path.len ? -1 : left->path.len > right->path.len;
}

static void proof_copy_bytes(struct proof *proof, const ProtobufCBinaryData *from, ProtobufCBinaryData *out)
{
    if (from->len == 0)
        return;
    out->data = malloc(from->len);
    if (out->data == NULL) {
        proof_no_memory(proof);
        return;
    }
    memcpy(out->data, from->data, from->len);
    out->len = from->len;
}

static void proof_state_archives(struct proof *proof, const struct oracle_case *named, const struct proof_run *run,
                                 Exhibit__CaseResult *result)
{
    const Exhibit__Event *event;
    size_t position = 0;

    while ((event = ledger_next(run->run, EXHIBIT__EVENT__WHAT_ARTIFACT, &position)) != NULL) {
        const Exhibit__Artifact *artifact = event->artifact;
        Exhibit__ArchiveResult *archive;
        bool wanted = false;

        for (size_t i = 0; i < named->archive_count; i++)
            wanted = wanted || proof_path_matches(named->archives[i].path, &artifact->path);
        if (!wanted)
            continue;
        archive = proof_slot(proof, &result->archives, &result->n_archives, sizeof *archive);
        if (archive == NULL)
            return;
        exhibit__archive_result__init(archive);
        proof_copy_bytes(proof, &artifact->path, &archive->path);
        proof_copy_bytes(proof, &artifact->sha256, &archive->sha256);
        archive->members = artifact->is_archive ? (uint32_t)artifact->n_members : 0;
    }
    if (result->n_archives > 0)
        qsort(result->archives, result->n_archives, sizeof(Exhibit__ArchiveResult *), proof_compare_archives);
}

/* Each failure of a run, as it was told when the case was stated. */
static void proof_need_case(struct proof *proof, const struct oracle_case *named, Exhibit__Mode mode, uint32_t repeat)
{
    const struct proof_run *run = proof_find(proof, EXHIBIT__RUN_KIND__RUN_CASE, named->name, mode, repeat);

    for (unsigned i = 0; run != NULL && i < run->unmet_count; i++) {
        const Exhibit__Event *shown = run->run->exit != NULL ? run->run->exit : run->run->start;

        proof_refute(proof, i == 0 ? proof_event_text(shown).text : "", "%s", i < PROOF_DETAILS ? run->unmet[i] : "");
    }
}

void proof_rule_baseline(struct proof *proof)
{
    for (size_t i = 0; i < proof->oracle->case_count; i++)
        for (uint32_t repeat = 1; repeat <= 2; repeat++)
            proof_need_case(proof, &proof->oracle->cases[i], EXHIBIT__MODE__MODE_BASELINE, repeat);
}

void proof_rule_contract(struct proof *proof)
{
    for (size_t i = 0; i < proof->oracle->case_count; i++)
        proof_need_case(proof, &proof->oracle->cases[i], EXHIBIT__MODE__MODE_STRICT, 1);
}
