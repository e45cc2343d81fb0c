/*
 * What a run left and how long it took (ORACLE 4.11, 4.12), and what of an archive is compared (ORACLE 5,
 * DECISION 6.4).
 */
#include "replay/archives.h"
#include "replay_scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define WHAT(KIND) EXHIBIT__EVENT__WHAT_##KIND
#define HEX "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b" /* of "1" */

static struct scene scene;

static int begin(void **state)
{
    (void)state;
    scene_init(&scene);
    scene_build(&scene);
    return 0;
}

static int end(void **state)
{
    (void)state;
    scene_done(&scene);
    return 0;
}

static void expect_told(const char *wanted, const char *told)
{
    const char *seen = scene_told(&scene, wanted);

    if (told[0] == 0 ? seen[0] != 0 : strstr(seen, told) == NULL)
        fail_msg("%s: it is told: %s", wanted, seen);
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
    assert_true(pattern_holds("a*/c", "ab/c"));
    assert_false(pattern_holds("a*/c", "a/b/c"));
    assert_false(pattern_holds("out/a-*.tgz", "out/a-1/0.tgz"));
    assert_false(pattern_holds("a*a", "a"));
    assert_false(pattern_holds("*.tgz", "out/a.tgz"));
    assert_false(pattern_holds("out/a.tgz", "out/a.tg"));
    assert_false(pattern_holds("*", ""));
}

/* ---- duration ---- */

static void a_duration_is_from_the_start_that_was_seen_to_the_end(void **state)
{
    Exhibit__Event *spawned = scene_find(&scene, WHAT(SPAWNED), RUN_CASE_STRICT, 0);
    Exhibit__Event *gone = scene_find(&scene, WHAT(RUN_EXIT), RUN_CASE_STRICT, 0);

    (void)state;
    gone->at_ns = spawned->at_ns + 5000000;
    expect_told("duration_ms: {at_least: 5, at_most: 5}", "");
    expect_told("duration_ms: {at_least: 5}", "");
    expect_told("duration_ms: {at_most: 4}", "duration_ms: expected 0 to 4 ms, seen 5.000000 ms, at events ");
    gone->at_ns++;
    expect_told("duration_ms: {at_most: 5}", "duration_ms: expected 0 to 5 ms, seen 5.000001 ms, at events ");
    gone->at_ns -= 2;
    expect_told("duration_ms: {at_least: 5}", "duration_ms: expected at least 5 ms, seen 4.999999 ms, at events ");
    gone->at_ns = spawned->at_ns;
    expect_told("duration_ms: {at_least: 0, at_most: 0}", "");
    gone->at_ns--;
    expect_told("duration_ms: {at_least: 0}", "duration_ms: cannot be evaluated: its start, event ");
    scene_drop(&scene, spawned);
    expect_told("duration_ms: {at_least: 0}",
                "duration_ms: cannot be evaluated: it was not seen that its command executes\n");
}

/* ---- files ---- */

/* Adds an artifact to the strict run of the case. */
static Exhibit__Artifact *leave(const char *path, uint32_t mode, const char *content)
{
    Exhibit__Event *event =
        scene_insert(&scene, scene_find(&scene, WHAT(ARTIFACT), RUN_CASE_STRICT, 0), RUN_CASE_STRICT);
    Exhibit__Artifact *artifact = event->artifact = scene_take(&scene, sizeof *artifact);

    event->what_case = WHAT(ARTIFACT);
    exhibit__artifact__init(artifact);
    artifact->path = scene_text(path);
    artifact->mode = mode;
    artifact->sha256 = scene_object(&scene, content, strlen(content));
    artifact->kept = (mode & 0170000) == 0100000;
    return artifact;
}

static void a_file_exists_where_it_is_a_regular_one(void **state)
{
    (void)state;
    (void)leave("d/a", 0100644, "1");
    (void)leave("link", 0120777, "d/a");
    (void)leave("link.txt", 0100644, "1");
    expect_told("files: [{path: d/a, exists: true}]", "");
    expect_told("files: [{path: 'd/*', exists: true}]", "");
    expect_told("files: [{path: 'link*', exists: true}]", "");
    expect_told("files: [{path: a, exists: true}]",
                "files exists: expected a regular file \"a\", seen none of the 4 files that it left, at \"a\"\n");
    expect_told("files: [{path: link, exists: true}]",
                "files exists: expected a regular file \"link\", seen a symbolic link \"link\", at event ");
}

