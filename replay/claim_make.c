/*
 * The lists of a claim in their fixed orders. The strings of the claim are borrowed from tables and oracle.
 */
#include "replay/claim_make.h"

#include "replay/archives.h"
#include "replay/roles.h"
#include "replay/words.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The generated structs have no const; nothing writes through these. */
static char *borrow(const char *text)
{
    return (char *)text;
}

static int no_claim_memory(struct err *err)
{
    return err_set(err, ERR_SYSTEM, "memory for a claim");
}

/* DECISION 5: the name of a rule says what it means that it does not hold. */
static const char *decide(const struct finding *findings)
{
    const char *decision = "GO";

    for (int i = 0; i < RULE_COUNT; i++) {
        if (findings[i].count == 0)
            continue;
        if (strncmp(rules[i].name, "complete.", strlen("complete.")) == 0)
            return "INCOMPLETE";
        decision = "NO-GO";
    }
    return decision;
}

/* One sentence from the first few texts of a finding. NULL: out of memory. */
static char *detail_text(struct arena *arena, const struct finding *finding)
{
    char text[FINDING_TEXTS * sizeof finding->texts[0] + 64] = "";
    size_t used = 0;

    for (size_t i = 0; i < finding->count && i < FINDING_TEXTS; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i == 0 ? "" : "; ", finding->texts[i]);
    assert(used < sizeof text);
    if (finding->count > FINDING_TEXTS)
        (void)snprintf(text + used, sizeof text - used, "; and %zu more", finding->count - FINDING_TEXTS);
    return arena_text(arena, text);
}

static int make_rules(struct arena *arena, const struct finding *findings, Exhibit__Claim *claim, struct err *err)
{
    claim->rules = arena_take(arena, RULE_COUNT * sizeof *claim->rules);
    if (claim->rules == NULL)
        return no_claim_memory(err);
    for (int i = 0; i < RULE_COUNT; i++) {
        const struct finding *finding = &findings[i];
        Exhibit__RuleResult *rule = arena_take(arena, sizeof *rule);
        char **evidence = arena_take(arena, FINDING_EVIDENCE * sizeof *evidence);
        char *detail = detail_text(arena, finding);

        if (rule == NULL || evidence == NULL || detail == NULL)
            return no_claim_memory(err);
        exhibit__rule_result__init(rule);
        rule->rule = borrow(rules[i].name);
        rule->holds = finding->count == 0;
        rule->detail = detail;
        rule->evidence = evidence;
        rule->n_evidence = finding->evidence_count;
        for (size_t j = 0; j < finding->evidence_count; j++)
            evidence[j] = borrow(finding->evidence[j]);
        claim->rules[claim->n_rules++] = rule;
    }
    return 0;
}

static int make_archives(const struct judged *judged, const struct judged_case *judged_case, const struct run *run,
                         Exhibit__CaseResult *result, struct err *err)
{
    struct arena *arena = &judged->facts->tables.arena;
    AUTO_TABLE const Exhibit__Event **found = NULL;
    size_t count = 0;

    if (archives_of_run(judged->facts, judged_case->expected, run, &found, &count, err) < 0)
        return err->code;
    result->archives = arena_take(arena, (count + 1) * sizeof *result->archives);
    if (result->archives == NULL)
        return no_claim_memory(err);
    for (size_t i = 0; i < count; i++) {
        const Exhibit__Artifact *artifact = found[i]->artifact;
        Exhibit__ArchiveResult *archive = arena_take(arena, sizeof *archive);

        if (archive == NULL)
            return no_claim_memory(err);
        exhibit__archive_result__init(archive);
        archive->path = artifact->path;
        archive->sha256 = artifact->sha256;
        archive->members = artifact->is_archive ? (uint32_t)artifact->n_members : 0;
        result->archives[result->n_archives++] = archive;
    }
    return 0;
}

/* DECISION 6.2. */
static void tell_exit(const struct run *run, Exhibit__CaseResult *result)
{
    const Exhibit__RunExit *exit = run->exit == NULL ? NULL : run->exit->run_exit;

    if (exit != NULL && exit->how_case == EXHIBIT__RUN_EXIT__HOW_EXIT_STATUS) {
        result->how_case = EXHIBIT__CASE_RESULT__HOW_EXIT;
        result->exit = exit->exit_status;
    } else if (exit != NULL && exit->how_case == EXHIBIT__RUN_EXIT__HOW_TERM_SIGNAL) {
        result->how_case = EXHIBIT__CASE_RESULT__HOW_SIGNAL;
        result->signal = exit->term_signal;
    }
}

