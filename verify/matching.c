/*
 * Matching a stream's bytes, and the words for it.
 */
#include "verify/matching.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- words ---- */

const char *matching_part(const struct oracle_matcher *matcher)
{
    switch (matcher->kind) {
    case ORACLE_EXIT:
    case ORACLE_SIGNAL:
    case ORACLE_DURATION:
        return "";
    case ORACLE_FILE_EXISTS:
    case ORACLE_FILE_ABSENT:
    case ORACLE_FILE_SHA256:
        return "files ";
    default:
        return matcher->on_stderr ? "stderr " : "stdout ";
    }
}

const char *matching_key(const struct oracle_matcher *matcher)
{
    static const char *const keys[] = {
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
        [ORACLE_FILE_EXISTS] = "exists",
        [ORACLE_FILE_ABSENT] = "absent",
        [ORACLE_FILE_SHA256] = "sha256",
    };

    return keys[matcher->kind];
}

void matching_make_printable(char *text)
{
    for (char *at = text; *at != '\0'; at++)
        if (*at < ' ' || *at > '~')
            *at = '?';
}

void matching_fail(struct matching *out, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(out->told, sizeof out->told, fmt, args);
    va_end(args);
    matching_make_printable(out->told);
    out->came = MATCHING_FAILS;
}

void matching_cannot(struct matching *out, const char *fmt, ...)
{
    static const char begin[] = "cannot be evaluated: ";
    va_list args;

    memcpy(out->told, begin, sizeof begin);
    va_start(args, fmt);
    (void)vsnprintf(out->told + sizeof begin - 1, sizeof out->told - sizeof begin + 1, fmt, args);
    va_end(args);
    matching_make_printable(out->told);
    out->came = MATCHING_CANNOT;
}

struct matching_quote matching_quote(const void *from, size_t size_bytes)
{
    struct matching_quote out;
    size_t room = sizeof out.text - 6, kept = size_bytes < room ? size_bytes : room;

    out.text[0] = '"';
    for (size_t i = 0; i < kept; i++) {
        uint8_t byte = ((const uint8_t *)from)[i];

        out.text[1 + i] = byte < ' ' || byte > '~' ? '?' : (char)byte;
    }
    (void)snprintf(out.text + 1 + kept, sizeof out.text - 1 - kept, "\"%s", kept < size_bytes ? "..." : "");
    return out;
}

struct matching_quote matching_bounds(const struct oracle_matcher *matcher)
{
    struct matching_quote out;

    if (matcher->at_most == UINT64_MAX)
        (void)snprintf(out.text, sizeof out.text, "at least %" PRIu64, matcher->at_least);
    else if (matcher->at_least == matcher->at_most)
        (void)snprintf(out.text, sizeof out.text, "%" PRIu64, matcher->at_least);
    else if (matcher->at_least == 0)
        (void)snprintf(out.text, sizeof out.text, "at most %" PRIu64, matcher->at_most);
    else
        (void)snprintf(out.text, sizeof out.text, "%" PRIu64 " to %" PRIu64, matcher->at_least, matcher->at_most);
    return out;
}

static struct matching_quote matching_quote_from(const struct bytes *text, size_t at)
{
    if (at >= text->size_bytes)
        return (struct matching_quote){"the end"};
    return matching_quote(text->data + at, text->size_bytes - at);
}

/* ---- the matchers ---- */

static void matching_equal(const struct bytes *wanted, const struct bytes *text, struct matching *out)
{
    size_t shorter = wanted->size_bytes < text->size_bytes ? wanted->size_bytes : text->size_bytes, at = 0;

    while (at < shorter && wanted->data[at] == text->data[at])
        at++;
    if (at < wanted->size_bytes || at < text->size_bytes)
        matching_fail(out, "expected %s, seen %s, at byte %zu", matching_quote_from(wanted, at).text,
                      matching_quote_from(text, at).text, at);
}

static void matching_contain(const struct bytes *wanted, const struct bytes *text, struct matching *out)
{
    if (text->size_bytes == 0 || memmem(text->data, text->size_bytes, wanted->data, wanted->size_bytes) == NULL)
        matching_fail(out, "expected %s, seen %s, at no place of %zu bytes",
                      matching_quote(wanted->data, wanted->size_bytes).text,
                      matching_quote(text->data, text->size_bytes).text, text->size_bytes);
}

