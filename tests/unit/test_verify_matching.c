/*
 * The verifier's matchers on bytes: docs/ORACLE.md 4.4 to 4.8 and 4.10, and the words for a failure (DECISION 6.5).
 */
#include "verify/matching.h"
#include "verify_asked.h"

#include <regex.h>

enum came { HOLDS = MATCHING_HOLDS, FAILS = MATCHING_FAILS, CANNOT = MATCHING_CANNOT };

static void try_on(const char *wanted, const void *text, size_t size_bytes, struct matching *out)
{
    struct matching_stream stream = {0};
    struct oracle oracle;
    struct err err = {0};

    asked_oracle(wanted, &oracle);
    if ((size_bytes > 0 && bytes_add(&stream.text, text, size_bytes, SIZE_MAX, &err) < 0) ||
        matching_try(&oracle.cases[0].matchers[0], &stream, out, &err) < 0)
        fail_msg("%s", err.text);
    matching_stream_done(&stream);
    oracle_done(&oracle);
}

static const struct line {
    const char *wanted, *text;
    enum came came;
    const char *told;
} lines[] = {
    {"stdout: {equals: \"a\\n\"}", "a\n", HOLDS, ""},
    {"stdout: {equals: \"a\\n\"}", "a", FAILS, "expected \"?\", seen the end, at byte 1"},
    {"stdout: {equals: \"ab\"}", "abc", FAILS, "expected the end, seen \"c\", at byte 2"},
    {"stdout: {equals: \"\"}", "", HOLDS, ""},
    {"stdout: {contains: bc}", "abcd", HOLDS, ""},
    {"stdout: {contains: bd}", "abcd", FAILS, "expected \"bd\", seen \"abcd\", at no place of 4 bytes"},
    {"stdout: {contains: x}", "", FAILS, "expected \"x\", seen \"\", at no place of 0 bytes"},

    {"stdout: {lines: 0}", "", HOLDS, ""},
    {"stdout: {lines: 2}", "a\nb\n", HOLDS, ""},
    {"stdout: {lines: 2}", "a\nb", HOLDS, ""},
    {"stdout: {lines: 1}", "a\nb", FAILS, "expected 1, seen 2, at the end of 3 bytes"},
    {"stdout: {lines: {at_least: 2, at_most: 3}}", "\n", FAILS, "expected 2 to 3, seen 1"},
    {"stdout: {lines: {at_least: 2, at_most: 3}}", "\n\n\n", HOLDS, ""},
    {"stdout: {lines: {at_least: 2}}", "\n", FAILS, "expected at least 2, seen 1"},
    {"stdout: {lines: {at_most: 2}}", "\n\n\n", FAILS, "expected at most 2, seen 3"},

    {"stdout: {json: [{pointer: /a/1/x~1y, equals: {k: [1, true]}}]}", "{\"a\":[0,{\"x/y\":{\"k\":[1,true]}}]}", HOLDS,
     ""},
    {"stdout: {json: [{pointer: '', equals: 3}]}", " 3\n", HOLDS, ""},
    {"stdout: {json: [{pointer: /, equals: 1}]}", "{\"\":1}", HOLDS, ""},
    {"stdout: {json: [{pointer: /a, equals: 1}]}", "{\"a\":1.0}", FAILS,
     "expected an integer 1, seen a real 1.0, at \"/a\""},
    {"stdout: {json: [{pointer: /a, equals: \"7\"}]}", "{\"a\":7}", FAILS,
     "expected a string \"7\", seen an integer 7, at \"/a\""},
    {"stdout: {json: [{pointer: /a/01, equals: 2}]}", "{\"a\":[1,2]}", CANNOT, "leads nowhere: an array has items"},
    {"stdout: {json: [{pointer: /a/-, equals: 2}]}", "{\"a\":[1,2]}", CANNOT, "leads nowhere"},
    {"stdout: {json: [{pointer: /a/2, equals: null}]}", "{\"a\":[1,2]}", CANNOT, "leads nowhere: the array ends"},
    {"stdout: {json: [{pointer: /b, equals: null}]}", "{\"a\":[1,2]}", CANNOT,
     "leads nowhere: there is no such member"},
    {"stdout: {json: [{pointer: /a/x/y, equals: 1}]}", "{\"a\":1}", CANNOT, "leads nowhere"},
    {"stdout: {json: [{pointer: /a, equals: 1}]}", "{\"a\":1} {\"a\":1}", CANNOT, "it is not one JSON text"},
    {"stdout: {json: [{pointer: /a, equals: 1}]}", "{\"a\":1", CANNOT, "it is not one JSON text"},
    {"stdout: {json: [{pointer: /a, equals: 1}]}", "", CANNOT, "it is not one JSON text"},
    {"stdout: {json: [{pointer: /a, equals: 1}]}", "{\"a\":1,\"b\":{\"c\":1,\"c\":1}}", CANNOT, "not one JSON text"},
    {"stdout: {json: [{pointer: /a, equals: 1}]}", "{\"a\":1,\"b\":\"\\u0000\"}", CANNOT, "not one JSON text"},
    {"stdout: {json: [{pointer: /a, equals: 1}]}", "{\"a\":1,\"b\":9223372036854775808}", CANNOT, "not one JSON text"},
    {"stdout: {json: [{pointer: /a, equals: 1}]}", "{\"a\":1,\"b\":1e400}", CANNOT, "not one JSON text"},
    {"stdout: {json: [{pointer: /a, equals: 1}]}", "{\"a\":1,\"b\":\"\xff\"}", CANNOT, "not one JSON text"},

    {"stdout: {json: [{pointer: /a, type: number}]}", "{\"a\":1.5}", HOLDS, ""},
    {"stdout: {json: [{pointer: /a, type: number}]}", "{\"a\":1}", HOLDS, ""},
    {"stdout: {json: [{pointer: /a, type: integer}]}", "{\"a\":1.5}", FAILS,
     "expected an integer, seen a real 1.5, at \"/a\""},
    {"stdout: {json: [{pointer: /a, type: boolean}]}", "{\"a\":null}", FAILS,
     "expected a boolean, seen the null null, at \"/a\""},
    {"stdout: {json: [{pointer: /b, type: string}]}", "{\"a\":1}", CANNOT, "leads nowhere"},
    {"stdout: {json: [{pointer: /b, absent: true}]}", "{\"a\":1}", HOLDS, ""},
    {"stdout: {json: [{pointer: /a/2, absent: true}]}", "{\"a\":[1,2]}", HOLDS, ""},
    {"stdout: {json: [{pointer: /a/1, absent: true}]}", "{\"a\":[1,2]}", FAILS,
     "expected nothing, seen an integer 2, at \"/a/1\""},
    {"stdout: {json: [{pointer: /a, absent: true}]}", "{\"a\":null}", FAILS, "expected nothing, seen the null null"},
    {"stdout: {json: [{pointer: /a/b, absent: true}]}", "{\"a\":1}", CANNOT, "leads nowhere"},
    {"stdout: {json: [{pointer: /b/c, absent: true}]}", "{\"a\":1}", CANNOT, "leads nowhere"},
    {"stdout: {json: [{pointer: /a/02, absent: true}]}", "{\"a\":[1,2]}", CANNOT, "leads nowhere"},
    {"stdout: {json: [{pointer: /a/1234567890, absent: true}]}", "{\"a\":[1,2]}", CANNOT, "leads nowhere"},
    {"stdout: {json: [{pointer: /a, absent: true}]}", "[", CANNOT, "it is not one JSON text"},

    {"stdout: {tap: {pass: 12}}", "TAP version 13\n# tests 13\n# pass 12\n# fail 1\n", HOLDS, ""},
    {"stdout: {tap: {pass: 0}}", "# pass 0", HOLDS, ""},
    {"stdout: {tap: {pass: 12}}", "x\n# pass 11\n", FAILS, "expected # pass 12, seen # pass 11, at line 2"},
    {"stdout: {tap: {pass: 12}}", "# pass 12\n# pass 12\n", CANNOT, "2 of 2 lines begin with \"# pass \""},
    {"stdout: {tap: {pass: 12}}", " # pass 12\n", CANNOT, "0 of 1 lines begin with"},
    {"stdout: {tap: {pass: 12}}", "# pass 12 of 13\n", CANNOT, "line 1 does not go on with a number alone"},
    {"stdout: {tap: {pass: 12}}", "# pass 12\r\n", CANNOT, "line 1 does not go on with a number alone"},
    {"stdout: {tap: {pass: 12}}", "# passed 12\n", CANNOT, "0 of 1 lines begin with"},

    {"stdout: {matches: 'b+$'}", "abab", HOLDS, ""},
    {"stdout: {matches: 'b+$'}", "abab\n", FAILS, "expected \"b+$\", seen \"abab?\", at no place of 5 bytes"},
    {"stdout: {matches: '^b'}", "ab", FAILS, "expected \"^b\""},
    {"stdout: {matches: '^a*$'}", "", HOLDS, ""},
    {"stdout: {matches: '^a*$'}", "aab", FAILS, ""},
    {"stdout: {matches: '^a.c$'}", "a\nc", HOLDS, ""},
    {"stdout: {matches: 'x{3}'}", "xxyxx", FAILS, ""},
    {"stdout: {matches: '[^a-c\\n]\\x64'}", "abc\ndd", HOLDS, ""},
};

