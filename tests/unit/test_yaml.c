/* formats/yaml: the tree, what is refused, and typed values. */
#include "formats/limits.h"
#include "formats/yaml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TEXT(literal) literal, sizeof(literal) - 1

static void refuse(const void *from, size_t size_bytes, const char *expected)
{
    struct yaml yaml;
    struct err err = {0};

    assert_int_equal(yaml_parse("f.yaml", from, size_bytes, &yaml, &err), ERR_USAGE);
    assert_string_equal(err.text, expected);
    assert_null(yaml.root);
    assert_null(yaml.file);
}

static struct yaml parse(const char *text)
{
    struct yaml yaml;
    struct err err = {0};

    if (yaml_parse("f.yaml", text, strlen(text), &yaml, &err) < 0)
        fail_msg("%s", err.text);
    return yaml;
}

static void a_tree_knows_kinds_order_and_lines(void **state)
{
    AUTO_YAML struct yaml yaml = parse("# about\nb: {x: 'q', y: \"\"}\na:\n  - one\n  - |\n    two\n\n'a b':\n");
    const struct yaml_node *root = yaml.root, *list = yaml_get(root, "a"), *map = yaml_get(root, "b");

    (void)state;
    assert_int_equal(root->kind, YAML_MAP);
    assert_int_equal(root->count, 3);
    assert_ptr_equal(root->first, map);
    assert_int_equal(map->line, 2);
    assert_false(yaml_get(map, "x")->plain);
    assert_string_equal(yaml_get(map, "y")->text, "");
    assert_int_equal(list->kind, YAML_LIST);
    assert_int_equal(list->key_line, 3);
    assert_int_equal(list->line, 4);
    assert_true(list->first->plain);
    assert_string_equal(list->last->text, "two\n");
    assert_int_equal(list->last->line, 5);
    assert_ptr_equal(list->last->parent, list);
    assert_string_equal(yaml_get(root, "a b")->text, "");
    assert_null(yaml_get(root, "c"));
    assert_null(yaml_get(list, "one"));
}

