/*
 * What each matcher on an end or a stream holds on, and how it is told where it does not (ORACLE 4, DECISION 6.5).
 */
#include "replay/match_verdict.h"
#include "replay_scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WHAT(KIND) EXHIBIT__EVENT__WHAT_##KIND

/* What an oracle asks for, and the whole of what is told; "" where it holds. */
struct asked {
    const char *wanted, *told;
};

/* Judges a case with this stdout under each line. */
static void judge_each(const char *case_stdout, const struct asked *lines, size_t count)
{
    struct scene scene;

    scene_init(&scene);
    scene.case_stdout[2] = case_stdout;
    scene_build(&scene);
    for (size_t i = 0; i < count; i++) {
        const char *told = scene_told(&scene, lines[i].wanted);

        if (strcmp(told, lines[i].told) != 0)
            fail_msg("%s: it is told: %s", lines[i].wanted, told);
    }
    scene_done(&scene);
}

#define JUDGE_EACH(case_stdout, lines) judge_each((case_stdout), (lines), sizeof(lines) / sizeof *(lines))
#define LINE "oracle line 3: "
#define CANNOT ": cannot be evaluated: "

static void an_end_is_told_with_what_was_expected_and_seen(void **state)
{
    struct scene scene;
    Exhibit__RunExit *run_exit;

    (void)state;
    scene_init(&scene);
    scene_build(&scene);
    run_exit = scene_find(&scene, WHAT(RUN_EXIT), RUN_CASE_STRICT, 0)->run_exit;
    run_exit->exit_status = 3;
    assert_string_equal(scene_told(&scene, "exit: 3"), "");
    assert_non_null(
        strstr(scene_told(&scene, "exit: 0"), LINE "exit: expected exit status 0, seen exit status 3, at event "));
    assert_non_null(strstr(scene_told(&scene, "signal: TERM"),
                           LINE "signal: expected signal 15 (TERM), seen exit status 3, at event "));
    run_exit->how_case = EXHIBIT__RUN_EXIT__HOW_TERM_SIGNAL;
    run_exit->term_signal = 9;
    assert_string_equal(scene_told(&scene, "signal: KILL"), "");
    assert_non_null(strstr(scene_told(&scene, "exit: 9"), "expected exit status 9, seen signal 9 (KILL), at event "));
    run_exit->how_case = EXHIBIT__RUN_EXIT__HOW__NOT_SET;
    assert_non_null(strstr(scene_told(&scene, "exit: 0"), "seen neither exit status nor signal, at event "));
    scene_done(&scene);
}

static void every_matcher_is_evaluated_in_the_order_of_the_oracle(void **state)
{
    struct scene scene;

    (void)state;
    scene_init(&scene);
    scene_build(&scene);
    scene_find(&scene, WHAT(RUN_EXIT), RUN_CASE_STRICT, 0)->run_exit->watchdog = true;
    assert_string_equal(scene_told(&scene, "exit: 0, stdout: {contains: [x, hell, y]}, stderr: {json: [{pointer: /a, "
                                           "absent: true}]}"),
                        "its watchdog ended it\n" LINE "stdout contains: expected \"x\", seen 6 bytes without it, "
                        "\"hello?\", at stdout, all of it\n" LINE "stdout contains: expected \"y\", seen 6 bytes "
                        "without it, \"hello?\", at stdout, all of it\n" LINE "stderr json" CANNOT
                        "no JSON text: unexpected token near end of file\n");
    scene_drop(&scene, scene_find(&scene, WHAT(RUN_EXIT), RUN_CASE_STRICT, 0));
    assert_string_equal(scene_told(&scene, "exit: 0, duration_ms: {at_least: 0}"),
                        "its end was not seen\n" LINE "exit" CANNOT "its end was not seen\n" LINE "duration_ms" CANNOT
                        "its end was not seen\n");
    scene_done(&scene);
}

