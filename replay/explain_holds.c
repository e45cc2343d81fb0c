/*
 * The facts that a rule looks at, in the order of its clause in DECISION 5. The rule itself says what they come to.
 */
#include "replay/explain_holds.h"

#include "replay/archives.h"
#include "replay/words.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The last event of a span, or 0. */
static uint64_t last_seq(struct span span)
{
    return span.count == 0 ? 0 : span.events[span.count - 1]->seq;
}

static struct span of_run(const struct explaining *explaining, Exhibit__Event__WhatCase kind, const struct run *run)
{
    return tables_of_run(&explaining->judged->facts->tables, kind, run->number);
}

static struct span of_kind(const struct explaining *explaining, Exhibit__Event__WhatCase kind)
{
    return tables_of_kind(&explaining->judged->facts->tables, kind);
}

/* Begins a statement about a run. */
static void say_run(struct explaining *explaining, const struct run *run, const char *what)
{
    explain_say(explaining, "%s, %s %" PRIu32 " (run %" PRIu32 "): %s", run->start->name,
                word_of_mode((int)run->start->mode), run->start->repeat, run->number, what);
}

/* Calls for each run of the oracle's trials with one of the modes. */
static void each_trial_run(struct explaining *explaining, bool all_modes,
                           void (*tell)(struct explaining *explaining, const struct trial *trial,
                                        const struct run *run))
{
    for (size_t i = 0; i < explaining->judged->oracle->trial_count; i++) {
        const struct trial *trial = &explaining->judged->trials[i];
        const struct run *runs[] = {trial->strict, trial->baseline, trial->controls[0], trial->controls[1]};

        for (size_t j = 0; j < (all_modes ? sizeof runs / sizeof *runs : 1); j++)
            if (runs[j] != NULL)
                tell(explaining, trial, runs[j]);
    }
}

static void tell_run_ends(struct explaining *explaining, const struct run *run)
{
    struct span steps = of_run(explaining, EXHIBIT__EVENT__WHAT_STEP, run);
    struct span failed = of_run(explaining, EXHIBIT__EVENT__WHAT_SPAWN_FAILED, run);

    say_run(explaining, run, "its start, end and steps");
    explain_event(explaining, "the start of the run", run->event->seq);
    explain_event(explaining, "it could not be started", last_seq(failed));
    explain_event(explaining, "the end of its process", run->exit == NULL ? 0 : run->exit->seq);
    for (size_t i = 0; i < steps.count; i++)
        explain_event(explaining, "a step of its ending", steps.events[i]->seq);
}

static void tell_trial_ends(struct explaining *explaining, const struct trial *trial, const struct run *run)
{
    (void)trial;
    tell_run_ends(explaining, run);
}

static void hold_recording(struct explaining *explaining)
{
    struct span ends = of_kind(explaining, EXHIBIT__EVENT__WHAT_RECORDING_END);

    explain_say(explaining, "the recording's end, and the number of events that it tells; the log has %" PRIu64,
                explaining->judged->facts->tables.event_count);
    explain_event(explaining, "the end of the recording", last_seq(ends));
    for (size_t i = 0; i < explaining->judged->oracle->case_count; i++)
        for (int which = 0; which < CASE_RUNS; which++)
            if (explaining->judged->cases[i].runs[which] != NULL)
                tell_run_ends(explaining, explaining->judged->cases[i].runs[which]);
    each_trial_run(explaining, true, tell_trial_ends);
}

