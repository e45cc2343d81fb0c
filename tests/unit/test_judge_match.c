/* docs/ORACLE.md section 4, docs/DECISION.md section 6: matchers over what a case left, and archives. */
#include "judge_scene.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CASE "version: 1\ncases:\n  - {name: check, %s}\n"
#define WHOLE_BYTES 16777216u

static uint32_t strict_check(const struct scene *scene)
{
    return scene_run_of(scene, "check", MODE(STRICT), 1);
}

/* A scene whose oracle's case asks for this, and whose strict run wrote these bytes (NULL: nothing) on stdout. */
static struct scene *case_scene(const char *wanted, const char *out, size_t size_bytes)
{
    char oracle[4096];
    struct scene *scene;
    size_t place;
    struct err err;

    (void)snprintf(oracle, sizeof oracle, CASE, wanted);
    scene = scene_good_under(oracle);
    place = scene_place(scene, strict_check(scene), SCENE(CHUNK), 0);
    scene_drop(scene, strict_check(scene), SCENE(CHUNK));
    if (out != NULL) {
        scene_insert_text(scene, place, strict_check(scene), STREAM(STDOUT), "");
        assert_int_equal(bytes_add(&scene->events[place].payload, out, size_bytes, SIZE_MAX / 2, &err), 0);
    }
    return scene;
}

/* Whether the strict run meets its case; releases the scene. */
static bool is_met(struct scene *scene)
{
    Exhibit__Claim *claim = scene_judge(scene);
    bool met = claim->cases[2]->met;

    assert_string_equal(claim->cases[2]->mode, "strict");
    for (size_t i = 0; i < claim->n_rules; i++)
        if (strcmp(claim->rules[i]->rule, "useful.contract") == 0)
            assert_int_equal(claim->rules[i]->holds, met);
    exhibit__claim__free_unpacked(claim, NULL);
    scene_free(scene);
    return met;
}

static bool meets(const char *wanted, const char *out)
{
    return is_met(case_scene(wanted, out, out == NULL ? 0 : strlen(out)));
}

static void the_end_of_a_run_is_matched_by_kind_and_number(void **state)
{
    struct scene *scene;

    (void)state;
    assert_true(meets("exit: 0", NULL));
    assert_false(meets("exit: 1", NULL));
    assert_false(meets("signal: TERM", NULL));

    for (int signal = 9; signal <= 15; signal += 6) {
        scene = case_scene("signal: TERM", NULL, 0);
        scene_event(scene, strict_check(scene), SCENE(RUN_EXIT), 0)->run_exit->how_case =
            EXHIBIT__RUN_EXIT__HOW_TERM_SIGNAL;
        scene_event(scene, strict_check(scene), SCENE(RUN_EXIT), 0)->run_exit->term_signal = (uint32_t)signal;
        assert_int_equal(is_met(scene), signal == 15);
    }
    scene = case_scene("exit: 0", NULL, 0); /* how it ended was not seen */
    scene_event(scene, strict_check(scene), SCENE(RUN_EXIT), 0)->run_exit->how_case = EXHIBIT__RUN_EXIT__HOW__NOT_SET;
    assert_false(is_met(scene));
    scene = case_scene("stdout: {empty: true}", NULL, 0);
    scene_remove(scene, scene_place(scene, strict_check(scene), SCENE(RUN_EXIT), 0));
    assert_false(is_met(scene));
}

static void bytes_are_matched_exactly(void **state)
{
    (void)state;
    assert_true(meets("stdout: {empty: true}", NULL));
    assert_false(meets("stdout: {empty: true}", "\n"));
    assert_true(meets("stdout: {equals: \"done\\n\"}", "done\n"));
    assert_false(meets("stdout: {equals: \"done\\n\"}", "done"));
    assert_false(meets("stdout: {equals: \"done\\n\"}", "done\n\n"));
    assert_true(meets("stdout: {equals: \"\"}", NULL));
    assert_true(meets("stdout: {contains: [one, two]}", "two and one"));
    assert_false(meets("stdout: {contains: [one, three]}", "two and one"));
    assert_false(meets("stderr: {contains: one}", "two and one"));
    assert_true(is_met(case_scene("stdout: {contains: {base64: AGE=}}", "\0a", 2)));
}