static void what_is_not_plain_yaml_is_refused_by_line(void **state)
{
    static const struct {
        const char *from;
        size_t size_bytes;
        const char *expected;
    } cases[] = {
        {TEXT(""), "f.yaml:1: an empty document; write it"},
        {TEXT("# nothing\n"), "f.yaml:1: an empty document; write it"},
        {TEXT("a: 1\n---\nb: 2\n"), "f.yaml:2: a second document; keep one"},
        {TEXT("a: 1\n...\n---\n"), "f.yaml:3: a second document; keep one"},
        {TEXT("%YAML 1.1\n---\na: 1\n"), "f.yaml:1: a directive; remove it"},
        {TEXT("%TAG ! tag:x,2000:\n---\na: 1\n"), "f.yaml:1: a directive; remove it"},
        {TEXT("a: &x 1\n"), "f.yaml:1: an anchor or a tag; write the value without it"},
        {TEXT("a: &x [1]\n"), "f.yaml:1: an anchor or a tag; write the value without it"},
        {TEXT("a: 1\n&x b: 2\n"), "f.yaml:2: an anchor or a tag; write the value without it"},
        {TEXT("a: *x\n"), "f.yaml:1: an alias; write the value out"},
        {TEXT("a: !!str 1\n"), "f.yaml:1: an anchor or a tag; write the value without it"},
        {TEXT("a: !x {b: 1}\n"), "f.yaml:1: an anchor or a tag; write the value without it"},
        {TEXT("\xc3\xa4: '\xe2\x82\xac\xf0\x9f\x98\x80'\r\nb: ! true\r\n"),
         "f.yaml:2: an anchor or a tag; write the value without it"},
        {TEXT("a: ! [1]\n"), "f.yaml:1: an anchor or a tag; write the value without it"},
        {TEXT("! a: 1\n"), "f.yaml:1: an anchor or a tag; write the value without it"},
        {TEXT("<<: {a: 1}\n"), "f.yaml:1: a merge key; write the keys out"},
        {TEXT("[a, b]: 1\n"), "f.yaml:1: a key that is a map or a list; write a plain word"},
        {TEXT("? {a: b}\n: 1\n"), "f.yaml:1: a key that is a map or a list; write a plain word"},
        {TEXT("a: 1\nb: 2\n'a': 3\n"), "f.yaml:3: `a` stands twice (line 1); keep one"},
        {TEXT("x: {a: 1, b: 2, c: 3, b: 4}\n"), "f.yaml:1: `b` stands twice (line 1); keep one"},
        {TEXT("a: 1\nb: x\0y\n"), "f.yaml:2: a NUL byte; write bytes as {base64: ...}"},
        {TEXT("a: 1\nb: \"x\\0y\"\n"), "f.yaml:2: a NUL in a text; write its bytes as {base64: ...}"},
        {TEXT("a: 1\n\"x\\0y\": 1\n"), "f.yaml:2: a NUL in a text; write its bytes as {base64: ...}"},
        {TEXT("a: 1\nb: \xff\n"),
         "f.yaml:2: bytes that YAML does not allow (invalid leading UTF-8 octet); write them as {base64: ...}"},
        {TEXT("a: \xc0\xaf\n"),
         "f.yaml:1: bytes that YAML does not allow (invalid length of a UTF-8 sequence); write them as {base64: ...}"},
        {TEXT("a: \xed\xa0\x80\n"),
         "f.yaml:1: bytes that YAML does not allow (invalid Unicode character); write them as {base64: ...}"},
        {TEXT("a: \x01\n"),
         "f.yaml:1: bytes that YAML does not allow (control characters are not allowed); write them as {base64: ...}"},
        {TEXT("\xff\xfe"
              "a"),
         "f.yaml:1: bytes that YAML does not allow (invalid leading UTF-8 octet); write them as {base64: ...}"},
        {TEXT("a: 1\nb: [1\n"), "f.yaml:3: not YAML: did not find expected ',' or ']'; correct it"},
        {TEXT("a: b: c\n"), "f.yaml:1: not YAML: mapping values are not allowed in this context; correct it"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        refuse(cases[i].from, cases[i].size_bytes, cases[i].expected);
}

/* `count` times `unit`. */
static char *repeat(const char *unit, size_t count)
{
    size_t unit_bytes = strlen(unit);
    char *text = malloc(count * unit_bytes + 1);

    assert_non_null(text);
    for (size_t i = 0; i < count; i++)
        memcpy(text + i * unit_bytes, unit, unit_bytes);
    text[count * unit_bytes] = '\0';
    return text;
}

static void size_depth_and_number_are_bounded(void **state)
{
    char *large = repeat("#", LIMIT_YAML_BYTES + 1), *many = repeat("-\n", LIMIT_YAML_NODES);
    char *deep = repeat("[", 200000), *level;
    struct yaml yaml;
    struct err err;

    (void)state;
    refuse(large, strlen(large), "f.yaml:1: larger than 1048576 bytes; make it smaller");
    memcpy(large, "a: 1\n", 5);
    assert_int_equal(yaml_parse("f.yaml", large, LIMIT_YAML_BYTES, &yaml, &err), 0);
    yaml_done(&yaml);
    refuse(many, strlen(many), "f.yaml:65536: more than 65536 values; write fewer");
    refuse(deep, strlen(deep), "f.yaml:1: maps and lists nested more than 16 deep; nest less");
    level = repeat("- ", LIMIT_YAML_DEPTH + 1);
    refuse(level, strlen(level), "f.yaml:1: maps and lists nested more than 16 deep; nest less");
    assert_int_equal(yaml_parse("f.yaml", level + 2, strlen(level + 2), &yaml, &err), 0);
    yaml_done(&yaml);
    free(large);
    free(many);
    free(deep);
    free(level);
}

/* Equal keys are found in a map of tens of thousands without comparing each with each. */
static void a_duplicate_is_found_in_a_large_map(void **state)
{
    struct bytes text = {0};
    struct err err;

    (void)state;
    for (unsigned i = 0; i < 60000; i++) {
        char line[32];
        int size = snprintf(line, sizeof line, "k%u:\n", i == 59999 ? 5 : i);

        assert_int_equal(bytes_add(&text, line, (size_t)size, LIMIT_YAML_BYTES, &err), 0);
    }
    refuse(text.data, text.size_bytes, "f.yaml:60000: `k5` stands twice (line 6); keep one");
    bytes_done(&text);
}

static void a_message_stays_one_line_that_steers_no_terminal(void **state)
{
    (void)state;
    refuse(TEXT("\"a\\nb\\e\\x9bc\": 1\n\"a\\nb\\e\\x9bc\": 2\n"),
           "f.yaml:2: `a?b?\xc2?c` stands twice (line 1); keep one");
}

static void a_byte_order_mark_is_overlooked(void **state)
{
    AUTO_YAML struct yaml yaml = parse("\xef\xbb\xbf"
                                       "a: 1\n");

    (void)state;
    assert_string_equal(yaml.root->first->key, "a");
}

static void roots_begin_with_version_1(void **state)
{
    static const char *const known[] = {"version", "name", NULL};
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"[1]", "f.yaml:1: a plan begins with its version; write `version: 1` first"},
        {"{}", "f.yaml:1: a plan begins with its version; write `version: 1` first"},
        {"\nname: x\nversion: 1\n", "f.yaml:2: a plan begins with its version; write `version: 1` first"},
        {"version: 2\n", "f.yaml:1: `version` is not 1, the one that this program knows; write `version: 1`"},
        {"version: '1'\n", "f.yaml:1: `version` is not 1, the one that this program knows; write `version: 1`"},
        {"version: 1\nnmae:\n  - x\n", "f.yaml:2: a plan has no key `nmae`; the keys are: version, name"},
    };
    AUTO_YAML struct yaml good = parse("version: 1\nname: x\n");
    struct err err;

    (void)state;
    assert_int_equal(yaml_check_root(&good, "a plan", known, &err), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO_YAML struct yaml yaml = parse(cases[i].text);

        assert_int_equal(yaml_check_root(&yaml, "a plan", known, &err), ERR_USAGE);
        assert_string_equal(err.text, cases[i].expected);
    }
}