static void bytes_are_told_where_they_differ(void **state)
{
    static const struct asked lines[] = {
        {"stdout: {equals: \"one\\ntwo\"}", ""},
        {"stdout: {equals: \"one\\nTwo\\n\"}", LINE "stdout equals: expected 8 bytes, there \"Two?\", seen 7 bytes, "
                                                    "there \"two\", at stdout byte 4\n"},
        {"stdout: {equals: \"one\\ntwo\\n\"}", LINE "stdout equals: expected 8 bytes, there \"?\", seen 7 bytes, "
                                                    "there \"\", at stdout byte 7\n"},
        {"stdout: {equals: \"\"}", LINE "stdout equals: expected 0 bytes, there \"\", seen 7 bytes, there "
                                        "\"one?two\", at stdout byte 0\n"},
        {"stdout: {contains: \"e\\nt\"}", ""},
        {"stdout: {contains: \"two\\n\"}", LINE "stdout contains: expected \"two?\", seen 7 bytes without it, "
                                                "\"one?two\", at stdout, all of it\n"},
        {"stdout: {empty: true}", LINE "stdout empty: expected no byte, seen 7 bytes, at stdout byte 0\n"},
        {"stderr: {empty: true, equals: \"\", lines: 0, matches: '^a*$'}", ""},
        {"stderr: {contains: x}",
         LINE "stderr contains: expected \"x\", seen 0 bytes without it, \"\", at stderr, all of it\n"},
        {"stdout: {matches: ['^one.two$', 'w', 'e\\n']}", ""},
        {"stdout: {matches: 'two\\n'}", LINE "stdout matches: expected \"two\\n\", seen 7 bytes without it, "
                                             "\"one?two\", at stdout, all of it\n"},
        {"stdout: {lines: 2}", ""},
        {"stdout: {lines: {at_least: 2, at_most: 2}}", ""},
        {"stdout: {lines: 1}", LINE "stdout lines: expected 1 lines, seen 2 lines, at stdout byte 4\n"},
        {"stdout: {lines: {at_most: 1}}", LINE "stdout lines: expected 0 to 1 lines, seen 2 lines, at stdout byte 4\n"},
        {"stdout: {lines: {at_least: 3}}",
         LINE "stdout lines: expected at least 3 lines, seen 2 lines, at stdout byte 7\n"},
        {"stdout: {sha256: 25b5927b5ba87b6b5b36cd9ef98eb7e5e8d1f52f3e0f9eb0ad2a8fc0b4b2c0d3}",
         LINE "stdout sha256: expected SHA-256 25b5927b5ba87b6b5b36cd9ef98eb7e5e8d1f52f3e0f9eb0ad2a8fc0b4b2c0d3, seen "
              "SHA-256 21066d108d5319ecb5a1fc4454f42ef22fc5f1c7df49c31d90294950e0ea8b2c, at stdout, all 7 bytes\n"},
        {"stderr: {sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855}", ""},
    };

    (void)state;
    JUDGE_EACH("one\ntwo", lines);
}