static void hold_pins(struct explaining *explaining)
{
    struct span freezes = of_kind(explaining, EXHIBIT__EVENT__WHAT_FREEZE);

    explain_say(explaining, "pinned files as they were seen");
    explain_event(explaining, "the start of the recording", 1);
    for (size_t i = 0; i < freezes.count; i++) {
        const Exhibit__Freeze *freeze = freezes.events[i]->freeze;
        const Exhibit__Event *after;

        if (freeze->moment != EXHIBIT__FREEZE_MOMENT__FREEZE_BEFORE)
            continue;
        after = freeze_find(explaining->judged->facts, EXHIBIT__FREEZE_MOMENT__FREEZE_AFTER_BASELINE, freeze->input);
        explain_say(explaining, "input %s, before the first run and after the last baseline run", freeze->input);
        explain_event(explaining, "before", freezes.events[i]->seq);
        explain_event(explaining, "after", after == NULL ? 0 : after->seq);
    }
}

static void tell_observers(struct explaining *explaining, const struct trial *trial, const struct run *run)
{
    struct span drops = of_run(explaining, EXHIBIT__EVENT__WHAT_DROPS, run);

    say_run(explaining, run, "the listeners' drop counters");
    for (size_t i = 0; i < drops.count; i++)
        explain_event(explaining, "a drop counter", drops.events[i]->seq);
    for (int role = 1; role < ROLE_ROOM; role++) {
        if (!trial->expected->roles[role])
            continue;
        explain_say(explaining, "%s, %s: the %s as the host saw it", run->start->name,
                    word_of_mode((int)run->start->mode), word_of_role(role));
        explain_role(explaining, run, role);
        explain_event(explaining, "who was alive at the first step",
                      run->first_step == NULL ? 0 : run->first_step->seq);
    }
}

static void hold_observers(struct explaining *explaining)
{
    struct span lost = of_kind(explaining, EXHIBIT__EVENT__WHAT_LOST);

    explain_say(explaining, "the log has %zu events of kind lost", lost.count);
    for (size_t i = 0; i < lost.count; i++)
        explain_event(explaining, "an observer lost events", lost.events[i]->seq);
    each_trial_run(explaining, false, tell_observers);
}

/* One attempt of a role's row in short: the row, what the host saw, and how to ask for more. */
static void tell_short_attempt(struct explaining *explaining, const struct run *run, const struct attempt *attempt,
                               size_t count)
{
    const char *mode = word_of_mode((int)run->start->mode), *role = word_of_role(attempt->row->role);
    const char *effect = word_of_effect((int)attempt->effect);

    explain_say(explaining,
                "%s, %s: %s of %s: %zu attempt%s; the first is %s (more: --explain %s/%s/%s/%" PRIu32 "/%s)",
                run->start->name, mode, effect, role, count, count == 1 ? "" : "s", outcome_word(attempt->outcome),
                run->start->name, mode, role, attempt->row->round, effect);
    explain_line(explaining, run, attempt->row->first);
    explain_event(explaining, "what the host saw of it", attempt->evidence_seq);
    explain_event(explaining, "a trace that no attempt explains", run->derived->unexplained_seq[attempt->effect]);
}

/* The first attempt of each outcome of a role and effect. */
static void tell_attempts(struct explaining *explaining, const struct trial *trial, const struct run *run)
{
    const struct derived *derived = run->derived;

    (void)trial;
    for (size_t i = 0; i < derived->attempt_count; i++) {
        const struct attempt *attempt = &derived->attempts[i];
        size_t count = 1;
        bool first = true;

        if (i >= run->effect_count && attempt->row->role == derived->attempts[i - run->effect_count].row->role)
            first = attempt->outcome != derived->attempts[i - run->effect_count].outcome;
        if (!first)
            continue;
        for (size_t j = i + run->effect_count; j < derived->attempt_count; j += run->effect_count, count++)
            if (derived->attempts[j].row->role != attempt->row->role ||
                derived->attempts[j].outcome != attempt->outcome)
                break;
        tell_short_attempt(explaining, run, attempt, count);
    }
}

static void hold_controls(struct explaining *explaining)
{
    for (size_t i = 0; i < explaining->judged->oracle->trial_count; i++)
        for (int which = 0; which < 2; which++)
            if (explaining->judged->trials[i].controls[which] != NULL)
                tell_attempts(explaining, &explaining->judged->trials[i],
                              explaining->judged->trials[i].controls[which]);
}

