/*
 * Was enough recorded for any decision: recording, pins, observers, speech, cleanup (DECISION 5, complete.*).
 */
#include "verify/proof.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A run that the oracle needs exists and came to an observed end. */
static const struct proof_run *proof_need_run(struct proof *proof, Exhibit__RunKind kind, const char *name,
                                              Exhibit__Mode mode, uint32_t repeat)
{
    const struct proof_run *run = proof_find(proof, kind, name, mode, repeat);
    struct proof_text where;

    if (run == NULL) {
        proof_refute(proof, "", "there is no run %.64s/%s %" PRIu32, name, ledger_mode_text(mode), repeat);
        return NULL;
    }
    where = proof_run_text(run);
    if (run->run->spawn_failed != NULL)
        proof_refute(proof, proof_event_text(run->run->spawn_failed).text, "run %s could not be started", where.text);
    if (run->run->exit == NULL)
        proof_refute(proof, proof_event_text(run->run->start).text, "run %s has no observed end", where.text);
    return run;
}

static void proof_need_assignment(struct proof *proof, const struct oracle_trial *trial, const struct proof_run *run,
                                  bool roles_too)
{
    const Exhibit__ProbeAssignment *probe = proof_assignment(run);
    struct proof_text where = proof_run_text(run);

    for (int role = 1; roles_too && role < LEDGER_ROLES; role++)
        if (trial->roles[role] && run->spoken->rounds[role] == 0)
            proof_refute(proof, proof_event_text(run->run->start).text, "run %s has no role %s", where.text,
                         ledger_role_text((Exhibit__Role)role));
    for (size_t i = 0; i < trial->effect_count; i++) {
        bool found = false;

        for (size_t at = 0; at < probe->n_effects; at++)
            found = found || strcmp(probe->effects[at], trial->effects[i]) == 0;
        if (!found)
            proof_refute(proof, proof_event_text(run->run->start).text, "run %s has no effect %s", where.text,
                         trial->effects[i]);
    }
}

static bool proof_step_is_planned(const Exhibit__Step *step, size_t index, const Exhibit__StepPlan *plan)
{
    Exhibit__Step__Trigger trigger = EXHIBIT__STEP__TRIGGER__TRIGGER_TIME;

    if (index == 0)
        trigger = plan->target == EXHIBIT__STEP_TARGET__STEP_PARENT_EXIT ? EXHIBIT__STEP__TRIGGER__TRIGGER_EXIT
                                                                         : EXHIBIT__STEP__TRIGGER__TRIGGER_ROUNDS;
    return step->index == index + 1 && step->signal == plan->signal && step->target == plan->target &&
           step->trigger == trigger && step->errno_value == 0;
}

static void proof_need_ending(struct proof *proof, const struct proof_run *run)
{
    const Exhibit__ProbeAssignment *probe = proof_assignment(run);
    const Exhibit__Event *step;
    size_t position = 0, count = 0;

    while ((step = ledger_next(run->run, EXHIBIT__EVENT__WHAT_STEP, &position)) != NULL) {
        if (count >= probe->n_ending || !proof_step_is_planned(step->step, count, probe->ending[count]))
            proof_refute(proof, proof_event_text(step).text, "step %zu of run %s is not as planned", count + 1,
                         proof_run_text(run).text);
        count++;
    }
    if (count < probe->n_ending)
        proof_refute(proof, proof_event_text(run->run->start).text, "run %s has %zu of %zu planned steps",
                     proof_run_text(run).text, count, probe->n_ending);
}

static void proof_need_trial(struct proof *proof, const struct oracle_trial *trial)
{
    static const struct {
        Exhibit__Mode mode;
        uint32_t repeat;
    } wanted[] = {{EXHIBIT__MODE__MODE_BASELINE, 1},
                  {EXHIBIT__MODE__MODE_STRICT, 1},
                  {EXHIBIT__MODE__MODE_CONTROL, 1},
                  {EXHIBIT__MODE__MODE_CONTROL, 2}};

    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        const struct proof_run *run =
            proof_need_run(proof, EXHIBIT__RUN_KIND__RUN_TRIAL, trial->name, wanted[i].mode, wanted[i].repeat);

        if (run == NULL)
            continue;
        proof_need_assignment(proof, trial, run, wanted[i].repeat == 1);
        if (wanted[i].mode != EXHIBIT__MODE__MODE_CONTROL)
            proof_need_ending(proof, run);
    }
}

