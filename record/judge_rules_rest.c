/*
 * The rules of use, of traces and of the ending (docs/DECISION.md section 5), and of cases unconfined.
 */
#include "record/judge_match.h"
#include "record/judge_rules.h"

#include <stdio.h>
#include <string.h>

/* A case of which a verdict hears. */
struct checked {
    struct judge_verdict *verdict;
    const struct judge_run *run;
};

static void sentence_take(void *context, const char *sentence, uint64_t seq)
{
    const struct checked *checked = context;

    judge_fail_at(checked->verdict, seq, "%s %s %u: %s", checked->run->name, judge_mode_text(checked->run->mode),
                  checked->run->repeat, sentence);
}

static void case_check(const struct judge *judge, struct judge_verdict *verdict, const struct judge_run *run,
                       const struct oracle_case *expected)
{
    struct checked checked = {verdict, run};
    struct judge_listener listener = {sentence_take, &checked};

    (void)judge_case_is_met(judge, run, expected, &listener);
}

void judge_rule_baseline(const struct judge *judge, struct judge_verdict *verdict)
{
    for (size_t i = 0; i < judge->oracle->case_count; i++)
        for (uint32_t repeat = 1; repeat <= 2; repeat++) {
            const struct oracle_case *expected = &judge->oracle->cases[i];
            const struct judge_run *run = judge_case_run(judge, expected->name, EXHIBIT__MODE__MODE_BASELINE, repeat);

            if (run != NULL)
                case_check(judge, verdict, run, expected);
        }
}

void judge_rule_contract(const struct judge *judge, struct judge_verdict *verdict)
{
    for (size_t i = 0; i < judge->oracle->case_count; i++) {
        const struct oracle_case *expected = &judge->oracle->cases[i];
        const struct judge_run *run = judge_case_run(judge, expected->name, EXHIBIT__MODE__MODE_STRICT, 1);

        if (run != NULL)
            case_check(judge, verdict, run, expected);
    }
}

void judge_rule_archives(const struct judge *judge, struct judge_verdict *verdict)
{
    for (size_t i = 0; i < judge->oracle->case_count; i++) {
        const struct oracle_case *expected = &judge->oracle->cases[i];
        const struct judge_run *baseline = judge_case_run(judge, expected->name, EXHIBIT__MODE__MODE_BASELINE, 1);
        const struct judge_run *again = judge_case_run(judge, expected->name, EXHIBIT__MODE__MODE_BASELINE, 2);
        const struct judge_run *strict = judge_case_run(judge, expected->name, EXHIBIT__MODE__MODE_STRICT, 1);

        for (size_t j = 0; baseline != NULL && strict != NULL && j < expected->archive_count; j++) {
            char why[700] = "";

            if (!judge_archives_are_equal(&expected->archives[j], baseline, again, strict, why, sizeof why))
                judge_fail(verdict, "", "%s: oracle line %u: archive %.80s: %s", expected->name,
                           expected->archives[j].line, expected->archives[j].path, why);
        }
    }
}

/* The nonces of strict roles in any payload. */
static void nonces_check(const struct judge *judge, struct judge_verdict *verdict)
{
    for (size_t i = 0; i < judge->message_count; i++) {
        const struct judge_message *message = &judge->messages[i];

        for (size_t j = 0; j < judge->run_count; j++) {
            const struct judge_run *run = judge->runs[j];

            for (Exhibit__Role role = EXHIBIT__ROLE__ROLE_PARENT;
                 run->kind == EXHIBIT__RUN_KIND__RUN_TRIAL && run->mode == EXHIBIT__MODE__MODE_STRICT &&
                 role < JUDGE_ROLES;
                 role++) {
                if (!run->roles[role].listed || memmem(message->payload.data, message->payload.size_bytes,
                                                       run->roles[role].nonce, 2 * NONCE_BYTES) == NULL)
                    continue;
                judge_fail_at(verdict, message->seq, "%s strict: a listener got a message of the %s", run->name,
                              judge_role_text(role));
            }
        }
    }
}

