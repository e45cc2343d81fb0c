/*
 * What the values of a JSON text must be, as JSON of their own.
 */
#include "formats/oracle_parts.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

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

/*
 * A YAML value as compact JSON with sorted keys, replacing what was in out: a plain scalar that JSON reads as a number,
 * true, false or null is that; any other scalar is a string.
 */
static int value_read(const struct yaml_node *node, struct bytes *out, struct err *err)
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

static int type_read(const struct yaml_node *node, enum oracle_json_type *out, struct err *err)
{
    static const char *const words[] = {"",        "object", "array",   "string", "number",
                                        "integer", "real",   "boolean", "null",   NULL};
    const char *text;

    if (yaml_text(node, &text, err) < 0)
        return err->code;
    for (int i = 1; words[i] != NULL; i++)
        if (strcmp(text, words[i]) == 0) {
            *out = (enum oracle_json_type)i;
            return 0;
        }
    return yaml_fault(node, err,
                      "there is no JSON type `%.64s`; the types are: object, array, string, number, integer, real, "
                      "boolean, null",
                      text);
}

static int absent_read(const struct yaml_node *node, const struct oracle_matcher *matcher, struct err *err)
{
    bool absent;

    if (yaml_bool(node, &absent, err) < 0)
        return err->code;
    if (!absent)
        return yaml_fault(node, err, "`absent: false` asks for nothing; write `equals` or `type`");
    if (matcher->pointer[0] == '\0')
        return yaml_fault(node, err, "the whole text is never absent; write a pointer, as /result/error");
    return 0;
}

static int item_read(const struct yaml_node *node, struct oracle_case *out, struct err *err)
{
    static const char *const known[] = {"pointer", "equals", "type", "absent", NULL};
    const struct yaml_node *pointer, *equals, *type, *absent;
    struct oracle_matcher *matcher;

    if (yaml_check_map(node, "a JSON value", known, err) < 0 ||
        yaml_need(node, "a JSON value", "pointer", &pointer, err) < 0)
        return err->code;
    equals = yaml_get(node, "equals");
    type = yaml_get(node, "type");
    absent = yaml_get(node, "absent");
    if ((equals != NULL) + (type != NULL) + (absent != NULL) != 1)
        return yaml_fault(node, err, "a JSON value needs one of: equals, type, absent; write one");
    if (oracle_matcher_add(out,
                           equals != NULL ? ORACLE_JSON_EQUALS
                           : type != NULL ? ORACLE_JSON_TYPE
                                          : ORACLE_JSON_ABSENT,
                           node, &matcher, err) < 0 ||
        yaml_text_copy(pointer, &matcher->pointer, err) < 0)
        return err->code;
    if (strlen(matcher->pointer) >= LIMIT_PATH_BYTES)
        return yaml_fault(pointer, err, "`pointer` is longer than %d bytes; write a shorter one", LIMIT_PATH_BYTES - 1);
    if (!pointer_is_fit(matcher->pointer))
        return yaml_fault(pointer, err, "`pointer` is not a JSON pointer (RFC 6901); write it as /result/action");
    if (equals != NULL)
        return value_read(equals, &matcher->bytes, err);
    return type != NULL ? type_read(type, &matcher->json_type, err) : absent_read(absent, matcher, err);
}

int oracle_json_read(const struct yaml_node *node, struct oracle_case *out, struct err *err)
{
    if (yaml_check_list(node, 1, LIMIT_MATCHERS, err) < 0)
        return err->code;
    for (const struct yaml_node *item = node->first; item != NULL; item = item->next)
        if (item_read(item, out, err) < 0)
            return err->code;
    return 0;
}
