/*
 * complete.recording, complete.pins, complete.cleanup: whether the recording is all there.
 */
#include "replay/roles.h"
#include "replay/rules.h"
#include "replay/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NS_PER_MS = 1000000, CLEANUP_MARGIN_MS = 1000 };

/* Whether the run is there and came to an end that was seen. */
static void check_run(const struct judged *judged, const struct run *run, const char *what, struct finding *out)
{
    struct span failed;

    if (run == NULL) {
        finding_tell(out, "%s has no run", what);
        return;
    }
    failed = tables_of_run(&judged->facts->tables, EXHIBIT__EVENT__WHAT_SPAWN_FAILED, run->number);
    if (failed.count > 0) {
        finding_tell(out, "%s could not be started", what);
        finding_event(out, failed.events[0]->seq);
    } else if (run->exit == NULL) {
        finding_tell(out, "the end of %s was not seen", what);
        finding_row(out, run, 0, 0);
    }
}

static void check_cases(const struct judged *judged, struct finding *out)
{
    for (size_t i = 0; i < judged->oracle->case_count; i++) {
        const struct judged_case *judged_case = &judged->cases[i];
        char what[LIMIT_NAME_BYTES + 32];

        (void)snprintf(what, sizeof what, "case %s, baseline", judged_case->expected->name);
        check_run(judged, judged_case->runs[CASE_BASELINE], what, out);
        (void)snprintf(what, sizeof what, "case %s, strict", judged_case->expected->name);
        check_run(judged, judged_case->runs[CASE_STRICT], what, out);
    }
}

static bool plans_effect(const struct run *run, const char *name)
{
    for (size_t i = 0; i < run->effect_count; i++)
        if (strcmp(word_of_effect((int)run->effects[i]), name) == 0)
            return true;
    return false;
}

/* Whether a run of a trial was given what the oracle names. */
static void check_assignment(const struct oracle_trial *expected, const struct run *run, bool with_roles,
                             struct finding *out)
{
    for (int role = 1; run != NULL && with_roles && role < ROLE_ROOM; role++)
        if (expected->roles[role] && !run->listed[role]) {
            finding_tell(out, "trial %s, %s, has no role %s", expected->name, word_of_mode((int)run->start->mode),
                         word_of_role(role));
            finding_event(out, run->event->seq);
        }
    for (size_t i = 0; run != NULL && i < expected->effect_count; i++)
        if (!plans_effect(run, expected->effects[i])) {
            finding_tell(out, "trial %s, %s, has no effect %s", expected->name, word_of_mode((int)run->start->mode),
                         expected->effects[i]);
            finding_event(out, run->event->seq);
        }
}

/* What is to bring a planned step about. */
static Exhibit__Step__Trigger planned_trigger(size_t index, const Exhibit__StepPlan *plan)
{
    if (index > 0)
        return EXHIBIT__STEP__TRIGGER__TRIGGER_TIME;
    return plan->target == EXHIBIT__STEP_TARGET__STEP_PARENT_EXIT ? EXHIBIT__STEP__TRIGGER__TRIGGER_EXIT
                                                                  : EXHIBIT__STEP__TRIGGER__TRIGGER_ROUNDS;
}

/* Whether the ending was done as it was planned. */
static void check_steps(const struct judged *judged, const struct run *run, struct finding *out)
{
    struct span steps;
    const Exhibit__ProbeAssignment *probe;

    if (run == NULL)
        return;
    steps = tables_of_run(&judged->facts->tables, EXHIBIT__EVENT__WHAT_STEP, run->number);
    probe = run->start->probe;
    if (steps.count != probe->n_ending) {
        finding_tell(out, "trial %s, %s: %zu steps, %zu were planned", run->start->name,
                     word_of_mode((int)run->start->mode), steps.count, probe->n_ending);
        finding_row(out, run, 0, 0);
    }
    for (size_t i = 0; i < steps.count && i < probe->n_ending; i++) {
        const Exhibit__Step *step = steps.events[i]->step;
        Exhibit__Step__Trigger trigger = planned_trigger(i, probe->ending[i]);

        if (step->index == i + 1 && step->signal == probe->ending[i]->signal &&
            step->target == probe->ending[i]->target && step->trigger == trigger && step->errno_value == 0)
            continue;
        finding_tell(out, "trial %s, %s: step %zu was not done as planned", run->start->name,
                     word_of_mode((int)run->start->mode), i + 1);
        finding_event(out, steps.events[i]->seq);
    }
}

static void check_trial(const struct judged *judged, const struct trial *trial, struct finding *out)
{
    const struct run *runs[] = {trial->baseline, trial->strict, trial->controls[0], trial->controls[1]};
    static const char *const words[] = {"baseline", "strict", "the control before", "the control after"};

    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        char what[LIMIT_NAME_BYTES + 64];

        (void)snprintf(what, sizeof what, "trial %s, %s", trial->expected->name, words[i]);
        check_run(judged, runs[i], what, out);
        check_assignment(trial->expected, runs[i], i < 3, out);
    }
    check_steps(judged, trial->baseline, out);
    check_steps(judged, trial->strict, out);
}