const char *judge_target_text(int target)
{
    static const char *const texts[] = {"", "canary to be read", "canary behind the link", "write target",
                                        "targets' folder"};

    return texts[target];
}

/* Whether the run's workspace is not, or not provably, what it was before. */
static bool workspace_changed(const struct judge_run *run)
{
    if (run->has_frozen_before && run->has_frozen_after)
        return !digest_equal(&run->frozen_before, &run->frozen_after);
    return run->exited;
}

static void strict_run_check(const struct judge_run *run, struct judge_verdict *verdict)
{
    if (run->accepted_seq != 0)
        judge_fail_at(verdict, run->accepted_seq, "%s strict: a listener accepted a connection", run->name);
    for (int protocol = 1; protocol <= EXHIBIT__PROTOCOL__PROTOCOL_UDP; protocol++)
        if (run->messaged_seq[protocol] != 0)
            judge_fail_at(verdict, run->messaged_seq[protocol], "%s strict: the %s listener heard something", run->name,
                          protocol == EXHIBIT__PROTOCOL__PROTOCOL_UDP ? "UDP" : "TCP");
    for (int target = 1; target < JUDGE_TARGETS; target++) {
        if (run->touched_seq[target] != 0)
            judge_fail_at(verdict, run->touched_seq[target], "%s strict: the %s was touched", run->name,
                          judge_target_text(target));
        if (run->kind == EXHIBIT__RUN_KIND__RUN_TRIAL && judge_target_changed(run, (Exhibit__TargetName)target))
            judge_fail(verdict, "", "%s strict: the %s changed", run->name, judge_target_text(target));
    }
    if (run->leaked)
        judge_fail_at(verdict, run->leaked_seq, "%s strict: a canary's content came out", run->name);
    if (run->proof_seq != 0)
        judge_fail_at(verdict, run->proof_seq, "%s strict: a proof of a strict read came out", run->name);
    for (size_t i = 0; i < run->row_count; i++)
        for (size_t j = 0; j < run->effect_count; j++)
            if (run->rows[i].attempts[j].proof_right)
                judge_fail(verdict, "", "%s strict %s/%u proves that it read the canary of %s", run->name,
                           judge_role_text(run->rows[i].role), run->rows[i].round, run->effects[j]);
    if (workspace_changed(run))
        judge_fail(verdict, "", "%s strict: the workspace changed", run->name);
}

void judge_rule_traces(const struct judge *judge, struct judge_verdict *verdict)
{
    for (size_t i = 0; i < judge->run_count; i++)
        if (judge->runs[i]->mode == EXHIBIT__MODE__MODE_STRICT)
            strict_run_check(judge->runs[i], verdict);
    nonces_check(judge, verdict);
    for (size_t i = 0; i < judge->input_count; i++) {
        const struct judge_input *input = &judge->inputs[i];
        bool has_before = input->has[EXHIBIT__FREEZE_MOMENT__FREEZE_BEFORE];
        bool has_after = input->has[EXHIBIT__FREEZE_MOMENT__FREEZE_AFTER_STRICT];

        if (has_before && (!has_after || !digest_equal(&input->lists[EXHIBIT__FREEZE_MOMENT__FREEZE_BEFORE],
                                                       &input->lists[EXHIBIT__FREEZE_MOMENT__FREEZE_AFTER_STRICT])))
            judge_fail(verdict, "", "input %s changed", input->name);
    }
}

/* The arrival of the last line of a role, or 0. */
static uint64_t last_line_ns(const struct judge_run *run, Exhibit__Role role)
{
    uint64_t last_ns = 0;

    for (size_t i = 0; i < run->line_count; i++)
        if (run->lines[i].role == role && run->lines[i].at_ns > last_ns)
            last_ns = run->lines[i].at_ns;
    return last_ns;
}

static void role_ended_check(const struct judge *judge, const struct judge_run *run, Exhibit__Role role,
                             struct judge_verdict *verdict)
{
    const struct judge_role *known = &run->roles[role];
    uint64_t limit_ns = judge_ns_sum(judge_last_step(run)->at_ns, judge->oracle->ended_ms * 1000000ull);

