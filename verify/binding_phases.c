/*
 * The phases of a recording (FORMAT 7.7): each follows the one that it has to follow, and what the recorder writes down
 * as it goes from step to step stands in the phase to which it belongs. Asked of whole recordings alone.
 */
#include "verify/binding.h"

#include <inttypes.h>
#include <string.h>

#define IN(phase) (1u << EXHIBIT__PHASE_NAME__PHASE_##phase)
#define PHASE_COUNT 13

/* After which phases each may come; NONE is the time before the first. */
static const unsigned binding_phase_after[PHASE_COUNT] = {
    [EXHIBIT__PHASE_NAME__PHASE_CASES] = IN(NONE) | IN(LAUNCHER),
    [EXHIBIT__PHASE_NAME__PHASE_BASELINE] = IN(CASES) | IN(BASELINE),
    [EXHIBIT__PHASE_NAME__PHASE_LAUNCHER] = IN(CASES) | IN(BASELINE),
    [EXHIBIT__PHASE_NAME__PHASE_CONTROL_BEFORE] = IN(CASES) | IN(DONE),
    [EXHIBIT__PHASE_NAME__PHASE_RESET] = IN(CONTROL_BEFORE),
    [EXHIBIT__PHASE_NAME__PHASE_STATE_BEFORE] = IN(RESET),
    [EXHIBIT__PHASE_NAME__PHASE_STRICT] = IN(STATE_BEFORE),
    [EXHIBIT__PHASE_NAME__PHASE_DRAIN] = IN(STRICT),
    [EXHIBIT__PHASE_NAME__PHASE_STATE_AFTER] = IN(DRAIN),
    [EXHIBIT__PHASE_NAME__PHASE_RESET_AGAIN] = IN(STATE_AFTER),
    [EXHIBIT__PHASE_NAME__PHASE_CONTROL_AFTER] = IN(RESET_AGAIN),
    [EXHIBIT__PHASE_NAME__PHASE_DONE] = IN(CONTROL_AFTER),
};

/* A run that never started has nothing to drain. */
static bool binding_phase_follows(const struct binding_phases *phases, unsigned next, const struct ledger_run *strict)
{
    if (next >= PHASE_COUNT || (next == EXHIBIT__PHASE_NAME__PHASE_LAUNCHER && phases->launched))
        return false;
    if (next == EXHIBIT__PHASE_NAME__PHASE_STATE_AFTER && strict != NULL && strict->spawn_failed != NULL)
        return phases->now == EXHIBIT__PHASE_NAME__PHASE_STRICT;
    return (binding_phase_after[next] & 1u << phases->now) != 0;
}

/* Whether the phase is told as its kind is: of the whole recording, or of a trial whose run is still to come or was. */
static bool binding_phase_fits(struct binding *binding, const struct binding_phases *phases,
                               const Exhibit__Event *event)
{
    Exhibit__PhaseName phase = event->phase->phase;
    bool baseline = phase == EXHIBIT__PHASE_NAME__PHASE_BASELINE;
    const struct ledger_run *run = ledger_find(&binding->ledger, EXHIBIT__RUN_KIND__RUN_TRIAL, event->phase->trial,
                                               baseline ? EXHIBIT__MODE__MODE_BASELINE : EXHIBIT__MODE__MODE_STRICT, 1);

    if (!binding_phase_follows(phases, (unsigned)phase, run) || event->run != 0)
        return false;
    if ((1u << phase & (IN(CASES) | IN(LAUNCHER))) != 0)
        return event->phase->trial[0] == '\0';
    if (phase > EXHIBIT__PHASE_NAME__PHASE_CONTROL_BEFORE && strcmp(event->phase->trial, phases->trial) != 0)
        return false;
    return run == NULL || (phase <= EXHIBIT__PHASE_NAME__PHASE_STRICT) == (event->seq < run->start->seq);
}

/* The phases in which a run's own events stand. */
static unsigned binding_phases_of_run(const struct ledger_run *run, const Exhibit__Event *event)
{
    const Exhibit__RunStart *told = ledger_told(run);

    if (told->kind != EXHIBIT__RUN_KIND__RUN_TRIAL)
        return told->kind == EXHIBIT__RUN_KIND__RUN_CASE ? IN(CASES) : IN(LAUNCHER);
    if (told->mode == EXHIBIT__MODE__MODE_BASELINE)
        return IN(BASELINE);
    if (told->mode == EXHIBIT__MODE__MODE_CONTROL)
        return told->repeat == 1 ? IN(CONTROL_BEFORE) : IN(CONTROL_AFTER);
    if (event->what_case == EXHIBIT__EVENT__WHAT_RUN_START || event->what_case == EXHIBIT__EVENT__WHAT_ALL_GONE ||
        run->spawn_failed != NULL)
        return IN(STRICT);
    return event->what_case == EXHIBIT__EVENT__WHAT_FREEZE &&
                   event->freeze->moment == EXHIBIT__FREEZE_MOMENT__FREEZE_RUN_BEFORE
               ? IN(STRICT)
               : IN(DRAIN);
}

