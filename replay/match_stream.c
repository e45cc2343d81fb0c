/*
 * Matchers on what a run wrote (ORACLE 4.3 to 4.10). A stream is read and parsed once, when the first matcher asks.
 */
#include "replay/match_verdict.h"

#include <inttypes.h>
#include <string.h>

static const char *word_of(const struct content *content)
{
    return content->name == EXHIBIT__STREAM_NAME__STREAM_STDERR ? "stderr" : "stdout";
}

static uint64_t size_of(const struct content *content)
{
    return content->end->content == NULL ? 0 : content->end->content->size_bytes;
}

void verdict_at_bytes(struct verdict *verdict, const struct content *content, uint64_t offset_bytes)
{
    enum { SHOWN_BYTES = 80 };
    uint64_t left = size_of(content) - offset_bytes;

    verdict_at(verdict, "%s byte %" PRIu64, word_of(content), offset_bytes);
    verdict->place = (struct match_place){
        .stream = content->name, .offset_bytes = offset_bytes, .size_bytes = left < SHOWN_BYTES ? left : SHOWN_BYTES};
}

/* Says that what is wanted is nowhere in the stream. */
static void is_nowhere(const struct content *content, struct verdict *out)
{
    char quoted[64];

    verdict_fails(out, "%zu bytes without it, %s", content->bytes.size_bytes,
                  match_quote(content->bytes.data, content->bytes.size_bytes, quoted, sizeof quoted));
    verdict_at_bytes(out, content, 0);
    verdict_at(out, "%s, all of it", word_of(content));
}

/* ---- by what its end tells ---- */

static void match_empty(const struct content *content, struct verdict *out)
{
    if (size_of(content) == 0)
        return;
    verdict_fails(out, "%" PRIu64 " bytes", size_of(content));
    verdict_at_bytes(out, content, 0);
}

static void match_digest(const struct oracle_matcher *matcher, const struct content *content, struct verdict *out)
{
    struct digest digest = digest_of("", 0);
    char hex[2 * DIGEST_BYTES + 1];

    if (content->end->content != NULL &&
        !digest_from(content->end->content->sha256.data, content->end->content->sha256.len, &digest)) {
        verdict_unable(out, "the end of %s tells no SHA-256", word_of(content));
        return;
    }
    if (digest_equal(&digest, &matcher->digest))
        return;
    hex_encode(digest.bytes, DIGEST_BYTES, hex);
    verdict_fails(out, "SHA-256 %s", hex);
    verdict_at_bytes(out, content, 0);
    verdict_at(out, "%s, all %" PRIu64 " bytes", word_of(content), size_of(content));
}

/* ---- by its bytes ---- */

/* What follows some bytes, of which there may be none at all. */
static const uint8_t *rest_of(const struct bytes *bytes, size_t from)
{
    return bytes->data == NULL ? NULL : bytes->data + from;
}

static void match_equals(const struct oracle_matcher *matcher, const struct content *content, struct verdict *out)
{
    const struct bytes *have = &content->bytes, *want = &matcher->bytes;
    size_t least = have->size_bytes < want->size_bytes ? have->size_bytes : want->size_bytes, same = 0;
    char quoted[64];

    while (same < least && have->data[same] == want->data[same])
        same++;
    if (same == have->size_bytes && same == want->size_bytes)
        return;
    verdict_fails(out, "%zu bytes, there %s", have->size_bytes,
                  match_quote(rest_of(have, same), have->size_bytes - same, quoted, sizeof quoted));
    verdict_wanted(out, "%zu bytes, there %s", want->size_bytes,
                   match_quote(rest_of(want, same), want->size_bytes - same, quoted, sizeof quoted));
    verdict_at_bytes(out, content, same);
}

static void match_contains(const struct oracle_matcher *matcher, const struct content *content, struct verdict *out)
{
    const struct bytes *have = &content->bytes, *want = &matcher->bytes;

    if (have->size_bytes == 0 || memmem(have->data, have->size_bytes, want->data, want->size_bytes) == NULL)
        is_nowhere(content, out);
}

/* The number of lines (ORACLE 4.10); *out_over is where the first begins that is one more than `most`. */
static uint64_t count_lines(const struct bytes *bytes, uint64_t most, size_t *out_over)
{
    uint64_t count = 0;

    *out_over = bytes->size_bytes;
    for (size_t at = 0; at < bytes->size_bytes; count++) {
        const uint8_t *newline = memchr(bytes->data + at, '\n', bytes->size_bytes - at);

        if (count == most)
            *out_over = at;
        at = newline == NULL ? bytes->size_bytes : (size_t)(newline - bytes->data) + 1;
    }
    return count;
}