static void a_value_is_asked_for_at_its_pointer(void **state)
{
    static const char text[] = "{\"a\": [1, {\"b/c~d\": \"x\"}, 1.0, true, null], \"\": {\"01\": []}}\n";
    static const struct asked lines[] = {
        {"stdout: {json: [{pointer: /a/1/b~1c~0d, equals: x}]}", ""},
        {"stdout: {json: [{pointer: //01, equals: []}]}", ""},
        {"stdout: {json: [{pointer: /a/0, equals: 1.0}]}",
         LINE "stdout json: expected 1.0, seen an integer, 1, at stdout \"/a/0\"\n"},
        {"stdout: {json: [{pointer: /a/0, equals: \"1\"}]}",
         LINE "stdout json: expected \"1\", seen an integer, 1, at stdout \"/a/0\"\n"},
        {"stdout: {json: [{pointer: /a/00, equals: 1}]}", LINE "stdout json" CANNOT "\"/a/00\" leads nowhere\n"},
        {"stdout: {json: [{pointer: /a/-, equals: 1}]}", LINE "stdout json" CANNOT "\"/a/-\" leads nowhere\n"},
        {"stdout: {json: [{pointer: /a/5, type: null}]}", LINE "stdout json" CANNOT "\"/a/5\" leads nowhere\n"},
        {"stdout: {json: [{pointer: /a/3/x, type: null}]}", LINE "stdout json" CANNOT "\"/a/3/x\" leads nowhere\n"},
        {"stdout: {json: [{pointer: /a/0, type: number}, {pointer: /a/0, type: integer}, {pointer: /a/2, type: real}, "
         "{pointer: /a/2, type: number}, {pointer: /a/3, type: boolean}, {pointer: /a/4, type: \"null\"}, "
         "{pointer: /a, type: array}, {pointer: /a/1, type: object}, {pointer: /a/1/b~1c~0d, type: string}]}",
         ""},
        {"stdout: {json: [{pointer: /a/0, type: real}]}",
         LINE "stdout json: expected type real, seen an integer, 1, at stdout \"/a/0\"\n"},
        {"stdout: {json: [{pointer: /a/2, type: integer}]}",
         LINE "stdout json: expected type integer, seen a real, 1.0, at stdout \"/a/2\"\n"},
        {"stdout: {json: [{pointer: '', type: array}]}", LINE
         "stdout json: expected type array, seen an object, {\"a\":[1,{\"b/c~d\":\"x\"},1.0,true,null],\"\":{\"01\""
         ":[]}}, at stdout \"\"\n"},
        {"stdout: {json: [{pointer: /b, absent: true}, {pointer: /a/5, absent: true}, {pointer: //1, absent: true}]}",
         ""},
        {"stdout: {json: [{pointer: /a/4, absent: true}]}",
         LINE "stdout json: expected no value, seen null, null, at stdout \"/a/4\"\n"},
        {"stdout: {json: [{pointer: /b/c, absent: true}]}", LINE "stdout json" CANNOT "\"/b/c\" leads nowhere\n"},
        {"stdout: {json: [{pointer: /a/4/x, absent: true}]}", LINE "stdout json" CANNOT "\"/a/4/x\" leads nowhere\n"},
        {"stdout: {json: [{pointer: /a/05, absent: true}]}", LINE "stdout json" CANNOT "\"/a/05\" leads nowhere\n"},
        {"stdout: {json: [{pointer: /a/-, absent: true}]}", LINE "stdout json" CANNOT "\"/a/-\" leads nowhere\n"},
        {"stdout: {json: [{pointer: /a/1000000000, absent: true}]}",
         LINE "stdout json" CANNOT "\"/a/1000000000\" leads nowhere\n"},
    };

    (void)state;
    JUDGE_EACH(text, lines);
}

static void what_is_no_json_text_cannot_be_evaluated(void **state)
{
    static const char *const texts[] = {"{\"a\": 1} x",  "{\"a\": 1, \"a\": 1}",  "",
                                        "[\"\\u0000\"]", "[9223372036854775808]", "[1e999]",
                                        "\"\xff\"",      "\xef\xbb\xbf[]"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct scene scene;
        const char *told;

        scene_init(&scene);
        scene.case_stdout[2] = texts[i];
        scene_build(&scene);
        told = scene_told(&scene, "stdout: {json: [{pointer: /x, absent: true}]}");
        if (strstr(told, LINE "stdout json" CANNOT "no JSON text: ") != told)
            fail_msg("%s: it is told: %s", texts[i], told);
        scene_done(&scene);
    }
}

static void a_tap_counter_is_there_once(void **state)
{
    static const char text[] = "ok 1 - x\n  # tests 9\n# tests 000000000000001\n# pass 1\n# pass 1\n# fail 1\r\n";
    static const struct asked lines[] = {
        {"stdout: {tap: {tests: 1}}", ""},
        {"stdout: {tap: {tests: 9}}", LINE "stdout tap: expected # tests 9, seen # tests 1, at stdout byte 21\n"},
        {"stdout: {tap: {pass: 1}}", LINE "stdout tap" CANNOT "stdout has 2 lines that begin with \"# pass \"\n"},
        {"stdout: {tap: {fail: 1}}", LINE "stdout tap" CANNOT "no number of 1 to 15 digits follows \"# fail \" at "
                                          "stdout byte 63\n"},
        {"stderr: {tap: {fail: 0}}", LINE "stderr tap" CANNOT "stderr has 0 lines that begin with \"# fail \"\n"},
    };
    static const struct asked too_long[] = {{"stdout: {tap: {tests: 1}}", LINE
                                             "stdout tap" CANNOT "no number of 1 to 15 digits follows \"# tests \" at "
                                             "stdout byte 0\n"}};

    (void)state;
    JUDGE_EACH(text, lines);
    JUDGE_EACH("# tests 0000000000000001", too_long);
    JUDGE_EACH("# tests \n", too_long);
    JUDGE_EACH("# tests 1x\n", too_long);
}

