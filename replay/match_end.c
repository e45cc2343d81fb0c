/*
 * Matchers of how a run ended, and after how long (ORACLE 4.1, 4.2, 4.11).
 */
#include "replay/match_verdict.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

enum { NS_PER_MS = 1000000 };

static void see_end(const Exhibit__Event *event, struct verdict *out)
{
    const Exhibit__RunExit *exit = event->run_exit;
    const char *name = exit->term_signal < NSIG ? sigabbrev_np((int)exit->term_signal) : NULL;

    if (exit->how_case == EXHIBIT__RUN_EXIT__HOW_EXIT_STATUS)
        verdict_fails(out, "exit status %" PRIu32, exit->exit_status);
    else if (exit->how_case == EXHIBIT__RUN_EXIT__HOW_TERM_SIGNAL)
        verdict_fails(out, "signal %" PRIu32 " (%s)", exit->term_signal, name == NULL ? "?" : name);
    else
        verdict_fails(out, "neither exit status nor signal");
    verdict_at_event(out, event->seq);
}

static void match_duration(const struct matching *matching, const struct oracle_matcher *matcher, struct verdict *out)
{
    struct span spawned = tables_of_run(&matching->facts->tables, EXHIBIT__EVENT__WHAT_SPAWNED, matching->run->number);
    const Exhibit__Event *begin = spawned.count == 0 ? NULL : spawned.events[0], *end = matching->run->exit;
    uint64_t ns;

    if (begin == NULL) {
        verdict_unable(out, "it was not seen that its command executes");
        return;
    }
    if (begin->seq > end->seq || begin->at_ns > end->at_ns) {
        verdict_unable(out, "its start, event %" PRIu64 ", is later than its end", begin->seq);
        return;
    }
    ns = end->at_ns - begin->at_ns;
    /* Bounds are at most an hour, or none at all. */
    if (ns >= matcher->at_least * NS_PER_MS && (matcher->at_most == UINT64_MAX || ns <= matcher->at_most * NS_PER_MS))
        return;
    verdict_fails(out, "%" PRIu64 ".%06" PRIu64 " ms", ns / NS_PER_MS, ns % NS_PER_MS);
    verdict_at_event(out, end->seq);
    verdict_at(out, "events %" PRIu64 " and %" PRIu64, begin->seq, end->seq);
}

int match_end(struct matching *matching, const struct oracle_matcher *matcher, struct verdict *out, struct err *err)
{
    const Exhibit__Event *event = matching->run->exit;
    bool holds;

    (void)err;
    if (event == NULL) {
        verdict_unable(out, "its end was not seen");
        return 0;
    }
    if (matcher->kind == ORACLE_DURATION) {
        match_duration(matching, matcher, out);
        return 0;
    }
    if (matcher->kind == ORACLE_EXIT)
        holds = event->run_exit->how_case == EXHIBIT__RUN_EXIT__HOW_EXIT_STATUS &&
                event->run_exit->exit_status == matcher->number;
    else
        holds = event->run_exit->how_case == EXHIBIT__RUN_EXIT__HOW_TERM_SIGNAL &&
                event->run_exit->term_signal == matcher->number;
    if (!holds)
        see_end(event, out);
    return 0;
}
