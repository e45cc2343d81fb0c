/*
 * Matchers on the bytes of a stream (docs/ORACLE.md 4.3 to 4.5 and 4.7 to 4.10).
 */
#include "record/judge_match.h"

#include <stdio.h>
#include <string.h>

static void equals_match(const struct judge_shown *shown, const struct oracle_matcher *matcher,
                         struct judge_finding *out)
{
    const struct bytes *seen = &shown->kept, *wanted = &matcher->bytes;
    size_t at = 0;

    while (at < seen->size_bytes && at < wanted->size_bytes && seen->data[at] == wanted->data[at])
        at++;
    out->holds = at == seen->size_bytes && at == wanted->size_bytes;
    if (!out->holds)
        judge_finding_differs(
            out, "expected %s and so %zu bytes, seen %s and so %zu, at byte %zu of %s",
            judge_quote_of(at < wanted->size_bytes ? wanted->data + at : NULL, wanted->size_bytes - at).text,
            wanted->size_bytes,
            judge_quote_of(at < seen->size_bytes ? seen->data + at : NULL, seen->size_bytes - at).text,
            seen->size_bytes, at, shown->name);
}

static void contains_match(const struct judge_shown *shown, const struct oracle_matcher *matcher,
                           struct judge_finding *out)
{
    const struct bytes *seen = &shown->kept, *wanted = &matcher->bytes;

    out->holds = seen->size_bytes > 0 && memmem(seen->data, seen->size_bytes, wanted->data, wanted->size_bytes) != NULL;
    if (!out->holds)
        judge_finding_differs(out, "expected %s, seen %s, at none of the %zu bytes of %s",
                              judge_quote_of(wanted->data, wanted->size_bytes).text,
                              judge_quote_of(seen->data, seen->size_bytes).text, seen->size_bytes, shown->name);
}

static void matches_match(const struct judge_shown *shown, const struct oracle_matcher *matcher,
                          struct judge_finding *out)
{
    if (shown->size_bytes > LIMIT_REGEX_STREAM_BYTES) {
        judge_finding_cannot(out, "%s has %llu bytes, an expression is looked for in %u at most", shown->name,
                             (unsigned long long)shown->size_bytes, LIMIT_REGEX_STREAM_BYTES);
        return;
    }
    out->holds = judge_regex_is_found(matcher->regex, &shown->kept);
    if (!out->holds)
        judge_finding_differs(out, "expected %s, seen %s, at none of the %zu bytes of %s",
                              judge_quote_of(matcher->bytes.data, matcher->bytes.size_bytes).text,
                              judge_quote_of(shown->kept.data, shown->kept.size_bytes).text, shown->kept.size_bytes,
                              shown->name);
}

static void sha256_match(const struct judge_shown *shown, const struct oracle_matcher *matcher,
                         struct judge_finding *out)
{
    char wanted[2 * DIGEST_BYTES + 1], seen[2 * DIGEST_BYTES + 1];

    hex_encode(matcher->digest.bytes, DIGEST_BYTES, wanted);
    hex_encode(shown->digest.bytes, DIGEST_BYTES, seen);
    out->holds = digest_equal(&matcher->digest, &shown->digest);
    if (!out->holds)
        judge_finding_differs(out, "expected %s, seen %s, at %s of %llu bytes", wanted, seen, shown->name,
                              (unsigned long long)shown->size_bytes);
}

static void lines_match(const struct judge_shown *shown, const struct oracle_matcher *matcher,
                        struct judge_finding *out)
{
    const struct bytes *seen = &shown->kept;
    uint64_t lines = seen->size_bytes > 0 && seen->data[seen->size_bytes - 1] != '\n';

    for (size_t i = 0; i < seen->size_bytes; i++)
        lines += seen->data[i] == '\n';
    out->holds = lines >= matcher->at_least && lines <= matcher->at_most;
    if (!out->holds && lines < matcher->at_least)
        judge_finding_differs(out, "expected at least %llu lines, seen %llu, at the end of %s",
                              (unsigned long long)matcher->at_least, (unsigned long long)lines, shown->name);
    else if (!out->holds)
        judge_finding_differs(out, "expected at most %llu lines, seen %llu, at the end of %s",
                              (unsigned long long)matcher->at_most, (unsigned long long)lines, shown->name);
}