static void json_is_matched_by_value_and_type(void **state)
{
    static const char text[] = " {\"a/b\": [1, 1.0, {\"~\": \"x\"}, null], \"n\": {\"k\": [1, 2], \"l\": true}}\n";

    (void)state;
    assert_true(meets("stdout: {json: [{pointer: /a~1b/0, equals: 1}]}", text));
    assert_false(meets("stdout: {json: [{pointer: /a~1b/1, equals: 1}]}", text));
    assert_true(meets("stdout: {json: [{pointer: /a~1b/1, equals: 1e0}]}", text));
    assert_true(meets("stdout: {json: [{pointer: /a~1b/2/~0, equals: x}]}", text));
    assert_true(meets("stdout: {json: [{pointer: /a~1b/3, equals: null}]}", text));
    assert_true(meets("stdout: {json: [{pointer: /n, equals: {l: true, k: [1, 2]}}]}", text));
    assert_false(meets("stdout: {json: [{pointer: /n, equals: {l: true, k: [2, 1]}}]}", text));
    assert_false(meets("stdout: {json: [{pointer: /n, equals: {k: [1, 2]}}]}", text));
    assert_true(meets("stdout: {json: [{pointer: \"\", equals: yes}]}", "\"yes\""));
    for (int i = 0; i < 6; i++) {
        static const char *const nowhere[] = {"/a~1b/4", "/a~1b/00", "/a~1b/-", "/a~1b/0/0", "/m", "/a~1b/"};
        char wanted[128];

        (void)snprintf(wanted, sizeof wanted, "stdout: {json: [{pointer: %s, equals: 1}]}", nowhere[i]);
        assert_false(meets(wanted, text));
    }
}

static void what_is_not_one_json_text_cannot_be_evaluated(void **state)
{
    static const char *const texts[] = {"",
                                        "1 2",
                                        "{\"a\": 1} x",
                                        "{\"a\": 1, \"a\": 1}",
                                        "{'a': 1}",
                                        "[1,]",
                                        "\"\\u0000\"",
                                        "99999999999999999999",
                                        "1e999",
                                        "\"\xff\"",
                                        "{\"b\": {\"a\": 1, \"a\": 1}}"};
    char *deep = malloc(8192);

    (void)state;
    assert_non_null(deep);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (meets("stdout: {json: [{pointer: /a, equals: 1}]}", texts[i]) ||
            meets("stdout: {json: [{pointer: \"\", equals: 1}]}", texts[i]))
            fail_msg("taken for JSON: %s", texts[i]);
    for (size_t levels = 2047; levels <= 2049; levels += 2) { /* 2048 with the map around them, or 2050 */
        memcpy(deep, "{\"b\": ", 6);
        memset(deep + 6, '[', levels);
        memset(deep + 6 + levels, ']', levels);
        (void)snprintf(deep + 6 + 2 * levels, 8192 - 6 - 2 * levels, ", \"a\": 1}");
        assert_int_equal(meets("stdout: {json: [{pointer: /a, equals: 1}]}", deep), levels == 2047);
    }
    free(deep);
}

static void a_counter_of_tap_stands_on_exactly_one_line(void **state)
{
    static const char wanted[] = "stdout: {tap: {tests: 41, fail: 0}}";

    (void)state;
    assert_true(meets(wanted, "TAP version 13\nok 1\n    # tests 3\n# tests 41\n# pass 41\n# fail 0"));
    assert_false(meets(wanted, "# tests 41\n# fail 1\n"));
    assert_false(meets(wanted, "# tests 41\n"));
    assert_false(meets(wanted, "# tests 41\n# tests 41\n# fail 0\n"));
    assert_false(meets(wanted, "# tests 41\n# tests x\n# fail 0\n"));
    assert_false(meets(wanted, "# tests 41\r\n# fail 0\n"));
    assert_false(meets(wanted, "# tests 41 \n# fail 0\n"));
    assert_false(meets(wanted, "# tests  41\n# fail 0\n"));
    assert_false(meets(wanted, " # tests 41\n# fail 0\n"));
    assert_false(meets(wanted, "# tests \n# fail 0\n"));
    assert_true(meets(wanted, "# tests 000000000000041\n# fail 0\n")); /* 15 digits */
    assert_false(meets(wanted, "# tests 0000000000000041\n# fail 0\n"));
    assert_true(meets(wanted, "# tests\n# testsuite 3\n# tests 41\n# fail 0\n"));
}

static void a_stream_that_is_not_whole_matches_nothing(void **state)
{
    (void)state;
    for (int change = 0; change < 3; change++) {
        struct scene *scene = case_scene("stdout: {contains: fine}", "fine", 4);
        size_t place = scene_place(scene, strict_check(scene), SCENE(STREAM_END), 1);

        if (change == 1)
            scene->events[place].event->stream_end->how = EXHIBIT__STREAM_END__HOW__HOW_LIMIT;
        if (change == 2)
            scene_remove(scene, place);
        assert_int_equal(is_met(scene), change == 0);
        scene = case_scene("stdout: {empty: true}", NULL, 0);
        place = scene_place(scene, strict_check(scene), SCENE(STREAM_END), 1);
        if (change == 1)
            scene->events[place].event->stream_end->how = EXHIBIT__STREAM_END__HOW__HOW_LIMIT;
        if (change == 2)
            scene_remove(scene, place);
        assert_int_equal(is_met(scene), change == 0);
    }
}

