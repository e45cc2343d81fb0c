/*
 * What a stream must show: bytes, JSON values and TAP counters.
 */
#include "formats/oracle_parts.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static int empty_read(const struct yaml_node *node, struct oracle_case *out, struct err *err)
{
    struct oracle_matcher *matcher;
    bool empty;

    if (yaml_bool(node, &empty, err) < 0)
        return err->code;
    if (!empty)
        return yaml_fault(node, err, "`empty: false` asks for nothing; remove it, or say what the stream must hold");
    return oracle_matcher_add(out, ORACLE_EMPTY, node, &matcher, err);
}

static int bytes_matcher_read(const struct yaml_node *node, enum oracle_matcher_kind kind, struct oracle_case *out,
                              struct err *err)
{
    struct oracle_matcher *matcher;

    if (oracle_matcher_add(out, kind, node, &matcher, err) < 0 || yaml_bytes(node, &matcher->bytes, err) < 0)
        return err->code;
    if (kind == ORACLE_CONTAINS && matcher->bytes.size_bytes == 0)
        return yaml_fault(node, err, "`contains` an empty text, as every stream does; write a text");
    return 0;
}

static int contains_read(const struct yaml_node *node, struct oracle_case *out, struct err *err)
{
    if (node->kind != YAML_LIST)
        return bytes_matcher_read(node, ORACLE_CONTAINS, out, err);
    if (yaml_check_list(node, 1, LIMIT_MATCHERS, err) < 0)
        return err->code;
    for (const struct yaml_node *item = node->first; item != NULL; item = item->next)
        if (bytes_matcher_read(item, ORACLE_CONTAINS, out, err) < 0)
            return err->code;
    return 0;
}

static int out_of_memory(struct err *err)
{
    return err_set(err, ERR_SYSTEM, "memory for a JSON value");
}

/* A plain scalar that JSON reads is what JSON reads; one that only looks like a number is refused. */
static int scalar_to_json(const struct yaml_node *node, json_t **out, struct err *err)
{
    const char *text = node->text;

    if (node->plain && text[0] == '\0')
        return yaml_fault(node, err, "a JSON value is missing; write one (null, or \"\" for an empty text)");
    *out = node->plain ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL;
    if (*out != NULL)
        return 0;
    if (node->plain && strpbrk(text, "0123456789") != NULL && strspn(text, "0123456789+-.eE") == strlen(text))
        return yaml_fault(node, err, "`%.64s` is not a number that JSON knows (64 bits); put it in quotes for a text",
                          text);
    *out = json_string(text);
    return *out != NULL ? 0 : out_of_memory(err);
}

static int to_json(const struct yaml_node *node, json_t **out, struct err *err)
{
    json_t *whole;

    if (node->kind == YAML_SCALAR)
        return scalar_to_json(node, out, err);
    whole = node->kind == YAML_MAP ? json_object() : json_array();
    if (whole == NULL)
        return out_of_memory(err);
    for (const struct yaml_node *item = node->first; item != NULL; item = item->next) {
        json_t *value = NULL;
        int code = to_json(item, &value, err); /* no deeper than LIMIT_YAML_DEPTH */

        if (code == 0 && (node->kind == YAML_MAP ? json_object_set_new(whole, item->key, value)
                                                 : json_array_append_new(whole, value)) < 0)
            code = out_of_memory(err);
        if (code < 0) {
            json_decref(whole);
            return code;
        }
    }
    *out = whole;
    return 0;
}

int oracle_json_read(const struct yaml_node *node, struct bytes *out, struct err *err)
{
    struct bytes packed = {0};
    json_t *value = NULL;
    char *text;
    int code;

    if (to_json(node, &value, err) < 0)
        return err->code;
    text = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
    json_decref(value);
    if (text == NULL)
        return out_of_memory(err);
    code = bytes_add(&packed, text, strlen(text), 8 * (size_t)LIMIT_YAML_BYTES, err); /* escapes lengthen it */
    free(text);
    if (code < 0)
        return code;
    bytes_done(out);
    *out = packed;
    return 0;
}

