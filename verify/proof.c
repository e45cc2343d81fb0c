/*
 * One judgement from its evidence to its claim: prepare, state, judge rule by rule, decide.
 */
#include "verify/proof.h"

#include "base/sort.h"
#include "base/table.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROOF_EVIDENCE = 16 };

static const struct proof_clause {
    const char *name;
    void (*judge)(struct proof *proof);
} proof_clauses[] = {
    {"complete.recording", proof_rule_recording}, {"complete.pins", proof_rule_pins},
    {"complete.observers", proof_rule_observers}, {"complete.controls", proof_rule_controls},
    {"complete.spoke", proof_rule_spoke},         {"complete.outcomes", proof_rule_outcomes},
    {"complete.baseline", proof_rule_baseline},   {"complete.cleanup", proof_rule_cleanup},
    {"boundary.attempts", proof_rule_attempts},   {"boundary.traces", proof_rule_traces},
    {"useful.contract", proof_rule_contract},     {"useful.archives", proof_rule_archives},
    {"cancel.ended", proof_rule_ended},           {"cancel.quiet", proof_rule_quiet},
};

#define PROOF_CLAUSES (sizeof proof_clauses / sizeof proof_clauses[0])

void proof_give_up(struct proof *proof)
{
    proof->failed = true;
}

void proof_no_memory(struct proof *proof)
{
    if (!proof->failed)
        (void)err_set(proof->err, ERR_SYSTEM, "out of memory");
    proof->failed = true;
}

void *proof_slot(struct proof *proof, void *array, size_t *count, size_t size_bytes)
{
    void **items;
    void *slot = calloc(1, size_bytes);

    memcpy(&items, array, sizeof items);
    /* Grows by doubling: the count alone tells when the room is used up. */
    if (slot != NULL && (*count & (*count - 1)) == 0) {
        void **grown = reallocarray(items, *count == 0 ? 1 : *count * 2, sizeof *items);

        if (grown == NULL) {
            free(slot);
            slot = NULL;
        } else {
            items = grown;
            memcpy(array, &items, sizeof items);
        }
    }
    if (slot == NULL) {
        proof_no_memory(proof);
        return NULL;
    }
    items[(*count)++] = slot;
    return slot;
}

void proof_refute(struct proof *proof, const char *evidence, const char *fmt, ...)
{
    Exhibit__RuleResult *rule = proof->rule;
    char *part = NULL, *joined = NULL;
    va_list args;

    assert(rule != NULL); /* only a clause that is being judged can be refuted */
    proof->failures++;
    rule->holds = false;
    if (evidence[0] != '\0' && rule->n_evidence < PROOF_EVIDENCE) {
        char *copy = strdup(evidence);
        char **grown = reallocarray(rule->evidence, rule->n_evidence + 1, sizeof(char *));

        if (grown != NULL)
            rule->evidence = grown;
        if (copy == NULL || grown == NULL) {
            free(copy);
            proof_no_memory(proof);
            return;
        }
        rule->evidence[rule->n_evidence++] = copy;
    }
    if (proof->failures > PROOF_DETAILS)
        return;
    va_start(args, fmt);
    if (vasprintf(&part, fmt, args) < 0)
        part = NULL;
    va_end(args);
    if (part == NULL || asprintf(&joined, "%s%s%s", rule->detail, rule->detail[0] == '\0' ? "" : "; ", part) < 0) {
        free(part);
        proof_no_memory(proof);
        return;
    }
    free(part);
    free(rule->detail);
    rule->detail = joined;
}

struct proof_run *proof_find(const struct proof *proof, Exhibit__RunKind kind, const char *name, Exhibit__Mode mode,
                             uint32_t repeat)
{
    const struct ledger_run *run = ledger_find(&proof->ledger, kind, name, mode, repeat);

    for (size_t i = 0; run != NULL && i < proof->ledger.run_count; i++)
        if (proof->runs[i].run == run)
            return &proof->runs[i];
    return NULL;
}