static int make_cases(const struct judged *judged, Exhibit__Claim *claim, struct err *err)
{
    struct arena *arena = &judged->facts->tables.arena;

    claim->cases = arena_take(arena, (judged->oracle->case_count * CASE_RUNS + 1) * sizeof *claim->cases);
    if (claim->cases == NULL)
        return no_claim_memory(err);
    for (size_t i = 0; i < judged->oracle->case_count * CASE_RUNS; i++) {
        const struct judged_case *judged_case = &judged->cases[i / CASE_RUNS];
        const struct run *run = judged_case->runs[i % CASE_RUNS];
        Exhibit__CaseResult *result;

        if (run == NULL)
            continue;
        result = arena_take(arena, sizeof *result);
        if (result == NULL)
            return no_claim_memory(err);
        exhibit__case_result__init(result);
        result->name = judged_case->expected->name;
        result->mode = borrow(word_of_mode((int)run->start->mode));
        result->repeat = run->start->repeat;
        result->met = judged_case->matches[i % CASE_RUNS].met;
        tell_exit(run, result);
        if (make_archives(judged, judged_case, run, result, err) < 0)
            return err->code;
        claim->cases[claim->n_cases++] = result;
    }
    return 0;
}

/* The i-th of the runs that a claim is about: baseline and strict of each trial. NULL: no such run. */
static const struct run *claimed_run(const struct judged *judged, size_t i, const char **out_trial,
                                     const char **out_mode)
{
    const struct trial *trial = &judged->trials[i / 2];
    bool strict = i % 2 == 1;

    *out_trial = trial->expected->name;
    *out_mode = word_of_mode(strict ? EXHIBIT__MODE__MODE_STRICT : EXHIBIT__MODE__MODE_BASELINE);
    return strict ? trial->strict : trial->baseline;
}

static int make_attempts(const struct judged *judged, Exhibit__Claim *claim, struct err *err)
{
    struct arena *arena = &judged->facts->tables.arena;
    const char *trial, *mode;
    size_t count = 0;

    for (size_t i = 0; i < 2 * judged->oracle->trial_count; i++) {
        const struct run *run = claimed_run(judged, i, &trial, &mode);

        count += run == NULL ? 0 : run->derived->attempt_count;
    }
    claim->attempts = arena_take(arena, (count + 1) * sizeof *claim->attempts);
    if (claim->attempts == NULL)
        return no_claim_memory(err);
    for (size_t i = 0; i < 2 * judged->oracle->trial_count; i++) {
        const struct run *run = claimed_run(judged, i, &trial, &mode);

        for (size_t j = 0; run != NULL && j < run->derived->attempt_count; j++) {
            const struct attempt *attempt = &run->derived->attempts[j];
            Exhibit__AttemptResult *result = arena_take(arena, sizeof *result);

            if (result == NULL)
                return no_claim_memory(err);
            exhibit__attempt_result__init(result);
            result->trial = borrow(trial);
            result->mode = borrow(mode);
            result->role = borrow(word_of_role(attempt->row->role));
            result->round = attempt->row->round;
            result->effect = borrow(word_of_effect((int)attempt->effect));
            result->outcome = borrow(outcome_word(attempt->outcome));
            result->errno_value = attempt->told.kind == TOLD_ERRNO ? attempt->told.number : 0;
            result->at_ns = attempt->row->first->at_ns;
            claim->attempts[claim->n_attempts++] = result;
        }
    }
    return 0;
}

static uint32_t count_messages(const struct facts *facts, Exhibit__Protocol protocol, const struct run *run)
{
    size_t sum = 0, count;

    for (int role = 1; role < ROLE_ROOM; role++)
        if (run->listed[role]) {
            (void)facts_messages(facts, protocol, run, role, &count);
            sum += count;
        }
    return (uint32_t)sum;
}

/* Rows and messages of baseline and strict of each trial. */
static int make_counts(const struct judged *judged, Exhibit__Claim *claim, struct err *err)
{
    struct arena *arena = &judged->facts->tables.arena;
    size_t count = 2 * judged->oracle->trial_count;

    claim->rows = arena_take(arena, (count + 1) * sizeof *claim->rows);
    claim->messages = arena_take(arena, (count + 1) * sizeof *claim->messages);
    if (claim->rows == NULL || claim->messages == NULL)
        return no_claim_memory(err);
    for (size_t i = 0; i < count; i++) {
        const char *trial, *mode;
        const struct run *run = claimed_run(judged, i, &trial, &mode);
        Exhibit__RowCount *rows = arena_take(arena, sizeof *rows);
        Exhibit__MessageCount *messages = arena_take(arena, sizeof *messages);

        if (rows == NULL || messages == NULL)
            return no_claim_memory(err);
        exhibit__row_count__init(rows);
        exhibit__message_count__init(messages);
        rows->trial = messages->trial = borrow(trial);
        rows->mode = messages->mode = borrow(mode);
        if (run != NULL) {
            rows->count = (uint32_t)run->derived->row_count;
            messages->tcp = count_messages(judged->facts, EXHIBIT__PROTOCOL__PROTOCOL_TCP, run);
            messages->udp = count_messages(judged->facts, EXHIBIT__PROTOCOL__PROTOCOL_UDP, run);
        }
        claim->rows[claim->n_rows++] = rows;
        claim->messages[claim->n_messages++] = messages;
    }
    return 0;
}

