/*
 * docs/ORACLE.md 4.6 and 4.8 to 4.12, section 5: expressions, digests, lines, types, durations, files, exceptions. A
 * table has for each matcher what holds, what just does not, and what cannot be evaluated.
 */
#include "judge_scene.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define CASE "version: 1\ncases:\n  - {name: check, %s}\n"

static uint32_t strict_check(const struct scene *scene)
{
    return scene_run_of(scene, "check", MODE(STRICT), 1);
}

/* A scene whose oracle's case asks for this, and whose strict run wrote these bytes on stdout. */
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
    if (size_bytes > 0) {
        scene_insert_text(scene, place, strict_check(scene), STREAM(STDOUT), "");
        assert_int_equal(bytes_add(&scene->events[place].payload, out, size_bytes, SIZE_MAX / 2, &err), 0);
    }
    return scene;
}

/* What useful.contract says of the strict run, "" where it is met; owned by the caller. Releases the scene. */
static char *told_of(struct scene *scene)
{
    Exhibit__Claim *claim = scene_judge(scene);
    char *told = NULL;

    for (size_t i = 0; i < claim->n_rules; i++)
        if (strcmp(claim->rules[i]->rule, "useful.contract") == 0) {
            assert_int_equal(claim->rules[i]->holds, claim->cases[2]->met);
            told = strdup(claim->rules[i]->detail);
        }
    exhibit__claim__free_unpacked(claim, NULL);
    scene_free(scene);
    assert_non_null(told);
    return told;
}

/* The scene's case is met where `expected` is "", else its failure is told so. */
static void check(struct scene *scene, const char *what, const char *expected)
{
    char *told = told_of(scene);

    if (expected[0] == 0 ? told[0] != 0 : strstr(told, expected) == NULL)
        fail_msg("%s: told \"%s\", not \"%s\"", what, told, expected);
    free(told);
}