static void tell_spoken(struct explaining *explaining, const struct trial *trial, const struct run *run)
{
    for (int role = 1; role < ROLE_ROOM; role++) {
        size_t count = run_row_count(run, role);

        if (!trial->expected->roles[role])
            continue;
        say_run(explaining, run, word_of_role(role));
        for (size_t i = 0; i < run->derived->row_count && count > 0; i++)
            if (run->derived->rows[i].role == role) {
                explain_line(explaining, run, run->derived->rows[i].first);
                count = 0; /* the first row is enough */
            }
    }
}

static void hold_spoke(struct explaining *explaining)
{
    each_trial_run(explaining, false, tell_spoken);
}

static void hold_outcomes(struct explaining *explaining)
{
    each_trial_run(explaining, false, tell_attempts);
}

static void tell_cases(struct explaining *explaining, const int *which, size_t count)
{
    for (size_t i = 0; i < explaining->judged->oracle->case_count; i++)
        for (size_t j = 0; j < count; j++)
            explain_case_run(explaining, &explaining->judged->cases[i], which[j], true);
}

static void hold_baseline(struct explaining *explaining)
{
    tell_cases(explaining, (const int[]){CASE_BASELINE, CASE_BASELINE_AGAIN}, 2);
}

static void hold_contract(struct explaining *explaining)
{
    tell_cases(explaining, (const int[]){CASE_STRICT}, 1);
}

static void hold_cleanup(struct explaining *explaining)
{
    const struct tables *tables = &explaining->judged->facts->tables;

    for (size_t i = 0; i < tables->run_count; i++) {
        const struct run *run = tables->runs[i];

        say_run(explaining, run, "what was left of its processes");
        explain_event(explaining, "the end of its process", run->exit == NULL ? 0 : run->exit->seq);
        explain_event(explaining, "the recorder ended what was left",
                      last_seq(of_run(explaining, EXHIBIT__EVENT__WHAT_CLEANUP, run)));
        explain_event(explaining, "all of them are gone, or so many are left",
                      last_seq(of_run(explaining, EXHIBIT__EVENT__WHAT_ALL_GONE, run)));
    }
}

static void tell_untouched(struct explaining *explaining, const struct run *run)
{
    struct span freezes = of_run(explaining, EXHIBIT__EVENT__WHAT_FREEZE, run);

    explain_say(explaining,
                "%s, strict: %zu accepts, %zu messages, %zu file events; targets and workspace before and after",
                run->start->name, of_run(explaining, EXHIBIT__EVENT__WHAT_ACCEPT, run).count,
                of_run(explaining, EXHIBIT__EVENT__WHAT_MESSAGE, run).count,
                of_run(explaining, EXHIBIT__EVENT__WHAT_FILE_EVENT, run).count);
    for (size_t i = 0; i < freezes.count && i < 2; i++)
        explain_event(explaining, "the run's workspace", freezes.events[i]->seq);
    for (int target = 1; target < TARGET_ROOM && run->derived != NULL && run->exit != NULL; target++) {
        struct span states = explaining->judged->facts->state_of[target];
        size_t before = span_before(states, run->event->seq), after = span_before(states, run->exit->seq + 1);

        if (before > 0)
            explain_event(explaining, "a target before", states.events[before - 1]->seq);
        if (after < states.count)
            explain_event(explaining, "it after", states.events[after]->seq);
    }
}

static void hold_traces(struct explaining *explaining)
{
    const struct tables *tables = &explaining->judged->facts->tables;

    for (size_t i = 0; i < tables->run_count; i++)
        if (tables->runs[i]->start->mode == EXHIBIT__MODE__MODE_STRICT)
            tell_untouched(explaining, tables->runs[i]);
}

