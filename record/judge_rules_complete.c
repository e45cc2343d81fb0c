/*
 * The rules of completeness and of attempts (docs/DECISION.md section 5), and how a verdict is put in words.
 */
#include "record/judge_rules.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define PARENT_LATER_MS 1000 /* a parent that ends by itself stays so long after its last awaited round */

static void __attribute__((format(printf, 3, 0)))
failure_add(struct judge_verdict *verdict, const char *evidence, const char *fmt, va_list args)
{
    size_t used = strlen(verdict->detail);

    verdict->holds = false;
    if (verdict->failures++ >= JUDGE_TOLD_FAILURES)
        return;
    if (used > 0 && used + 2 < sizeof verdict->detail)
        used += (size_t)snprintf(verdict->detail + used, sizeof verdict->detail - used, "; ");
    if (used < sizeof verdict->detail)
        (void)vsnprintf(verdict->detail + used, sizeof verdict->detail - used, fmt, args);
    if (*evidence != 0)
        (void)snprintf(verdict->evidence[verdict->evidence_count++], sizeof verdict->evidence[0], "%s", evidence);
}

void judge_fail(struct judge_verdict *verdict, const char *evidence, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    failure_add(verdict, evidence, fmt, args);
    va_end(args);
}

void judge_fail_at(struct judge_verdict *verdict, uint64_t seq, const char *fmt, ...)
{
    char evidence[32];
    va_list args;

    (void)snprintf(evidence, sizeof evidence, "event %llu", (unsigned long long)seq);
    va_start(args, fmt);
    failure_add(verdict, evidence, fmt, args);
    va_end(args);
}

struct judge_run *judge_trial_run(const struct judge *judge, const char *name, Exhibit__Mode mode, uint32_t repeat)
{
    return judge_run_of(judge, EXHIBIT__RUN_KIND__RUN_TRIAL, name, mode, repeat);
}

struct judge_run *judge_case_run(const struct judge *judge, const char *name, Exhibit__Mode mode, uint32_t repeat)
{
    return judge_run_of(judge, EXHIBIT__RUN_KIND__RUN_CASE, name, mode, repeat);
}

bool judge_role_spoke(const struct judge_run *run, Exhibit__Role role)
{
    for (size_t i = 0; i < run->row_count; i++)
        if (run->rows[i].role == role)
            return true;
    return false;
}

/* The four runs of a trial. */
static const struct {
    Exhibit__Mode mode;
    uint32_t repeat;
    bool all_roles;
    bool steps;
} trial_runs[] = {{EXHIBIT__MODE__MODE_BASELINE, 1, true, true},
                  {EXHIBIT__MODE__MODE_STRICT, 1, true, true},
                  {EXHIBIT__MODE__MODE_CONTROL, 1, true, false},
                  {EXHIBIT__MODE__MODE_CONTROL, 2, false, false}};

/* Whether a run came to an observed end. */
static bool run_check(const struct judge_run *run, const char *name, Exhibit__Mode mode, uint32_t repeat,
                      struct judge_verdict *verdict)
{
    const char *what = run == NULL         ? "is not in the receipt"
                       : run->spawn_failed ? "could not be executed"
                       : !run->exited      ? "has no observed end"
                                           : NULL;

    if (what != NULL)
        judge_fail(verdict, "", "%s %s %u %s", name, judge_mode_text(mode), repeat, what);
    return run != NULL;
}

