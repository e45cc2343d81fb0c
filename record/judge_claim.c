/*
 * The claim: the list of rules, the decision, and what section 7 of docs/DECISION.md wants beside them. Knows what each
 * field holds, not how a rule comes to its verdict.
 */
#include "record/judge_claim.h"

#include "record/judge_match.h"
#include "record/judge_rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Lists of a claim grow one item at a time: MAKE puts a fresh message of a type at the end of a list and gives it, or
 * NULL when memory ran out. What is in the claim is freed with it.
 */
static void *item_add(void *list, size_t *count, size_t size_bytes, void (*init)(void *item))
{
    void **items, **grown, *item = calloc(1, size_bytes);

    memcpy(&items, list, sizeof items); /* the list is of another pointer type */
    grown = items;
    if ((*count & (*count - 1)) == 0) /* room doubles: it is full at each power of two */
        grown = reallocarray(items, *count == 0 ? 1 : *count * 2, sizeof *grown);
    if (grown != NULL)
        memcpy(list, &grown, sizeof grown);
    if (grown == NULL || item == NULL) {
        free(item);
        return NULL;
    }
    init(item);
    grown[(*count)++] = item;
    return item;
}

#define MAKE(claim, list, Type, init)                                                                                  \
    ((Type *)item_add(&(claim)->list, &(claim)->n_##list, sizeof(Type), (void (*)(void *))(init)))

static bool text_set(char **field, const char *text)
{
    *field = strdup(text);
    return *field != NULL;
}

/* Free text may quote what a subject wrote: only printable ASCII goes on. */
static bool clean_text_set(char **field, const char *text)
{
    if (!text_set(field, text))
        return false;
    for (char *at = *field; *at != 0; at++)
        if (*at < ' ' || *at > '~')
            *at = '?';
    return true;
}

static bool bytes_set(ProtobufCBinaryData *field, const void *from, size_t size_bytes)
{
    if (size_bytes == 0)
        return true;
    field->data = malloc(size_bytes);
    if (field->data == NULL)
        return false;
    memcpy(field->data, from, size_bytes);
    field->len = size_bytes;
    return true;
}

/* ---- rules and decision ---- */

static bool rule_add(Exhibit__Claim *claim, const struct judge_verdict *verdict)
{
    Exhibit__RuleResult *rule = MAKE(claim, rules, Exhibit__RuleResult, exhibit__rule_result__init);
    char detail[sizeof verdict->detail + 64];

    if (rule == NULL || !text_set(&rule->rule, verdict->rule))
        return false;
    rule->holds = verdict->holds;
    (void)snprintf(detail, sizeof detail, "%s", verdict->detail);
    if (verdict->failures > JUDGE_TOLD_FAILURES)
        (void)snprintf(detail + strlen(detail), sizeof detail - strlen(detail), "; and %u more",
                       verdict->failures - JUDGE_TOLD_FAILURES);
    if (!clean_text_set(&rule->detail, detail))
        return false;
    rule->evidence = calloc(verdict->evidence_count + 1, sizeof *rule->evidence);
    if (rule->evidence == NULL)
        return false;
    for (size_t i = 0; i < verdict->evidence_count; i++) {
        if (!clean_text_set(&rule->evidence[i], verdict->evidence[i]))
            return false;
        rule->n_evidence++;
    }
    return true;
}

static bool rules_add(const struct judge *judge, Exhibit__Claim *claim)
{
    static const struct {
        const char *name;
        void (*judge)(const struct judge *judge, struct judge_verdict *verdict);
    } rules[JUDGE_RULES] = {
        {"complete.recording", judge_rule_recording}, {"complete.pins", judge_rule_pins},
        {"complete.observers", judge_rule_observers}, {"complete.controls", judge_rule_controls},
        {"complete.spoke", judge_rule_spoke},         {"complete.outcomes", judge_rule_outcomes},
        {"complete.baseline", judge_rule_baseline},   {"complete.cleanup", judge_rule_cleanup},
        {"boundary.attempts", judge_rule_attempts},   {"boundary.traces", judge_rule_traces},
        {"useful.contract", judge_rule_contract},     {"useful.archives", judge_rule_archives},
        {"cancel.ended", judge_rule_ended},           {"cancel.quiet", judge_rule_quiet},
    };
    bool complete = true, good = true;

    for (size_t i = 0; i < JUDGE_RULES; i++) {
        struct judge_verdict verdict = {.rule = rules[i].name, .holds = true};

        rules[i].judge(judge, &verdict);
        if (!verdict.holds && strncmp(rules[i].name, "complete.", 9) == 0)
            complete = false;
        good = good && verdict.holds;
        if (!rule_add(claim, &verdict))
            return false;
    }
    return text_set(&claim->decision, !complete ? "INCOMPLETE" : good ? "GO" : "NO-GO");
}

/* ---- cases ---- */

/* Moves the last one to its place by path, after those of the same path. */
static void archive_place(Exhibit__CaseResult *result)
{
    Exhibit__ArchiveResult **list = result->archives;

    for (size_t i = result->n_archives - 1; i > 0 && judge_bytes_order(&list[i - 1]->path, &list[i]->path) > 0; i--) {
        Exhibit__ArchiveResult *other = list[i];

        list[i] = list[i - 1];
        list[i - 1] = other;
    }
}

static bool archives_add(const struct judge_run *run, const struct oracle_case *expected, Exhibit__CaseResult *result)
{
    for (size_t j = 0; j < run->artifact_count; j++) {
        const Exhibit__Artifact *artifact = run->artifacts[j];
        Exhibit__ArchiveResult *archive;
        bool matches = false;

        for (size_t i = 0; i < expected->archive_count; i++)
            matches = matches || judge_path_matches(expected->archives[i].path, &artifact->path);
        if (!matches)
            continue;
        archive = MAKE(result, archives, Exhibit__ArchiveResult, exhibit__archive_result__init);
        if (archive == NULL || !bytes_set(&archive->path, artifact->path.data, artifact->path.len) ||
            !bytes_set(&archive->sha256, artifact->sha256.data, artifact->sha256.len))
            return false;
        archive->members = artifact->is_archive ? (uint32_t)artifact->n_members : 0;
        archive_place(result);
    }
    return true;
}

static bool case_add(const struct judge *judge, const struct judge_run *run, const struct oracle_case *expected,
                     Exhibit__Claim *claim)
{
    Exhibit__CaseResult *result = MAKE(claim, cases, Exhibit__CaseResult, exhibit__case_result__init);

    if (result == NULL || !text_set(&result->name, expected->name) ||
        !text_set(&result->mode, judge_mode_text(run->mode)))
        return false;
    result->repeat = run->repeat;
    if (run->exit_how == EXHIBIT__RUN_EXIT__HOW_TERM_SIGNAL) {
        result->how_case = EXHIBIT__CASE_RESULT__HOW_SIGNAL;
        result->signal = run->exit_value;
    } else if (run->exit_how == EXHIBIT__RUN_EXIT__HOW_EXIT_STATUS) {
        result->how_case = EXHIBIT__CASE_RESULT__HOW_EXIT;
        result->exit = run->exit_value;
    }
    result->met = judge_case_is_met(judge, run, expected, NULL);
    return archives_add(run, expected, result);
}

static bool cases_add(const struct judge *judge, Exhibit__Claim *claim)
{
    static const struct {
        Exhibit__Mode mode;
        uint32_t repeat;
    } runs[] = {{EXHIBIT__MODE__MODE_BASELINE, 1}, {EXHIBIT__MODE__MODE_BASELINE, 2}, {EXHIBIT__MODE__MODE_STRICT, 1}};

    for (size_t i = 0; i < judge->oracle->case_count; i++)
        for (size_t j = 0; j < 3; j++) {
            const struct judge_run *run =
                judge_case_run(judge, judge->oracle->cases[i].name, runs[j].mode, runs[j].repeat);

            if (run != NULL && !case_add(judge, run, &judge->oracle->cases[i], claim))
                return false;
        }
    return true;
}

/* ---- trials ---- */

static bool attempts_add(const struct judge *judge, const struct judge_run *run, Exhibit__Claim *claim)
{
    for (size_t i = 0; i < run->row_count; i++)
        for (size_t j = 0; j < run->effect_count; j++) {
            const struct judge_row *row = &run->rows[i];
            Exhibit__AttemptResult *attempt =
                MAKE(claim, attempts, Exhibit__AttemptResult, exhibit__attempt_result__init);

            if (attempt == NULL || !text_set(&attempt->trial, run->name) ||
                !text_set(&attempt->mode, judge_mode_text(run->mode)) ||
                !text_set(&attempt->role, judge_role_text(row->role)) || !text_set(&attempt->effect, run->effects[j]) ||
                !text_set(&attempt->outcome, judge_outcome(judge, run, row, j)))
                return false;
            attempt->round = row->round;
            attempt->errno_value = row->attempts[j].told == JUDGE_TOLD_ERRNO ? row->attempts[j].number : 0;
            attempt->at_ns = row->at_ns;
        }
    return true;
}

static bool counts_add(const struct judge *judge, const char *trial, Exhibit__Mode mode, const struct judge_run *run,
                       Exhibit__Claim *claim)
{
    Exhibit__RowCount *rows = MAKE(claim, rows, Exhibit__RowCount, exhibit__row_count__init);
    Exhibit__MessageCount *messages = MAKE(claim, messages, Exhibit__MessageCount, exhibit__message_count__init);
    Exhibit__Role role;
    uint32_t round;

    if (rows == NULL || messages == NULL || !text_set(&rows->trial, trial) ||
        !text_set(&rows->mode, judge_mode_text(mode)) || !text_set(&messages->trial, trial) ||
        !text_set(&messages->mode, judge_mode_text(mode)))
        return false;
    rows->count = run == NULL ? 0 : (uint32_t)run->row_count;
    for (size_t i = 0; run != NULL && i < judge->message_count; i++)
        if (judge_message_is_of(run, &judge->messages[i], &role, &round)) {
            if (judge->messages[i].protocol == EXHIBIT__PROTOCOL__PROTOCOL_TCP)
                messages->tcp++;
            else
                messages->udp++;
        }
    return true;
}

static bool tree_add(const struct judge_run *run, Exhibit__Claim *claim)
{
    const struct judge_step *last = judge_last_step(run);

    for (Exhibit__Role role = EXHIBIT__ROLE__ROLE_PARENT; role < JUDGE_ROLES; role++) {
        const struct judge_role *known = &run->roles[role];
        bool one = judge_role_is_known(run, role);
        Exhibit__TreeMember *member;

        if (!known->listed)
            continue;
        member = MAKE(claim, tree, Exhibit__TreeMember, exhibit__tree_member__init);
        if (member == NULL || !text_set(&member->trial, run->name) ||
            !text_set(&member->mode, judge_mode_text(run->mode)) || !text_set(&member->role, judge_role_text(role)) ||
            !text_set(&member->ended_by, judge_ended_by(run, role)))
            return false;
        member->pid = one ? known->pid : 0;
        member->start_time = one ? known->start_time : 0;
        if (one && known->gone && last != NULL && known->gone_at_ns > last->at_ns)
            member->survived_ms = (known->gone_at_ns - last->at_ns) / 1000000u;
    }
    return true;
}

static bool trials_add(const struct judge *judge, Exhibit__Claim *claim)
{
    for (size_t i = 0; i < judge->oracle->trial_count; i++)
        for (Exhibit__Mode mode = EXHIBIT__MODE__MODE_BASELINE; mode <= EXHIBIT__MODE__MODE_STRICT; mode++) {
            const char *trial = judge->oracle->trials[i].name;
            const struct judge_run *run = judge_trial_run(judge, trial, mode, 1);

            if (!counts_add(judge, trial, mode, run, claim) ||
                (run != NULL && (!attempts_add(judge, run, claim) || !tree_add(run, claim))))
                return false;
        }
    return true;
}

/* Each trial's own verdict under the two rules of the ending. */
static bool endings_add(const struct judge *judge, Exhibit__Claim *claim)
{
    for (size_t i = 0; i < judge->oracle->trial_count; i++) {
        const struct oracle_trial *trial = &judge->oracle->trials[i];
        struct judge_verdict ended = {.holds = true}, quiet = {.holds = true};
        Exhibit__EndingResult *ending;

        if (judge_ended_run(judge, trial) == NULL)
            continue;
        ending = MAKE(claim, endings, Exhibit__EndingResult, exhibit__ending_result__init);
        if (ending == NULL || !text_set(&ending->trial, trial->name))
            return false;
        judge_trial_ended(judge, trial, &ended);
        judge_trial_quiet(judge, trial, &quiet);
        ending->ended = ended.holds;
        ending->quiet = quiet.holds;
    }
    return true;
}

/* The effects that no trial of the oracle asks for. */
static bool not_measured_add(const struct judge *judge, Exhibit__Claim *claim)
{
    size_t count = 0;

    while (effect_names[count] != NULL)
        count++;
    claim->not_measured = calloc(count + 1, sizeof *claim->not_measured);
    if (claim->not_measured == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        bool asked = false;

        for (size_t j = 0; j < judge->oracle->trial_count; j++)
            for (size_t k = 0; k < judge->oracle->trials[j].effect_count; k++)
                asked = asked || strcmp(judge->oracle->trials[j].effects[k], effect_names[i]) == 0;
        if (!asked && !text_set(&claim->not_measured[claim->n_not_measured], effect_names[i]))
            return false;
        claim->n_not_measured += !asked;
    }
    return true;
}

int judge_claim_make(const struct judge *judge, const struct digest *receipt, Exhibit__Claim **out, struct err *err)
{
    Exhibit__Claim *claim = malloc(sizeof *claim);

    if (claim == NULL)
        return err_set_errno(err, "memory for the claim");
    exhibit__claim__init(claim);
    claim->version = 2;
    claim->prospective = !digest_equal(&judge->oracle->digest, &judge->recorded_oracle);
    if (!bytes_set(&claim->receipt_sha256, receipt->bytes, DIGEST_BYTES) ||
        !bytes_set(&claim->oracle_sha256, judge->oracle->digest.bytes, DIGEST_BYTES) || !rules_add(judge, claim) ||
        !cases_add(judge, claim) || !trials_add(judge, claim) || !endings_add(judge, claim) ||
        !not_measured_add(judge, claim)) {
        exhibit__claim__free_unpacked(claim, NULL);
        return err_set_errno(err, "memory for the claim");
    }
    *out = claim;
    return 0;
}