static void each_matcher_comes_to_what_the_document_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct matching came;

        try_on(lines[i].wanted, lines[i].text, strlen(lines[i].text), &came);
        if ((enum came)came.came != lines[i].came || strstr(came.told, lines[i].told) == NULL)
            fail_msg("%s on \"%s\": %d \"%s\"", lines[i].wanted, lines[i].text, came.came, came.told);
        if (strncmp(came.told, "cannot be evaluated: ", 21) != 0 && came.came == MATCHING_CANNOT)
            fail_msg("%s: \"%s\"", lines[i].wanted, came.told);
        assert_int_equal(came.told[0] == '\0', came.came == MATCHING_HOLDS);
    }
}

static void arrays_nest_2048_deep_and_no_deeper(void **state)
{
    char text[2 * 2049 + 1];
    struct matching came;

    (void)state;
    for (size_t depth = 2048; depth <= 2049; depth++) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        try_on("stdout: {json: [{pointer: '', type: array}]}", text, 2 * depth, &came);
        assert_int_equal(came.came, depth == 2048 ? MATCHING_HOLDS : MATCHING_CANNOT);
    }
}

static void a_text_of_any_bytes_is_told_short_and_printable(void **state)
{
    char text[4096];
    struct matching came;

    (void)state;
    memset(text, 0xc3, sizeof text);
    text[7] = '\0';
    try_on("stdout: {equals: x}", text, sizeof text, &came);
    assert_true(strlen(came.told) < 200);
    assert_non_null(strstr(came.told, "seen \"????????"));
    assert_non_null(strstr(came.told, "\"..., at byte 0"));
    for (const char *at = came.told; *at != '\0'; at++)
        assert_true(*at >= ' ' && *at <= '~');
    text[0] = '"';
    memset(text + 1, 'v', sizeof text - 2);
    text[sizeof text - 1] = '"';
    try_on("stdout: {json: [{pointer: '', type: object}]}", text, sizeof text, &came);
    assert_non_null(strstr(came.told, "vvv..., at \"\""));
    assert_true(strlen(came.told) < 200);
}