static void hold_archives(struct explaining *explaining)
{
    for (size_t i = 0; i < explaining->judged->oracle->case_count; i++) {
        const struct judged_case *judged_case = &explaining->judged->cases[i];

        for (size_t j = 0; j < judged_case->expected->archive_count; j++) {
            const char *pattern = judged_case->expected->archives[j].path;
            size_t count;

            explain_say(explaining, "case %s: what its runs left as %.200s", judged_case->expected->name, pattern);
            for (int which = 0; which < CASE_RUNS; which++) {
                const struct run *run = judged_case->runs[which];
                const Exhibit__Event *only =
                    run == NULL ? NULL : archive_only(explaining->judged->facts, run, pattern, &count);

                explain_event(explaining, run == NULL ? "" : word_of_mode((int)run->start->mode),
                              only == NULL ? 0 : only->seq);
            }
        }
    }
}

static void tell_ended(struct explaining *explaining, const struct trial *trial, const struct run *run)
{
    if (run->last_step == NULL)
        return;
    say_run(explaining, run, "the last step of its ending");
    explain_event(explaining, "the last step", run->last_step->seq);
    for (int role = 1; role < ROLE_ROOM; role++) {
        const struct identity *identity = &run->derived->roles[role];
        bool later = identity->gone_at_ns >= run->last_step->at_ns;
        uint64_t ns =
            later ? identity->gone_at_ns - run->last_step->at_ns : run->last_step->at_ns - identity->gone_at_ns;

        if (!trial->expected->roles[role])
            continue;
        if (identity->gone)
            explain_say(explaining,
                        "%s: %s was gone %" PRIu64 ".%06" PRIu64 " ms %s the last step, %" PRIu32 " are allowed",
                        run->start->name, word_of_role(role), ns / 1000000, ns % 1000000, later ? "after" : "before",
                        explaining->judged->oracle->ended_ms);
        else
            explain_say(explaining, "%s: the end of %s was not seen", run->start->name, word_of_role(role));
        explain_role(explaining, run, role);
    }
}

static void hold_ended(struct explaining *explaining)
{
    each_trial_run(explaining, false, tell_ended);
}

static void tell_quiet(struct explaining *explaining, const struct trial *trial, const struct run *run)
{
    (void)trial;
    if (run->last_step == NULL)
        return;
    say_run(explaining, run, "the last step, and the last line of each role");
    explain_event(explaining, "the last step", run->last_step->seq);
    for (int role = 1; role < ROLE_ROOM; role++) {
        const struct line *last = NULL;

        for (size_t i = 0; i < run->derived->line_count; i++) {
            const struct line *line = &run->derived->lines[i];

            if (line->role == role && (last == NULL || line->seq > last->seq))
                last = line;
        }
        if (last != NULL)
            explain_line(explaining, run, last);
    }
}

static void hold_quiet(struct explaining *explaining)
{
    each_trial_run(explaining, false, tell_quiet);
}

void explain_holds(struct explaining *explaining, const char *rule)
{
    static const struct {
        const char *rule;
        void (*tell)(struct explaining *explaining);
    } tells[] = {
        {"complete.recording", hold_recording}, {"complete.pins", hold_pins},
        {"complete.observers", hold_observers}, {"complete.controls", hold_controls},
        {"complete.spoke", hold_spoke},         {"complete.outcomes", hold_outcomes},
        {"complete.baseline", hold_baseline},   {"complete.cleanup", hold_cleanup},
        {"boundary.attempts", hold_outcomes},   {"boundary.traces", hold_traces},
        {"useful.contract", hold_contract},     {"useful.archives", hold_archives},
        {"cancel.ended", hold_ended},           {"cancel.quiet", hold_quiet},
    };

    _Static_assert(sizeof tells / sizeof *tells == RULE_COUNT, "each rule tells what it is asked about");
    for (size_t i = 0; i < sizeof tells / sizeof *tells; i++)
        if (strcmp(tells[i].rule, rule) == 0) {
            tells[i].tell(explaining);
            return;
        }
    assert(!"a rule that tells nothing");
}