/* The name of a trial, held by the ledger; "" where it has none of that name. */
static const char *binding_phase_trial(const struct ledger *ledger, const char *name)
{
    for (size_t i = 0; i < ledger->run_count; i++)
        if (ledger_is_trial(ledger->runs[i]) && (name == NULL || strcmp(ledger_told(ledger->runs[i])->name, name) == 0))
            return ledger_told(ledger->runs[i])->name;
    return "";
}

/* What comes after all trials comes after the cases where a plan has no trial. */
static unsigned binding_phases_after_trials(const struct ledger *ledger, unsigned last)
{
    return binding_phase_trial(ledger, NULL)[0] == '\0' ? IN(CASES) : last;
}

static unsigned binding_phases_of_freeze(const struct ledger *ledger, Exhibit__FreezeMoment moment)
{
    if (moment == EXHIBIT__FREEZE_MOMENT__FREEZE_BEFORE)
        return IN(NONE);
    return binding_phases_after_trials(ledger, moment == EXHIBIT__FREEZE_MOMENT__FREEZE_AFTER_BASELINE ? IN(BASELINE)
                                                                                                       : IN(DONE));
}

/* The phases in which an event may stand; all of them for what comes when it comes. */
static unsigned binding_phases_of(const struct ledger *ledger, const struct ledger_run *run,
                                  const Exhibit__Event *event)
{
    switch (event->what_case) {
    case EXHIBIT__EVENT__WHAT_TARGETS:
        return IN(NONE) | IN(BASELINE) | IN(CONTROL_BEFORE) | IN(RESET) | IN(RESET_AGAIN);
    case EXHIBIT__EVENT__WHAT_TARGET_STATE:
        return IN(BASELINE) | IN(CONTROL_BEFORE) | IN(STATE_BEFORE) | IN(STATE_AFTER) | IN(CONTROL_AFTER);
    case EXHIBIT__EVENT__WHAT_FREEZE:
        return run != NULL ? binding_phases_of_run(run, event)
                           : binding_phases_of_freeze(ledger, event->freeze->moment);
    case EXHIBIT__EVENT__WHAT_RUN_START:
    case EXHIBIT__EVENT__WHAT_ALL_GONE:
    case EXHIBIT__EVENT__WHAT_ARTIFACT:
        return run != NULL ? binding_phases_of_run(run, event) : ~0u;
    case EXHIBIT__EVENT__WHAT_SCRATCH_EVENT:
        return run != NULL && ledger_told(run)->kind == EXHIBIT__RUN_KIND__RUN_LAUNCHER ? IN(LAUNCHER) : 0;
    case EXHIBIT__EVENT__WHAT_RECORDING_END:
        return binding_phases_after_trials(ledger, IN(DONE));
    default:
        return ~0u;
    }
}

void binding_take_phases(struct binding *binding, struct binding_phases *phases, const Exhibit__Event *event)
{
    const struct ledger_run *run = event->run == 0 ? NULL : ledger_run_numbered(&binding->ledger, event->run);
    const char *trial = phases->trial == NULL ? "" : phases->trial;

    phases->trial = trial;
    if (binding->evidence->partial)
        return;
    if (event->what_case == EXHIBIT__EVENT__WHAT_PHASE) {
        if (!binding_phase_fits(binding, phases, event))
            finding_add(binding->findings,
                        "FORMAT 7.7: event %" PRIu64 ": phase %d of \"%s\" cannot follow phase %u of \"%s\" there",
                        event->seq, (int)event->phase->phase, event->phase->trial, phases->now, trial);
        phases->launched = phases->launched || event->phase->phase == EXHIBIT__PHASE_NAME__PHASE_LAUNCHER;
        phases->now = (unsigned)event->phase->phase < PHASE_COUNT ? (unsigned)event->phase->phase : 0;
        phases->trial = binding_phase_trial(&binding->ledger, event->phase->trial);
        return;
    }
    if ((binding_phases_of(&binding->ledger, run, event) & 1u << phases->now) == 0 ||
        (event->what_case == EXHIBIT__EVENT__WHAT_RUN_START && ledger_is_trial(run) &&
         strcmp(ledger_told(run)->name, trial) != 0))
        finding_add(binding->findings, "FORMAT 7.7: event %" PRIu64 " does not belong into phase %u of \"%s\"",
                    event->seq, phases->now, trial);
}
