/* formats/oracle: expressions, digests, lines, types, durations, files and exceptions; and the document's examples. */
#include "base/file.h"
#include "formats/oracle.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HEX "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b" /* of "1" */

static const char good[] = "version: 1\n"
                           "cases:\n"
                           "  - name: pack\n"
                           "    duration_ms: {at_least: 5, at_most: 3600000}\n"
                           "    stdout:\n"
                           "      matches: ['^a[0-9]{2}$', 'b|c']\n"
                           "      sha256: " HEX "\n"
                           "      lines: 3\n"
                           "      json:\n"
                           "        - {pointer: /a, type: integer}\n"
                           "        - {pointer: /b, absent: true}\n"
                           "    stderr:\n"
                           "      matches: x\n"
                           "      lines: {at_most: 16777216}\n"
                           "    files:\n"
                           "      - {path: out/a.txt, exists: true}\n"
                           "      - {path: 'out/*.tmp', absent: true}\n"
                           "      - {path: b, sha256: " HEX "}\n"
                           "    archives:\n"
                           "      - {path: c.tar, except: {paths: ['./x*', y/], mtime: true, owner: true}}\n"
                           "      - {path: d.tar, except: {owner: true, mtime: false}}\n";

static struct oracle parse(const char *text)
{
    struct oracle oracle;
    struct err err = {0};

    if (oracle_parse("o.yaml", text, strlen(text), &oracle, &err) < 0)
        fail_msg("%s", err.text);
    return oracle;
}

/* Parses what must be refused, and gives the complaint behind the file's name. */
static const char *refusal(const char *text)
{
    static struct err err;
    struct oracle oracle;

    err = (struct err){0};
    assert_int_equal(oracle_parse("o.yaml", text, strlen(text), &oracle, &err), ERR_USAGE);
    assert_memory_equal(err.text, "o.yaml:", 7);
    oracle_done(&oracle);
    return err.text + 7;
}

static void what_a_case_shows_is_read(void **state)
{
    struct oracle oracle = parse(good);
    const struct oracle_matcher *matcher = oracle.cases[0].matchers;
    struct digest one = digest_of("1", 1);

    (void)state;
    assert_int_equal(oracle.cases[0].matcher_count, 12);
    assert_int_equal(matcher[0].kind, ORACLE_DURATION);
    assert_int_equal(matcher[0].at_least, 5);
    assert_int_equal(matcher[0].at_most, 3600000);
    assert_int_equal(matcher[1].kind, ORACLE_MATCHES);
    assert_memory_equal(matcher[1].bytes.data, "^a[0-9]{2}$", 11);
    assert_true(matcher[1].regex->from_start && matcher[1].regex->to_end && !matcher[1].regex->empty);
    assert_int_equal(matcher[1].regex->place_count, 3);
    assert_int_equal(matcher[2].regex->place_count, 2);
    assert_int_equal(matcher[3].kind, ORACLE_SHA256);
    assert_true(digest_equal(&matcher[3].digest, &one));
    assert_int_equal(matcher[4].kind, ORACLE_LINES);
    assert_true(matcher[4].at_least == 3 && matcher[4].at_most == 3 && !matcher[4].on_stderr);
    assert_int_equal(matcher[5].kind, ORACLE_JSON_TYPE);
    assert_int_equal(matcher[5].json_type, ORACLE_JSON_INTEGER);
    assert_int_equal(matcher[6].kind, ORACLE_JSON_ABSENT);
    assert_string_equal(matcher[6].pointer, "/b");
    assert_int_equal(matcher[6].line, 11);
    assert_true(matcher[7].kind == ORACLE_MATCHES && matcher[7].on_stderr);
    assert_true(matcher[8].at_least == 0 && matcher[8].at_most == 16777216 && matcher[8].on_stderr);
    assert_int_equal(matcher[9].kind, ORACLE_FILE_EXISTS);
    assert_string_equal(matcher[9].path, "out/a.txt");
    assert_int_equal(matcher[10].kind, ORACLE_FILE_ABSENT);
    assert_string_equal(matcher[10].path, "out/*.tmp");
    assert_int_equal(matcher[11].kind, ORACLE_FILE_SHA256);
    assert_true(digest_equal(&matcher[11].digest, &one) && !matcher[11].on_stderr);
    oracle_done(&oracle);
}

