/*
 * How the regular expressions of ORACLE 4.8 are run.
 */
#include "replay/match_verdict.h"

#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool has_run(const char *expression, const char *bytes, size_t size_bytes)
{
    struct oracle_regex regex;
    size_t at;
    const char *fault = oracle_regex_parse(expression, &regex, &at);
    bool found;

    if (fault != NULL)
        fail_msg("%s: at %zu: %s", expression, at, fault);
    found = match_regex(&regex, (const uint8_t *)bytes, size_bytes);
    oracle_regex_done(&regex);
    return found;
}

static void an_expression_finds_a_run_of_bytes(void **state)
{
    static const struct {
        const char *expression, *bytes;
        size_t size_bytes;
        bool found;
    } cases[] = {
        {"b", "abc", 3, true},
        {"d", "abc", 3, false},
        {"^b", "abc", 3, false},
        {"^a", "abc", 3, true},
        {"b$", "abc", 3, false},
        {"c$", "abc", 3, true},
        {"c$", "abc\n", 4, false},
        {"^abc$", "abc", 3, true},
        {"^abc$", "abcabc", 6, false},
        {"^(a|b)*$", "", 0, true},
        {"^a+$", "", 0, false},
        {"^(a|b)*$", "abc", 3, false},
        {".", "", 0, false},
        {"a.b", "a\nb", 3, true},
        {"a.b", "a\0b", 3, true},
        {"[^a]", "aaa", 3, false},
        {"[^a]", "aa\xff", 3, true},
        {"\\xff\\x00", "\xff\0", 2, true},
        {"A", "a", 1, false},
        {"ab{2,3}c", "abc", 3, false},
        {"ab{2,3}c", "abbbc", 5, true},
        {"ab{2,3}c", "abbbbc", 6, false},
        {"ab{0,1}c", "ac", 2, true},
        {"^a{2,}$", "aaaaa", 5, true},
        {"aab", "aaab", 4, true}, /* found although the first try for it fails */
        {"(ab|a)bc", "abc", 3, true},
        {"(a*b*)+c", "c", 1, true},
        {"x{255}y", "xy", 2, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (has_run(cases[i].expression, cases[i].bytes, cases[i].size_bytes) != cases[i].found)
            fail_msg("case %zu: %s", i, cases[i].expression);
}

/* Every set of places is needed: the last one of 256 is in the last word. */
static void all_places_of_an_expression_count(void **state)
{
    char bytes[256];

    (void)state;
    memset(bytes, 'x', sizeof bytes);
    assert_true(has_run("^(x{8}){32}$", bytes, 256));
    assert_false(has_run("^(x{8}){32}$", bytes, 255));
    assert_true(has_run("^x{192}x{63}[xy]$", bytes, 256));
    bytes[255] = 'z';
    assert_false(has_run("^x{192}x{63}[xy]$", bytes, 256));
}

/* An engine that tries one way after another does not come to an end here. */
static void time_is_bounded_whatever_the_expression(void **state)
{
    enum { SIZE_BYTES = 128 << 10 };
    char *bytes = malloc(SIZE_BYTES);

    (void)state;
    assert_non_null(bytes);
    memset(bytes, 'a', SIZE_BYTES);
    assert_false(has_run("^(a?){64}a{64}$", bytes, SIZE_BYTES));
    assert_false(has_run("(a*)*(a|aa)+b", bytes, SIZE_BYTES));
    free(bytes);
}

/* ---- against the C library ---- */

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

/* Appends an expression of a, b and what both engines read alike. */
static void add_random(char *out, unsigned depth, uint32_t *seed)
{
    static const char *const ones[] = {"a", "b", ".", "[ab]", "[^a]"};
    static const char *const repeats[] = {"", "", "", "*", "+", "?", "{2}", "{1,2}", "{2,}", "{0,1}"};
    unsigned count = 1 + next_random(seed) % 3;

    for (unsigned i = 0; i < count; i++) {
        if (depth > 0 && next_random(seed) % 3 == 0) {
            (void)strcat(out, "(");
            add_random(out, depth - 1, seed);
            if (next_random(seed) % 2 == 0) {
                (void)strcat(out, "|");
                add_random(out, depth - 1, seed);
            }
            (void)strcat(out, ")");
        } else
            (void)strcat(out, ones[next_random(seed) % 5]);
        (void)strcat(out, repeats[next_random(seed) % 10]);
    }
}

static void both_engines_find_the_same(void **state)
{
    uint32_t seed = 1;
    unsigned compared = 0, found = 0;

    (void)state;
    for (unsigned i = 0; i < 1000; i++) {
        char expression[2048] = "", bytes[12];
        struct oracle_regex regex;
        regex_t theirs;
        size_t at;

        (void)strcat(expression, next_random(&seed) % 3 == 0 ? "^" : "");
        add_random(expression, 2, &seed);
        (void)strcat(expression, next_random(&seed) % 3 == 0 ? "$" : "");
        if (oracle_regex_parse(expression, &regex, &at) != NULL)
            continue; /* it holds on everything, or has too many places */
        assert_int_equal(regcomp(&theirs, expression, REG_EXTENDED | REG_NOSUB), 0);
        for (unsigned j = 0; j < 20; j++) {
            size_t size_bytes = next_random(&seed) % (sizeof bytes - 1);
            bool ours;

            for (size_t k = 0; k < size_bytes; k++)
                bytes[k] = next_random(&seed) % 2 == 0 ? 'a' : 'b';
            bytes[size_bytes] = 0;
            ours = match_regex(&regex, (const uint8_t *)bytes, size_bytes);
            if (ours != (regexec(&theirs, bytes, 0, NULL, 0) == 0))
                fail_msg("%s on %s: %d", expression, bytes, ours);
            compared++;
            found += ours;
        }
        regfree(&theirs);
        oracle_regex_done(&regex);
    }
    assert_in_range(found, compared / 10, compared - compared / 10);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_expression_finds_a_run_of_bytes),
        cmocka_unit_test(all_places_of_an_expression_count),
        cmocka_unit_test(time_is_bounded_whatever_the_expression),
        cmocka_unit_test(both_engines_find_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