/* What is told of a stream of so many bytes `x`, which ended in this way. The caller frees it. */
static char *told_of_large(size_t size_bytes, Exhibit__StreamEnd__How how, const char *wanted)
{
    struct scene scene;
    Exhibit__Event *end;
    char *bytes = malloc(size_bytes), *told;

    assert_non_null(bytes);
    memset(bytes, 'x', size_bytes);
    scene_init(&scene);
    scene_build(&scene);
    end = scene_find(&scene, WHAT(STREAM_END), RUN_CASE_STRICT, 0);
    end->stream_end->content = scene_stream(&scene, bytes, size_bytes);
    end->stream_end->how = how;
    scene_find(&scene, WHAT(CHUNK), RUN_CASE_STRICT, 0)->chunk->size_bytes = size_bytes;
    free(bytes);
    told = strdup(scene_told(&scene, wanted));
    assert_non_null(told);
    scene_done(&scene);
    return told;
}

static void content_is_matched_up_to_a_size(void **state)
{
    static const struct {
        size_t size_bytes;
        Exhibit__StreamEnd__How how;
        const char *wanted, *told;
    } cases[] = {
        {LIMIT_MATCHED_STREAM_BYTES, EXHIBIT__STREAM_END__HOW__HOW_CLOSED, "stdout: {contains: xx, lines: 1}", ""},
        {LIMIT_MATCHED_STREAM_BYTES + 1, EXHIBIT__STREAM_END__HOW__HOW_EOF, "stdout: {contains: x}",
         LINE "stdout contains" CANNOT "stdout has 16777217 bytes, more than 16777216\n"},
        {LIMIT_MATCHED_STREAM_BYTES + 1, EXHIBIT__STREAM_END__HOW__HOW_EOF, "stdout: {empty: true}",
         LINE "stdout empty: expected no byte, seen 16777217 bytes, at stdout byte 0\n"},
        {LIMIT_REGEX_STREAM_BYTES, EXHIBIT__STREAM_END__HOW__HOW_EOF, "stdout: {matches: 'x{99}$'}", ""},
        {LIMIT_REGEX_STREAM_BYTES + 1, EXHIBIT__STREAM_END__HOW__HOW_EOF, "stdout: {matches: x}",
         LINE "stdout matches" CANNOT "stdout has 1048577 bytes, more than 1048576\n"},
        {1, EXHIBIT__STREAM_END__HOW__HOW_LIMIT, "stdout: {contains: x}",
         LINE "stdout contains" CANNOT "not all of stdout was kept\n"},
        {1, EXHIBIT__STREAM_END__HOW__HOW_LIMIT,
         "stdout: {sha256: 2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881}",
         LINE "stdout sha256" CANNOT "not all of stdout was kept\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *told = told_of_large(cases[i].size_bytes, cases[i].how, cases[i].wanted);

        assert_string_equal(told, cases[i].told);
        free(told);
    }
}

static void a_stream_without_an_end_cannot_be_evaluated(void **state)
{
    struct scene scene;

    (void)state;
    scene_init(&scene);
    scene_build(&scene);
    scene_drop(&scene, scene_find(&scene, WHAT(STREAM_END), RUN_CASE_STRICT, 1));
    assert_string_equal(scene_told(&scene, "stderr: {empty: true}"),
                        LINE "stderr empty" CANNOT "the end of stderr was not seen\n");
    scene_done(&scene);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_end_is_told_with_what_was_expected_and_seen),
        cmocka_unit_test(every_matcher_is_evaluated_in_the_order_of_the_oracle),
        cmocka_unit_test(bytes_are_told_where_they_differ),
        cmocka_unit_test(a_value_is_asked_for_at_its_pointer),
        cmocka_unit_test(what_is_no_json_text_cannot_be_evaluated),
        cmocka_unit_test(a_tap_counter_is_there_once),
        cmocka_unit_test(content_is_matched_up_to_a_size),
        cmocka_unit_test(a_stream_without_an_end_cannot_be_evaluated),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