void proof_rule_recording(struct proof *proof)
{
    const struct oracle *oracle = proof->oracle;

    if (proof->evidence->partial)
        proof_refute(proof, "", "the receipt says that it is partial");
    if (!proof->ledger.ended)
        proof_refute(proof, "", "the last of %" PRIu64 " events is not the end of the recording",
                     proof->ledger.event_count);
    for (size_t i = 0; i < oracle->case_count; i++) {
        (void)proof_need_run(proof, EXHIBIT__RUN_KIND__RUN_CASE, oracle->cases[i].name, EXHIBIT__MODE__MODE_BASELINE,
                             1);
        (void)proof_need_run(proof, EXHIBIT__RUN_KIND__RUN_CASE, oracle->cases[i].name, EXHIBIT__MODE__MODE_STRICT, 1);
    }
    for (size_t i = 0; i < oracle->trial_count; i++)
        proof_need_trial(proof, &oracle->trials[i]);
    if (oracle->trial_count == 0)
        proof_refute(proof, "", "the oracle names no trial");
}

/* The first freeze of an input at a moment, or NULL. */
static const Exhibit__Event *proof_freeze_of(const struct proof *proof, Exhibit__FreezeMoment moment, const char *input)
{
    const struct ledger_list *list = &proof->ledger.by_kind[EXHIBIT__EVENT__WHAT_FREEZE];

    for (size_t i = 0; i < list->count; i++)
        if (list->items[i]->freeze->moment == moment && strcmp(list->items[i]->freeze->input, input) == 0)
            return list->items[i];
    return NULL;
}

/* Every input is after the runs of a mode what it was before. */
static void proof_compare_freezes(struct proof *proof, Exhibit__FreezeMoment moment, const char *when)
{
    const struct ledger_list *list = &proof->ledger.by_kind[EXHIBIT__EVENT__WHAT_FREEZE];

    for (size_t i = 0; i < list->count; i++) {
        const Exhibit__Freeze *before = list->items[i]->freeze;
        const Exhibit__Event *after;

        if (before->moment != EXHIBIT__FREEZE_MOMENT__FREEZE_BEFORE ||
            proof_freeze_of(proof, before->moment, before->input) != list->items[i])
            continue; /* of two freezes of one moment the first counts */
        after = proof_freeze_of(proof, moment, before->input);
        if (after == NULL)
            proof_refute(proof, proof_event_text(list->items[i]).text, "input %.64s was not frozen after %s",
                         before->input, when);
        else if (!evidence_same(&before->list_sha256, &after->freeze->list_sha256))
            proof_refute(proof, proof_event_text(after).text, "input %.64s is another after %s", before->input, when);
    }
}

void proof_rule_pins(struct proof *proof)
{
    const Exhibit__RecordingStart *start = proof->ledger.recording_start->recording_start;
    const struct ledger_list *list = &proof->ledger.by_kind[EXHIBIT__EVENT__WHAT_FREEZE];
    bool frozen = false;

    for (size_t i = 0; i < start->n_pins; i++)
        if (!evidence_same(&start->pins[i]->expected_sha256, &start->pins[i]->seen_sha256))
            proof_refute(proof, "event 1", "pin %zu was seen with another digest", i + 1);
    for (size_t i = 0; i < list->count; i++)
        frozen = frozen || list->items[i]->freeze->moment == EXHIBIT__FREEZE_MOMENT__FREEZE_BEFORE;
    if (!frozen)
        proof_refute(proof, "", "no input is frozen");
    proof_compare_freezes(proof, EXHIBIT__FREEZE_MOMENT__FREEZE_AFTER_BASELINE, "the baseline");
}

/* boundary.traces needs the same of the strict runs, and more of each run's own copy. */
void proof_refute_thaw(struct proof *proof)
{
    proof_compare_freezes(proof, EXHIBIT__FREEZE_MOMENT__FREEZE_AFTER_STRICT, "the strict runs");
    for (size_t i = 0; i < proof->ledger.run_count; i++) {
        const struct proof_run *run = &proof->runs[i];
        const Exhibit__Event *event, *before = NULL, *after = NULL;
        size_t position = 0;

        if (!proof_is_strict(run))
            continue;
        while ((event = ledger_next(run->run, EXHIBIT__EVENT__WHAT_FREEZE, &position)) != NULL) {
            if (before == NULL && event->freeze->moment == EXHIBIT__FREEZE_MOMENT__FREEZE_RUN_BEFORE)
                before = event;
            if (after == NULL && event->freeze->moment == EXHIBIT__FREEZE_MOMENT__FREEZE_RUN_AFTER)
                after = event;
        }
        if (before != NULL && after != NULL &&
            !evidence_same(&before->freeze->list_sha256, &after->freeze->list_sha256))
            proof_refute(proof, proof_event_text(after).text, "run %s left its workspace changed",
                         proof_run_text(run).text);
        if (run->run->exit != NULL && (before == NULL || after == NULL))
            proof_refute(proof, proof_event_text(run->run->start).text, "run %s lacks a freeze of its workspace",
                         proof_run_text(run).text);
    }
}