/* ---- TAP ---- */

/* What the lines tell that begin with "# NAME ". */
struct counter {
    unsigned lines; /* so many there are */
    size_t line;    /* the place of the last of them: 1 ... */
    bool readable;  /* the last one is a number alone */
    unsigned long long value;
};

static struct counter counter_read(const struct bytes *stream, const char *name)
{
    const char *at = (const char *)stream->data, *end = at == NULL ? NULL : at + stream->size_bytes;
    struct counter counter = {0};
    char start[32];
    size_t start_bytes = (size_t)snprintf(start, sizeof start, "# %s ", name), line = 0;

    while (at != NULL && at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *line_end = newline == NULL ? end : newline;

        line++;
        if ((size_t)(line_end - at) >= start_bytes && memcmp(at, start, start_bytes) == 0) {
            const char *digit = at + start_bytes;
            size_t digits = (size_t)(line_end - digit);

            counter.value = 0;
            while (digit < line_end && *digit >= '0' && *digit <= '9' && digits <= 15)
                counter.value = counter.value * 10 + (unsigned long long)(*digit++ - '0');
            counter.readable = digits > 0 && digit == line_end;
            counter.line = line;
            counter.lines++;
        }
        at = newline == NULL ? NULL : newline + 1;
    }
    return counter;
}

static void tap_match(const struct judge_shown *shown, const struct oracle_matcher *matcher, struct judge_finding *out)
{
    static const char *const names[] = {"", "tests", "pass", "fail"};
    const char *name = names[matcher->counter];
    struct counter counter = counter_read(&shown->kept, name);

    if (counter.lines != 1 || !counter.readable) {
        judge_finding_cannot(out, "%s has %u lines \"# %s ...\", not one with a number", shown->name, counter.lines,
                             name);
        return;
    }
    out->holds = (int64_t)counter.value == matcher->number;
    if (!out->holds)
        judge_finding_differs(out, "expected # %s %lld, seen %llu, at line %zu of %s", name, (long long)matcher->number,
                              counter.value, counter.line, shown->name);
}

/* ---- any ---- */

void judge_stream_match(const struct judge_shown *shown, const struct oracle_matcher *matcher,
                        struct judge_finding *out)
{
    bool by_content = matcher->kind != ORACLE_EMPTY && matcher->kind != ORACLE_SHA256;

    if (!shown->whole) {
        judge_finding_cannot(out, "%s is not whole", shown->name);
        return;
    }
    if (by_content && shown->size_bytes > LIMIT_MATCHED_STREAM_BYTES) {
        judge_finding_cannot(out, "%s has %llu bytes, %u at most are looked at", shown->name,
                             (unsigned long long)shown->size_bytes, LIMIT_MATCHED_STREAM_BYTES);
        return;
    }
    switch (matcher->kind) {
    case ORACLE_EMPTY:
        out->holds = shown->size_bytes == 0;
        if (!out->holds)
            judge_finding_differs(out, "expected no byte, seen %s, at %s of %llu bytes",
                                  judge_quote_of(shown->kept.data, shown->kept.size_bytes).text, shown->name,
                                  (unsigned long long)shown->size_bytes);
        return;
    case ORACLE_EQUALS:
        equals_match(shown, matcher, out);
        return;
    case ORACLE_CONTAINS:
        contains_match(shown, matcher, out);
        return;
    case ORACLE_MATCHES:
        matches_match(shown, matcher, out);
        return;
    case ORACLE_SHA256:
        sha256_match(shown, matcher, out);
        return;
    case ORACLE_LINES:
        lines_match(shown, matcher, out);
        return;
    case ORACLE_TAP:
        tap_match(shown, matcher, out);
        return;
    default:
        judge_finding_cannot(out, "this judge does not know such a matcher");
    }
}
