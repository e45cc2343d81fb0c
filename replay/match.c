/*
 * Matchers over the end and the streams of a run, each stream read at most once.
 */
#include "replay/match.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* One stream of a run, read when the first matcher asks for it. */
struct content {
    const Exhibit__StreamEnd *end;
    struct bytes bytes;
    bool read;
};

static void __attribute__((format(printf, 3, 4))) match_fail(struct match *out, uint64_t seq, const char *fmt, ...)
{
    va_list args;

    out->met = false;
    out->seq = seq;
    va_start(args, fmt);
    (void)vsnprintf(out->why, sizeof out->why, fmt, args);
    va_end(args);
}

/* Whether matchers can be evaluated on the stream at all (DECISION 6.1). */
static bool is_whole(const struct content *content)
{
    return content->end != NULL && content->end->how != EXHIBIT__STREAM_END__HOW__HOW_LIMIT;
}

static uint64_t size_of(const struct content *content)
{
    return content->end->content == NULL ? 0 : content->end->content->size_bytes;
}

static bool bytes_match(const struct oracle_matcher *matcher, const struct bytes *bytes)
{
    const struct bytes *wanted = &matcher->bytes;

    switch (matcher->kind) {
    case ORACLE_EQUALS:
        return bytes->size_bytes == wanted->size_bytes &&
               (wanted->size_bytes == 0 || memcmp(bytes->data, wanted->data, wanted->size_bytes) == 0);
    case ORACLE_CONTAINS:
        return wanted->size_bytes == 0 || (bytes->size_bytes > 0 && memmem(bytes->data, bytes->size_bytes, wanted->data,
                                                                           wanted->size_bytes) != NULL);
    case ORACLE_TAP:
        return match_tap(bytes, matcher->counter, matcher->number);
    default:
        return false;
    }
}

/* Whether a matcher on a stream holds. */
static int stream_match(const struct source *source, const struct oracle_matcher *matcher, struct content *content,
                        bool *out, struct err *err)
{
    *out = false;
    if (!is_whole(content))
        return 0;
    if (matcher->kind == ORACLE_EMPTY) {
        *out = size_of(content) == 0;
        return 0;
    }
    if (size_of(content) > MATCH_STREAM_BYTES)
        return 0;
    if (!content->read) {
        int code = source_stream(source, content->end->content, MATCH_STREAM_BYTES, &content->bytes, err);

        if (code < 0)
            return code;
        content->read = true;
    }
    if (matcher->kind == ORACLE_JSON_EQUALS)
        return match_json(&content->bytes, matcher->pointer, &matcher->bytes, out, err);
    *out = bytes_match(matcher, &content->bytes);
    return 0;
}

static bool exit_matches(const struct oracle_matcher *matcher, const Exhibit__RunExit *exit)
{
    if (matcher->kind == ORACLE_EXIT)
        return exit->how_case == EXHIBIT__RUN_EXIT__HOW_EXIT_STATUS && exit->exit_status == matcher->number;
    return exit->how_case == EXHIBIT__RUN_EXIT__HOW_TERM_SIGNAL && exit->term_signal == matcher->number;
}

int match_case(const struct source *source, const struct oracle_case *expected, const struct run *run,
               struct match *out, struct err *err)
{
    struct content streams[2] = {{.end = run->ends[EXHIBIT__STREAM_NAME__STREAM_STDOUT]},
                                 {.end = run->ends[EXHIBIT__STREAM_NAME__STREAM_STDERR]}};
    int code = 0;

    *out = (struct match){.met = true};
    if (run->exit == NULL) {
        match_fail(out, run->event->seq, "its end was not seen");
        return 0;
    }
    if (run->exit->run_exit->watchdog)
        match_fail(out, run->exit->seq, "its watchdog ended it");
    for (size_t i = 0; i < expected->matcher_count && out->met && code == 0; i++) {
        const struct oracle_matcher *matcher = &expected->matchers[i];
        bool on_exit = matcher->kind == ORACLE_EXIT || matcher->kind == ORACLE_SIGNAL;
        bool holds = false;

        if (on_exit)
            holds = exit_matches(matcher, run->exit->run_exit);
        else
            code = stream_match(source, matcher, &streams[matcher->on_stderr], &holds, err);
        if (code == 0 && !holds)
            match_fail(out, run->exit->seq, "the %s is not what line %u of the oracle wants",
                       on_exit              ? "exit"
                       : matcher->on_stderr ? "stderr"
                                            : "stdout",
                       matcher->line);
    }
    bytes_done(&streams[0].bytes);
    bytes_done(&streams[1].bytes);
    return code < 0 ? err_wrap(err, "run %" PRIu32, run->number) : 0;
}
