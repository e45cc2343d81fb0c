/*
 * JSON matchers: one text, a pointer into it, and what is found there (docs/ORACLE.md 4.6).
 */
#include "verify/matching.h"

#include "base/cleanup.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Where a pointer leads. */
struct matching_way {
    json_t *parent;    /* borrowed; what the last part is looked up in; NULL: the pointer is empty, or leads nowhere */
    bool selects;      /* the last part could be one of the parent's, there or not */
    json_t *found;     /* borrowed; NULL: nothing */
    const char *wrong; /* why nothing; static */
};

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

/* The number of an array's item. False: the part is not one. */
static bool matching_index(const char *token, size_t *out)
{
    size_t digits = strlen(token), index = 0;

    if (digits == 0 || digits > 9 || (token[0] == '0' && digits > 1) || strspn(token, "0123456789") != digits)
        return false;
    for (const char *at = token; *at != '\0'; at++)
        index = index * 10 + (size_t)(*at - '0');
    *out = index;
    return true;
}

/* One part of the way: from `parent` by a token. */
static void matching_step(struct matching_way *way, json_t *parent, const char *token)
{
    size_t index = 0;

    *way = (struct matching_way){.parent = parent, .selects = json_is_object(parent)};
    if (json_is_object(parent)) {
        way->found = json_object_get(parent, token);
        way->wrong = way->found == NULL ? "there is no such member" : NULL;
    } else if (json_is_array(parent)) {
        way->selects = matching_index(token, &index);
        way->found = way->selects ? json_array_get(parent, index) : NULL;
        way->wrong = !way->selects        ? "an array has items 0, 1, 2 ..., and no such part"
                     : way->found == NULL ? "the array ends before"
                                          : NULL;
    } else {
        way->wrong = "it leads through a value that is neither object nor array";
    }
}

static int matching_point(json_t *whole, const char *pointer, struct matching_way *out, struct err *err)
{
    AUTO_FREE char *token = malloc(strlen(pointer) + 1);

    *out = (struct matching_way){.found = whole};
    if (token == NULL)
        return err_set(err, ERR_SYSTEM, "out of memory");
    while (*pointer != '\0') {
        size_t size_bytes = strcspn(pointer + 1, "/");

        if (out->found == NULL || *pointer != '/' || !matching_token(pointer + 1, size_bytes, token)) {
            *out = (struct matching_way){.wrong = "it leads through nothing"};
            return 0;
        }
        matching_step(out, out->found, token);
        pointer += 1 + size_bytes;
    }
    return 0;
}

/* The narrowest type of a value: never NUMBER. */
static enum oracle_json_type matching_type(const json_t *value)
{
    static const enum oracle_json_type types[] = {
        [JSON_OBJECT] = ORACLE_JSON_OBJECT,   [JSON_ARRAY] = ORACLE_JSON_ARRAY, [JSON_STRING] = ORACLE_JSON_STRING,
        [JSON_INTEGER] = ORACLE_JSON_INTEGER, [JSON_REAL] = ORACLE_JSON_REAL,   [JSON_TRUE] = ORACLE_JSON_BOOLEAN,
        [JSON_FALSE] = ORACLE_JSON_BOOLEAN,   [JSON_NULL] = ORACLE_JSON_NULL,
    };

    return types[json_typeof(value)];
}

static const char *matching_type_text(enum oracle_json_type type)
{
    static const char *const texts[] = {
        [ORACLE_JSON_OBJECT] = "an object",  [ORACLE_JSON_ARRAY] = "an array",     [ORACLE_JSON_STRING] = "a string",
        [ORACLE_JSON_NUMBER] = "a number",   [ORACLE_JSON_INTEGER] = "an integer", [ORACLE_JSON_REAL] = "a real",
        [ORACLE_JSON_BOOLEAN] = "a boolean", [ORACLE_JSON_NULL] = "the null",
    };

    return texts[type];
}

static bool matching_is_of_type(const json_t *value, enum oracle_json_type wanted)
{
    return matching_type(value) == wanted || (wanted == ORACLE_JSON_NUMBER && json_is_number(value));
}