struct proof_run *proof_strict(const struct proof *proof, const struct oracle_trial *trial)
{
    return proof_find(proof, EXHIBIT__RUN_KIND__RUN_TRIAL, trial->name, EXHIBIT__MODE__MODE_STRICT, 1);
}

struct proof_text proof_run_text(const struct proof_run *run)
{
    const Exhibit__RunStart *told = ledger_told(run->run);
    struct proof_text out;

    if (told->repeat > 1)
        (void)snprintf(out.text, sizeof out.text, "%.64s/%s %" PRIu32, told->name, ledger_mode_text(told->mode),
                       told->repeat);
    else
        (void)snprintf(out.text, sizeof out.text, "%.64s/%s", told->name, ledger_mode_text(told->mode));
    for (char *at = out.text; *at != '\0'; at++)
        if (*at < ' ' || *at > '~') /* a name of the receipt, cut here: it may be anything */
            *at = '?';
    return out;
}

struct proof_text proof_event_text(const Exhibit__Event *event)
{
    struct proof_text out;

    (void)snprintf(out.text, sizeof out.text, "event %" PRIu64, event->seq);
    return out;
}

struct proof_text proof_row_text(const struct proof_run *run, Exhibit__Role role, uint32_t round)
{
    struct proof_text name = proof_run_text(run), out;

    (void)snprintf(out.text, sizeof out.text, "run %.120s row %s/%" PRIu32, name.text, ledger_role_text(role), round);
    return out;
}

static void proof_judge_clause(struct proof *proof, const struct proof_clause *clause)
{
    Exhibit__RuleResult *rule = proof_slot(proof, &proof->claim->rules, &proof->claim->n_rules, sizeof *rule);

    if (rule == NULL)
        return;
    exhibit__rule_result__init(rule);
    rule->rule = strdup(clause->name);
    rule->detail = strdup("");
    rule->holds = true;
    proof->rule = rule;
    proof->failures = 0;
    if (rule->rule == NULL || rule->detail == NULL) {
        proof_no_memory(proof);
        return;
    }
    clause->judge(proof);
    if (proof->failures > PROOF_DETAILS) {
        char *joined = NULL;

        if (asprintf(&joined, "%s; and %u more", rule->detail, proof->failures - PROOF_DETAILS) < 0) {
            proof_no_memory(proof);
            return;
        }
        free(rule->detail);
        rule->detail = joined;
    }
}

/* DECISION 7.1, not_measured: what no trial of the oracle names. */
static void proof_state_unmeasured(struct proof *proof)
{
    for (int e = 0; effect_names[e] != NULL; e++) {
        bool named = false;
        char *slot;

        for (size_t t = 0; t < proof->oracle->trial_count; t++)
            for (size_t i = 0; i < proof->oracle->trials[t].effect_count; i++)
                named = named || strcmp(proof->oracle->trials[t].effects[i], effect_names[e]) == 0;
        if (named)
            continue;
        slot =
            proof_slot(proof, &proof->claim->not_measured, &proof->claim->n_not_measured, strlen(effect_names[e]) + 1);
        if (slot != NULL)
            memcpy(slot, effect_names[e], strlen(effect_names[e]));
    }
}

static void proof_copy_digest(struct proof *proof, const struct digest *digest, ProtobufCBinaryData *out)
{
    out->data = malloc(DIGEST_BYTES);
    if (out->data == NULL) {
        proof_no_memory(proof);
        return;
    }
    memcpy(out->data, digest->bytes, DIGEST_BYTES);
    out->len = DIGEST_BYTES;
}

