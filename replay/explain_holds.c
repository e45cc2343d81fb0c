/*
 * The facts that all other rules look at, and which rule has which. The rules themselves say what they come to.
 */
#include "replay/explain_holds.h"

#include "replay/archives.h"
#include "replay/words.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

static void tell_untouched(struct explaining *explaining, const struct run *run)
{
    struct span freezes = explain_of_run(explaining, EXHIBIT__EVENT__WHAT_FREEZE, run);

    explain_say(explaining,
                "%s, strict: %zu accepts, %zu messages, %zu file events; targets and workspace before and after",
                run->start->name, explain_of_run(explaining, EXHIBIT__EVENT__WHAT_ACCEPT, run).count,
                explain_of_run(explaining, EXHIBIT__EVENT__WHAT_MESSAGE, run).count,
                explain_of_run(explaining, EXHIBIT__EVENT__WHAT_FILE_EVENT, run).count);
    for (size_t i = 0; i < freezes.count && i < 2; i++)
        explain_event(explaining, "the run's workspace", freezes.events[i]->seq);
    if (run->derived != NULL)
        explain_states(explaining, run);
}

static void explain_traces(struct explaining *explaining)
{
    const struct tables *tables = &explaining->judged->facts->tables;

    for (size_t i = 0; i < tables->run_count; i++)
        if (tables->runs[i]->start->mode == EXHIBIT__MODE__MODE_STRICT)
            tell_untouched(explaining, tables->runs[i]);
    explain_sources(explaining, EXHIBIT__FREEZE_MOMENT__FREEZE_AFTER_STRICT, "strict");
}

static void explain_contract(struct explaining *explaining)
{
    explain_cases(explaining, (const int[]){CASE_STRICT}, 1);
}

static void explain_archives(struct explaining *explaining)
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
    explain_say_run(explaining, run, "the last step of its ending");
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

static void explain_ended(struct explaining *explaining)
{
    explain_each_trial(explaining, false, tell_ended);
}

static void tell_quiet(struct explaining *explaining, const struct trial *trial, const struct run *run)
{
    (void)trial;
    if (run->last_step == NULL)
        return;
    explain_say_run(explaining, run, "the last step, and the last line of each role");
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

static void explain_quiet(struct explaining *explaining)
{
    explain_each_trial(explaining, false, tell_quiet);
}

void explain_holds(struct explaining *explaining, const char *rule)
{
    static const struct {
        const char *rule;
        void (*tell)(struct explaining *explaining);
    } tells[] = {
        {"complete.recording", explain_recording}, {"complete.pins", explain_pins},
        {"complete.observers", explain_observers}, {"complete.controls", explain_controls},
        {"complete.spoke", explain_spoke},         {"complete.outcomes", explain_outcomes},
        {"complete.baseline", explain_baseline},   {"complete.cleanup", explain_cleanup},
        {"boundary.attempts", explain_outcomes},   {"boundary.traces", explain_traces},
        {"useful.contract", explain_contract},     {"useful.archives", explain_archives},
        {"cancel.ended", explain_ended},           {"cancel.quiet", explain_quiet},
    };

    _Static_assert(sizeof tells / sizeof *tells == RULE_COUNT, "each rule tells what it is asked about");
    for (size_t i = 0; i < sizeof tells / sizeof *tells; i++)
        if (strcmp(tells[i].rule, rule) == 0) {
            tells[i].tell(explaining);
            return;
        }
    assert(!"a rule that tells nothing");
}