static const char *matching_type_of(const json_t *value)
{
    return matching_type_text(matching_type(value));
}

/* A dump that ends when there is room for no more: the value may have any size. */
struct matching_dump {
    struct matching_quote quote;
    size_t size_bytes;
};

static int matching_dump_piece(const char *piece, size_t size_bytes, void *context)
{
    struct matching_dump *dump = context;
    size_t room = sizeof dump->quote.text - 4 - dump->size_bytes;
    bool whole = size_bytes <= room;

    memcpy(dump->quote.text + dump->size_bytes, piece, whole ? size_bytes : room);
    dump->size_bytes += whole ? size_bytes : room;
    if (!whole)
        memcpy(dump->quote.text + dump->size_bytes, "...", 3);
    return whole ? 0 : -1;
}

static struct matching_quote matching_json_text(const json_t *value)
{
    struct matching_dump dump = {0};

    (void)json_dump_callback(value, matching_dump_piece, &dump, JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
    return dump.quote;
}

static int matching_equals(const struct oracle_matcher *matcher, const json_t *found, const char *at,
                           struct matching *out, struct err *err)
{
    json_error_t fault;
    json_t *wanted = json_loadb((const char *)matcher->bytes.data, matcher->bytes.size_bytes, JSON_DECODE_ANY, &fault);

    if (wanted == NULL) /* the oracle's own text, which its parser wrote */
        return err_set(err, ERR_SYSTEM, "out of memory for a JSON value");
    if (json_equal(found, wanted) != 1)
        matching_fail(out, "expected %s %s, seen %s %s, at %s", matching_type_of(wanted),
                      matching_json_text(wanted).text, matching_type_of(found), matching_json_text(found).text, at);
    json_decref(wanted);
    return 0;
}

/* Parses the stream at the first matcher that asks for it. */
static int matching_parse(struct matching_stream *stream, struct err *err)
{
    json_error_t fault;

    if (stream->parsed)
        return 0;
    stream->parsed = true;
    stream->json = json_loadb(stream->text.size_bytes == 0 ? "" : (const char *)stream->text.data,
                              stream->text.size_bytes, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &fault);
    if (stream->json != NULL)
        return 0;
    if (json_error_code(&fault) == json_error_out_of_memory)
        return err_set(err, ERR_SYSTEM, "out of memory for a JSON text");
    (void)snprintf(stream->fault, sizeof stream->fault, "it is not one JSON text: %.80s (byte %d)", fault.text,
                   fault.position);
    return 0;
}

int matching_json(const struct oracle_matcher *matcher, struct matching_stream *stream, struct matching *out,
                  struct err *err)
{
    const char *pointer = matcher->pointer == NULL ? "" : matcher->pointer;
    struct matching_quote at = matching_quote(pointer, strlen(pointer));
    struct matching_way way;

    if (matching_parse(stream, err) < 0)
        return err->code;
    if (stream->json == NULL) {
        matching_cannot(out, "%s", stream->fault);
        return 0;
    }
    if (matching_point(stream->json, pointer, &way, err) < 0)
        return err->code;
    if (matcher->kind == ORACLE_JSON_ABSENT) {
        if (way.parent == NULL || !way.selects)
            matching_cannot(out, "the pointer %s leads nowhere: %s", at.text,
                            way.wrong == NULL ? "the whole text is always there" : way.wrong);
        else if (way.found != NULL)
            matching_fail(out, "expected nothing, seen %s %s, at %s", matching_type_of(way.found),
                          matching_json_text(way.found).text, at.text);
        return 0;
    }
    if (way.found == NULL) {
        matching_cannot(out, "the pointer %s leads nowhere: %s", at.text, way.wrong);
        return 0;
    }
    if (matcher->kind == ORACLE_JSON_EQUALS)
        return matching_equals(matcher, way.found, at.text, out, err);
    if (!matching_is_of_type(way.found, matcher->json_type))
        matching_fail(out, "expected %s, seen %s %s, at %s", matching_type_text(matcher->json_type),
                      matching_type_of(way.found), matching_json_text(way.found).text, at.text);
    return 0;
}
