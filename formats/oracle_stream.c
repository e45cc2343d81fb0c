/*
 * What a stream must show: bytes, expressions, a digest, lines and TAP counters.
 */
#include "formats/oracle_parts.h"

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

static int matches_one_read(const struct yaml_node *node, struct oracle_case *out, struct err *err)
{
    struct oracle_matcher *matcher;
    const char *text, *fault;
    size_t at;

    if (yaml_text(node, &text, err) < 0 || oracle_matcher_add(out, ORACLE_MATCHES, node, &matcher, err) < 0 ||
        bytes_add(&matcher->bytes, text, strlen(text), LIMIT_YAML_BYTES, err) < 0)
        return err->code;
    matcher->regex = calloc(1, sizeof *matcher->regex);
    if (matcher->regex == NULL)
        return err_set_errno(err, "memory for a regular expression");
    fault = oracle_regex_parse(text, matcher->regex, &at);
    if (fault != NULL && fault[0] == '\0')
        return err_set_errno(err, "memory for a regular expression");
    if (fault != NULL)
        return yaml_fault(node, err, "`matches`, at character %zu: %s", at + 1, fault);
    return 0;
}

static int matches_read(const struct yaml_node *node, struct oracle_case *out, struct err *err)
{
    if (node->kind != YAML_LIST)
        return matches_one_read(node, out, err);
    if (yaml_check_list(node, 1, LIMIT_MATCHERS, err) < 0)
        return err->code;
    for (const struct yaml_node *item = node->first; item != NULL; item = item->next)
        if (matches_one_read(item, out, err) < 0)
            return err->code;
    return 0;
}

static int sha256_read(const struct yaml_node *node, struct oracle_case *out, struct err *err)
{
    struct oracle_matcher *matcher;

    if (oracle_matcher_add(out, ORACLE_SHA256, node, &matcher, err) < 0)
        return err->code;
    return oracle_digest_read(node, &matcher->digest, err);
}

static int lines_read(const struct yaml_node *node, struct oracle_case *out, struct err *err)
{
    struct oracle_matcher *matcher;
    uint32_t count;

    if (oracle_matcher_add(out, ORACLE_LINES, node, &matcher, err) < 0)
        return err->code;
    if (node->kind == YAML_MAP)
        return oracle_range_read(node, LIMIT_LINES, matcher, err);
    if (yaml_uint(node, 0, LIMIT_LINES, &count, err) < 0)
        return err->code;
    matcher->at_least = matcher->at_most = count;
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

static int equals_read(const struct yaml_node *node, struct oracle_case *out, struct err *err)
{
    return bytes_matcher_read(node, ORACLE_EQUALS, out, err);
}

int oracle_stream_read(const struct yaml_node *node, bool on_stderr, struct oracle_case *out, struct err *err)
{
    static const char *const known[] = {"empty", "equals", "contains", "matches", "sha256",
                                        "lines", "json",   "tap",      NULL};
    static int (*const readers[])(const struct yaml_node *node, struct oracle_case *out, struct err *err) = {
        empty_read, equals_read, contains_read, matches_read, sha256_read, lines_read, oracle_json_read, tap_read};
    size_t first = out->matcher_count;

    if (yaml_check_map(node, "a map of what a stream shows", known, err) < 0)
        return err->code;
    if (node->count == 0)
        return yaml_fault(node, err,
                          "a stream that need show nothing; write one of: empty, equals, contains, matches, sha256, "
                          "lines, json, tap");
    for (size_t i = 0; known[i] != NULL; i++) {
        const struct yaml_node *value = yaml_get(node, known[i]);

        if (value != NULL && readers[i](value, out, err) < 0)
            return err->code;
    }
    for (size_t i = first; i < out->matcher_count; i++)
        out->matchers[i].on_stderr = on_stderr;
    return 0;
}
