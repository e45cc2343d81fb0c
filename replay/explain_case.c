/*
 * CASE/MODE and CASE/MODE/REPEAT: how a case ended, what each matcher wants and whether it holds, and the last lines of
 * its streams. Evaluates nothing: what a matcher came to is known.
 */
#include "replay/explain_build.h"

#include "base/cleanup.h"
#include "replay/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TAIL_LINES = 10 };

/* What a matcher wants of what, in short, as `stdout json: "allow" at /result/action`. */
static void wants_text(const struct oracle_matcher *matcher, char *out, size_t room_bytes)
{
    char name[32], wants[240];

    match_name(matcher, name, sizeof name);
    match_wants(matcher, wants, sizeof wants);
    (void)snprintf(out, room_bytes, "%s: %s%s%.160s", name, wants, matcher->pointer == NULL ? "" : " at ",
                   matcher->pointer == NULL      ? ""
                   : matcher->pointer[0] == '\0' ? "its whole"
                                                 : matcher->pointer);
}

/* What the run showed a matcher that holds: what it wants is not told again. */
static void seen_text(const struct oracle_matcher *matcher, const struct run *run, char *out, size_t room_bytes)
{
    Exhibit__StreamName stream =
        matcher->on_stderr ? EXHIBIT__STREAM_NAME__STREAM_STDERR : EXHIBIT__STREAM_NAME__STREAM_STDOUT;
    const Exhibit__StreamEnd *end = run->ends[stream];

    if (matcher->path != NULL || matcher->kind == ORACLE_EXIT || matcher->kind == ORACLE_SIGNAL ||
        matcher->kind == ORACLE_DURATION || end == NULL)
        out[0] = 0;
    else
        (void)snprintf(out, room_bytes, "; seen: %s of %" PRIu64 " bytes", explain_stream_word(stream),
                       end->content == NULL ? 0 : end->content->size_bytes);
}

/* Tells what a matcher wants, whether it holds, and where not, what was seen and where. */
static void tell_matcher(struct explaining *explaining, const struct match *match, const struct run *run,
                         const struct oracle_matcher *matcher, bool failing_only)
{
    const struct mismatch *mismatch = match->first;
    char wants[480], seen[80];

    while (mismatch != NULL && mismatch->matcher != matcher)
        mismatch = mismatch->next;
    if (mismatch == NULL && failing_only)
        return;
    if (mismatch == NULL) {
        wants_text(matcher, wants, sizeof wants);
        seen_text(matcher, run, seen, sizeof seen);
        explain_say(explaining, "oracle line %u holds: %s%s", matcher->line, wants, seen);
        return;
    }
    explain_say(explaining, "%s", mismatch->text);
    explain_event(explaining, "it was seen in this event", mismatch->place.seq);
    if (mismatch->place.size_bytes > 0)
        explain_bytes(explaining, "it was seen at these bytes", run, mismatch->place.stream,
                      mismatch->place.offset_bytes, mismatch->place.size_bytes);
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
                match->met ? "" : ": ", match->met ? "" : match->first->text);
    explain_event(explaining, "the start of the run", run->event->seq);
    explain_event(explaining, "the end of its process", run->exit == NULL ? 0 : run->exit->seq);
    for (size_t i = 0; i < judged_case->expected->matcher_count; i++)
        tell_matcher(explaining, match, run, &judged_case->expected->matchers[i], in_short);
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