/* ---- expressions ---- */

static uint32_t seed = 7;

static unsigned chance(unsigned of)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 16) % of;
}

/* Appends an expression over a, b and c that means the same in POSIX's extended language. */
static void grow(char *out, unsigned depth)
{
    static const char *const ones[] = {"a", "b", "c", ".", "[ab]", "[^a]", "ab", "[a-c]"};
    static const char *const times[] = {"", "", "", "*", "+", "?", "{2}", "{0,2}", "{1,}"};
    unsigned parts = 1 + chance(3);

    for (unsigned i = 0; i < parts; i++) {
        if (i > 0 && chance(4) == 0)
            strcat(out, "|");
        if (depth > 0 && chance(3) == 0) {
            strcat(out, "(");
            grow(out, depth - 1);
            strcat(out, ")");
        } else {
            strcat(out, ones[chance(sizeof ones / sizeof ones[0])]);
        }
        strcat(out, times[chance(sizeof times / sizeof times[0])]);
    }
}

static void check_with_posix(const char *expression, const struct oracle_regex *regex)
{
    regex_t posix;

    assert_int_equal(regcomp(&posix, expression, REG_EXTENDED | REG_NOSUB), 0);
    for (int i = 0; i < 12; i++) {
        char text[12] = "";
        size_t size_bytes = chance(9);
        bool described = false;
        struct err err;

        for (size_t at = 0; at < size_bytes; at++)
            text[at] = "abcd"[chance(4)];
        assert_int_equal(
            matching_regex(regex, &(struct bytes){.data = (uint8_t *)text, .size_bytes = size_bytes}, &described, &err),
            0);
        if (described != (regexec(&posix, text, 0, NULL, 0) == 0))
            fail_msg("%s on \"%s\": %d", expression, text, described);
    }
    regfree(&posix);
}