static void match_lines(const struct oracle_matcher *matcher, const struct content *content, struct verdict *out)
{
    size_t over;
    uint64_t count = count_lines(&content->bytes, matcher->at_most, &over);

    if (count >= matcher->at_least && count <= matcher->at_most)
        return;
    verdict_fails(out, "%" PRIu64 " lines", count);
    verdict_at_bytes(out, content, over);
}

/* The number that a counter line tells after its word, or -1 where it is none (ORACLE 4.7). */
static int64_t counter_value(const uint8_t *digits, size_t size_bytes)
{
    enum { MOST_DIGITS = 15 };
    int64_t value = 0;

    if (size_bytes == 0 || size_bytes > MOST_DIGITS)
        return -1;
    for (size_t i = 0; i < size_bytes; i++) {
        if (digits[i] < '0' || digits[i] > '9')
            return -1;
        value = value * 10 + (digits[i] - '0');
    }
    return value;
}

static void match_tap(const struct oracle_matcher *matcher, const struct content *content, struct verdict *out)
{
    static const char *const words[] = {"", "# tests ", "# pass ", "# fail "};
    const char *word = words[matcher->counter];
    size_t word_bytes = strlen(word), seen = 0, seen_at = 0, line_bytes;
    const struct bytes *bytes = &content->bytes;
    int64_t value = -1;

    for (size_t at = 0; at < bytes->size_bytes; at += line_bytes + 1) {
        const uint8_t *line = bytes->data + at, *newline = memchr(line, '\n', bytes->size_bytes - at);

        line_bytes = newline == NULL ? bytes->size_bytes - at : (size_t)(newline - line);
        if (line_bytes < word_bytes || memcmp(line, word, word_bytes) != 0)
            continue;
        value = counter_value(line + word_bytes, line_bytes - word_bytes);
        seen_at = at;
        seen++;
    }
    if (seen != 1)
        verdict_unable(out, "%s has %zu lines that begin with \"%s\"", word_of(content), seen, word);
    else if (value < 0)
        verdict_unable(out, "no number of 1 to 15 digits follows \"%s\" at %s byte %zu", word, word_of(content),
                       seen_at);
    else if (value != matcher->number)
        verdict_fails(out, "%s%" PRId64, word, value);
    if (seen > 0 && out->kind != VERDICT_HOLDS)
        verdict_at_bytes(out, content, seen_at);
}

/* ---- all of them ---- */

static int match_text(struct matching *matching, const struct oracle_matcher *matcher, struct content *content,
                      struct verdict *out, struct err *err)
{
    switch (matcher->kind) {
    case ORACLE_EQUALS:
        match_equals(matcher, content, out);
        return 0;
    case ORACLE_CONTAINS:
        match_contains(matcher, content, out);
        return 0;
    case ORACLE_MATCHES:
        if (!match_regex(matcher->regex, content->bytes.data, content->bytes.size_bytes))
            is_nowhere(content, out);
        return 0;
    case ORACLE_LINES:
        match_lines(matcher, content, out);
        return 0;
    case ORACLE_TAP:
        match_tap(matcher, content, out);
        return 0;
    default:
        return match_json_at(matching, matcher, out, err);
    }
}

int match_stream(struct matching *matching, const struct oracle_matcher *matcher, struct verdict *out, struct err *err)
{
    struct content *content = &matching->streams[matcher->on_stderr];
    uint64_t most = matcher->kind == ORACLE_MATCHES ? LIMIT_REGEX_STREAM_BYTES : LIMIT_MATCHED_STREAM_BYTES;

    if (content->end == NULL) {
        verdict_unable(out, "the end of %s was not seen", word_of(content));
        return 0;
    }
    if (content->end->how == EXHIBIT__STREAM_END__HOW__HOW_LIMIT) {
        verdict_unable(out, "not all of %s was kept", word_of(content));
        return 0;
    }
    if (matcher->kind == ORACLE_EMPTY || matcher->kind == ORACLE_SHA256) {
        if (matcher->kind == ORACLE_EMPTY)
            match_empty(content, out);
        else
            match_digest(matcher, content, out);
        return 0;
    }
    if (size_of(content) > most) {
        verdict_unable(out, "%s has %" PRIu64 " bytes, more than %" PRIu64, word_of(content), size_of(content), most);
        return 0;
    }
    if (!content->is_read) {
        int code = source_stream(matching->facts->source, content->end->content, LIMIT_MATCHED_STREAM_BYTES,
                                 &content->bytes, err);

        if (code < 0)
            return code;
        content->is_read = true;
    }
    return match_text(matching, matcher, content, out, err);
}

void matching_done(struct matching *matching)
{
    for (size_t i = 0; i < 2; i++) {
        bytes_done(&matching->streams[i].bytes);
        json_decref(matching->streams[i].json);
        matching->streams[i].json = NULL;
    }
}