static void steps_check(const struct judge_run *run, struct judge_verdict *verdict)
{
    if (run->step_count != run->plan_step_count) {
        judge_fail(verdict, "", "%s %s: %zu of %zu steps were sent", run->name, judge_mode_text(run->mode),
                   run->step_count, run->plan_step_count);
        return;
    }
    for (size_t i = 0; i < run->step_count; i++) {
        const struct judge_step *step = &run->steps[i];
        const Exhibit__StepPlan *plan = &run->plan_steps[i];
        Exhibit__Step__Trigger trigger =
            i > 0 ? EXHIBIT__STEP__TRIGGER__TRIGGER_TIME : EXHIBIT__STEP__TRIGGER__TRIGGER_ROUNDS;

        if (i == 0 && plan->target == EXHIBIT__STEP_TARGET__STEP_PARENT_EXIT)
            trigger = EXHIBIT__STEP__TRIGGER__TRIGGER_EXIT;
        if (step->index != i + 1 || step->signal != plan->signal || step->target != plan->target ||
            step->trigger != trigger || step->errno_value != 0)
            judge_fail_at(verdict, step->seq, "%s %s: step %zu was not sent as planned", run->name,
                          judge_mode_text(run->mode), i + 1);
    }
}

static void trial_check(const struct judge *judge, const struct oracle_trial *trial, struct judge_verdict *verdict)
{
    for (size_t i = 0; i < sizeof trial_runs / sizeof trial_runs[0]; i++) {
        const struct judge_run *run = judge_trial_run(judge, trial->name, trial_runs[i].mode, trial_runs[i].repeat);

        if (!run_check(run, trial->name, trial_runs[i].mode, trial_runs[i].repeat, verdict))
            continue;
        for (Exhibit__Role role = EXHIBIT__ROLE__ROLE_PARENT; role < JUDGE_ROLES; role++)
            if (trial_runs[i].all_roles && trial->roles[role] && !run->roles[role].listed)
                judge_fail(verdict, "", "%s %s has no role %s", trial->name, judge_mode_text(run->mode),
                           judge_role_text(role));
        for (size_t j = 0; j < trial->effect_count; j++)
            if (judge_effect_find(run, trial->effects[j]) < 0)
                judge_fail(verdict, "", "%s %s does not try %s", trial->name, judge_mode_text(run->mode),
                           trial->effects[j]);
        if (trial_runs[i].steps)
            steps_check(run, verdict);
    }
}

void judge_rule_recording(const struct judge *judge, struct judge_verdict *verdict)
{
    if (!judge->ended)
        judge_fail(verdict, "", "the recording has no end record");
    if (judge->oracle->trial_count == 0)
        judge_fail(verdict, "", "the oracle names no trial: without a hostile probe there is no decision");
    for (size_t i = 0; i < judge->oracle->case_count; i++) {
        const char *name = judge->oracle->cases[i].name;

        (void)run_check(judge_case_run(judge, name, EXHIBIT__MODE__MODE_BASELINE, 1), name,
                        EXHIBIT__MODE__MODE_BASELINE, 1, verdict);
        (void)run_check(judge_case_run(judge, name, EXHIBIT__MODE__MODE_STRICT, 1), name, EXHIBIT__MODE__MODE_STRICT, 1,
                        verdict);
    }
    for (size_t i = 0; i < judge->oracle->trial_count; i++)
        trial_check(judge, &judge->oracle->trials[i], verdict);
}

void judge_rule_pins(const struct judge *judge, struct judge_verdict *verdict)
{
    size_t frozen = 0;

    if (!judge->pins_fit)
        judge_fail(verdict, "event 1", "a pinned file had another digest");
    for (size_t i = 0; i < judge->input_count; i++) {
        const struct judge_input *input = &judge->inputs[i];

        frozen += input->has[EXHIBIT__FREEZE_MOMENT__FREEZE_BEFORE];
        if (input->has[EXHIBIT__FREEZE_MOMENT__FREEZE_BEFORE] &&
            (!input->has[EXHIBIT__FREEZE_MOMENT__FREEZE_AFTER_BASELINE] ||
             !digest_equal(&input->lists[EXHIBIT__FREEZE_MOMENT__FREEZE_BEFORE],
                           &input->lists[EXHIBIT__FREEZE_MOMENT__FREEZE_AFTER_BASELINE])))
            judge_fail(verdict, "", "input %s changed during the baseline", input->name);
    }
    if (frozen == 0)
        judge_fail(verdict, "", "no input was frozen");
}

