/*
 * The matchers of a case one after another: how and when the run ended, what it showed, what it left
 * (docs/DECISION.md section 6, docs/ORACLE.md section 4). Knows no rule.
 */
#include "record/judge_match.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_MS 1000000ull

void judge_finding_differs(struct judge_finding *out, const char *fmt, ...)
{
    va_list args;

    out->holds = false;
    va_start(args, fmt);
    (void)vsnprintf(out->text, sizeof out->text, fmt, args);
    va_end(args);
}

void judge_finding_cannot(struct judge_finding *out, const char *fmt, ...)
{
    int used = snprintf(out->text, sizeof out->text, "cannot be evaluated: ");
    va_list args;

    out->holds = false;
    va_start(args, fmt);
    (void)vsnprintf(out->text + used, sizeof out->text - (size_t)used, fmt, args);
    va_end(args);
}

struct judge_quote judge_quote_of(const void *from, size_t size_bytes)
{
    enum { QUOTED_BYTES = 48 };
    const char *text = from;
    size_t used = size_bytes < QUOTED_BYTES ? size_bytes : QUOTED_BYTES;
    struct judge_quote quote = {"\""};

    for (size_t i = 0; i < used; i++)
        quote.text[i + 1] = (char)(text[i] < ' ' || text[i] > '~' ? '?' : text[i]);
    (void)snprintf(quote.text + used + 1, sizeof quote.text - used - 1, used < size_bytes ? "...\"" : "\"");
    return quote;
}

/* ---- how and when it ended ---- */

static void end_match(const struct judge_run *run, const struct oracle_matcher *matcher, struct judge_finding *out)
{
    bool by_signal = run->exit_how == EXHIBIT__RUN_EXIT__HOW_TERM_SIGNAL;
    bool by_status = run->exit_how == EXHIBIT__RUN_EXIT__HOW_EXIT_STATUS;

    if (!by_signal && !by_status) {
        judge_finding_cannot(out, "how it ended was not seen");
        return;
    }
    out->holds = by_signal == (matcher->kind == ORACLE_SIGNAL) && (int64_t)run->exit_value == matcher->number;
    if (!out->holds)
        judge_finding_differs(out, "expected %s %lld, seen %s %u, at its end",
                              matcher->kind == ORACLE_SIGNAL ? "signal" : "exit", (long long)matcher->number,
                              by_signal ? "signal" : "exit", run->exit_value);
}

static void duration_match(const struct judge_run *run, const struct oracle_matcher *matcher, struct judge_finding *out)
{
    uint64_t took_ns;

    if (run->spawned_seq == 0 || run->spawned_seq > run->exit_seq || run->spawned_at_ns > run->exit_at_ns) {
        judge_finding_cannot(out, "its start was not seen, or after its end");
        return;
    }
    took_ns = run->exit_at_ns - run->spawned_at_ns;
    out->holds = took_ns >= matcher->at_least * NS_PER_MS &&
                 (matcher->at_most == UINT64_MAX || took_ns <= matcher->at_most * NS_PER_MS);
    if (!out->holds && took_ns < matcher->at_least * NS_PER_MS)
        judge_finding_differs(out, "expected at least %llu ms, seen %llu ns, at events %llu to %llu",
                              (unsigned long long)matcher->at_least, (unsigned long long)took_ns,
                              (unsigned long long)run->spawned_seq, (unsigned long long)run->exit_seq);
    else if (!out->holds)
        judge_finding_differs(out, "expected at most %llu ms, seen %llu ns, at events %llu to %llu",
                              (unsigned long long)matcher->at_most, (unsigned long long)took_ns,
                              (unsigned long long)run->spawned_seq, (unsigned long long)run->exit_seq);
}

/* ---- the case ---- */

