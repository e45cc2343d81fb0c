/*
 * Matchers that read a text: JSON by pointer (RFC 6901), and the summary of TAP.
 */
#include "replay/match.h"

#include "base/cleanup.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Undoes ~0 and ~1 of one reference token, in place. False: another ~. */
static bool unescape_token(char *token)
{
    char *to = token;

    for (const char *at = token; *at != 0; at++) {
        if (*at != '~') {
            *to++ = *at;
            continue;
        }
        at++;
        if (*at != '0' && *at != '1')
            return false;
        *to++ = *at == '0' ? '~' : '/';
    }
    *to = 0;
    return true;
}

/* The item of an array that a token names: digits without a leading zero. NULL: none. */
static const json_t *array_item(const json_t *array, const char *token)
{
    size_t digits = strspn(token, "0123456789");

    if (digits == 0 || digits > 9 || token[digits] != 0 || (token[0] == '0' && digits > 1))
        return NULL;
    return json_array_get(array, (size_t)strtoul(token, NULL, 10));
}

/* The value at a pointer, which is used up. NULL: none. */
static const json_t *value_at(const json_t *value, char *pointer)
{
    char *rest = pointer, *token;

    if (*rest != 0 && *rest != '/')
        return NULL;
    if (*rest++ == 0)
        return value;
    while (value != NULL && (token = strsep(&rest, "/")) != NULL) {
        if (!unescape_token(token))
            return NULL;
        value = json_is_array(value) ? array_item(value, token) : json_object_get(value, token);
    }
    return value;
}

/* Loads a JSON text; *out is NULL where it is none. ERR_SYSTEM: out of memory. */
static int load_json(const struct bytes *bytes, json_t **out, struct err *err)
{
    json_error_t error;

    *out = bytes->size_bytes == 0 ? NULL
                                  : json_loadb((const char *)bytes->data, bytes->size_bytes,
                                               JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &error);
    if (*out == NULL && bytes->size_bytes > 0 && json_error_code(&error) == json_error_out_of_memory)
        return err_set(err, ERR_SYSTEM, "memory for a JSON text of %zu bytes", bytes->size_bytes);
    return 0;
}

int match_json(const struct bytes *bytes, const char *pointer, const struct bytes *wanted, bool *out, struct err *err)
{
    AUTO_FREE char *path = strdup(pointer);
    json_t *have = NULL, *want = NULL;
    const json_t *found;
    int code;

    *out = false;
    if (path == NULL)
        return err_set_errno(err, "memory for a pointer");
    code = load_json(bytes, &have, err);
    if (code == 0)
        code = load_json(wanted, &want, err);
    if (code == 0 && have != NULL && want != NULL) {
        found = value_at(have, path);
        *out = found != NULL && json_equal(found, want);
    }
    json_decref(have);
    json_decref(want);
    return code;
}

/* The number that a counter line tells after its word, or -1 where it is none (ORACLE 4.7). */
static int64_t counter_value(const char *digits, size_t size_bytes)
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

bool match_tap(const struct bytes *bytes, enum oracle_tap_counter counter, int64_t number)
{
    const char *word = counter == ORACLE_TAP_TESTS ? "# tests " : counter == ORACLE_TAP_PASS ? "# pass " : "# fail ";
    size_t word_bytes = strlen(word), left = bytes->size_bytes, seen = 0;
    const char *at = (const char *)bytes->data;
    int64_t value = -1;

    while (left > 0) {
        const char *newline = memchr(at, '\n', left);
        size_t line_bytes = newline == NULL ? left : (size_t)(newline - at);

        if (line_bytes >= word_bytes && memcmp(at, word, word_bytes) == 0) {
            value = counter_value(at + word_bytes, line_bytes - word_bytes);
            seen++;
        }
        left -= line_bytes + (newline != NULL);
        at += line_bytes + (newline != NULL);
    }
    return seen == 1 && value >= 0 && value == number;
}