static void a_stream_of_more_than_16_mib_matches_nothing_and_is_not_empty(void **state)
{
    static const char *const wanted[] = {"stdout: {contains: fine}", "stdout: {empty: true}"};
    char *large = malloc(WHOLE_BYTES);

    (void)state;
    assert_non_null(large);
    memset(large, 'x', WHOLE_BYTES);
    memcpy(large, "fine", 4);
    assert_true(is_met(case_scene(wanted[0], large, WHOLE_BYTES)));
    for (int i = 0; i < 2; i++) {
        struct scene *scene = case_scene(wanted[i], large, WHOLE_BYTES);
        size_t place = scene_place(scene, strict_check(scene), SCENE(CHUNK), 0);

        scene_insert_text(scene, place + 1, strict_check(scene), STREAM(STDOUT), "x"); /* one byte more */
        assert_false(is_met(scene));
    }
    free(large);
}

/* ---- archives ---- */

static Exhibit__Artifact *artifact_of(struct scene *scene, Exhibit__Mode mode, uint32_t repeat)
{
    return scene_event(scene, scene_run_of(scene, "check", mode, repeat), SCENE(ARTIFACT), 0)->artifact;
}

#define MEMBERS "version: 1\ncases: [{name: check, archives: [{path: 'o*.tar'}]}]\n"

static void each_field_of_a_member_is_compared(void **state)
{
    (void)state;
    for (int change = 0; change < 7; change++) {
        static const char *const fields[] = {"", "type", "mode", "size", "content", "mtime", "number"};
        char expected[64];
        struct scene *scene = scene_good_under(MEMBERS);
        Exhibit__ArchiveMember *member = artifact_of(scene, MODE(STRICT), 1)->members[0];

        member->type += change == 1;
        member->mode += change == 2;
        member->size_bytes += change == 3;
        member->sha256.data[0] ^= (uint8_t)(change == 4);
        member->mtime_s += change == 5;
        member->path.data[0] = change == 6 ? 'c' : 'b';
        if (change == 0)
            EXPECT_GO(scene);
        else {
            (void)snprintf(expected, sizeof expected, "member \"b\" differs in its %s", fields[change]);
            EXPECT(scene, "NO-GO", {"useful.archives", expected});
        }
    }
}

static void the_order_of_members_counts_only_for_equal_paths(void **state)
{
    (void)state;
    for (int same_path = 0; same_path < 2; same_path++) {
        struct scene *scene = scene_good_under(MEMBERS);
        Exhibit__ArchiveMember **members = artifact_of(scene, MODE(STRICT), 1)->members, *first = members[0];

        if (same_path) {
            members[0]->path.data[0] = 'a';
            artifact_of(scene, MODE(BASELINE), 1)->members[0]->path.data[0] = 'a';
            artifact_of(scene, MODE(BASELINE), 2)->members[0]->path.data[0] = 'a';
        }
        members[0] = members[1];
        members[1] = first;
        if (same_path)
            EXPECT(scene, "NO-GO", {"useful.archives", "member \"a\" differs"});
        else
            EXPECT_GO(scene);
    }
}

/* What differs between the two baselines is left out; what does not is still compared. */
static void a_second_baseline_excuses_what_differs_by_itself(void **state)
{
    (void)state;
    for (int change = 0; change < 4; change++) {
        struct scene *scene = scene_good_under(MEMBERS);
        Exhibit__Artifact *second = artifact_of(scene, MODE(BASELINE), 2);

        artifact_of(scene, MODE(STRICT), 1)->members[0]->mtime_s = 5;
        second->members[0]->mtime_s = 7;
        if (change == 1) /* it excuses b alone */
            artifact_of(scene, MODE(STRICT), 1)->members[1]->mtime_s = 5;
        if (change == 2) /* what was not kept excuses nothing */
            second->kept = false;
        if (change == 3)
            scene_drop(scene, scene_run_of(scene, "check", MODE(BASELINE), 2), EXHIBIT__EVENT__WHAT__NOT_SET);
        if (change == 0)
            EXPECT_GO(scene);
        else
            EXPECT(scene, "NO-GO", {"useful.archives", change == 1 ? "member \"a\" differs" : "member \"b\" differs"});
    }
}