/* DECISION 5.4: the plan alone tells whether anything was still to be heard. */
static bool proof_more_was_due(const struct proof *proof, const struct proof_run *run)
{
    const Exhibit__ProbeAssignment *probe = proof_assignment(run);
    uint64_t interval_ms = probe->interval_ms, heard_ms = proof->oracle->grace_ms, last_ms = 0;

    if (probe->n_ending > 0) {
        const Exhibit__StepPlan *first = probe->ending[0];

        heard_ms += interval_ms * (first->after_rounds == 0 ? 0 : first->after_rounds - 1);
        heard_ms += first->target == EXHIBIT__STEP_TARGET__STEP_PARENT_EXIT ? 1000 : 0;
    }
    for (size_t i = 0; i < probe->n_ending; i++)
        heard_ms += probe->ending[i]->after_ms;
    for (size_t i = 0; i < probe->n_roles; i++)
        if (probe->roles[i]->role == EXHIBIT__ROLE__ROLE_GRANDCHILD)
            last_ms = interval_ms * (probe->roles[i]->rounds - 1);
    return last_ms > heard_ms && probe->lifetime_ms > heard_ms;
}

void proof_rule_spoke(struct proof *proof)
{
    for (size_t t = 0; t < proof->oracle->trial_count; t++) {
        const struct oracle_trial *trial = &proof->oracle->trials[t];
        const struct proof_run *run = proof_strict(proof, trial);

        for (int role = 1; run != NULL && role < LEDGER_ROLES; role++)
            if (trial->roles[role] && run->spoken->role_rows[role] == 0)
                proof_refute(proof, proof_event_text(run->run->start).text, "%s of run %s left no row",
                             ledger_role_text((Exhibit__Role)role), proof_run_text(run).text);
        if (run != NULL && run->first_step != NULL && !proof_more_was_due(proof, run))
            proof_refute(proof, proof_event_text(run->run->start).text,
                         "run %s had nothing more to say after its ending", proof_run_text(run).text);
    }
}

/* No safety cleanup came before each role could have ended itself, and 1 s. */
static void proof_refute_hasty_cleanup(struct proof *proof, const struct proof_run *run)
{
    uint64_t wait_ms = (uint64_t)proof_assignment(run)->lifetime_ms + 1000;
    const Exhibit__Event *cleanup;
    size_t position = 0;

    while ((cleanup = ledger_next(run->run, EXHIBIT__EVENT__WHAT_CLEANUP, &position)) != NULL) {
        for (int role = 1; role < LEDGER_ROLES; role++) {
            const Exhibit__Event *first = run->roles[role].identity;

            if (cleanup->cleanup->reason == EXHIBIT__CLEANUP__REASON__REASON_BOUND && first != NULL &&
                cleanup->at_ns < proof_later(first->at_ns, wait_ms))
                proof_refute(proof, proof_event_text(cleanup).text, "the cleanup of run %s came too early for %s",
                             proof_run_text(run).text, ledger_role_text((Exhibit__Role)role));
        }
    }
}

static void proof_need_all_gone(struct proof *proof, const struct proof_run *run)
{
    const Exhibit__Event *event, *last = NULL;
    bool after_exit = false;
    size_t position = 0;

    while ((event = ledger_next(run->run, EXHIBIT__EVENT__WHAT_ALL_GONE, &position)) != NULL) {
        after_exit = after_exit || (run->run->exit != NULL && event->seq > run->run->exit->seq);
        last = event;
    }
    if (!after_exit)
        proof_refute(proof, proof_event_text(run->run->start).text, "run %s was not looked over after its end",
                     proof_run_text(run).text);
    else if (last->all_gone->remaining != 0)
        proof_refute(proof, proof_event_text(last).text, "run %s left %" PRIu32 " processes", proof_run_text(run).text,
                     last->all_gone->remaining);
}

void proof_rule_cleanup(struct proof *proof)
{
    for (size_t i = 0; i < proof->ledger.run_count; i++)
        if (proof->runs[i].run->spawned != NULL)
            proof_need_all_gone(proof, &proof->runs[i]);
    for (size_t t = 0; t < proof->oracle->trial_count; t++) {
        static const Exhibit__Mode modes[] = {EXHIBIT__MODE__MODE_BASELINE, EXHIBIT__MODE__MODE_STRICT};

        for (size_t m = 0; m < 2; m++) {
            const struct proof_run *run =
                proof_find(proof, EXHIBIT__RUN_KIND__RUN_TRIAL, proof->oracle->trials[t].name, modes[m], 1);

            if (run != NULL)
                proof_refute_hasty_cleanup(proof, run);
        }
    }
}