static void maps_and_lists_are_checked(void **state)
{
    static const char *const known[] = {"a", NULL};
    AUTO_YAML struct yaml yaml = parse("a: [1, 2, 3]\nb: {c: [x]}\n");
    const struct yaml_node *a = yaml_get(yaml.root, "a"), *b = yaml_get(yaml.root, "b"), *got = NULL;
    struct err err;

    (void)state;
    assert_int_equal(yaml_check_map(a, "a case", known, &err), ERR_USAGE);
    assert_string_equal(err.text, "f.yaml:1: `a` is not a case; write a map");
    assert_int_equal(yaml_check_map(a->first, "a case", known, &err), ERR_USAGE);
    assert_string_equal(err.text, "f.yaml:1: an item of `a` is not a case; write a map");
    assert_int_equal(yaml_check_map(b, "a case", known, &err), ERR_USAGE);
    assert_string_equal(err.text, "f.yaml:2: a case has no key `c`; the keys are: a");
    assert_int_equal(yaml_check_list(b, 0, 9, &err), ERR_USAGE);
    assert_string_equal(err.text, "f.yaml:2: `b` is not a list; write [ITEM, ...]");
    assert_int_equal(yaml_check_list(a, 4, 9, &err), ERR_USAGE);
    assert_string_equal(err.text, "f.yaml:1: `a` has too few items; write at least 4");
    assert_int_equal(yaml_check_list(a, 0, 2, &err), ERR_USAGE);
    assert_string_equal(err.text, "f.yaml:1: `a` has 3 items; write at most 2");
    assert_int_equal(yaml_check_list(a, 3, 3, &err), 0);
    assert_int_equal(yaml_need(b, "a case", "d", &got, &err), ERR_USAGE);
    assert_string_equal(err.text, "f.yaml:2: a case needs `d`; add it");
    assert_int_equal(yaml_need(b, "a case", "c", &got, &err), 0);
    assert_int_equal(got->kind, YAML_LIST);
}