static void each_matcher_on_a_stream_holds_fails_or_cannot_be_evaluated(void **state)
{
    static const char json[] = "{\"a\": {\"b\": [1, 1.5, \"x\", true, null]}, \"n\": null}";
    static const struct {
        const char *wanted, *out, *expected;
    } cases[] = {
        {"stdout: {sha256: 6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b}", "",
         "stdout sha256: expected 6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b, seen "
         "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855, at stdout of 0 bytes"},
        {"stdout: {sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855}", "", ""},
        {"stdout: {lines: 0}", "", ""},
        {"stdout: {lines: 1}", "a", ""},
        {"stdout: {lines: 1}", "a\n", ""},
        {"stdout: {lines: 2}", "a\nb", ""},
        {"stdout: {lines: 2}", "\n\n", ""},
        {"stdout: {lines: 2}", "a\n", "stdout lines: expected at least 2 lines, seen 1, at the end of stdout"},
        {"stdout: {lines: {at_most: 1}}", "a\nb\n", "expected at most 1 lines, seen 2, at the end of stdout"},
        {"stdout: {lines: {at_least: 1, at_most: 2}}", "a\nb\n", ""},
        {"stdout: {json: [{pointer: /a, type: object}]}", json, ""},
        {"stdout: {json: [{pointer: /a/b, type: array}]}", json, ""},
        {"stdout: {json: [{pointer: /a/b/0, type: integer}]}", json, ""},
        {"stdout: {json: [{pointer: /a/b/0, type: number}]}", json, ""},
        {"stdout: {json: [{pointer: /a/b/1, type: number}]}", json, ""},
        {"stdout: {json: [{pointer: /a/b/1, type: real}]}", json, ""},
        {"stdout: {json: [{pointer: /a/b/2, type: string}]}", json, ""},
        {"stdout: {json: [{pointer: /a/b/3, type: boolean}]}", json, ""},
        {"stdout: {json: [{pointer: /n, type: \"null\"}]}", json, ""},
        {"stdout: {json: [{pointer: /a/b/0, type: real}]}", json,
         "stdout json: expected real, seen \"1\", at \"/a/b/0\""},
        {"stdout: {json: [{pointer: /a/b/1, type: integer}]}", json, "expected integer, seen \"1.5\", at \"/a/b/1\""},
        {"stdout: {json: [{pointer: /x, type: object}]}", json,
         "stdout json: cannot be evaluated: stdout has nothing at \"/x\""},
        {"stdout: {json: [{pointer: /x, type: object}]}", "{", "cannot be evaluated: stdout is not one JSON text"},
        {"stdout: {json: [{pointer: /x, absent: true}]}", json, ""},
        {"stdout: {json: [{pointer: /a/b/5, absent: true}]}", json, ""},
        {"stdout: {json: [{pointer: /n, absent: true}]}", json, "expected nothing, seen \"null\", at \"/n\""},
        {"stdout: {json: [{pointer: /x/y, absent: true}]}", json, "cannot be evaluated: stdout has nothing at"},
        {"stdout: {json: [{pointer: /a/b/x, absent: true}]}", json, "cannot be evaluated: stdout has nothing at"},
        {"stdout: {json: [{pointer: /a/b/05, absent: true}]}", json, "cannot be evaluated: stdout has nothing at"},
        {"stdout: {json: [{pointer: /n/x, absent: true}]}", json, "cannot be evaluated: stdout has nothing at"},
        {"stdout: {json: [{pointer: /x, absent: true}]}", "x", "cannot be evaluated: stdout is not one JSON text"},
        {"stdout: {json: [{pointer: /x, absent: true}]}", "", "one JSON text: unexpected token near end of file"},
        {"stdout: {json: [{pointer: /a/b/0, equals: 2}]}", json,
         "stdout json: expected \"2\", seen \"1\", at \"/a/b/0\""},
        {"stdout: {equals: \"one\\ntwo\"}", "one\ntoo",
         "stdout equals: expected \"wo\" and so 7 bytes, seen \"oo\" and so 7, at byte 5 of stdout"},
        {"stdout: {empty: true}", "x\x01", "stdout empty: expected no byte, seen \"x?\", at stdout of 2 bytes"},
        {"stdout: {tap: {pass: 3}}", "ok\n# pass 2\n", "stdout tap: expected # pass 3, seen 2, at line 2 of stdout"},
        {"stdout: {tap: {pass: 3}}", "# pass x\n", "cannot be evaluated: stdout has 1 lines \"# pass ...\", not one"},
        {"exit: 3", "", "check strict 1: oracle line 3: exit: expected exit 3, seen exit 0, at its end"},
        {"signal: TERM", "", "signal: expected signal 15, seen exit 0, at its end"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check(case_scene(cases[i].wanted, cases[i].out, strlen(cases[i].out)), cases[i].wanted, cases[i].expected);
}

/* Every failing matcher is told, not only the first. */
static void all_that_fails_is_told(void **state)
{
    char *told = told_of(case_scene("exit: 1, stdout: {lines: 7, contains: [a, q, z]}", "abc", 3));

    (void)state;
    assert_non_null(strstr(told, "exit: expected exit 1"));
    assert_non_null(strstr(told, "stdout contains: expected \"q\""));
    assert_non_null(strstr(told, "stdout contains: expected \"z\""));
    assert_non_null(strstr(told, "stdout lines: expected at least 7"));
    assert_null(strstr(told, "expected \"a\""));
    free(told);
}

/* ---- expressions ---- */

struct expression {
    const char *text;
    const char *stream;
    size_t size_bytes;
    bool found;
};

#define FOUND(text, stream)                                                                                            \
    {                                                                                                                  \
        text, stream, sizeof stream - 1, true                                                                          \
    }
#define MISSED(text, stream)                                                                                           \
    {                                                                                                                  \
        text, stream, sizeof stream - 1, false                                                                         \
    }

static void expressions_are_found_as_the_document_tells(void **state)
{
    static const struct expression cases[] = {
        FOUND("b", "abc"),
        MISSED("b", "ac"),
        MISSED("b", ""),
        FOUND("^a", "ab"),
        MISSED("^b", "ab"),
        FOUND("b$", "ab"),
        MISSED("a$", "ab"),
        MISSED("b$", "ab\n"),
        FOUND("b\\n$", "ab\n"),
        MISSED("^b", "a\nb"),
        FOUND("^ab$", "ab"),
        MISSED("^ab$", "aab"),
        FOUND("^a*$", ""),
        FOUND("^a*$", "aaa"),
        MISSED("^a*$", "aab"),
        FOUND("a.c", "a\nc"),
        FOUND("a.c", "a\0c"),
        MISSED("a.c", "ac"),
        FOUND("a[^b]c", "a\nc"),
        MISSED("a[^b]c", "abc"),
        FOUND("[a-c]{3}", "xcabx"),
        MISSED("[a-c]{3}", "xcaxb"),
        FOUND("^a{2,3}$", "aa"),
        FOUND("^a{2,3}$", "aaa"),
        MISSED("^a{2,3}$", "a"),
        MISSED("^a{2,3}$", "aaaa"),
        FOUND("^a{2,}$", "aaaaa"),
        MISSED("^a{2,}$", "a"),
        FOUND("^a{0,2}b$", "b"),
        MISSED("^a{0,2}b$", "aaab"),
        FOUND("^(ab){2}$", "abab"),
        MISSED("^(ab){2}$", "aba"),
        FOUND("^(a|bc)+$", "abcbca"),
        MISSED("^(a|bc)+$", "abcb"),
        FOUND("a|b", "xb"),
        FOUND("^(a*b*)*c$", "abbaabc"),
        FOUND("^(a?){2}$", "a"),
        MISSED("^(a?){2}$", "aaa"),
        FOUND("\\x00\\xff", "\0\xff"),
        MISSED("\\xff", "\xfe"),
        FOUND("\\$\\.\\^", "$.^"),
        FOUND("^[\\]\\-\\\\]{3}$", "]-\\"),
        FOUND("a-b", "a-b"),
        FOUND("^[.*]$", "*"),
        MISSED("A", "a"),
        FOUND("^((a|b)c?)+d$", "abcbd"),
        FOUND("^a+b+$", "aab"),
        MISSED("^a+b+$", "aa"),
        FOUND("aab", "aaab"),
        FOUND("^(a|ab)(c|bcd)$", "abcd"),
        FOUND("^x{0,}y$", "y"),
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char wanted[128];

        (void)snprintf(wanted, sizeof wanted, "stdout: {matches: '%s'}", cases[i].text);
        check(case_scene(wanted, cases[i].stream, cases[i].size_bytes), wanted,
              cases[i].found ? "" : "stdout matches: expected \"");
    }
}

/* What makes a backtracking engine run for ever takes time in proportion to the stream here. */
static void a_hostile_expression_on_a_large_stream_is_fast(void **state)
{
    static const char *const wanted[] = {"stdout: {matches: '(a*)*b'}", "stdout: {matches: '(a|a)*(a|a)*b'}",
                                         "stdout: {matches: '(.{0,50}){5}b'}"};
    char *large = malloc(LIMIT_REGEX_STREAM_BYTES + 1);
    struct timespec before, after;

    (void)state;
    assert_non_null(large);
    memset(large, 'a', LIMIT_REGEX_STREAM_BYTES + 1);
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    for (int i = 0; i < 3; i++)
        check(case_scene(wanted[i], large, LIMIT_REGEX_STREAM_BYTES), wanted[i], "at none of the 1048576 bytes");
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    assert_true(after.tv_sec - before.tv_sec < 30); /* seconds under sanitizers; days by backtracking */
    check(case_scene("stdout: {matches: a}", large, LIMIT_REGEX_STREAM_BYTES + 1), "a byte more",
          "stdout matches: cannot be evaluated: stdout has 1048577 bytes");
    free(large);
}

/* ---- durations ---- */

static void a_duration_runs_from_spawned_to_run_exit(void **state)
{
    static const struct {
        const char *wanted;
        uint64_t took_ns;
        const char *expected;
    } cases[] = {
        {"duration_ms: {at_least: 5}", 5000000, ""},
        {"duration_ms: {at_least: 5}", 4999999, "duration_ms: expected at least 5 ms, seen 4999999 ns, at events"},
        {"duration_ms: {at_most: 5}", 5000000, ""},
        {"duration_ms: {at_most: 5}", 5000001, "duration_ms: expected at most 5 ms, seen 5000001 ns, at events"},
        {"duration_ms: {at_least: 0, at_most: 0}", 0, ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct scene *scene = case_scene(cases[i].wanted, "", 0);
        uint32_t run = strict_check(scene);

        scene_event(scene, run, SCENE(RUN_EXIT), 0)->at_ns =
            scene_event(scene, run, SCENE(SPAWNED), 0)->at_ns + cases[i].took_ns;
        check(scene, cases[i].wanted, cases[i].expected);
    }
    for (int change = 0; change < 2; change++) {
        struct scene *scene = case_scene("duration_ms: {at_least: 0}", "", 0);
        uint32_t run = strict_check(scene);

        if (change == 0)
            scene_drop(scene, run, SCENE(SPAWNED));
        else
            scene_event(scene, run, SCENE(RUN_EXIT), 0)->at_ns = scene_event(scene, run, SCENE(SPAWNED), 0)->at_ns - 1;
        check(scene, "no start", "duration_ms: cannot be evaluated: its start was not seen");
    }
}

/* ---- files ---- */

/* Makes of the strict run's one artifact a file of that path. */
static struct scene *file_scene(const char *wanted, const char *path, uint32_t mode, bool kept)
{
    struct scene *scene = case_scene(wanted, "", 0);
    Exhibit__Artifact *artifact = scene_event(scene, strict_check(scene), SCENE(ARTIFACT), 0)->artifact;

    free(artifact->path.data);
    artifact->path.data = (uint8_t *)strdup(path);
    artifact->path.len = strlen(path);
    artifact->mode = mode;
    artifact->kept = kept;
    return scene;
}

static void files_exist_are_absent_or_have_a_digest(void **state)
{
    static const char exists[] = "files: [{path: 'd/*.txt', exists: true}]";
    static const char absent[] = "files: [{path: 'd/*.txt', absent: true}]";
    static const struct {
        const char *wanted, *path;
        uint32_t mode;
        const char *expected;
    } cases[] = {
        {exists, "d/a.txt", S_IFREG, ""},
        {exists, "d/.txt", S_IFREG, ""},
        {exists, "d/a/b.txt", S_IFREG, "files exists: expected a file, seen none, at d/*.txt"},
        {exists, "e/a.txt", S_IFREG, "files exists: expected a file, seen none, at d/*.txt"},
        {exists, "d/a.txt", S_IFLNK, "files exists: expected a file, seen what is no regular file, at d/*.txt"},
        {exists, "d/a.txt", S_IFIFO, "seen what is no regular file"},
        {absent, "d/a.tx", S_IFREG, ""},
        {absent, "d/a/b.txt", S_IFREG, ""},
        {absent, "d/a.txt", S_IFREG, "files absent: expected nothing, seen \"d/a.txt\", at d/*.txt"},
        {absent, "d/a.txt", S_IFLNK, "files absent: expected nothing, seen \"d/a.txt\""},
        {absent, "d/a.txt", S_IFSOCK, "files absent: expected nothing, seen \"d/a.txt\""},
        {absent, "e", S_IFDIR, "files absent: cannot be evaluated: what the run left was not listed to the end"},
        {absent, "", S_IFREG, "files absent: cannot be evaluated: what the run left was not listed to the end"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int kept = 0; kept < 2; kept++) /* to be there, a file need not be kept */
            check(file_scene(cases[i].wanted, cases[i].path, cases[i].mode | 0644, kept), cases[i].path,
                  cases[i].expected);
}

static void a_digest_is_of_one_kept_regular_file(void **state)
{
    struct digest digest = digest_of("out.tar", 7);
    char right[160], wrong[160], hex[65];

    (void)state;
    hex_encode(digest.bytes, DIGEST_BYTES, hex);
    (void)snprintf(right, sizeof right, "files: [{path: 'a*', sha256: %s}]", hex);
    hex[63] = hex[63] == '0' ? '1' : '0';
    (void)snprintf(wrong, sizeof wrong, "files: [{path: 'a*', sha256: %s}]", hex);
    check(file_scene(right, "ab", S_IFREG | 0644, true), "right", "");
    check(file_scene(wrong, "ab", S_IFREG | 0644, true), "wrong", "files sha256: expected ");
    check(file_scene(right, "ab", S_IFREG | 0644, false), "not kept",
          "files sha256: cannot be evaluated: a* was not kept, or is no file");
    check(file_scene(right, "ab", S_IFLNK | 0777, true), "a link", "cannot be evaluated: a* was not kept");
    check(file_scene(right, "b", S_IFREG | 0644, true), "none", "cannot be evaluated: 0 are called a*, not one");
    {
        struct scene *scene = file_scene(right, "ab", S_IFREG | 0644, true);
        size_t place = scene_place(scene, strict_check(scene), SCENE(ARTIFACT), 0);

        scene_insert(scene, place, strict_check(scene), SCENE(ARTIFACT), scene->events[place].event->artifact);
        check(scene, "two", "cannot be evaluated: 2 are called a*, not one");
    }
}

/* A file is known to be absent only where the recorder is known to have listed to the end. */
static void absence_needs_the_end_of_the_listing(void **state)
{
    (void)state;
    for (int change = 0; change < 3; change++) {
        struct scene *scene = case_scene("files: [{path: x, absent: true}]", "", 0);
        size_t place = scene_place(scene, strict_check(scene), SCENE(ARTIFACT), 0);

        if (change == 1) /* the recording breaks off here */
            while (scene->count > place + 1)
                scene_remove(scene, scene->count - 1);
        if (change == 2)
            scene_drop(scene, strict_check(scene), SCENE(FREEZE));
        check(scene, "listing",
              change == 0 ? "" : "files absent: cannot be evaluated: what the run left was not listed");
    }
}

/* ---- exceptions of archives ---- */

static Exhibit__Artifact *artifact_of(struct scene *scene, Exhibit__Mode mode, uint32_t repeat)
{
    return scene_event(scene, scene_run_of(scene, "check", mode, repeat), SCENE(ARTIFACT), 0)->artifact;
}

/* A scene in which the strict archive's member b differs in mtime (1), owner (2) or content (3). */
static struct scene *archive_scene(const char *except, int difference)
{
    char wanted[200];
    struct scene *scene;

    (void)snprintf(wanted, sizeof wanted, "archives: [{path: out.tar%s}]", except);
    scene = case_scene(wanted, "", 0);
    for (int i = 0; i < 3; i++) {
        Exhibit__ArchiveMember *member =
            artifact_of(scene, i < 2 ? MODE(BASELINE) : MODE(STRICT), i == 1 ? 2 : 1)->members[0];

        member->owner = malloc(sizeof *member->owner);
        assert_non_null(member->owner);
        exhibit__member_owner__init(member->owner);
        member->owner->uid = i == 2 && difference == 2;
        member->mtime_s = i == 2 && difference == 1;
        member->sha256.data[0] ^= (uint8_t)(i == 2 && difference == 3);
    }
    return scene;
}

static void an_exception_leaves_out_what_it_names_and_no_more(void **state)
{
    static const struct {
        const char *except;
        int excuses; /* one bit for each difference */
    } cases[] = {{"", 0},
                 {", except: {mtime: true}", 1 << 1},
                 {", except: {owner: true}", 1 << 2},
                 {", except: {mtime: true, owner: true}", 1 << 1 | 1 << 2},
                 {", except: {paths: [b]}", 1 << 1 | 1 << 2 | 1 << 3},
                 {", except: {paths: ['x', 'b*']}", 1 << 1 | 1 << 2 | 1 << 3},
                 {", except: {paths: [a]}", 0}};
    static const char *const fields[] = {"", "mtime", "owner", "content"};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int difference = 0; difference < 4; difference++) {
            struct scene *scene = archive_scene(cases[i].except, difference);
            char expected[80];

            (void)snprintf(expected, sizeof expected, "archive out.tar: member \"b\" differs in its %s",
                           fields[difference]);
            if (difference == 0 || (cases[i].excuses >> difference & 1) != 0)
                EXPECT_GO(scene);
            else
                EXPECT(scene, "NO-GO", {"useful.archives", expected});
        }
    EXPECT(archive_scene(", except: {paths: ['*']}", 0), "NO-GO",
           {"useful.archives", "archive out.tar: (nothing is left to compare)"});
}

static void an_owner_is_compared_by_number_and_name_and_with_none(void **state)
{
    (void)state;
    for (int change = 0; change < 5; change++) {
        struct scene *scene = archive_scene("", 0);
        Exhibit__ArchiveMember *member = artifact_of(scene, MODE(STRICT), 1)->members[0];

        member->owner->gid = change == 1;
        if (change == 2 || change == 3)
            *(change == 2 ? &member->owner->uname : &member->owner->gname) =
                (ProtobufCBinaryData){4, (uint8_t *)strdup("root")};
        if (change == 4) {
            exhibit__member_owner__free_unpacked(member->owner, NULL);
            member->owner = NULL;
        }
        if (change == 0)
            EXPECT_GO(scene);
        else
            EXPECT(scene, "NO-GO", {"useful.archives", "member \"b\" differs in its owner"});
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_matcher_on_a_stream_holds_fails_or_cannot_be_evaluated),
        cmocka_unit_test(all_that_fails_is_told),
        cmocka_unit_test(expressions_are_found_as_the_document_tells),
        cmocka_unit_test(a_hostile_expression_on_a_large_stream_is_fast),
        cmocka_unit_test(a_duration_runs_from_spawned_to_run_exit),
        cmocka_unit_test(files_exist_are_absent_or_have_a_digest),
        cmocka_unit_test(a_digest_is_of_one_kept_regular_file),
        cmocka_unit_test(absence_needs_the_end_of_the_listing),
        cmocka_unit_test(an_exception_leaves_out_what_it_names_and_no_more),
        cmocka_unit_test(an_owner_is_compared_by_number_and_name_and_with_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
