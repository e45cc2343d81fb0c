/*
 * Matchers on the values of a JSON text (ORACLE 4.6; RFC 6901, 8259).
 */
#include "replay/match_verdict.h"

#include "base/cleanup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Loads a JSON text; *out is NULL where it is none, for the reason in `error`. ERR_SYSTEM: out of memory. */
static int load_json(const struct bytes *bytes, json_t **out, json_error_t *error, struct err *err)
{
    const char *text = bytes->size_bytes == 0 ? "" : (const char *)bytes->data;

    *out = json_loadb(text, bytes->size_bytes, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, error);
    if (*out == NULL && json_error_code(error) == json_error_out_of_memory)
        return err_set(err, ERR_SYSTEM, "memory for a JSON text of %zu bytes", bytes->size_bytes);
    return 0;
}

/* Parses the stream, which was read, where no matcher did so before. */
static int parse_content(struct content *content, struct err *err)
{
    json_error_t error;
    int code;

    if (content->is_parsed)
        return 0;
    code = load_json(&content->bytes, &content->json, &error, err);
    if (code < 0)
        return code;
    content->is_parsed = true;
    if (content->json == NULL)
        (void)snprintf(content->json_fault, sizeof content->json_fault, "%.70s", error.text);
    return 0;
}

/* ---- pointers ---- */

/* Undoes ~0 and ~1 of one part, in place. */
static void unescape_part(char *part)
{
    char *to = part;

    for (const char *at = part; *at != 0; at++)
        if (at[0] == '~' && (at[1] == '0' || at[1] == '1'))
            *to++ = *++at == '0' ? '~' : '/';
        else
            *to++ = *at;
    *to = 0;
}

/* Whether a part names an item of an array: at most nine digits without a leading zero. */
static bool is_index(const char *part)
{
    size_t digits = strspn(part, "0123456789");

    return digits > 0 && digits <= 9 && part[digits] == 0 && (part[0] != '0' || digits == 1);
}

/* Where a pointer leads. */
struct lead {
    const json_t *value;
    bool nearly; /* value is NULL, but all parts before the last led to where that one could be */
};

/* Follows a pointer, which is used up. */
static struct lead follow(const json_t *value, char *pointer)
{
    struct lead lead = {.value = value};
    char *rest = pointer[0] == 0 ? NULL : pointer + 1, *part;

    while (lead.value != NULL && (part = strsep(&rest, "/")) != NULL) {
        const json_t *whole = lead.value;
        bool fits;

        unescape_part(part);
        fits = json_is_object(whole) || (json_is_array(whole) && is_index(part));
        if (!fits)
            lead.value = NULL;
        else if (json_is_object(whole))
            lead.value = json_object_get(whole, part);
        else
            lead.value = json_array_get(whole, (size_t)strtoul(part, NULL, 10));
        lead.nearly = fits && lead.value == NULL && rest == NULL;
    }
    return lead;
}

/* ---- values ---- */

static bool is_of_type(const json_t *value, enum oracle_json_type type)
{
    switch (type) {
    case ORACLE_JSON_OBJECT:
        return json_is_object(value);
    case ORACLE_JSON_ARRAY:
        return json_is_array(value);
    case ORACLE_JSON_STRING:
        return json_is_string(value);
    case ORACLE_JSON_NUMBER:
        return json_is_number(value);
    case ORACLE_JSON_INTEGER:
        return json_is_integer(value);
    case ORACLE_JSON_REAL:
        return json_is_real(value);
    case ORACLE_JSON_BOOLEAN:
        return json_is_boolean(value);
    case ORACLE_JSON_NULL:
        return json_is_null(value);
    }
    return false;
}

static const char *type_word(const json_t *value)
{
    static const struct {
        json_type type;
        const char *word;
    } words[] = {{JSON_OBJECT, "an object"},   {JSON_ARRAY, "an array"}, {JSON_STRING, "a string"},
                 {JSON_INTEGER, "an integer"}, {JSON_REAL, "a real"},    {JSON_TRUE, "a boolean"},
                 {JSON_FALSE, "a boolean"}};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].type == json_typeof(value))
            return words[i].word;
    return "null";
}

/* The beginning of a text that is written piece by piece. */
struct beginning {
    char text[72];
    size_t size_bytes;
};

static int write_beginning(const char *piece, size_t size_bytes, void *context)
{
    struct beginning *out = context;
    size_t left = sizeof out->text - 1 - out->size_bytes, taken = size_bytes < left ? size_bytes : left;

    memcpy(out->text + out->size_bytes, piece, taken);
    out->size_bytes += taken;
    return taken < size_bytes ? -1 : 0; /* ends the writing: the rest of the value may be long */
}

/* Says what stands at the pointer instead. */
static void see_value(const struct oracle_matcher *matcher, const json_t *value, struct verdict *out)
{
    struct beginning beginning = {.size_bytes = 0};
    bool whole = json_dump_callback(value, write_beginning, &beginning, JSON_COMPACT | JSON_ENCODE_ANY) == 0;
    char quoted[64];

    verdict_fails(out, "%s, %s%s", type_word(value), beginning.text, whole ? "" : "...");
    verdict_at(out, "%s %s", matcher->on_stderr ? "stderr" : "stdout",
               match_quote(matcher->pointer, strlen(matcher->pointer), quoted, sizeof quoted));
}

/* Whether the value is what the matcher wants, which is not `absent`. */
static int value_fits(const struct oracle_matcher *matcher, const json_t *value, bool *out, struct err *err)
{
    json_t *wanted;
    json_error_t error;
    int code;

    if (matcher->kind == ORACLE_JSON_TYPE) {
        *out = is_of_type(value, matcher->json_type);
        return 0;
    }
    code = load_json(&matcher->bytes, &wanted, &error, err);
    if (code < 0)
        return code;
    *out = wanted != NULL && json_equal(value, wanted);
    json_decref(wanted);
    return 0;
}

int match_json_at(struct matching *matching, const struct oracle_matcher *matcher, struct verdict *out, struct err *err)
{
    struct content *content = &matching->streams[matcher->on_stderr];
    AUTO_FREE char *pointer = strdup(matcher->pointer);
    bool fits = false;
    struct lead lead;

    if (pointer == NULL)
        return err_set_errno(err, "memory for a pointer");
    if (parse_content(content, err) < 0)
        return err->code;
    if (content->json == NULL) {
        verdict_unable(out, "no JSON text: %s", content->json_fault);
        return 0;
    }
    lead = follow(content->json, pointer);
    if (lead.value == NULL && (matcher->kind != ORACLE_JSON_ABSENT || !lead.nearly)) {
        char quoted[80];

        verdict_unable(out, "%s leads nowhere",
                       match_quote(matcher->pointer, strlen(matcher->pointer), quoted, sizeof quoted));
        return 0;
    }
    if (matcher->kind == ORACLE_JSON_ABSENT)
        fits = lead.value == NULL;
    else if (value_fits(matcher, lead.value, &fits, err) < 0)
        return err->code;
    if (!fits) {
        verdict_at_bytes(out, content, 0);
        see_value(matcher, lead.value, out);
    }
    return 0;
}