static void texts_numbers_and_booleans_are_read_as_asked(void **state)
{
    AUTO_YAML struct yaml yaml = parse("t: --check\nq: ''\nn: 8080\nz: 0\nm: 4294967295\nb: true\nf: false\n");
    const char *text;
    char *copy;
    uint32_t number = 0;
    bool flag = false;
    struct err err;

    (void)state;
    assert_int_equal(yaml_text(yaml_get(yaml.root, "t"), &text, &err), 0);
    assert_string_equal(text, "--check");
    assert_int_equal(yaml_text_copy(yaml_get(yaml.root, "n"), &copy, &err), 0);
    assert_string_equal(copy, "8080");
    free(copy);
    assert_int_equal(yaml_text(yaml_get(yaml.root, "q"), &text, &err), 0);
    assert_string_equal(text, "");
    assert_int_equal(yaml_uint(yaml_get(yaml.root, "n"), 0, 9000, &number, &err), 0);
    assert_int_equal(number, 8080);
    assert_int_equal(yaml_uint(yaml_get(yaml.root, "z"), 0, 1, &number, &err), 0);
    assert_int_equal(number, 0);
    assert_int_equal(yaml_uint(yaml_get(yaml.root, "m"), 0, UINT32_MAX, &number, &err), 0);
    assert_true(number == UINT32_MAX);
    assert_int_equal(yaml_bool(yaml_get(yaml.root, "b"), &flag, &err), 0);
    assert_true(flag);
    assert_int_equal(yaml_bool(yaml_get(yaml.root, "f"), &flag, &err), 0);
    assert_false(flag);
}

static void values_of_another_sort_are_refused(void **state)
{
    static const char *const not_numbers[] = {"-1",
                                              "+1",
                                              "01",
                                              "1.5",
                                              "0x1",
                                              "1e3",
                                              "''",
                                              "'7'",
                                              "x",
                                              "[1]",
                                              "1 "
                                              "2",
                                              "~"};
    static const char *const not_booleans[] = {"True", "yes", "1", "'true'", "[]", "on"};
    struct err err;

    (void)state;
    for (size_t i = 0; i < sizeof not_numbers / sizeof not_numbers[0]; i++) {
        char text[32];
        uint32_t number = 77;

        (void)snprintf(text, sizeof text, "\nk: %s\n", not_numbers[i]);
        AUTO_YAML struct yaml yaml = parse(text);

        assert_int_equal(yaml_uint(yaml.root->first, 1, 9, &number, &err), ERR_USAGE);
        assert_string_equal(err.text, "f.yaml:2: `k` is not a number; write one from 1 to 9");
        assert_int_equal(number, 77);
    }
    for (size_t i = 0; i < sizeof not_booleans / sizeof not_booleans[0]; i++) {
        char text[32];
        bool flag = true;

        (void)snprintf(text, sizeof text, "k: %s\n", not_booleans[i]);
        AUTO_YAML struct yaml yaml = parse(text);

        assert_int_equal(yaml_bool(yaml.root->first, &flag, &err), ERR_USAGE);
        assert_string_equal(err.text, "f.yaml:1: `k` is neither true nor false; write one of them");
    }
}

