/*
 * Matching a stream's bytes.
 */
#include "verify/matching.h"

#include "base/cleanup.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

const char *matching_name(const struct oracle_matcher *matcher)
{
    switch (matcher->kind) {
    case ORACLE_EXIT:
        return "exit";
    case ORACLE_SIGNAL:
        return "signal";
    case ORACLE_EMPTY:
        return matcher->on_stderr ? "stderr empty" : "stdout empty";
    case ORACLE_EQUALS:
        return matcher->on_stderr ? "stderr equals" : "stdout equals";
    case ORACLE_CONTAINS:
        return matcher->on_stderr ? "stderr contains" : "stdout contains";
    case ORACLE_JSON_EQUALS:
        return matcher->on_stderr ? "stderr json" : "stdout json";
    case ORACLE_TAP:
        return matcher->on_stderr ? "stderr tap" : "stdout tap";
    case ORACLE_MATCHES:
        return matcher->on_stderr ? "stderr matches" : "stdout matches";
    case ORACLE_SHA256:
        return matcher->on_stderr ? "stderr sha256" : "stdout sha256";
    case ORACLE_LINES:
        return matcher->on_stderr ? "stderr lines" : "stdout lines";
    case ORACLE_JSON_TYPE:
    case ORACLE_JSON_ABSENT:
        return matcher->on_stderr ? "stderr json" : "stdout json";
    case ORACLE_DURATION:
        return "duration_ms";
    case ORACLE_FILE_EXISTS:
        return "files exists";
    case ORACLE_FILE_ABSENT:
        return "files absent";
    case ORACLE_FILE_SHA256:
        return "files sha256";
    }
    return "?";
}

/* One reference token of RFC 6901, unescaped into out. False: a bad escape. */
static bool matching_token(const char *from, size_t size_bytes, char *out)
{
    for (size_t i = 0; i < size_bytes; i++) {
        char c = from[i];

        if (c == '~') {
            i++;
            if (i == size_bytes || (from[i] != '0' && from[i] != '1'))
                return false;
            c = from[i] == '0' ? '~' : '/';
        }
        *out++ = c;
    }
    *out = '\0';
    return true;
}

static json_t *matching_item(const json_t *array, const char *token)
{
    size_t index = 0;

    if (token[0] == '\0' || (token[0] == '0' && token[1] != '\0') || strlen(token) > 9)
        return NULL;
    for (const char *at = token; *at != '\0'; at++) {
        if (*at < '0' || *at > '9')
            return NULL;
        index = index * 10 + (size_t)(*at - '0');
    }
    return json_array_get(array, index);
}

static json_t *matching_point(json_t *value, const char *pointer)
{
    AUTO_FREE char *token = malloc(strlen(pointer) + 1);

    while (value != NULL && token != NULL && *pointer != '\0') {
        size_t size_bytes;

        if (*pointer++ != '/')
            return NULL;
        size_bytes = strcspn(pointer, "/");
        if (!matching_token(pointer, size_bytes, token))
            return NULL;
        pointer += size_bytes;
        value = json_is_array(value) ? matching_item(value, token) : json_object_get(value, token);
    }
    return token == NULL ? NULL : value;
}

static bool matching_json(const struct oracle_matcher *matcher, const struct bytes *text)
{
    json_error_t ignored;
    json_t *whole =
        json_loadb((const char *)text->data, text->size_bytes, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &ignored);
    json_t *wanted =
        json_loadb((const char *)matcher->bytes.data, matcher->bytes.size_bytes, JSON_DECODE_ANY, &ignored);
    json_t *found = matching_point(whole, matcher->pointer == NULL ? "" : matcher->pointer);
    bool equal = found != NULL && wanted != NULL && json_equal(found, wanted) == 1;

    json_decref(whole);
    json_decref(wanted);
    return equal;
}

/* The number of a summary line; -1: it is not a number alone. */
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

static bool matching_tap(const struct oracle_matcher *matcher, const struct bytes *text)
{
    static const char *const tap_words[] = {"", "# tests ", "# pass ", "# fail "};
    const char *word = tap_words[matcher->counter];
    const char *at = (const char *)text->data, *end = at == NULL ? NULL : at + text->size_bytes;
    unsigned seen = 0;
    int64_t value = -1;

    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline == NULL ? end : newline;
        size_t size_bytes = (size_t)(stop - at), word_bytes = strlen(word);

        if (size_bytes >= word_bytes && memcmp(at, word, word_bytes) == 0) {
            value = matching_count(at + word_bytes, size_bytes - word_bytes);
            seen++;
        }
        at = newline == NULL ? end : newline + 1;
    }
    return seen == 1 && value >= 0 && value == matcher->number;
}

bool matching_holds(const struct oracle_matcher *matcher, const struct bytes *text)
{
    const struct bytes *wanted = &matcher->bytes;

    switch (matcher->kind) {
    case ORACLE_EMPTY:
        return text->size_bytes == 0;
    case ORACLE_EQUALS:
        return text->size_bytes == wanted->size_bytes &&
               (wanted->size_bytes == 0 || memcmp(text->data, wanted->data, wanted->size_bytes) == 0);
    case ORACLE_CONTAINS:
        return wanted->size_bytes == 0 ||
               (text->size_bytes > 0 && memmem(text->data, text->size_bytes, wanted->data, wanted->size_bytes) != NULL);
    case ORACLE_JSON_EQUALS:
        return text->size_bytes > 0 && matching_json(matcher, text);
    case ORACLE_TAP:
        return text->size_bytes > 0 && matching_tap(matcher, text);
    default:
        return false;
    }
}