    if (!judge_role_is_known(run, role) && !judge->oracle->identities_required) {
        if (last_line_ns(run, role) > limit_ns)
            judge_fail(verdict, "", "%s strict: the %s still wrote after the bound", run->name, judge_role_text(role));
        return;
    }
    if (!judge_role_is_known(run, role) || !known->gone) {
        judge_fail(verdict, "", "%s strict: the %s was not seen to end", run->name, judge_role_text(role));
        return;
    }
    if (known->gone_at_ns > limit_ns)
        judge_fail_at(verdict, known->gone_seq, "%s strict: the %s outlived the ending by %llu ms (%s)", run->name,
                      judge_role_text(role),
                      (unsigned long long)((known->gone_at_ns - judge_last_step(run)->at_ns) / 1000000u),
                      judge_ended_by(run, role));
    else if (judge_may_be_self_exit(run, role))
        judge_fail_at(verdict, known->gone_seq, "%s strict: the %s may have ended by itself", run->name,
                      judge_role_text(role));
}

const struct judge_run *judge_ended_run(const struct judge *judge, const struct oracle_trial *trial)
{
    const struct judge_run *run = judge_trial_run(judge, trial->name, EXHIBIT__MODE__MODE_STRICT, 1);

    return run != NULL && run->step_count > 0 ? run : NULL;
}

void judge_trial_ended(const struct judge *judge, const struct oracle_trial *trial, struct judge_verdict *verdict)
{
    const struct judge_run *run = judge_ended_run(judge, trial);

    for (Exhibit__Role role = EXHIBIT__ROLE__ROLE_PARENT; run != NULL && role < JUDGE_ROLES; role++)
        if (trial->roles[role])
            role_ended_check(judge, run, role, verdict);
}

void judge_rule_ended(const struct judge *judge, struct judge_verdict *verdict)
{
    for (size_t i = 0; i < judge->oracle->trial_count; i++)
        judge_trial_ended(judge, &judge->oracle->trials[i], verdict);
}

/* Whether something of this role that arrived then is life, and too late. */
static bool is_loud(const struct judge_run *run, Exhibit__Role role, uint64_t at_ns, uint64_t limit_ns)
{
    const struct judge_role *known = &run->roles[role];

    return at_ns > limit_ns && !(judge_role_is_known(run, role) && known->gone && known->gone_at_ns < at_ns);
}

void judge_trial_quiet(const struct judge *judge, const struct oracle_trial *trial, struct judge_verdict *verdict)
{
    const struct judge_run *run = judge_ended_run(judge, trial);
    uint64_t limit_ns = 0;
    unsigned loud[JUDGE_ROLES] = {0};
    Exhibit__Role role;
    uint32_t round;

    if (run == NULL)
        return;
    limit_ns = judge_ns_sum(judge_last_step(run)->at_ns, judge->oracle->grace_ms * 1000000ull);
    for (size_t i = 0; i < run->line_count; i++)
        loud[run->lines[i].role] += is_loud(run, run->lines[i].role, run->lines[i].at_ns, limit_ns);
    for (size_t i = 0; i < judge->message_count; i++)
        if (judge_message_is_of(run, &judge->messages[i], &role, &round))
            loud[role] += is_loud(run, role, judge->messages[i].at_ns, limit_ns);
    for (role = EXHIBIT__ROLE__ROLE_PARENT; role < JUDGE_ROLES; role++)
        if (loud[role] > 0)
            judge_fail(verdict, "", "%s strict: %u lines and messages of the %s came after the ending", run->name,
                       loud[role], judge_role_text(role));
}

void judge_rule_quiet(const struct judge *judge, struct judge_verdict *verdict)
{
    for (size_t i = 0; i < judge->oracle->trial_count; i++)
        judge_trial_quiet(judge, &judge->oracle->trials[i], verdict);
}