static void numbers_out_of_bounds_and_missing_texts_are_refused(void **state)
{
    AUTO_YAML struct yaml yaml = parse("k: 10\nl: 99999999999999999999999\nm:\nn: [{}]\n");
    const char *text;
    uint32_t number;
    struct err err;

    (void)state;
    assert_int_equal(yaml_uint(yaml_get(yaml.root, "k"), 1, 9, &number, &err), ERR_USAGE);
    assert_string_equal(err.text, "f.yaml:1: `k` is out of bounds; write a number from 1 to 9");
    assert_int_equal(yaml_uint(yaml_get(yaml.root, "k"), 11, 12, &number, &err), ERR_USAGE);
    assert_int_equal(yaml_uint(yaml_get(yaml.root, "l"), 1, UINT32_MAX, &number, &err), ERR_USAGE);
    assert_string_equal(err.text, "f.yaml:2: `l` is out of bounds; write a number from 1 to 4294967295");
    assert_int_equal(yaml_text(yaml_get(yaml.root, "m"), &text, &err), ERR_USAGE);
    assert_string_equal(err.text, "f.yaml:3: `m` has no value; write one (\"\" for an empty text)");
    assert_int_equal(yaml_text(yaml_get(yaml.root, "n"), &text, &err), ERR_USAGE);
    assert_string_equal(err.text, "f.yaml:4: `n` is a list; write a text");
    assert_int_equal(yaml_text(yaml_get(yaml.root, "n")->first, &text, &err), ERR_USAGE);
    assert_string_equal(err.text, "f.yaml:4: an item of `n` is a map; write a text");
}

static void bytes_are_a_text_or_canonical_base64(void **state)
{
    static const struct {
        const char *text;
        const char *content;
        size_t size_bytes;
    } good[] = {{"k: abc", "abc", 3},
                {"k: ''", "", 0},
                {"k: {base64: ''}", "", 0},
                {"k: {base64: AA==}", "\0", 1},
                {"k: {base64: /wA=}", "\xff\0", 2},
                {"k: {base64: YWJj}", "abc", 3}};
    static const char *const bad[] = {"A",      "AA",   "AA=",      "AB==",           "A===", "====", "' AAA'",
                                      "'AAA '", "_-__", "AA==AA==", "'YWJj\n\n\n\n'", "YW-j", "AAB="};
    struct bytes bytes = {0};
    struct err err;

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        AUTO_YAML struct yaml yaml = parse(good[i].text);

        assert_int_equal(yaml_bytes(yaml.root->first, &bytes, &err), 0);
        assert_int_equal(bytes.size_bytes, good[i].size_bytes);
        if (good[i].size_bytes > 0)
            assert_memory_equal(bytes.data, good[i].content, good[i].size_bytes);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[64];

        (void)snprintf(text, sizeof text, "k: {base64: %s}", bad[i]);
        AUTO_YAML struct yaml yaml = parse(text);

        assert_int_equal(yaml_bytes(yaml.root->first, &bytes, &err), ERR_USAGE);
        assert_string_equal(err.text, "f.yaml:1: `base64` is not base64 (RFC 4648 section 4); write it with padding "
                                      "and without spaces");
        assert_int_equal(bytes.size_bytes, 3); /* the last good one */
    }
    {
        AUTO_YAML struct yaml yaml = parse("k: {base65: AA==}");

        assert_int_equal(yaml_bytes(yaml.root->first, &bytes, &err), ERR_USAGE);
        assert_string_equal(err.text, "f.yaml:1: a map of bytes has no key `base65`; the keys are: base64");
    }
    bytes_done(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tree_knows_kinds_order_and_lines),
        cmocka_unit_test(what_is_not_plain_yaml_is_refused_by_line),
        cmocka_unit_test(size_depth_and_number_are_bounded),
        cmocka_unit_test(a_duplicate_is_found_in_a_large_map),
        cmocka_unit_test(a_message_stays_one_line_that_steers_no_terminal),
        cmocka_unit_test(a_byte_order_mark_is_overlooked),
        cmocka_unit_test(roots_begin_with_version_1),
        cmocka_unit_test(maps_and_lists_are_checked),
        cmocka_unit_test(texts_numbers_and_booleans_are_read_as_asked),
        cmocka_unit_test(values_of_another_sort_are_refused),
        cmocka_unit_test(numbers_out_of_bounds_and_missing_texts_are_refused),
        cmocka_unit_test(bytes_are_a_text_or_canonical_base64),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
