/*
 * CASE/MODE and CASE/MODE/REPEAT: how a case ended, what each matcher wants and whether it holds, and the last lines of
 * its streams. Each matcher is asked by itself, through the same way as all of them together.
 */
#include "replay/explain_build.h"

#include "base/cleanup.h"
#include "replay/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TAIL_LINES = 10 };

/* A line of the oracle, as it was written, without the space around it. */
static void line_text(const struct oracle *oracle, unsigned number, char *out, size_t room_bytes)
{
    const char *at = oracle->source.data == NULL ? "" : (const char *)oracle->source.data, *end;

    for (unsigned i = 1; i < number && (end = strchr(at, '\n')) != NULL; i++)
        at = end + 1;
    at += strspn(at, " \t");
    (void)snprintf(out, room_bytes, "%.*s", (int)strcspn(at, "\r\n"), at);
}

/* What a matcher wants, in short. */
static void wants_text(const struct oracle *oracle, const struct oracle_matcher *matcher, char *out, size_t room_bytes)
{
    static const char *const counters[] = {"", "tests", "pass", "fail"};
    const char *stream = matcher->on_stderr ? "stderr" : "stdout";
    int shown = matcher->bytes.size_bytes > 200 ? 200 : (int)matcher->bytes.size_bytes;
    const char *bytes = matcher->bytes.data == NULL ? "" : (const char *)matcher->bytes.data;

    switch (matcher->kind) {
    case ORACLE_EXIT:
        (void)snprintf(out, room_bytes, "exit %" PRId64, matcher->number);
        return;
    case ORACLE_SIGNAL:
        (void)snprintf(out, room_bytes, "signal %" PRId64, matcher->number);
        return;
    case ORACLE_EMPTY:
        (void)snprintf(out, room_bytes, "%s is empty", stream);
        return;
    case ORACLE_EQUALS:
        (void)snprintf(out, room_bytes, "%s is these %zu bytes: %.*s", stream, matcher->bytes.size_bytes, shown, bytes);
        return;
    case ORACLE_CONTAINS:
        (void)snprintf(out, room_bytes, "%s contains: %.*s", stream, shown, bytes);
        return;
    case ORACLE_JSON_EQUALS:
        (void)snprintf(out, room_bytes, "%s as JSON has at \"%.200s\": %.*s", stream, matcher->pointer, shown, bytes);
        return;
    case ORACLE_TAP:
        (void)snprintf(out, room_bytes, "%s as TAP has # %s %" PRId64, stream, counters[matcher->counter],
                       matcher->number);
        return;
    default: /* what has no words here has those of the oracle */
        line_text(oracle, matcher->line, out, room_bytes);
        return;
    }
}

/* How the run ended, or what its stream is like; what has no words here is told by the matcher itself. */
static void seen_text(const struct oracle_matcher *matcher, const struct run *run, char *out, size_t room_bytes)
{
    Exhibit__StreamName stream =
        matcher->on_stderr ? EXHIBIT__STREAM_NAME__STREAM_STDERR : EXHIBIT__STREAM_NAME__STREAM_STDOUT;
    const Exhibit__StreamEnd *end = run->ends[stream];
    const Exhibit__RunExit *exit = run->exit == NULL ? NULL : run->exit->run_exit;

    if (matcher->kind > ORACLE_TAP)
        (void)snprintf(out, room_bytes, "this run");
    else if (matcher->kind != ORACLE_EXIT && matcher->kind != ORACLE_SIGNAL)
        (void)snprintf(out, room_bytes, "%s of %" PRIu64 " bytes%s", explain_stream_word(stream),
                       end == NULL || end->content == NULL ? 0 : end->content->size_bytes,
                       end == NULL                                       ? ", whose end was not seen"
                       : end->how == EXHIBIT__STREAM_END__HOW__HOW_LIMIT ? ", of which not all was kept"
                                                                         : "");
    else if (exit != NULL && exit->how_case == EXHIBIT__RUN_EXIT__HOW_EXIT_STATUS)
        (void)snprintf(out, room_bytes, "exit %" PRIu32, exit->exit_status);
    else if (exit != NULL && exit->how_case == EXHIBIT__RUN_EXIT__HOW_TERM_SIGNAL)
        (void)snprintf(out, room_bytes, "signal %" PRIu32, exit->term_signal);
    else
        (void)snprintf(out, room_bytes, "no end");
}