static void a_digest_is_of_one_file_that_was_kept(void **state)
{
    Exhibit__Artifact *large;

    (void)state;
    (void)leave("a", 0100644, "1");
    (void)leave("b1", 0100644, "1");
    (void)leave("b2", 0100644, "2");
    (void)leave("link", 0120777, "1");
    large = leave("large", 0100644, "1");
    large->kept = false;
    large->note = (char *)"too large";
    expect_told("files: [{path: a, sha256: " HEX "}]", "");
    expect_told("files: [{path: b2, sha256: " HEX "}]",
                "files sha256: expected \"b2\" of SHA-256 " HEX ", seen SHA-256 "
                "d4735e3a265e16eee03f59718b9b5d03019c07d8b6c51f90da3a666eec13ab"
                "35, at event ");
    expect_told("files: [{path: 'b*', sha256: " HEX "}]",
                "files sha256: cannot be evaluated: 2 of the files that it left are meant, not one\n");
    expect_told("files: [{path: x, sha256: " HEX "}]", "files sha256: cannot be evaluated: 0 of the files");
    expect_told("files: [{path: link, sha256: " HEX "}]", "is a symbolic link, not a regular file\n");
    expect_told("files: [{path: large, sha256: " HEX "}]", "was not kept: too large\n");
}

static void what_is_absent_is_nothing_of_any_kind(void **state)
{
    (void)state;
    (void)leave("d/a", 0100644, "1");
    (void)leave("pipe", 0010644, "");
    expect_told("files: [{path: a, absent: true}]", "");
    expect_told("files: [{path: 'd/*', absent: true}]",
                "files absent: expected nothing at \"d/*\", seen a regular file \"d/a\", at event ");
    expect_told("files: [{path: pipe, absent: true}]",
                "files absent: expected nothing at \"pipe\", seen a pipe \"pipe\", at event ");
}

static void absence_needs_a_listing_of_all_files(void **state)
{
    Exhibit__Artifact *last = leave("d", 0040755, "");
    Exhibit__Event *freeze;

    (void)state;
    expect_told("files: [{path: a, absent: true}]",
                "files absent: cannot be evaluated: its listing is not whole: a folder that was not looked into");
    last->mode = 0100644;
    last->path.len = 0;
    expect_told("files: [{path: a, absent: true}]",
                "files absent: cannot be evaluated: its listing is not whole: there were more files");
    last->path.len = 1;
    expect_told("files: [{path: a, absent: true}]", "");
    freeze = scene_find(&scene, WHAT(FREEZE), RUN_CASE_STRICT, 1);
    while (scene.events[scene.event_count - 1]->run != RUN_CASE_STRICT)
        scene.event_count--; /* as where a recorder was killed */
    expect_told("files: [{path: a, absent: true}]",
                "files absent: cannot be evaluated: the recording ended before all its files were listed\n");
    scene_insert(&scene, scene.events[scene.event_count - 1], 0)->what_case = WHAT(PHASE);
    scene.events[scene.event_count - 1]->phase = scene_take(&scene, sizeof(Exhibit__Phase));
    exhibit__phase__init(scene.events[scene.event_count - 1]->phase);
    expect_told("files: [{path: a, absent: true}]", "");
    scene_drop(&scene, freeze);
    expect_told("files: [{path: a, absent: true}]", "files absent: cannot be evaluated: its files were not listed\n");
}

/* ---- archives ---- */

/* An archive of two members, as an event tells of it. */
struct pair {
    Exhibit__Artifact artifact;
    Exhibit__ArchiveMember members[2], *pointers[2];
    Exhibit__MemberOwner owners[2];
};

static void pair_make(struct pair *out)
{
    exhibit__artifact__init(&out->artifact);
    for (int i = 0; i < 2; i++) {
        exhibit__archive_member__init(&out->members[i]);
        exhibit__member_owner__init(&out->owners[i]);
        out->members[i].path = scene_text(i == 0 ? "d/a" : "d/b");
        out->members[i].owner = &out->owners[i];
        out->pointers[i] = &out->members[i];
    }
    out->artifact.members = out->pointers;
    out->artifact.n_members = 2;
}

/* What is told of the two under this oracle; `again` may be NULL. */
static const char *difference(const struct pair *baseline, const struct pair *again, const struct pair *strict,
                              struct oracle_archive asked)
{
    struct archive_difference out;
    struct err err;

    assert_int_equal(archives_compare(&baseline->artifact, again == NULL ? NULL : &again->artifact, &strict->artifact,
                                      &asked, &out, &err),
                     0);
    return out.what == NULL ? "" : out.what;
}