/* What DECISION 6.5 calls a matcher, behind the stream's name where it is one on a stream. */
static const char *matcher_word(const struct oracle_matcher *matcher)
{
    static const char *const words[] = {
        [ORACLE_EXIT] = "exit",
        [ORACLE_SIGNAL] = "signal",
        [ORACLE_EMPTY] = "empty",
        [ORACLE_EQUALS] = "equals",
        [ORACLE_CONTAINS] = "contains",
        [ORACLE_JSON_EQUALS] = "json",
        [ORACLE_TAP] = "tap",
        [ORACLE_MATCHES] = "matches",
        [ORACLE_SHA256] = "sha256",
        [ORACLE_LINES] = "lines",
        [ORACLE_JSON_TYPE] = "json",
        [ORACLE_JSON_ABSENT] = "json",
        [ORACLE_DURATION] = "duration_ms",
        [ORACLE_FILE_EXISTS] = "files exists",
        [ORACLE_FILE_ABSENT] = "files absent",
        [ORACLE_FILE_SHA256] = "files sha256",
    };

    return words[matcher->kind];
}

/* Matches, and says on which stream where it is on one: else "". */
static const char *matcher_apply(const struct judge *judge, const struct judge_run *run,
                                 const struct oracle_matcher *matcher, struct judge_shown shown[2],
                                 struct judge_finding *out)
{
    struct judge_shown *on = &shown[matcher->on_stderr];

    *out = (struct judge_finding){.holds = false};
    switch (matcher->kind) {
    case ORACLE_EXIT:
    case ORACLE_SIGNAL:
        end_match(run, matcher, out);
        return "";
    case ORACLE_DURATION:
        duration_match(run, matcher, out);
        return "";
    case ORACLE_FILE_EXISTS:
    case ORACLE_FILE_ABSENT:
    case ORACLE_FILE_SHA256:
        judge_files_match(judge, run, matcher, out);
        return "";
    case ORACLE_JSON_EQUALS:
    case ORACLE_JSON_TYPE:
    case ORACLE_JSON_ABSENT:
        judge_json_match(on, matcher, out);
        return on->name;
    default:
        judge_stream_match(on, matcher, out);
        return on->name;
    }
}

static struct judge_shown shown_of(const struct judge_run *run, Exhibit__StreamName stream, const char *name)
{
    return (struct judge_shown){.name = name,
                                .whole = run->stream_ended[stream] && !run->stream_cut[stream],
                                .size_bytes = run->size_bytes[stream],
                                .kept = run->kept[stream],
                                .digest = run->stream_digest[stream]};
}

static void listener_tell(const struct judge_listener *listener, const char *sentence, uint64_t seq)
{
    if (listener != NULL)
        listener->take(listener->context, sentence, seq);
}

bool judge_case_is_met(const struct judge *judge, const struct judge_run *run, const struct oracle_case *expected,
                       const struct judge_listener *listener)
{
    struct judge_shown shown[2] = {shown_of(run, EXHIBIT__STREAM_NAME__STREAM_STDOUT, "stdout"),
                                   shown_of(run, EXHIBIT__STREAM_NAME__STREAM_STDERR, "stderr")};
    bool met = run->exited && !run->watchdog;

    if (!run->exited)
        listener_tell(listener, run->spawn_failed ? "it could not be executed" : "its end was not seen",
                      run->start_seq);
    if (run->watchdog)
        listener_tell(listener, "it overran and was ended by the watchdog", run->exit_seq);
    for (size_t i = 0; run->exited && i < expected->matcher_count; i++) {
        const struct oracle_matcher *matcher = &expected->matchers[i];
        struct judge_finding finding;
        const char *stream = matcher_apply(judge, run, matcher, shown, &finding);
        char sentence[sizeof finding.text + 64];

        if (finding.holds)
            continue;
        met = false;
        (void)snprintf(sentence, sizeof sentence, "oracle line %u: %s%s%s: %s", matcher->line, stream,
                       stream[0] == 0 ? "" : " ", matcher_word(matcher), finding.text);
        listener_tell(listener, sentence, run->exit_seq);
    }
    json_decref(shown[0].json);
    json_decref(shown[1].json);
    return met;
}