/* Whether the run is one of a trial that the oracle names. */
static bool is_of_oracle(const struct judge *judge, const struct judge_run *run)
{
    for (size_t i = 0; i < judge->oracle->trial_count; i++)
        if (run->kind == EXHIBIT__RUN_KIND__RUN_TRIAL && strcmp(judge->oracle->trials[i].name, run->name) == 0)
            return true;
    return false;
}

/* Whether everything was looked at that could show a trace. */
static void looks_check(const struct judge_run *run, struct judge_verdict *verdict)
{
    static const char *const streams[] = {
        "", "", "stdout", "stderr", "the parent's scratch", "the child's scratch", "the grandchild's scratch"};

    if (!run->drops_seen[EXHIBIT__PROTOCOL__PROTOCOL_TCP] || !run->drops_seen[EXHIBIT__PROTOCOL__PROTOCOL_UDP])
        judge_fail(verdict, "", "%s strict: a listener's drop counter was not read", run->name);
    for (int target = 1; target < JUDGE_TARGETS; target++) {
        if (!run->before[target].known || run->stale[target])
            judge_fail(verdict, "", "%s strict: the %s was not looked at before the run", run->name,
                       judge_target_text(target));
        if (!run->exited || !run->after[target].known || run->unlooked[target])
            judge_fail(verdict, "", "%s strict: the %s was not looked at after the run", run->name,
                       judge_target_text(target));
    }
    for (int stream = EXHIBIT__STREAM_NAME__STREAM_STDOUT; stream < JUDGE_STREAMS; stream++)
        if (!run->stream_ended[stream])
            judge_fail(verdict, "", "%s strict: the end of %s is missing", run->name, streams[stream]);
}

static void role_observed_check(const struct judge *judge, const struct judge_run *run, Exhibit__Role role,
                                struct judge_verdict *verdict)
{
    const struct judge_step *first = judge_first_step(run);

    if (!run->roles[role].seen && !judge->oracle->identities_required && judge_role_spoke(run, role))
        return;
    if (!judge_role_is_known(run, role))
        judge_fail(verdict, "", "%s strict: the %s has %s host identity", run->name, judge_role_text(role),
                   run->roles[role].seen ? "more than one" : "no");
    else if (!run->roles[role].gone)
        judge_fail(verdict, "", "%s strict: the %s was not seen to end", run->name, judge_role_text(role));
    else if (judge_is_own_end(first, role) && run->roles[role].gone_seq > first->seq)
        judge_fail_at(verdict, first->seq, "%s strict: the first step came before the end of the parent", run->name);
    else if (first != NULL && !judge_was_alive(run, role))
        judge_fail_at(verdict, first->seq, "%s strict: the %s was not alive at the first step", run->name,
                      judge_role_text(role));
}

void judge_rule_observers(const struct judge *judge, struct judge_verdict *verdict)
{
    if (judge->lost_seq != 0)
        judge_fail_at(verdict, judge->lost_seq, "an observer lost events outside of runs");
    if (judge->dropped_seq != 0)
        judge_fail_at(verdict, judge->dropped_seq, "a listener dropped something");
    for (size_t i = 0; i < judge->run_count; i++)
        if (judge->runs[i]->lost_seq != 0 && is_of_oracle(judge, judge->runs[i]))
            judge_fail_at(verdict, judge->runs[i]->lost_seq, "%s %s: an observer lost events", judge->runs[i]->name,
                          judge_mode_text(judge->runs[i]->mode));
    for (size_t i = 0; i < judge->oracle->trial_count; i++) {
        const struct oracle_trial *trial = &judge->oracle->trials[i];
        const struct judge_run *run = judge_trial_run(judge, trial->name, EXHIBIT__MODE__MODE_STRICT, 1);

        if (run == NULL)
            continue;
        looks_check(run, verdict);
        for (Exhibit__Role role = EXHIBIT__ROLE__ROLE_PARENT; role < JUDGE_ROLES; role++)
            if (trial->roles[role])
                role_observed_check(judge, run, role, verdict);
    }
}