static void what_is_excepted_is_not_compared(void **state)
{
    static char *a_alone[] = {(char *)"d/a"}, *all[] = {(char *)"x", (char *)"d/*"};
    const struct oracle_archive nothing = {0}, mtime = {.except_mtime = true}, owner = {.except_owner = true},
                                both = {.except_mtime = true, .except_owner = true};
    struct pair baseline, strict;

    (void)state;
    pair_make(&baseline);
    pair_make(&strict);
    assert_string_equal(difference(&baseline, NULL, &strict, nothing), "");
    strict.members[0].mtime_s = 1;
    assert_string_equal(difference(&baseline, NULL, &strict, nothing), "its mtime differs");
    assert_string_equal(difference(&baseline, NULL, &strict, owner), "its mtime differs");
    assert_string_equal(difference(&baseline, NULL, &strict, mtime), "");
    strict.owners[0].gid = 1;
    assert_string_equal(difference(&baseline, NULL, &strict, mtime), "its owner differs");
    assert_string_equal(difference(&baseline, NULL, &strict, both), "");
    assert_string_equal(
        difference(&baseline, NULL, &strict, (struct oracle_archive){.except_paths = a_alone, .except_count = 1}), "");
    strict.members[1].path = scene_text("d/c");
    assert_string_equal(
        difference(&baseline, NULL, &strict, (struct oracle_archive){.except_paths = a_alone, .except_count = 1}),
        "it is in baseline alone");
    assert_string_equal(
        difference(&baseline, NULL, &strict, (struct oracle_archive){.except_paths = all, .except_count = 2}),
        "its exceptions leave no member of the baseline's to compare");
}

static void owners_are_compared_by_number_and_name(void **state)
{
    struct pair baseline, strict;

    (void)state;
    pair_make(&baseline);
    pair_make(&strict);
    strict.owners[1].uname = scene_text("x");
    assert_string_equal(difference(&baseline, NULL, &strict, (struct oracle_archive){0}), "its owner differs");
    strict.members[1].owner = NULL; /* none was recorded */
    assert_string_equal(difference(&baseline, NULL, &strict, (struct oracle_archive){0}), "its owner differs");
    baseline.members[1].owner = NULL;
    assert_string_equal(difference(&baseline, NULL, &strict, (struct oracle_archive){0}), "");
}

/* Gives the member of the archive that the strict run left an owner. */
static void record_owner(int64_t uid)
{
    Exhibit__Artifact *artifact = scene_find(&scene, WHAT(ARTIFACT), RUN_CASE_STRICT, 0)->artifact;
    Exhibit__MemberOwner *owner = artifact->members[0]->owner = scene_take(&scene, sizeof *owner);

    exhibit__member_owner__init(owner);
    owner->uid = uid;
}

static void an_owner_that_was_recorded_is_that_of_the_bytes(void **state)
{
    (void)begin(state);
    record_owner(0); /* the baselines are as of an older recorder, which told none */
    scene_expect(&scene, "NO-GO", "useful.archives", "archive out.*: member \"file\": its owner differs");
    (void)begin(state);
    record_owner(5);
    scene_expect_malformed(&scene, ERR_MISMATCH, "its member 1 is not as recorded");
}

/* What is not compared excuses nothing either. */
static void two_baselines_excuse_what_differs_in_what_is_compared(void **state)
{
    const struct oracle_archive mtime = {.except_mtime = true};
    struct pair baseline, again, strict;

    (void)state;
    pair_make(&baseline);
    pair_make(&again);
    pair_make(&strict);
    again.members[0].mtime_s = 1;
    strict.members[0].mode = 0755;
    assert_string_equal(difference(&baseline, &again, &strict, (struct oracle_archive){0}), "");
    assert_string_equal(difference(&baseline, &again, &strict, mtime), "its mode differs");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pattern_names_files_of_one_folder),
        cmocka_unit_test_setup_teardown(a_duration_is_from_the_start_that_was_seen_to_the_end, begin, end),
        cmocka_unit_test_setup_teardown(a_file_exists_where_it_is_a_regular_one, begin, end),
        cmocka_unit_test_setup_teardown(a_digest_is_of_one_file_that_was_kept, begin, end),
        cmocka_unit_test_setup_teardown(what_is_absent_is_nothing_of_any_kind, begin, end),
        cmocka_unit_test_setup_teardown(absence_needs_a_listing_of_all_files, begin, end),
        cmocka_unit_test(what_is_excepted_is_not_compared),
        cmocka_unit_test(owners_are_compared_by_number_and_name),
        cmocka_unit_test(an_owner_that_was_recorded_is_that_of_the_bytes),
        cmocka_unit_test(two_baselines_excuse_what_differs_in_what_is_compared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
