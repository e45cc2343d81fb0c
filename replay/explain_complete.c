/*
 * The facts that the rules of completeness look at, in the order of their clauses in DECISION 5.
 */
#include "replay/explain_holds.h"

#include "replay/words.h"

#include <inttypes.h>

/* The last event of a span, or 0. */
static uint64_t last_seq(struct span span)
{
    return span.count == 0 ? 0 : span.events[span.count - 1]->seq;
}

struct span explain_of_run(const struct explaining *explaining, Exhibit__Event__WhatCase kind, const struct run *run)
{
    return tables_of_run(&explaining->judged->facts->tables, kind, run->number);
}

struct span explain_of_kind(const struct explaining *explaining, Exhibit__Event__WhatCase kind)
{
    return tables_of_kind(&explaining->judged->facts->tables, kind);
}

void explain_say_run(struct explaining *explaining, const struct run *run, const char *what)
{
    explain_say(explaining, "%s, %s %" PRIu32 " (run %" PRIu32 "): %s", run->start->name,
                word_of_mode((int)run->start->mode), run->start->repeat, run->number, what);
}

void explain_each_trial(struct explaining *explaining, bool all_modes,
                        void (*tell)(struct explaining *explaining, const struct trial *trial, const struct run *run))
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
    struct span steps = explain_of_run(explaining, EXHIBIT__EVENT__WHAT_STEP, run);
    struct span failed = explain_of_run(explaining, EXHIBIT__EVENT__WHAT_SPAWN_FAILED, run);

    explain_say_run(explaining, run, "its start, end and steps");
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

void explain_recording(struct explaining *explaining)
{
    struct span ends = explain_of_kind(explaining, EXHIBIT__EVENT__WHAT_RECORDING_END);

    explain_say(explaining, "the recording's end, and the number of events that it tells; the log has %" PRIu64,
                explaining->judged->facts->tables.event_count);
    explain_event(explaining, "the end of the recording", last_seq(ends));
    for (size_t i = 0; i < explaining->judged->oracle->case_count; i++)
        for (int which = 0; which < CASE_RUNS; which++)
            if (explaining->judged->cases[i].runs[which] != NULL)
                tell_run_ends(explaining, explaining->judged->cases[i].runs[which]);
    explain_each_trial(explaining, true, tell_trial_ends);
}

void explain_sources(struct explaining *explaining, Exhibit__FreezeMoment moment, const char *when)
{
    struct span freezes = explain_of_kind(explaining, EXHIBIT__EVENT__WHAT_FREEZE);

    for (size_t i = 0; i < freezes.count; i++) {
        const Exhibit__Freeze *freeze = freezes.events[i]->freeze;
        const Exhibit__Event *after;

        if (freeze->moment != EXHIBIT__FREEZE_MOMENT__FREEZE_BEFORE)
            continue;
        after = freeze_find(explaining->judged->facts, moment, freeze->input);
        explain_say(explaining, "input %s, before the first run and after the last %s run", freeze->input, when);
        explain_event(explaining, "before", freezes.events[i]->seq);
        explain_event(explaining, "after", after == NULL ? 0 : after->seq);
    }
}

void explain_pins(struct explaining *explaining)
{
    explain_say(explaining, "pinned files as they were seen");
    explain_event(explaining, "the start of the recording", 1);
    explain_sources(explaining, EXHIBIT__FREEZE_MOMENT__FREEZE_AFTER_BASELINE, "baseline");
}

void explain_states(struct explaining *explaining, const struct run *run)
{
    for (int target = 1; target < TARGET_ROOM && run->exit != NULL; target++) {
        struct span states = explaining->judged->facts->state_of[target];
        size_t before = span_before(states, run->event->seq), after = span_before(states, run->exit->seq + 1);

        if (before > 0)
            explain_event(explaining, "a target before", states.events[before - 1]->seq);
        if (after < states.count)
            explain_event(explaining, "it after", states.events[after]->seq);
    }
}

static void tell_observers(struct explaining *explaining, const struct trial *trial, const struct run *run)
{
    struct span drops = explain_of_run(explaining, EXHIBIT__EVENT__WHAT_DROPS, run);
    struct span ends = explain_of_run(explaining, EXHIBIT__EVENT__WHAT_STREAM_END, run);

    explain_say_run(explaining, run, "the listeners' drop counters");
    for (size_t i = 0; i < drops.count; i++)
        explain_event(explaining, "a drop counter", drops.events[i]->seq);
    explain_say_run(explaining, run, "the ends of its streams");
    for (size_t i = 0; i < ends.count; i++)
        explain_event(explaining, "a stream was read to its end", ends.events[i]->seq);
    explain_say_run(explaining, run, "the looks at the targets");
    explain_states(explaining, run);
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

void explain_observers(struct explaining *explaining)
{
    struct span lost = explain_of_kind(explaining, EXHIBIT__EVENT__WHAT_LOST);

    explain_say(explaining, "the log has %zu events of kind lost", lost.count);
    for (size_t i = 0; i < lost.count; i++)
        explain_event(explaining, "an observer lost events", lost.events[i]->seq);
    explain_each_trial(explaining, false, tell_observers);
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

void explain_controls(struct explaining *explaining)
{
    for (size_t i = 0; i < explaining->judged->oracle->trial_count; i++)
        for (int which = 0; which < 2; which++)
            if (explaining->judged->trials[i].controls[which] != NULL)
                tell_attempts(explaining, &explaining->judged->trials[i],
                              explaining->judged->trials[i].controls[which]);
}

static void tell_spoken(struct explaining *explaining, const struct trial *trial, const struct run *run)
{
    explain_say_run(explaining, run, "what it was told to do, and so how long there was more to say");
    explain_event(explaining, "the start of the run", run->event->seq);
    for (int role = 1; role < ROLE_ROOM; role++) {
        size_t count = run_row_count(run, role);

        if (!trial->expected->roles[role])
            continue;
        explain_say_run(explaining, run, word_of_role(role));
        for (size_t i = 0; i < run->derived->row_count && count > 0; i++)
            if (run->derived->rows[i].role == role) {
                explain_line(explaining, run, run->derived->rows[i].first);
                count = 0; /* the first row is enough */
            }
    }
}

void explain_spoke(struct explaining *explaining)
{
    explain_each_trial(explaining, false, tell_spoken);
}

void explain_outcomes(struct explaining *explaining)
{
    explain_each_trial(explaining, false, tell_attempts);
}

void explain_cases(struct explaining *explaining, const int *which, size_t count)
{
    for (size_t i = 0; i < explaining->judged->oracle->case_count; i++)
        for (size_t j = 0; j < count; j++)
            explain_case_run(explaining, &explaining->judged->cases[i], which[j], true);
}

void explain_baseline(struct explaining *explaining)
{
    explain_cases(explaining, (const int[]){CASE_BASELINE, CASE_BASELINE_AGAIN}, 2);
}

void explain_cleanup(struct explaining *explaining)
{
    const struct tables *tables = &explaining->judged->facts->tables;

    for (size_t i = 0; i < tables->run_count; i++) {
        const struct run *run = tables->runs[i];

        explain_say_run(explaining, run, "what was left of its processes");
        explain_event(explaining, "the end of its process", run->exit == NULL ? 0 : run->exit->seq);
        explain_event(explaining, "the recorder ended what was left",
                      last_seq(explain_of_run(explaining, EXHIBIT__EVENT__WHAT_CLEANUP, run)));
        explain_event(explaining, "all of them are gone, or so many are left",
                      last_seq(explain_of_run(explaining, EXHIBIT__EVENT__WHAT_ALL_GONE, run)));
    }
}