/* Whether an unconfined attempt of round 1 succeeded, told and seen. */
static void control_check(const struct judge_run *run, Exhibit__Role role, const char *effect,
                          struct judge_verdict *verdict)
{
    const struct judge_row *found = NULL;
    int place = judge_effect_find(run, effect);
    bool seen = true;

    for (size_t i = 0; i < run->row_count; i++)
        if (run->rows[i].role == role && run->rows[i].round == 1)
            found = &run->rows[i];
    if (strcmp(effect, "read") == 0)
        seen = run->touched_seq[EXHIBIT__TARGET_NAME__TARGET_CANARY_READ] != 0;
    if (strcmp(effect, "read-link") == 0)
        seen = run->touched_seq[EXHIBIT__TARGET_NAME__TARGET_CANARY_LINK] != 0;
    if (found == NULL || place < 0 || found->contested || found->attempts[place].told != JUDGE_TOLD_OK ||
        !found->attempts[place].own_evidence || !seen)
        judge_fail(verdict, "", "%s control %u: %s of the %s did not succeed unconfined", run->name, run->repeat,
                   effect, judge_role_text(role));
}

void judge_rule_controls(const struct judge *judge, struct judge_verdict *verdict)
{
    for (size_t i = 0; i < judge->oracle->trial_count; i++) {
        const struct oracle_trial *trial = &judge->oracle->trials[i];
        const struct judge_run *before = judge_trial_run(judge, trial->name, EXHIBIT__MODE__MODE_CONTROL, 1);
        const struct judge_run *after = judge_trial_run(judge, trial->name, EXHIBIT__MODE__MODE_CONTROL, 2);

        for (size_t j = 0; j < trial->effect_count; j++) {
            for (Exhibit__Role role = EXHIBIT__ROLE__ROLE_PARENT; before != NULL && role < JUDGE_ROLES; role++)
                if (trial->roles[role])
                    control_check(before, role, trial->effects[j], verdict);
            if (after != NULL)
                control_check(after, EXHIBIT__ROLE__ROLE_PARENT, trial->effects[j], verdict);
        }
    }
}

/* Whether a round of the grandchild was planned for later than what is listened to after the ending. */
static bool had_more_to_say(const struct judge_run *run, uint32_t grace_ms)
{
    const Exhibit__StepPlan *first = run->plan_step_count > 0 ? &run->plan_steps[0] : NULL;
    uint32_t rounds = run->roles[EXHIBIT__ROLE__ROLE_GRANDCHILD].rounds;
    uint64_t until_ms = grace_ms, last_ms = rounds == 0 ? 0 : (rounds - 1ull) * run->interval_ms;

    if (first != NULL && first->after_rounds > 0)
        until_ms += (first->after_rounds - 1ull) * run->interval_ms;
    if (first != NULL && first->target == EXHIBIT__STEP_TARGET__STEP_PARENT_EXIT)
        until_ms += PARENT_LATER_MS;
    for (size_t i = 0; i < run->plan_step_count; i++)
        until_ms += run->plan_steps[i].after_ms;
    return last_ms > until_ms && run->lifetime_ms > until_ms;
}

void judge_rule_spoke(const struct judge *judge, struct judge_verdict *verdict)
{
    for (size_t i = 0; i < judge->oracle->trial_count; i++) {
        const struct oracle_trial *trial = &judge->oracle->trials[i];
        const struct judge_run *run = judge_trial_run(judge, trial->name, EXHIBIT__MODE__MODE_STRICT, 1);

        for (Exhibit__Role role = EXHIBIT__ROLE__ROLE_PARENT; run != NULL && role < JUDGE_ROLES; role++)
            if (trial->roles[role] && !judge_role_spoke(run, role))
                judge_fail(verdict, "", "%s strict: the %s left no row", run->name, judge_role_text(role));
        if (run != NULL && run->step_count > 0 && !had_more_to_say(run, judge->oracle->grace_ms))
            judge_fail(verdict, "", "%s strict: nothing more was to be said after the ending", run->name);
    }
}