static void expressions_describe_what_they_do_for_another_engine(void **state)
{
    unsigned checked = 0;

    (void)state;
    for (int i = 0; i < 600; i++) {
        char body[1024] = "", expression[1100];
        struct oracle_regex regex;
        size_t at;

        grow(body, 2);
        (void)snprintf(expression, sizeof expression, "%s(%s)%s", chance(3) == 0 ? "^" : "", body,
                       chance(3) == 0 ? "$" : "");
        if (oracle_regex_parse(expression, &regex, &at) != NULL)
            continue; /* too many places, or it may describe nothing */
        check_with_posix(expression, &regex);
        oracle_regex_done(&regex);
        checked++;
    }
    assert_in_range(checked, 200, 600);
}

/* All that has to be tried one after another by an engine that goes back takes longer than anybody waits. */
static void the_time_does_not_grow_with_the_ways_to_match(void **state)
{
    struct bytes text = {.data = malloc(LIMIT_REGEX_STREAM_BYTES), .size_bytes = LIMIT_REGEX_STREAM_BYTES};
    const char *const expressions[] = {"^((a|a)+|(aa?)+)+b$", "(a?a){100}b", "(a{1,5}){50}b"};
    struct err err;

    (void)state;
    assert_non_null(text.data);
    memset(text.data, 'a', text.size_bytes);
    for (size_t i = 0; i < sizeof expressions / sizeof expressions[0]; i++) {
        struct oracle_regex regex;
        bool described = true;
        size_t at;

        assert_null(oracle_regex_parse(expressions[i], &regex, &at));
        assert_int_equal(matching_regex(&regex, &text, &described, &err), 0);
        assert_false(described);
        oracle_regex_done(&regex);
    }
    free(text.data);
}

static void an_expression_is_run_on_a_mebibyte_and_no_more(void **state)
{
    char *text = calloc(1, LIMIT_REGEX_STREAM_BYTES + 1);
    struct matching came;

    (void)state;
    assert_non_null(text);
    try_on("stdout: {matches: '\\x00$'}", text, LIMIT_REGEX_STREAM_BYTES, &came);
    assert_int_equal(came.came, MATCHING_HOLDS);
    try_on("stdout: {matches: '\\x00$'}", text, LIMIT_REGEX_STREAM_BYTES + 1, &came);
    assert_string_equal(came.told, "cannot be evaluated: 1048577 bytes are more than are matched (1048576)");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_matcher_comes_to_what_the_document_says),
        cmocka_unit_test(arrays_nest_2048_deep_and_no_deeper),
        cmocka_unit_test(a_text_of_any_bytes_is_told_short_and_printable),
        cmocka_unit_test(expressions_describe_what_they_do_for_another_engine),
        cmocka_unit_test(the_time_does_not_grow_with_the_ways_to_match),
        cmocka_unit_test(an_expression_is_run_on_a_mebibyte_and_no_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
