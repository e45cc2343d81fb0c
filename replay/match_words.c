/*
 * Matchers and bytes in words, for the sentences of DECISION 6.5 and for explanations. Evaluates nothing.
 */
#include "replay/match_verdict.h"

#include "base/bytes.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *match_quote(const void *from, size_t size_bytes, char *out, size_t room_bytes)
{
    static const char cut[] = "...";
    const uint8_t *bytes = from;
    size_t most = room_bytes - sizeof cut - 2; /* its quotes, and its NUL in that of `cut` */
    size_t shown = size_bytes < most ? size_bytes : most;

    assert(room_bytes > sizeof cut + 2);
    out[0] = '"';
    for (size_t i = 0; i < shown; i++)
        out[1 + i] = (char)(bytes[i] >= ' ' && bytes[i] <= '~' ? bytes[i] : '?');
    (void)strcpy(out + 1 + shown, shown < size_bytes ? "\"..." : "\"");
    return out;
}

/* The key under which ORACLE 4 has a matcher, and what it is of. */
static const struct {
    const char *of; /* NULL: of a stream */
    const char *key;
} names[] = {
    [ORACLE_EXIT] = {"", "exit"},
    [ORACLE_SIGNAL] = {"", "signal"},
    [ORACLE_EMPTY] = {NULL, "empty"},
    [ORACLE_EQUALS] = {NULL, "equals"},
    [ORACLE_CONTAINS] = {NULL, "contains"},
    [ORACLE_JSON_EQUALS] = {NULL, "json"},
    [ORACLE_TAP] = {NULL, "tap"},
    [ORACLE_MATCHES] = {NULL, "matches"},
    [ORACLE_SHA256] = {NULL, "sha256"},
    [ORACLE_LINES] = {NULL, "lines"},
    [ORACLE_JSON_TYPE] = {NULL, "json"},
    [ORACLE_JSON_ABSENT] = {NULL, "json"},
    [ORACLE_DURATION] = {"", "duration_ms"},
    [ORACLE_FILE_EXISTS] = {"files ", "exists"},
    [ORACLE_FILE_ABSENT] = {"files ", "absent"},
    [ORACLE_FILE_SHA256] = {"files ", "sha256"},
};

void match_name(const struct oracle_matcher *matcher, char *out, size_t room_bytes)
{
    const char *of = names[matcher->kind].of;

    (void)snprintf(out, room_bytes, "%s%s",
                   of != NULL           ? of
                   : matcher->on_stderr ? "stderr "
                                        : "stdout ",
                   names[matcher->kind].key);
}

static void range_words(const struct oracle_matcher *matcher, const char *unit, char *out, size_t room_bytes)
{
    if (matcher->at_least == matcher->at_most)
        (void)snprintf(out, room_bytes, "%" PRIu64 " %s", matcher->at_least, unit);
    else if (matcher->at_most == UINT64_MAX)
        (void)snprintf(out, room_bytes, "at least %" PRIu64 " %s", matcher->at_least, unit);
    else
        (void)snprintf(out, room_bytes, "%" PRIu64 " to %" PRIu64 " %s", matcher->at_least, matcher->at_most, unit);
}

static void digest_words(const struct oracle_matcher *matcher, const char *before, char *out, size_t room_bytes)
{
    char hex[2 * DIGEST_BYTES + 1];

    hex_encode(matcher->digest.bytes, DIGEST_BYTES, hex);
    (void)snprintf(out, room_bytes, "%s %s", before, hex);
}

void match_wants(const struct oracle_matcher *matcher, char *out, size_t room_bytes)
{
    static const char *const counters[] = {"", "tests", "pass", "fail"};
    static const char *const types[] = {"",        "object", "array",   "string", "number",
                                        "integer", "real",   "boolean", "null"};
    const char *signal_name;
    char quoted[VERDICT_WORDS - 24];

    if (matcher->path != NULL)
        (void)match_quote(matcher->path, strlen(matcher->path), quoted, sizeof quoted);
    else
        (void)match_quote(matcher->bytes.data, matcher->bytes.size_bytes, quoted, sizeof quoted);
    switch (matcher->kind) {
    case ORACLE_EXIT:
        (void)snprintf(out, room_bytes, "exit status %" PRId64, matcher->number);
        return;
    case ORACLE_SIGNAL:
        signal_name = sigabbrev_np((int)matcher->number);
        (void)snprintf(out, room_bytes, "signal %" PRId64 " (%s)", matcher->number,
                       signal_name == NULL ? "?" : signal_name);
        return;
    case ORACLE_EMPTY:
        (void)snprintf(out, room_bytes, "no byte");
        return;
    case ORACLE_EQUALS:
        (void)snprintf(out, room_bytes, "%zu bytes, %s", matcher->bytes.size_bytes, quoted);
        return;
    case ORACLE_CONTAINS:
    case ORACLE_MATCHES:
        (void)snprintf(out, room_bytes, "%s", quoted);
        return;
    case ORACLE_JSON_EQUALS:
        (void)snprintf(out, room_bytes, "%.*s", (int)matcher->bytes.size_bytes, (const char *)matcher->bytes.data);
        return;
    case ORACLE_JSON_TYPE:
        (void)snprintf(out, room_bytes, "type %s", types[matcher->json_type]);
        return;
    case ORACLE_JSON_ABSENT:
        (void)snprintf(out, room_bytes, "no value");
        return;
    case ORACLE_TAP:
        (void)snprintf(out, room_bytes, "# %s %" PRId64, counters[matcher->counter], matcher->number);
        return;
    case ORACLE_LINES:
        range_words(matcher, "lines", out, room_bytes);
        return;
    case ORACLE_DURATION:
        range_words(matcher, "ms", out, room_bytes);
        return;
    case ORACLE_FILE_EXISTS:
        (void)snprintf(out, room_bytes, "a regular file %s", quoted);
        return;
    case ORACLE_FILE_ABSENT:
        (void)snprintf(out, room_bytes, "nothing at %s", quoted);
        return;
    case ORACLE_SHA256:
        digest_words(matcher, "SHA-256", out, room_bytes);
        return;
    case ORACLE_FILE_SHA256:
        (void)match_quote(matcher->path, strlen(matcher->path), quoted, 32);
        (void)strcat(quoted, " of SHA-256");
        digest_words(matcher, quoted, out, room_bytes);
        return;
    }
    assert(!"a matcher that wants nothing");
}
