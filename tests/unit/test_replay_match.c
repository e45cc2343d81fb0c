/*
 * What each matcher of an oracle holds on (ORACLE 4).
 */
#include "replay/archives.h"
#include "replay/match.h"
#include "replay_scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct bytes bytes_of(const char *text)
{
    return (struct bytes){(uint8_t *)text, strlen(text), strlen(text) + 1};
}

static bool json_holds(const char *text, const char *pointer, const char *wanted)
{
    struct bytes have = bytes_of(text), want = bytes_of(wanted);
    struct err err;
    bool holds = false;

    assert_int_equal(match_json(&have, pointer, &want, &holds, &err), 0);
    return holds;
}

static void json_is_compared_at_its_pointer(void **state)
{
    (void)state;
    assert_true(json_holds("{\"a\": [1, {\"b/c~d\": \"x\"}]}", "/a/1/b~1c~0d", "\"x\""));
    assert_true(json_holds("{\"\": 1}", "/", "1"));
    assert_true(json_holds(" {\"b\": 2, \"a\": 1}\n", "", "{\"a\":1,\"b\":2}"));
    assert_true(json_holds("[[], null]", "/1", "null"));
    assert_false(json_holds("[1]", "/00", "1"));
    assert_false(json_holds("[1]", "/-", "1"));
    assert_false(json_holds("[1]", "/1", "1"));
    assert_false(json_holds("[1]", "0", "1"));
    assert_false(json_holds("{\"a\": 1}", "/a", "\"1\""));
    assert_false(json_holds("{\"a\": 1}", "/a", "true"));
    assert_false(json_holds("{\"a\": 1} x", "/a", "1"));
    assert_false(json_holds("{\"a\": 1, \"a\": 1}", "/a", "1"));
    assert_false(json_holds("", "", "1"));
    assert_false(json_holds("1.0", "", "1"));
    assert_true(json_holds("1e3", "", "1000.0"));
    assert_false(json_holds("[9223372036854775808, 1]", "/1", "1"));
    assert_false(json_holds("[\"\\u0000\", 1]", "/1", "1"));
}

static bool tap_holds(const char *text, enum oracle_tap_counter counter, int64_t number)
{
    struct bytes bytes = bytes_of(text);

    return match_tap(&bytes, counter, number);
}

static void a_tap_counter_is_there_once(void **state)
{
    static const char text[] = "TAP version 13\nok 1 - x\n  # tests 9\n1..1\n# tests 1\n# pass 1\n# fail 0\n";

    (void)state;
    assert_true(tap_holds(text, ORACLE_TAP_TESTS, 1));
    assert_true(tap_holds(text, ORACLE_TAP_PASS, 1));
    assert_true(tap_holds(text, ORACLE_TAP_FAIL, 0));
    assert_false(tap_holds(text, ORACLE_TAP_TESTS, 9));
    assert_false(tap_holds("# tests 1\n# tests 1\n", ORACLE_TAP_TESTS, 1));
    assert_false(tap_holds("# pass 1\n", ORACLE_TAP_TESTS, 1));
    assert_true(tap_holds("# tests 000000000000001", ORACLE_TAP_TESTS, 1));
    assert_false(tap_holds("# tests 1\n# tests many\n", ORACLE_TAP_TESTS, 1));
    assert_false(tap_holds("# tests 1\r\n", ORACLE_TAP_TESTS, 1));
    assert_false(tap_holds("# tests 0000000000000001\n", ORACLE_TAP_TESTS, 1));
    assert_false(tap_holds("# tests 1x\n", ORACLE_TAP_TESTS, 1));
    assert_false(tap_holds("# tests \n", ORACLE_TAP_TESTS, 0));
    assert_false(tap_holds(" # tests 1\n", ORACLE_TAP_TESTS, 1));
}

static bool pattern_holds(const char *pattern, const char *path)
{
    ProtobufCBinaryData bytes = scene_text(path);

    return archive_matches(pattern, &bytes);
}

static void a_pattern_names_files_of_one_folder(void **state)
{
    (void)state;
    assert_true(pattern_holds("out/a.tgz", "out/a.tgz"));
    assert_true(pattern_holds("out/a-*.tgz", "out/a-1.0.tgz"));
    assert_true(pattern_holds("*", "a"));
    assert_false(pattern_holds("out/a-*.tgz", "out/a-1/0.tgz"));
    assert_false(pattern_holds("a*a", "a"));
    assert_false(pattern_holds("*.tgz", "out/a.tgz"));
    assert_false(pattern_holds("out/a.tgz", "out/a.tg"));
    assert_false(pattern_holds("*", ""));
}

/* Judges a stream of `size_bytes` bytes `x` that must contain an `x`, and that ended in this way. */
static bool large_holds(size_t size_bytes, Exhibit__StreamEnd__How how)
{
    struct scene scene;
    struct oracle_matcher matcher = {.kind = ORACLE_CONTAINS, .bytes = bytes_of("x")};
    struct oracle_case expected = {.matchers = &matcher, .matcher_count = 1};
    Exhibit__StreamEnd end = EXHIBIT__STREAM_END__INIT;
    Exhibit__RunExit run_exit = EXHIBIT__RUN_EXIT__INIT;
    Exhibit__Event event = EXHIBIT__EVENT__INIT;
    struct run run = {.exit = &event, .ends = {[EXHIBIT__STREAM_NAME__STREAM_STDOUT] = &end}};
    struct match match;
    struct err err;
    char *bytes = malloc(size_bytes);

    assert_non_null(bytes);
    memset(bytes, 'x', size_bytes);
    scene_init(&scene);
    event.run_exit = &run_exit;
    end.content = scene_stream(&scene, bytes, size_bytes);
    end.how = how;
    assert_int_equal(match_case(&scene.source, &expected, &run, &match, &err), 0);
    free(bytes);
    scene_done(&scene);
    return match.met;
}

static void content_is_matched_up_to_a_size(void **state)
{
    (void)state;
    assert_true(large_holds(MATCH_STREAM_BYTES, EXHIBIT__STREAM_END__HOW__HOW_CLOSED));
    assert_false(large_holds(MATCH_STREAM_BYTES + 1, EXHIBIT__STREAM_END__HOW__HOW_EOF));
    assert_false(large_holds(1, EXHIBIT__STREAM_END__HOW__HOW_LIMIT));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_is_compared_at_its_pointer),
        cmocka_unit_test(a_tap_counter_is_there_once),
        cmocka_unit_test(a_pattern_names_files_of_one_folder),
        cmocka_unit_test(content_is_matched_up_to_a_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
