/*
 * The matchers of a case, each asked by itself, and what a run is told that does not meet them.
 */
#include "replay/match_verdict.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- words ---- */

static void make_plain(char *text)
{
    for (; *text != 0; text++)
        if (*text < ' ' || *text > '~')
            *text = '?';
}

static void __attribute__((format(printf, 2, 0))) put_words(char *out, const char *fmt, va_list args)
{
    (void)vsnprintf(out, VERDICT_WORDS, fmt, args);
    make_plain(out);
}

void verdict_fails(struct verdict *verdict, const char *fmt, ...)
{
    va_list args;

    verdict->kind = VERDICT_FAILS;
    va_start(args, fmt);
    put_words(verdict->seen, fmt, args);
    va_end(args);
}

void verdict_unable(struct verdict *verdict, const char *fmt, ...)
{
    va_list args;

    verdict->kind = VERDICT_UNABLE;
    va_start(args, fmt);
    put_words(verdict->seen, fmt, args);
    va_end(args);
}

void verdict_wanted(struct verdict *verdict, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    put_words(verdict->wanted, fmt, args);
    va_end(args);
}

void verdict_at(struct verdict *verdict, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    put_words(verdict->at, fmt, args);
    va_end(args);
}

void verdict_at_event(struct verdict *verdict, uint64_t seq)
{
    verdict_at(verdict, "event %" PRIu64, seq);
    verdict->place = (struct match_place){.seq = seq};
}

/* ---- one run ---- */

static int evaluate(struct matching *matching, const struct oracle_matcher *matcher, struct verdict *out,
                    struct err *err)
{
    *out = (struct verdict){.kind = VERDICT_HOLDS};
    switch (matcher->kind) {
    case ORACLE_EXIT:
    case ORACLE_SIGNAL:
    case ORACLE_DURATION:
        return match_end(matching, matcher, out, err);
    case ORACLE_FILE_EXISTS:
    case ORACLE_FILE_ABSENT:
    case ORACLE_FILE_SHA256:
        return match_file(matching, matcher, out, err);
    default:
        return match_stream(matching, matcher, out, err);
    }
}

/* Adds one to the list that ends at **end. */
static int add_mismatch(struct facts *facts, const struct mismatch ***end, const struct oracle_matcher *matcher,
                        const char *text, struct match_place place, struct err *err)
{
    struct arena *arena = &facts->tables.arena;
    struct mismatch *mismatch = arena_take(arena, sizeof *mismatch);
    const char *kept = arena_text(arena, text);

    if (mismatch == NULL || kept == NULL)
        return err_set(err, ERR_SYSTEM, "memory for what a case does not show");
    *mismatch = (struct mismatch){.matcher = matcher, .text = kept, .place = place};
    **end = mismatch;
    *end = &mismatch->next;
    return 0;
}

/* DECISION 6.5. */
static int tell_verdict(struct facts *facts, const struct oracle_matcher *matcher, struct verdict *verdict,
                        const struct mismatch ***end, struct err *err)
{
    char name[32], text[4 * VERDICT_WORDS + 100];

    match_name(matcher, name, sizeof name);
    if (verdict->wanted[0] == 0)
        match_wants(matcher, verdict->wanted, sizeof verdict->wanted);
    make_plain(verdict->wanted);
    if (verdict->kind == VERDICT_FAILS)
        (void)snprintf(text, sizeof text, "oracle line %u: %s: expected %s, seen %s, at %s", matcher->line, name,
                       verdict->wanted, verdict->seen, verdict->at);
    else
        (void)snprintf(text, sizeof text, "oracle line %u: %s: cannot be evaluated: %s", matcher->line, name,
                       verdict->seen);
    return add_mismatch(facts, end, matcher, text, verdict->place, err);
}

/* What is told of the run itself (DECISION 6.1). */
static int match_run(struct facts *facts, const struct run *run, const struct mismatch ***end, struct err *err)
{
    if (run->exit == NULL)
        return add_mismatch(facts, end, NULL, "its end was not seen", (struct match_place){.seq = run->event->seq},
                            err);
    if (run->exit->run_exit->watchdog)
        return add_mismatch(facts, end, NULL, "its watchdog ended it", (struct match_place){.seq = run->exit->seq},
                            err);
    return 0;
}

int match_case(struct facts *facts, const struct oracle_case *expected, const struct run *run, struct match *out,
               struct err *err)
{
    struct matching matching = {
        .facts = facts,
        .run = run,
        .streams = {{.name = EXHIBIT__STREAM_NAME__STREAM_STDOUT}, {.name = EXHIBIT__STREAM_NAME__STREAM_STDERR}}};
    const struct mismatch *first = NULL, **end = &first;
    int code = match_run(facts, run, &end, err);

    for (size_t i = 0; i < 2; i++)
        matching.streams[i].end = run->ends[matching.streams[i].name];
    for (size_t i = 0; i < expected->matcher_count && code == 0; i++) {
        const struct oracle_matcher *matcher = &expected->matchers[i];
        struct verdict verdict;

        code = evaluate(&matching, matcher, &verdict, err);
        if (code == 0 && verdict.kind != VERDICT_HOLDS) {
            if (verdict.place.seq == 0 && verdict.place.size_bytes == 0) /* nothing nearer than the run's end */
                verdict.place.seq = run->exit != NULL ? run->exit->seq : run->event->seq;
            code = tell_verdict(facts, matcher, &verdict, &end, err);
        }
    }
    matching_done(&matching);
    if (code < 0)
        return err_wrap(err, "run %" PRIu32, run->number);
    *out = (struct match){.met = first == NULL, .first = first};
    return 0;
}