static void take_line(void *context, const char *text, bool wider)
{
    if (strncmp(text, "archive", 7) == 0) {
        assert_true(wider);
        (void)strcat(context, text);
        (void)strcat(context, "\n");
    }
}

/* What is left out of a comparison can hide a difference: it is always told as wider than what is shipped. */
static void exceptions_are_read_and_marked_as_wider(void **state)
{
    struct oracle oracle = parse(good);
    const struct oracle_archive *archives = oracle.cases[0].archives;
    char told[1024] = "";

    (void)state;
    assert_int_equal(oracle.cases[0].archive_count, 2);
    assert_true(archives[0].except_mtime && archives[0].except_owner && archives[0].line == 20);
    assert_int_equal(archives[0].except_count, 2);
    assert_string_equal(archives[0].except_paths[0], "./x*");
    assert_string_equal(archives[0].except_paths[1], "y/");
    assert_true(!archives[1].except_mtime && archives[1].except_owner && archives[1].except_count == 0);
    oracle_describe(&oracle, take_line, told);
    assert_string_equal(told, "archive c.tar of case pack compared without: mtime owner ./x* y/\n"
                              "archive d.tar of case pack compared without: owner\n");
    oracle_done(&oracle);
}

static void each_fault_is_refused_in_one_line(void **state)
{
    static const char sha256[] = ": `sha256` is not one; write 64 lower-case hexadecimal digits";
    static const struct {
        const char *old, *new, *expected;
    } cases[] = {
        {"at_least: 5", "least: 5", "4: a map of bounds has no key `least`; the keys are: at_least, at_most"},
        {"{at_least: 5, at_most: 3600000}", "{}", "4: bounds that allow everything; write at_least, at_most or both"},
        {"{at_least: 5, at_most: 3600000}", "5", "4: `duration_ms` is not a map of bounds; write a map"},
        {"3600000", "3600001", "4: `at_most` is out of bounds; write a number from 0 to 3600000"},
        {"3600000", "4", "4: `at_most` is below `at_least`, which nothing meets; exchange them"},
        {"'b|c'", "'b||c'",
         "6: `matches`, at character 3: nothing where something must stand; write what, or remove the | or the "
         "parentheses"},
        {"['^a[0-9]{2}$', 'b|c']", "[]", "6: `matches` has too few items; write at least 1"},
        {"      sha256: 6", "      sha256: A", "7"},
        {"lines: 3", "lines: 16777217", "8: `lines` is out of bounds; write a number from 0 to 16777216"},
        {"lines: 3", "lines: many", "8: `lines` is not a number; write one from 0 to 16777216"},
        {"type: integer", "type: int",
         "10: there is no JSON type `int`; the types are: object, array, string, number, integer, real, boolean, "
         "null"},
        {"type: integer", "type: integer, equals: 1", "10: a JSON value needs one of: equals, type, absent; write one"},
        {", type: integer", "", "10: a JSON value needs one of: equals, type, absent; write one"},
        {"absent: true}\n    stderr", "absent: false}\n    stderr",
         "11: `absent: false` asks for nothing; write `equals` or `type`"},
        {"pointer: /b", "pointer: ''", "11: the whole text is never absent; write a pointer, as /result/error"},
        {"16777216", "16777217", "14: `at_most` is out of bounds; write a number from 0 to 16777216"},
        {"exists: true", "exists: false",
         "16: `exists: false` and `absent: false` are one another; write the other, true"},
        {"exists: true", "exists: true, absent: true", "16: a file needs one of: exists, absent, sha256; write one"},
        {", exists: true", "", "16: a file needs one of: exists, absent, sha256; write one"},
        {"exists: true", "there: true", "16: a file has no key `there`; the keys are: path, exists, absent, sha256"},
        {"path: out/a.txt, ", "", "16: a file needs `path`; add it"},
        {"out/a.txt", "/out/a.txt",
         "16: `path` is not one of a file in the scratch folder; write it relative, without . and .., with at most "
         "one *, in its last part"},
        {"{path: b, sha256: 6", "{path: b, sha256: 66", "18"},
        {"except: {paths", "but: {paths", "20: an archive has no key `but`; the keys are: path, bytes, except"},
        {"except: {paths", "bytes: true, except: {paths",
         "20: an archive that is compared by `bytes` has no exceptions; keep one of the two"},
        {"mtime: true", "time: true",
         "20: a map of what is not compared has no key `time`; the keys are: paths, mtime, owner"},
        {"mtime: true", "mtime: 1", "20: `mtime` is neither true nor false; write one of them"},
        {"['./x*', y/]", "[]", "20: `paths` has too few items; write at least 1"},
        {"y/", "'*y*'", "20: not a pattern of a member's path; write 1 to 4095 bytes with at most one *"},
        {"y/", "''", "20: not a pattern of a member's path; write 1 to 4095 bytes with at most one *"},
        {"{owner: true, mtime: false}", "{mtime: false}",
         "21: `except` leaves nothing out; remove it, or write one of: paths, mtime, owner"},
        {"{owner: true, mtime: false}", "{}",
         "21: `except` leaves nothing out; remove it, or write one of: paths, mtime, owner"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *at = strstr(good, cases[i].old), *told;
        char *text = NULL;

        if (at == NULL)
            fail_msg("the good oracle has no %s", cases[i].old);
        assert_true(asprintf(&text, "%.*s%s%s", (int)(at - good), good, cases[i].new, at + strlen(cases[i].old)) > 0);
        told = refusal(text);
        if (strlen(cases[i].expected) > 2) {
            assert_string_equal(told, cases[i].expected);
        } else {
            assert_memory_equal(told, cases[i].expected, strlen(cases[i].expected));
            assert_string_equal(told + strlen(cases[i].expected), sha256);
        }
        free(text);
    }
}

static void a_pointer_is_bounded_in_length(void **state)
{
    char pointer[LIMIT_PATH_BYTES + 1], *text = NULL;
    struct oracle oracle;

    (void)state;
    memset(pointer, '/', sizeof pointer);
    pointer[LIMIT_PATH_BYTES] = '\0';
    assert_true(asprintf(&text, "version: 1\ncases:\n  - name: c\n    stdout: {json: [{pointer: %s, type: null}]}\n",
                         pointer) > 0);
    assert_string_equal(refusal(text), "4: `pointer` is longer than 4095 bytes; write a shorter one");
    memmove(strchr(text, '/'), strchr(text, '/') + 1, strlen(strchr(text, '/')));
    oracle = parse(text);
    assert_int_equal(strlen(oracle.cases[0].matchers[0].pointer), 4095);
    oracle_done(&oracle);
    free(text);
}

/* ---- expressions ---- */

static void check_expression(const char *text, const char *expected, size_t expected_at)
{
    struct oracle_regex regex;
    size_t at = 0;
    const char *fault = oracle_regex_parse(text, &regex, &at);

    if ((fault == NULL) != (expected == NULL) || (fault != NULL && strstr(fault, expected) == NULL))
        fail_msg("%s: %s", text, fault == NULL ? "parsed" : fault);
    if (fault != NULL && at != expected_at)
        fail_msg("%s: at %zu", text, at);
    if (fault != NULL)
        assert_null(regex.places);
    oracle_regex_done(&regex);
}

static void what_the_language_does_not_tell_is_refused(void **state)
{
    static const struct {
        const char *text, *expected;
        size_t at;
    } faults[] = {
        {"", "nothing where something must stand", 0},
        {"a||b", "nothing where something must stand", 2},
        {"()", "nothing where something must stand", 1},
        {"a|", "nothing where something must stand", 2},
        {"^$", "nothing where something must stand", 1},
        {"(|a)", "nothing where something must stand", 1},
        {"*a", "a repetition of nothing", 0},
        {"a**", "a repetition of nothing", 2},
        {"a+?", "a repetition of nothing", 2},
        {"a{2}{3}", "a repetition of nothing", 4},
        {"(?:a)", "a repetition of nothing", 1},
        {"^*a", "a repetition of nothing", 1},
        {"a^b", "one of ] } ^ $", 1},
        {"a$b", "one of ] } ^ $", 1},
        {"(^a)", "one of ] } ^ $", 1},
        {"(a$)", "one of ] } ^ $", 2},
        {"a]", "one of ] } ^ $", 1},
        {"a}", "one of ] } ^ $", 1},
        {"(a", "a ( without its )", 2},
        {"a)", "a ) without its (", 1},
        {"^a|b", "a | beside ^ or $", 2},
        {"a|b$", "a | beside ^ or $", 1},
        {"[a", "a class that does not end", 2},
        {"[]a]", "one of [ ] ^ - for itself", 1},
        {"[[:alpha:]]", "one of [ ] ^ - for itself", 1},
        {"[a-]", "one of [ ] ^ - for itself", 3},
        {"[b-a]", "a range that runs backwards", 4},
        {"[^]", "one of [ ] ^ - for itself", 2},
        {"\\d", "an escape that is none", 1},
        {"\\1", "an escape that is none", 1},
        {"\\x4", "an escape that is none", 1},
        {"\\", "an escape that is none", 1},
        {"[\\w]", "an escape that is none", 2},
        {"a{", "a number of times", 2},
        {"a{,2}", "a number of times", 2},
        {"a{256}", "a number of times", 5},
        {"a{01}", "a number of times", 4},
        {"a{2", "a { without its }", 3},
        {"a{0}", "exactly no time", 3},
        {"a{0,0}", "at most no time", 5},
        {"a{3,2}", "at most less often", 5},
        {"a*", "describes nothing at all", 2},
        {"^a?", "describes nothing at all", 3},
        {"a*$", "describes nothing at all", 3},
        {"b|a{0,}", "describes nothing at all", 7},
        {"a\nb", "not printable ASCII", 1},
        {"\xc3\xa9", "not printable ASCII", 0},
        {"a{255}bc", "more than 256 places", 7},
        {"((a{16}){16})b", "more than 256 places", 13},
    };
    static const char *const fine[] = {"a",
                                       "^a$",
                                       "^a*$",
                                       "a|b|c",
                                       "^(a|b)$",
                                       "a{2,3}b{0,}c?d",
                                       "\\$\\^\\.\\x00\\xfF\\n\\-",
                                       "[^a-z0-9_\\]\\^\\-$.*]",
                                       "(((((((((((((((((a)))))))))))))))))" + 1,
                                       "a{255}b",
                                       "(a{16}){16}",
                                       "\\\\$",
                                       "[$]$",
                                       "/ ,:;<>\"'!#%&=@~_`-"};

    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        check_expression(faults[i].text, faults[i].expected, faults[i].at);
    for (size_t i = 0; i < sizeof fine / sizeof fine[0]; i++) {
        char text[64];

        (void)snprintf(text, sizeof text, "%s", fine[i]);
        if (strncmp(text, "((((", 4) == 0)
            text[strlen(text) - 1] = '\0'; /* 16 pairs */
        check_expression(text, NULL, 0);
    }
    check_expression("(((((((((((((((((a)))))))))))))))))", "nest deeper than 16", 16);
}

static void expressions_are_bounded_in_length_and_in_sum(void **state)
{
    char text[LIMIT_REGEX_BYTES + 2], *oracle = NULL;
    struct bytes cases = {0};
    struct err err;

    (void)state;
    memset(text, '\\', sizeof text);
    text[LIMIT_REGEX_BYTES + 1] = '\0';
    check_expression(text, "more than 512 characters", LIMIT_REGEX_BYTES);
    text[LIMIT_REGEX_BYTES] = '\0';
    check_expression(text, NULL, 0); /* 256 escaped ones */

    for (int i = 0; i < 17; i++) {
        char one[64];
        int size_bytes =
            snprintf(one, sizeof one, "  - {name: c%d, stdout: {matches: 'a{%d}'}}\n", i, i < 16 ? 255 : 17);

        assert_int_equal(bytes_add(&cases, one, (size_t)size_bytes, LIMIT_YAML_BYTES, &err), 0);
    }
    assert_true(asprintf(&oracle, "version: 1\ncases:\n%.*s", (int)cases.size_bytes, (char *)cases.data) > 0);
    assert_string_equal(refusal(oracle),
                        "19: regular expressions of more than 4096 places for a byte so far; ask for less");
    oracle[strlen(oracle) - 6] = '6'; /* 16 * 255 + 16 is just the bound */
    {
        struct oracle parsed = parse(oracle);

        oracle_done(&parsed);
    }
    free(oracle);
    bytes_done(&cases);
}

/* ---- the document ---- */

/* Takes the text of the next ```yaml block. Returns what follows it, or NULL. */
static const char *block_take(const char *from, const char **out, size_t *out_bytes)
{
    const char *begin = strstr(from, "```yaml\n"), *end;

    if (begin == NULL)
        return NULL;
    *out = begin + 8;
    end = strstr(*out, "```\n");
    assert_non_null(end);
    *out_bytes = (size_t)(end - *out);
    return end + 4;
}

static void every_example_of_the_document_parses_and_every_key_has_one(void **state)
{
    static const char *const keys[] = {"version",     "bounds",
                                       "ended_ms",    "grace_ms",
                                       "identities",  "denials",
                                       "errnos",      "timeout: true, signal",
                                       "diverted",    "trials",
                                       "name",        "roles",
                                       "effects",     "cases",
                                       "exit",        "stdout",
                                       "stderr",      "empty",
                                       "equals",      "contains",
                                       "matches",     "sha256",
                                       "lines",       "at_least",
                                       "at_most",     "json",
                                       "pointer",     "type",
                                       "absent",      "tap",
                                       "tests",       "pass",
                                       "fail",        "exists",
                                       "duration_ms", "files",
                                       "path",        "archives",
                                       "bytes",       "except",
                                       "paths",       "mtime",
                                       "owner",       "base64",
                                       "signal",      "endless, signal",
                                       "\n  read",    "\n  read-link",
                                       "\n  write",   "\n  tcp",
                                       "\n  udp"};
    AUTO_BYTES struct bytes text = {0}, examples = {0};
    const char *at, *block;
    size_t block_bytes, count = 0;
    struct err err = {0};

    (void)state;
    assert_int_equal(file_read_path(AT_FDCWD, DOCUMENTS "/ORACLE.md", 0, LIMIT_YAML_BYTES, &text, &err), 0);
    assert_int_equal(bytes_add(&text, "", 1, LIMIT_YAML_BYTES, &err), 0);
    for (at = (const char *)text.data; (at = block_take(at, &block, &block_bytes)) != NULL; count++) {
        char *oracle = NULL;
        struct oracle parsed;

        assert_true(asprintf(&oracle, "%s%.*s", strncmp(block, "version", 7) == 0 ? "" : "version: 1\n",
                             (int)block_bytes, block) > 0);
        parsed = parse(oracle);
        oracle_done(&parsed);
        free(oracle);
        assert_int_equal(bytes_add(&examples, block, block_bytes, LIMIT_YAML_BYTES, &err), 0);
    }
    assert_true(count >= 6);
    assert_int_equal(bytes_add(&examples, "", 1, LIMIT_YAML_BYTES, &err), 0);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        char key[64];

        (void)snprintf(key, sizeof key, "%s: ", keys[i]);
        if (strstr((const char *)examples.data, key) == NULL) {
            (void)snprintf(key, sizeof key, "%s:\n", keys[i]);
            if (strstr((const char *)examples.data, key) == NULL)
                fail_msg("no example of %s", keys[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_case_shows_is_read),
        cmocka_unit_test(exceptions_are_read_and_marked_as_wider),
        cmocka_unit_test(each_fault_is_refused_in_one_line),
        cmocka_unit_test(a_pointer_is_bounded_in_length),
        cmocka_unit_test(what_the_language_does_not_tell_is_refused),
        cmocka_unit_test(expressions_are_bounded_in_length_and_in_sum),
        cmocka_unit_test(every_example_of_the_document_parses_and_every_key_has_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