/* Asks one matcher alone, and tells what it wants, whether it holds and what was seen. */
static void tell_matcher(struct explaining *explaining, const struct judged_case *judged_case, const struct run *run,
                         size_t number, bool failing_only)
{
    struct oracle_matcher *matcher = &judged_case->expected->matchers[number];
    struct oracle_case alone = {.name = judged_case->expected->name, .matchers = matcher, .matcher_count = 1};
    char wants[480], seen[160];
    struct match match;

    if (explaining->code < 0)
        return;
    explaining->code = match_case(explaining->judged->facts->source, &alone, run, &match, explaining->err);
    if (explaining->code < 0 || (match.met && failing_only))
        return;
    wants_text(explaining->judged->oracle, matcher, wants, sizeof wants);
    seen_text(matcher, run, seen, sizeof seen);
    explain_say(explaining, "line %u of the oracle %s; expected: %s; seen: %s%s%s", matcher->line,
                match.met ? "holds" : "does not hold", wants, seen, match.met ? "" : "; ", match.met ? "" : match.why);
}

/* Where the last few lines of a text, which is not empty, begin. */
static size_t last_lines(const struct bytes *text)
{
    size_t from = text->size_bytes - 1, lines = 0;

    while (from > 0 && (text->data[from - 1] != '\n' || ++lines < TAIL_LINES))
        from--;
    return from;
}

/* The last lines of a stream, as many as are shown. */
static void tell_tail(struct explaining *explaining, const struct run *run, Exhibit__StreamName stream)
{
    const Exhibit__StreamEnd *end = run->ends[stream];
    uint64_t size_bytes = end == NULL || end->content == NULL ? 0 : end->content->size_bytes;
    size_t tail_bytes = size_bytes < EXPLAIN_TEXT_BYTES ? (size_t)size_bytes : EXPLAIN_TEXT_BYTES;
    AUTO_BYTES struct bytes tail = {0};
    size_t from;

    if (explaining->code < 0)
        return;
    if (size_bytes == 0) {
        explain_say(explaining, "%s: %s", explain_stream_word(stream), end == NULL ? "no end was seen" : "empty");
        return;
    }
    explaining->code = explain_read_stream(explaining->pack, end->content, size_bytes - tail_bytes, tail_bytes, &tail,
                                           explaining->err);
    if (explaining->code < 0)
        return;
    from = tail.size_bytes == 0 ? 0 : last_lines(&tail);
    explain_say(explaining, "%s, %" PRIu64 " bytes%s", explain_stream_word(stream), size_bytes,
                from > 0 || tail_bytes < size_bytes ? "; its end" : "");
    explain_bytes(explaining, explain_stream_word(stream), run, stream, size_bytes - (tail_bytes - from),
                  tail_bytes - from);
}

void explain_case_run(struct explaining *explaining, const struct judged_case *judged_case, int which, bool in_short)
{
    const struct run *run = judged_case->runs[which];
    const struct match *match = &judged_case->matches[which];

    if (run == NULL)
        return;
    explain_say(explaining, "case %s, %s %" PRIu32 ": its contract is %s%s%s", judged_case->expected->name,
                word_of_mode((int)run->start->mode), run->start->repeat, match->met ? "met" : "not met",
                match->met ? "" : ": ", match->met ? "" : match->why);
    explain_event(explaining, "the start of the run", run->event->seq);
    explain_event(explaining, "the end of its process", run->exit == NULL ? 0 : run->exit->seq);
    for (size_t i = 0; i < judged_case->expected->matcher_count; i++)
        tell_matcher(explaining, judged_case, run, i, in_short);
    if (in_short && match->met)
        return;
    tell_tail(explaining, run, EXHIBIT__STREAM_NAME__STREAM_STDOUT);
    tell_tail(explaining, run, EXHIBIT__STREAM_NAME__STREAM_STDERR);
}

/* Whether `name` is CASE/MODE of this run, or CASE/MODE/REPEAT. */
static bool names_run(const char *name, const struct judged_case *judged_case, const struct run *run)
{
    char whole[LIMIT_NAME_BYTES + 32];
    int used = snprintf(whole, sizeof whole, "%s/%s", judged_case->expected->name, word_of_mode((int)run->start->mode));

    if (strcmp(name, whole) == 0)
        return true;
    (void)snprintf(whole + used, sizeof whole - (size_t)used, "/%" PRIu32, run->start->repeat);
    return strcmp(name, whole) == 0;
}

bool explain_case(struct explaining *explaining, const char *name)
{
    bool found = false;

    for (size_t i = 0; i < explaining->judged->oracle->case_count; i++)
        for (int which = 0; which < CASE_RUNS; which++) {
            const struct judged_case *judged_case = &explaining->judged->cases[i];

            if (judged_case->runs[which] == NULL || !names_run(name, judged_case, judged_case->runs[which]))
                continue;
            explain_case_run(explaining, judged_case, which, false);
            found = true;
        }
    return found;
}