/* RFC 6901: empty, or parts that each follow a '/', in which '~' stands before 0 or 1 only. */
static bool pointer_is_fit(const char *pointer)
{
    if (pointer[0] != '\0' && pointer[0] != '/')
        return false;
    for (const char *at = strchr(pointer, '~'); at != NULL; at = strchr(at + 1, '~'))
        if (at[1] != '0' && at[1] != '1')
            return false;
    return true;
}

static int json_item_read(const struct yaml_node *node, struct oracle_case *out, struct err *err)
{
    static const char *const known[] = {"pointer", "equals", NULL};
    const struct yaml_node *pointer, *equals;
    struct oracle_matcher *matcher;

    if (yaml_check_map(node, "a JSON value", known, err) < 0 ||
        yaml_need(node, "a JSON value", "pointer", &pointer, err) < 0 ||
        yaml_need(node, "a JSON value", "equals", &equals, err) < 0 ||
        oracle_matcher_add(out, ORACLE_JSON_EQUALS, node, &matcher, err) < 0 ||
        yaml_text_copy(pointer, &matcher->pointer, err) < 0)
        return err->code;
    if (strlen(matcher->pointer) >= LIMIT_PATH_BYTES || !pointer_is_fit(matcher->pointer))
        return yaml_fault(pointer, err, "`pointer` is not a JSON pointer (RFC 6901); write it as /result/action");
    return oracle_json_read(equals, &matcher->bytes, err);
}

static int json_read(const struct yaml_node *node, struct oracle_case *out, struct err *err)
{
    if (yaml_check_list(node, 1, LIMIT_MATCHERS, err) < 0)
        return err->code;
    for (const struct yaml_node *item = node->first; item != NULL; item = item->next)
        if (json_item_read(item, out, err) < 0)
            return err->code;
    return 0;
}

static int tap_read(const struct yaml_node *node, struct oracle_case *out, struct err *err)
{
    static const char *const known[] = {"tests", "pass", "fail", NULL};

    if (yaml_check_map(node, "a map of TAP counters", known, err) < 0)
        return err->code;
    if (node->count == 0)
        return yaml_fault(node, err, "`tap` names no counter; write at least one of: tests, pass, fail");
    for (int i = 0; i < 3; i++) {
        const struct yaml_node *count = yaml_get(node, known[i]);
        struct oracle_matcher *matcher;
        uint32_t number;

        if (count == NULL)
            continue;
        if (yaml_uint(count, 0, UINT32_MAX, &number, err) < 0 ||
            oracle_matcher_add(out, ORACLE_TAP, count, &matcher, err) < 0)
            return err->code;
        matcher->number = number;
        matcher->counter = (enum oracle_tap_counter)(ORACLE_TAP_TESTS + i);
    }
    return 0;
}

int oracle_stream_read(const struct yaml_node *node, bool on_stderr, struct oracle_case *out, struct err *err)
{
    static const char *const known[] = {"empty", "equals", "contains", "json", "tap", NULL};
    size_t first = out->matcher_count;
    const struct yaml_node *empty, *equals, *contains, *json, *tap;

    if (yaml_check_map(node, "a map of what a stream shows", known, err) < 0)
        return err->code;
    if (node->count == 0)
        return yaml_fault(node, err,
                          "a stream that need show nothing; write one of: empty, equals, contains, json, tap");
    empty = yaml_get(node, "empty");
    equals = yaml_get(node, "equals");
    contains = yaml_get(node, "contains");
    json = yaml_get(node, "json");
    tap = yaml_get(node, "tap");
    if ((empty != NULL && empty_read(empty, out, err) < 0) ||
        (equals != NULL && bytes_matcher_read(equals, ORACLE_EQUALS, out, err) < 0) ||
        (contains != NULL && contains_read(contains, out, err) < 0) ||
        (json != NULL && json_read(json, out, err) < 0) || (tap != NULL && tap_read(tap, out, err) < 0))
        return err->code;
    for (size_t i = first; i < out->matcher_count; i++)
        out->matchers[i].on_stderr = on_stderr;
    return 0;
}