static int make_tree(const struct judged *judged, Exhibit__Claim *claim, struct err *err)
{
    struct arena *arena = &judged->facts->tables.arena;
    size_t count = 2 * judged->oracle->trial_count;

    claim->tree = arena_take(arena, (count * ROLE_ROOM + 1) * sizeof *claim->tree);
    if (claim->tree == NULL)
        return no_claim_memory(err);
    for (size_t i = 0; i < count; i++) {
        const char *trial, *mode;
        const struct run *run = claimed_run(judged, i, &trial, &mode);

        for (int role = 1; run != NULL && role < ROLE_ROOM; role++) {
            Exhibit__TreeMember *member;

            if (!run->listed[role])
                continue;
            member = arena_take(arena, sizeof *member);
            if (member == NULL)
                return no_claim_memory(err);
            exhibit__tree_member__init(member);
            member->trial = borrow(trial);
            member->mode = borrow(mode);
            member->role = borrow(word_of_role(role));
            member->pid = run->derived->roles[role].pid;
            member->start_time = run->derived->roles[role].start_time;
            member->ended_by = borrow(role_ended_by(&judged->facts->tables, run, role));
            member->survived_ms = role_survived_ms(run, role);
            claim->tree[claim->n_tree++] = member;
        }
    }
    return 0;
}

static int make_endings(const struct judged *judged, Exhibit__Claim *claim, struct err *err)
{
    struct arena *arena = &judged->facts->tables.arena;

    claim->endings = arena_take(arena, (judged->oracle->trial_count + 1) * sizeof *claim->endings);
    if (claim->endings == NULL)
        return no_claim_memory(err);
    for (size_t i = 0; i < judged->oracle->trial_count; i++) {
        const struct trial *trial = &judged->trials[i];
        struct finding against_ended = {0}, against_quiet = {0};
        Exhibit__EndingResult *ending;

        if (!trial_has_ending(trial))
            continue;
        ending = arena_take(arena, sizeof *ending);
        if (ending == NULL)
            return no_claim_memory(err);
        exhibit__ending_result__init(ending);
        ending_check_ended(judged, trial, &against_ended);
        ending_check_quiet(judged, trial, &against_quiet);
        ending->trial = trial->expected->name;
        ending->ended = against_ended.count == 0;
        ending->quiet = against_quiet.count == 0;
        claim->endings[claim->n_endings++] = ending;
    }
    return 0;
}

static bool is_measured(const struct oracle *oracle, const char *effect)
{
    for (size_t i = 0; i < oracle->trial_count; i++)
        for (size_t j = 0; j < oracle->trials[i].effect_count; j++)
            if (strcmp(oracle->trials[i].effects[j], effect) == 0)
                return true;
    return false;
}

static int make_not_measured(const struct judged *judged, Exhibit__Claim *claim, struct err *err)
{
    claim->not_measured = arena_take(&judged->facts->tables.arena, EFFECT_COUNT * sizeof *claim->not_measured);
    if (claim->not_measured == NULL)
        return no_claim_memory(err);
    for (int effect = 0; effect < EFFECT_COUNT; effect++)
        if (!is_measured(judged->oracle, word_of_effect(effect)))
            claim->not_measured[claim->n_not_measured++] = borrow(word_of_effect(effect));
    return 0;
}

/* Copies a digest into the arena as a bytes field. */
static int make_digest(struct arena *arena, const struct digest *digest, ProtobufCBinaryData *out, struct err *err)
{
    out->data = arena_take(arena, DIGEST_BYTES);
    if (out->data == NULL)
        return no_claim_memory(err);
    memcpy(out->data, digest->bytes, DIGEST_BYTES);
    out->len = DIGEST_BYTES;
    return 0;
}

int claim_make(const struct judged *judged, const struct judge_request *request, const struct finding *findings,
               const Exhibit__Claim **out, struct err *err)
{
    struct arena *arena = &judged->facts->tables.arena;
    Exhibit__Claim *claim = arena_take(arena, sizeof *claim);

    if (claim == NULL)
        return no_claim_memory(err);
    exhibit__claim__init(claim);
    claim->version = 2;
    claim->prospective = !digest_equal(&request->oracle->digest, &request->recorded_oracle);
    claim->decision = borrow(decide(findings));
    if (make_digest(arena, &request->receipt, &claim->receipt_sha256, err) < 0 ||
        make_digest(arena, &request->oracle->digest, &claim->oracle_sha256, err) < 0 ||
        make_rules(arena, findings, claim, err) < 0 || make_cases(judged, claim, err) < 0 ||
        make_attempts(judged, claim, err) < 0 || make_counts(judged, claim, err) < 0 ||
        make_tree(judged, claim, err) < 0 || make_endings(judged, claim, err) < 0 ||
        make_not_measured(judged, claim, err) < 0)
        return err->code;
    *out = claim;
    return 0;
}
