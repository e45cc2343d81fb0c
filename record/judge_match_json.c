/*
 * Matchers on a stream that is one JSON text (docs/ORACLE.md 4.6). Each stream is parsed once for all of them.
 */
#include "record/judge_match.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum pointed {
    POINTED_FOUND = 1,
    POINTED_ABSENT,  /* all but the last part leads to an object or array, which does not have it */
    POINTED_NOWHERE, /* it leads nowhere earlier, or not at all */
};

/* Takes the next part of a pointer, which stands at its '/'. Returns what follows; NULL: it is no part. */
static const char *part_take(const char *pointer, char out[LIMIT_PATH_BYTES])
{
    size_t used = 0;

    if (*pointer++ != '/')
        return NULL;
    for (; *pointer != 0 && *pointer != '/'; pointer++) {
        char letter = *pointer;

        if (letter == '~') {
            pointer++;
            if (*pointer != '0' && *pointer != '1')
                return NULL;
            letter = *pointer == '0' ? '~' : '/';
        }
        if (used + 1 >= LIMIT_PATH_BYTES)
            return NULL;
        out[used++] = letter;
    }
    out[used] = 0;
    return pointer;
}

static bool is_index(const char *part)
{
    size_t size_bytes = strlen(part);

    return size_bytes > 0 && size_bytes <= 9 && strspn(part, "0123456789") == size_bytes &&
           (part[0] != '0' || size_bytes == 1);
}

/* Follows an RFC 6901 pointer; *out is borrowed from `value`. */
static enum pointed pointer_follow(json_t *value, const char *pointer, json_t **out)
{
    while (*pointer != 0) {
        char part[LIMIT_PATH_BYTES];

        pointer = part_take(pointer, part);
        if (pointer == NULL || (!json_is_object(value) && !(json_is_array(value) && is_index(part))))
            return POINTED_NOWHERE;
        value = json_is_object(value) ? json_object_get(value, part) : json_array_get(value, strtoul(part, NULL, 10));
        if (value == NULL)
            return *pointer == 0 ? POINTED_ABSENT : POINTED_NOWHERE;
    }
    *out = value;
    return POINTED_FOUND;
}

static void shown_parse(struct judge_shown *shown)
{
    json_error_t error;

    shown->parsed = true;
    shown->json = json_loadb(shown->kept.size_bytes == 0 ? "" : (const char *)shown->kept.data, shown->kept.size_bytes,
                             JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (shown->json == NULL)
        (void)snprintf(shown->json_fault, sizeof shown->json_fault, "%.120s, at byte %d", error.text, error.position);
}

static bool is_of_type(const json_t *value, enum oracle_json_type type)
{
    static const unsigned kinds[] = {
        [ORACLE_JSON_OBJECT] = 1u << JSON_OBJECT,
        [ORACLE_JSON_ARRAY] = 1u << JSON_ARRAY,
        [ORACLE_JSON_STRING] = 1u << JSON_STRING,
        [ORACLE_JSON_INTEGER] = 1u << JSON_INTEGER,
        [ORACLE_JSON_REAL] = 1u << JSON_REAL,
        [ORACLE_JSON_NUMBER] = 1u << JSON_INTEGER | 1u << JSON_REAL,
        [ORACLE_JSON_BOOLEAN] = 1u << JSON_TRUE | 1u << JSON_FALSE,
        [ORACLE_JSON_NULL] = 1u << JSON_NULL,
    };

    return (kinds[type] >> json_typeof(value) & 1) != 0;
}

static const char *type_word(enum oracle_json_type type)
{
    static const char *const words[] = {"",        "object", "array",   "string", "number",
                                        "integer", "real",   "boolean", "null"};

    return words[type];
}

/* The value as a quotation. */
static struct judge_quote value_quote(const json_t *value)
{
    char text[64];
    size_t size_bytes = json_dumpb(value, text, sizeof text, JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS);

    return judge_quote_of(text, size_bytes < sizeof text ? size_bytes : sizeof text);
}

static bool value_is_equal(const json_t *value, const struct bytes *wanted)
{
    json_t *expected = json_loadb((const char *)wanted->data, wanted->size_bytes, JSON_DECODE_ANY, NULL);
    bool equal = expected != NULL && json_equal(value, expected) == 1;

    json_decref(expected);
    return equal;
}

/* Tells a value that is there and not as wanted. */
static void value_differs(const json_t *value, const struct oracle_matcher *matcher, struct judge_finding *out)
{
    const char *wanted = matcher->kind == ORACLE_JSON_TYPE ? type_word(matcher->json_type) : "nothing";

    judge_finding_differs(out, "expected %s, seen %s, at \"%.80s\"",
                          matcher->kind == ORACLE_JSON_EQUALS
                              ? judge_quote_of(matcher->bytes.data, matcher->bytes.size_bytes).text
                              : wanted,
                          value_quote(value).text, matcher->pointer);
}

void judge_json_match(struct judge_shown *shown, const struct oracle_matcher *matcher, struct judge_finding *out)
{
    enum pointed pointed;
    json_t *value = NULL;

    if (!shown->whole || shown->size_bytes > LIMIT_MATCHED_STREAM_BYTES) {
        judge_finding_cannot(out, "%s is not whole, or has more than %u bytes", shown->name,
                             LIMIT_MATCHED_STREAM_BYTES);
        return;
    }
    if (!shown->parsed)
        shown_parse(shown);
    if (shown->json == NULL) {
        judge_finding_cannot(out, "%s is not one JSON text: %s", shown->name, shown->json_fault);
        return;
    }
    pointed = pointer_follow(shown->json, matcher->pointer, &value);
    if (pointed == POINTED_NOWHERE || (pointed == POINTED_ABSENT && matcher->kind != ORACLE_JSON_ABSENT)) {
        judge_finding_cannot(out, "%s has nothing at \"%.80s\"", shown->name, matcher->pointer);
        return;
    }
    out->holds = matcher->kind == ORACLE_JSON_ABSENT ? pointed == POINTED_ABSENT
                 : matcher->kind == ORACLE_JSON_TYPE ? is_of_type(value, matcher->json_type)
                                                     : value_is_equal(value, &matcher->bytes);
    if (!out->holds)
        value_differs(value, matcher, out);
}