static int matching_describe(const struct oracle_matcher *matcher, const struct bytes *text, struct matching *out,
                             struct err *err)
{
    bool described = false;

    if (text->size_bytes > LIMIT_REGEX_STREAM_BYTES) {
        matching_cannot(out, "%zu bytes are more than are matched (%u)", text->size_bytes, LIMIT_REGEX_STREAM_BYTES);
        return 0;
    }
    if (matching_regex(matcher->regex, text, &described, err) < 0)
        return err->code;
    if (!described)
        matching_fail(out, "expected %s, seen %s, at no place of %zu bytes",
                      matching_quote(matcher->bytes.data, matcher->bytes.size_bytes).text,
                      matching_quote(text->data, text->size_bytes).text, text->size_bytes);
    return 0;
}

static void matching_lines(const struct oracle_matcher *matcher, const struct bytes *text, struct matching *out)
{
    uint64_t count = text->size_bytes > 0 && text->data[text->size_bytes - 1] != '\n';

    for (size_t i = 0; i < text->size_bytes; i++)
        count += text->data[i] == '\n';
    if (count < matcher->at_least || count > matcher->at_most)
        matching_fail(out, "expected %s, seen %" PRIu64 ", at the end of %zu bytes", matching_bounds(matcher).text,
                      count, text->size_bytes);
}

/* The number of a counter line; -1: it is not a number alone. */
static int64_t matching_count(const char *from, size_t size_bytes)
{
    int64_t value = 0;

    if (size_bytes == 0 || size_bytes > 15)
        return -1;
    for (size_t i = 0; i < size_bytes; i++) {
        if (from[i] < '0' || from[i] > '9')
            return -1;
        value = value * 10 + (from[i] - '0');
    }
    return value;
}

static void matching_tap(const struct oracle_matcher *matcher, const struct bytes *text, struct matching *out)
{
    static const char *const words[] = {"", "# tests ", "# pass ", "# fail "};
    const char *word = words[matcher->counter];
    const char *at = (const char *)text->data, *end = at == NULL ? NULL : at + text->size_bytes;
    size_t word_bytes = strlen(word), line = 0, seen_at = 0, seen = 0;
    int64_t value = -1;

    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline == NULL ? end : newline;
        size_t size_bytes = (size_t)(stop - at);

        line++;
        if (size_bytes >= word_bytes && memcmp(at, word, word_bytes) == 0) {
            value = matching_count(at + word_bytes, size_bytes - word_bytes);
            seen_at = line;
            seen++;
        }
        at = newline == NULL ? end : newline + 1;
    }
    if (seen != 1)
        matching_cannot(out, "%zu of %zu lines begin with \"%s\"", seen, line, word);
    else if (value < 0)
        matching_cannot(out, "line %zu does not go on with a number alone after \"%s\"", seen_at, word);
    else if (value != matcher->number)
        matching_fail(out, "expected %s%" PRId64 ", seen %s%" PRId64 ", at line %zu", word, matcher->number, word,
                      value, seen_at);
}

int matching_try(const struct oracle_matcher *matcher, struct matching_stream *stream, struct matching *out,
                 struct err *err)
{
    *out = (struct matching){.came = MATCHING_HOLDS};
    switch (matcher->kind) {
    case ORACLE_EQUALS:
        matching_equal(&matcher->bytes, &stream->text, out);
        return 0;
    case ORACLE_CONTAINS:
        matching_contain(&matcher->bytes, &stream->text, out);
        return 0;
    case ORACLE_MATCHES:
        return matching_describe(matcher, &stream->text, out, err);
    case ORACLE_LINES:
        matching_lines(matcher, &stream->text, out);
        return 0;
    case ORACLE_TAP:
        matching_tap(matcher, &stream->text, out);
        return 0;
    case ORACLE_JSON_EQUALS:
    case ORACLE_JSON_TYPE:
    case ORACLE_JSON_ABSENT:
        return matching_json(matcher, stream, out, err);
    default:
        matching_cannot(out, "it is no matcher of a stream's content");
        return 0;
    }
}

void matching_stream_done(struct matching_stream *stream)
{
    bytes_done(&stream->text);
    json_decref(stream->json);
    *stream = (struct matching_stream){0};
}