/* Calls check for each attempt of the strict runs of the oracle's trials. */
static void strict_attempts_each(const struct judge *judge, struct judge_verdict *verdict,
                                 void (*check)(const struct judge *judge, const struct judge_run *run,
                                               const struct judge_row *row, size_t effect,
                                               struct judge_verdict *verdict))
{
    for (size_t i = 0; i < judge->oracle->trial_count; i++) {
        const struct judge_run *run =
            judge_trial_run(judge, judge->oracle->trials[i].name, EXHIBIT__MODE__MODE_STRICT, 1);

        for (size_t j = 0; run != NULL && j < run->row_count; j++)
            for (size_t k = 0; k < run->effect_count; k++)
                check(judge, run, &run->rows[j], k, verdict);
    }
}

static void outcome_check(const struct judge *judge, const struct judge_run *run, const struct judge_row *row,
                          size_t effect, struct judge_verdict *verdict)
{
    char evidence[160];

    if (strcmp(judge_outcome(judge, run, row, effect), "undetermined") != 0)
        return;
    (void)snprintf(evidence, sizeof evidence, "run %s strict row %s/%u", run->name, judge_role_text(row->role),
                   row->round);
    judge_fail(verdict, evidence, "%s strict %s/%u %s is undetermined%s", run->name, judge_role_text(row->role),
               row->round, run->effects[effect], row->contested ? " (copies differ)" : "");
}

void judge_rule_outcomes(const struct judge *judge, struct judge_verdict *verdict)
{
    strict_attempts_each(judge, verdict, outcome_check);
}

static void boundary_check(const struct judge *judge, const struct judge_run *run, const struct judge_row *row,
                           size_t effect, struct judge_verdict *verdict)
{
    const char *outcome = judge_outcome(judge, run, row, effect);
    const struct oracle_denial *denial = oracle_denial_of(judge->oracle, run->effects[effect]);
    char evidence[160];

    if (strcmp(outcome, "reached") != 0 &&
        (strcmp(outcome, "diverted") != 0 || (denial != NULL && denial->diverted_allowed)))
        return;
    (void)snprintf(evidence, sizeof evidence, "run %s strict row %s/%u", run->name, judge_role_text(row->role),
                   row->round);
    judge_fail(verdict, evidence, "%s strict %s/%u %s is %s", run->name, judge_role_text(row->role), row->round,
               run->effects[effect], outcome);
}

void judge_rule_attempts(const struct judge *judge, struct judge_verdict *verdict)
{
    strict_attempts_each(judge, verdict, boundary_check);
}

void judge_rule_cleanup(const struct judge *judge, struct judge_verdict *verdict)
{
    for (size_t i = 0; i < judge->run_count; i++) {
        const struct judge_run *run = judge->runs[i];

        if (run->spawned && (!run->all_gone || run->remaining > 0))
            judge_fail(verdict, "", "%s %s: not all processes were gone at its end", run->name,
                       judge_mode_text(run->mode));
    }
    for (size_t i = 0; i < judge->oracle->trial_count; i++)
        for (Exhibit__Mode mode = EXHIBIT__MODE__MODE_BASELINE; mode <= EXHIBIT__MODE__MODE_STRICT; mode++) {
            const struct judge_run *run = judge_trial_run(judge, judge->oracle->trials[i].name, mode, 1);

            for (Exhibit__Role role = EXHIBIT__ROLE__ROLE_PARENT; run != NULL && role < JUDGE_ROLES; role++)
                if (run->bound_cleanup_seq != 0 && judge_role_is_known(run, role) &&
                    run->bound_cleanup_at_ns <
                        judge_ns_sum(run->roles[role].first_at_ns, (run->lifetime_ms + 1000ull) * 1000000u))
                    judge_fail_at(verdict, run->bound_cleanup_seq,
                                  "%s %s: the cleanup came before the %s could end itself", run->name,
                                  judge_mode_text(mode), judge_role_text(role));
        }
}