static void a_member_in_one_baseline_alone_is_excused(void **state)
{
    struct scene *scene = scene_good_under(MEMBERS);

    (void)state;
    artifact_of(scene, MODE(BASELINE), 2)->members[0]->path.data[0] = 'd';
    artifact_of(scene, MODE(STRICT), 1)->members[0]->path.data[0] = 'd';
    EXPECT_GO(scene);

    scene = scene_good_under(MEMBERS); /* c is in the strict one alone */
    artifact_of(scene, MODE(BASELINE), 2)->members[0]->path.data[0] = 'd';
    artifact_of(scene, MODE(STRICT), 1)->members[0]->path.data[0] = 'c';
    EXPECT(scene, "NO-GO", {"useful.archives", "member \"c\" differs"});
}

static void bytes_are_compared_where_the_oracle_says_so(void **state)
{
    (void)state;
    for (int change = 0; change < 3; change++) {
        struct scene *scene = change == 0 ? scene_good_under(MEMBERS) : scene_good();

        artifact_of(scene, MODE(STRICT), 1)->sha256.data[0] ^= 1;
        if (change == 2) /* the baselines differ too */
            artifact_of(scene, MODE(BASELINE), 2)->sha256.data[0] ^= 2;
        if (change == 1)
            EXPECT(scene, "NO-GO",
                   {"useful.archives", "check: oracle line 9: archive out.tar: not equal byte by byte"});
        else
            EXPECT_GO(scene);
    }
}

static void exactly_one_archive_is_needed_in_each_mode(void **state)
{
    (void)state;
    for (int change = 0; change < 5; change++) {
        struct scene *scene = scene_good_under(MEMBERS);
        uint32_t run = scene_run_of(scene, "check", change == 1 ? MODE(BASELINE) : MODE(STRICT), 1);
        size_t place = scene_place(scene, run, SCENE(ARTIFACT), 0);
        Exhibit__Artifact *artifact = scene->events[place].event->artifact;

        if (change <= 1) { /* two */
            scene_insert(scene, place, run, SCENE(ARTIFACT), artifact);
            scene->events[place].event->artifact->path.data[2] = 'x';
        }
        if (change == 2) /* none: a folder is in the way of the pattern */
            artifact->path.data[1] = '/';
        if (change == 3) /* another name */
            artifact->path.data[2] = 'x';
        if (change == 4)
            artifact->kept = false;
        EXPECT(
            scene, "NO-GO",
            {"useful.archives",
             change == 0   ? "check: oracle line 2: archive o*.tar: 1 files match in the baseline and 2 in strict mode"
             : change == 1 ? "check: oracle line 2: archive o*.tar: 2 files match in the baseline and 1 in strict mode"
             : change == 2 ? "check: oracle line 2: archive o*.tar: 1 files match in the baseline and 0 in strict mode"
                           : "check: oracle line 2: archive o*.tar: not kept, no archive, or under different names"});
    }
}

/* Many members, all different: a comparison in which each looks for its like among all would take minutes. */
static void archives_of_many_members_are_compared(void **state)
{
    struct scene *scene = scene_good_under(MEMBERS);

    (void)state;
    for (int i = 0; i < 3; i++) {
        Exhibit__Artifact *artifact = artifact_of(scene, i < 2 ? MODE(BASELINE) : MODE(STRICT), i == 1 ? 2 : 1);
        size_t count = 10000; /* an event holds not many more */

        artifact->members = realloc(artifact->members, count * sizeof(Exhibit__ArchiveMember *));
        assert_non_null(artifact->members);
        for (size_t j = artifact->n_members; j < count; j++) {
            Exhibit__ArchiveMember *member = malloc(sizeof *member);
            char path[32];

            assert_non_null(member);
            exhibit__archive_member__init(member);
            (void)snprintf(path, sizeof path, "member %zu", count - j);
            member->path.data = (uint8_t *)strdup(path);
            member->path.len = strlen(path);
            artifact->members[j] = member;
        }
        artifact->n_members = count;
    }
    EXPECT_GO(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_of_a_run_is_matched_by_kind_and_number),
        cmocka_unit_test(bytes_are_matched_exactly),
        cmocka_unit_test(json_is_matched_by_value_and_type),
        cmocka_unit_test(what_is_not_one_json_text_cannot_be_evaluated),
        cmocka_unit_test(a_counter_of_tap_stands_on_exactly_one_line),
        cmocka_unit_test(a_stream_that_is_not_whole_matches_nothing),
        cmocka_unit_test(a_stream_of_more_than_16_mib_matches_nothing_and_is_not_empty),
        cmocka_unit_test(each_field_of_a_member_is_compared),
        cmocka_unit_test(the_order_of_members_counts_only_for_equal_paths),
        cmocka_unit_test(a_second_baseline_excuses_what_differs_by_itself),
        cmocka_unit_test(a_member_in_one_baseline_alone_is_excused),
        cmocka_unit_test(bytes_are_compared_where_the_oracle_says_so),
        cmocka_unit_test(exactly_one_archive_is_needed_in_each_mode),
        cmocka_unit_test(archives_of_many_members_are_compared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