int rule_recording(const struct judged *judged, struct finding *out, struct err *err)
{
    const struct tables *tables = &judged->facts->tables;

    (void)err;
    if (judged->partial)
        finding_tell(out, "the recording did not come to its end");
    else if (tables->end_count != tables->event_count) {
        finding_tell(out, "the log does not end with an end that counts its events");
        finding_event(out, tables->event_count);
    }
    if (judged->oracle->trial_count == 0)
        finding_tell(out, "the oracle names no trial");
    check_cases(judged, out);
    for (size_t i = 0; i < judged->oracle->trial_count; i++)
        check_trial(judged, &judged->trials[i], out);
    return 0;
}

int rule_pins(const struct judged *judged, struct finding *out, struct err *err)
{
    const Exhibit__RecordingStart *recording = judged->facts->tables.recording;
    struct span span = tables_of_kind(&judged->facts->tables, EXHIBIT__EVENT__WHAT_FREEZE);
    size_t input_count = 0;

    (void)err;
    for (size_t i = 0; i < recording->n_pins; i++) {
        const ProtobufCBinaryData *seen = &recording->pins[i]->seen_sha256;
        const ProtobufCBinaryData *expected = &recording->pins[i]->expected_sha256;

        if (seen->len == expected->len && (seen->len == 0 || memcmp(seen->data, expected->data, seen->len) == 0))
            continue;
        finding_tell(out, "pin %zu had another digest than the plan's", i + 1);
        finding_event(out, 1);
    }
    for (size_t i = 0; i < span.count; i++) {
        const Exhibit__Freeze *freeze = span.events[i]->freeze;
        const Exhibit__Event *after;

        /* A second one of the same input is no input of its own. */
        if (freeze->moment != EXHIBIT__FREEZE_MOMENT__FREEZE_BEFORE ||
            freeze_find(judged->facts, freeze->moment, freeze->input) != span.events[i])
            continue;
        input_count++;
        after = freeze_find(judged->facts, EXHIBIT__FREEZE_MOMENT__FREEZE_AFTER_BASELINE, freeze->input);
        if (after != NULL && freeze_same(span.events[i], after))
            continue;
        finding_tell(out, "input %.64s %s", freeze->input,
                     after == NULL ? "was not frozen after baseline" : "was changed by baseline");
        finding_event(out, after == NULL ? span.events[i]->seq : after->seq);
    }
    if (input_count == 0)
        finding_tell(out, "no input was frozen");
    return 0;
}

/* Whether the safety cleanup of a trial run came before a role's own end could. */
static void check_cleanup_time(const struct judged *judged, const struct run *run, struct finding *out)
{
    struct span cleanups;

    if (run == NULL)
        return;
    cleanups = tables_of_run(&judged->facts->tables, EXHIBIT__EVENT__WHAT_CLEANUP, run->number);
    for (size_t i = 0; i < cleanups.count; i++)
        for (int role = 1; role < ROLE_ROOM; role++) {
            const struct identity *identity = &run->derived->roles[role];
            int64_t wait_ns = ((int64_t)run->start->probe->lifetime_ms + CLEANUP_MARGIN_MS) * NS_PER_MS;

            if (cleanups.events[i]->cleanup->reason != EXHIBIT__CLEANUP__REASON__REASON_BOUND || !identity->found ||
                time_is_after(cleanups.events[i]->at_ns, identity->first_at_ns, wait_ns))
                continue;
            finding_tell(out, "trial %s, %s: the cleanup came before %s could have ended itself", run->start->name,
                         word_of_mode((int)run->start->mode), word_of_role(role));
            finding_event(out, cleanups.events[i]->seq);
        }
}

int rule_cleanup(const struct judged *judged, struct finding *out, struct err *err)
{
    const struct tables *tables = &judged->facts->tables;

    (void)err;
    for (size_t i = 0; i < tables->run_count; i++) {
        const struct run *run = tables->runs[i];
        struct span gone = tables_of_run(tables, EXHIBIT__EVENT__WHAT_ALL_GONE, run->number);
        const Exhibit__Event *last = gone.count == 0 ? NULL : gone.events[gone.count - 1];

        if (tables_of_run(tables, EXHIBIT__EVENT__WHAT_SPAWNED, run->number).count == 0)
            continue;
        if (last != NULL && run->exit != NULL && last->seq > run->exit->seq && last->all_gone->remaining == 0)
            continue;
        finding_tell(out, "%.64s, %s: not every process was seen to be gone", run->start->name,
                     word_of_mode((int)run->start->mode));
        finding_event(out, last == NULL ? run->event->seq : last->seq);
    }
    for (size_t i = 0; i < judged->oracle->trial_count; i++) {
        check_cleanup_time(judged, judged->trials[i].baseline, out);
        check_cleanup_time(judged, judged->trials[i].strict, out);
    }
    return 0;
}