static void proof_state(struct proof *proof)
{
    const Exhibit__RecordingStart *start = proof->ledger.recording_start->recording_start;
    const char *decision = "GO";

    proof->claim->version = 2;
    proof_copy_digest(proof, &proof->evidence->receipt, &proof->claim->receipt_sha256);
    proof_copy_digest(proof, &proof->oracle->digest, &proof->claim->oracle_sha256);
    proof->claim->prospective = !evidence_digest_is(&start->oracle_sha256, &proof->oracle->digest);
    proof_state_cases(proof);
    proof_state_attempts(proof);
    proof_state_unmeasured(proof);
    for (size_t i = 0; i < PROOF_CLAUSES && !proof->failed; i++)
        proof_judge_clause(proof, &proof_clauses[i]);
    proof_state_endings(proof);
    for (size_t i = 0; i < proof->claim->n_rules; i++) {
        const Exhibit__RuleResult *rule = proof->claim->rules[i];

        if (rule->holds)
            continue;
        if (strncmp(rule->rule, "complete.", 9) == 0) {
            decision = "INCOMPLETE";
            break;
        }
        decision = "NO-GO";
    }
    proof->claim->decision = strdup(decision);
    if (proof->claim->decision == NULL)
        proof_no_memory(proof);
}

static void proof_release(struct proof *proof)
{
    for (size_t i = 0; proof->runs != NULL && i < proof->ledger.run_count; i++) {
        for (int role = 0; role < LEDGER_ROLES; role++)
            free(proof->runs[i].heard[role]);
        for (unsigned told = 0; told < PROOF_DETAILS; told++)
            free(proof->runs[i].unmet[told]);
    }
    free(proof->runs);
    table_free(proof->marks);
    free(proof->launcher_files);
    spoken_free(proof->spoken, proof->ledger.run_count);
    ledger_done(&proof->ledger);
    if (proof->claim != NULL)
        exhibit__claim__free_unpacked(proof->claim, NULL);
}

/* Gathers what the launcher leaves around a command that does nothing (ORACLE 4.12). */
static void proof_launcher(struct proof *proof)
{
    const struct ledger_run *run =
        ledger_find(&proof->ledger, EXHIBIT__RUN_KIND__RUN_LAUNCHER, "launcher", EXHIBIT__MODE__MODE_STRICT, 1);
    const Exhibit__Event *event;
    size_t position = 0;

    if (run == NULL)
        return;
    proof->launcher_files = calloc(run->events.count + 1, sizeof(const ProtobufCBinaryData *));
    if (proof->launcher_files == NULL) {
        proof_no_memory(proof);
        return;
    }
    while ((event = ledger_next(run, EXHIBIT__EVENT__WHAT_ARTIFACT, &position)) != NULL)
        proof->launcher_files[proof->launcher_file_count++] = &event->artifact->path;
    sort_rows(proof->launcher_files, proof->launcher_file_count, sizeof(const ProtobufCBinaryData *), proof_path_order);
}

static void proof_prepare(struct proof *proof)
{
    if (ledger_read(proof->evidence, &proof->ledger, proof->err) < 0 ||
        spoken_read(proof->evidence, &proof->ledger, &proof->spoken, proof->err) < 0) {
        proof_give_up(proof);
        return;
    }
    proof->runs = calloc(proof->ledger.run_count + 1, sizeof *proof->runs);
    proof->claim = calloc(1, sizeof *proof->claim);
    if (proof->runs == NULL || proof->claim == NULL) {
        proof_no_memory(proof);
        return;
    }
    exhibit__claim__init(proof->claim);
    for (size_t i = 0; i < proof->ledger.run_count; i++) {
        proof->runs[i].run = proof->ledger.runs[i];
        proof->runs[i].spoken = &proof->spoken[i];
    }
    proof_launcher(proof);
    proof_processes(proof);
    proof_sightings(proof);
}

int proof_derive(const struct evidence *evidence, const struct oracle *oracle, Exhibit__Claim **out, struct err *err)
{
    struct proof proof = {.evidence = evidence, .oracle = oracle, .err = err};

    proof_prepare(&proof);
    if (!proof.failed)
        proof_state(&proof);
    if (!proof.failed) {
        *out = proof.claim;
        proof.claim = NULL;
    }
    proof_release(&proof);
    return proof.failed ? err->code : 0;
}
