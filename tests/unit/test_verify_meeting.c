/*
 * A run against what its case asks for: the end, the time, the files, streams that are not whole (docs/ORACLE.md
 * section 4), and how all that fails is told (DECISION 6.5).
 */
#include "verify_asked.h"

#define CONTRACT "useful.contract"
#define STRICT "build strict 1: oracle line 4: "
#define NO_DIGEST "0000000000000000000000000000000000000000000000000000000000000000"
#define CANNOT(KEY) STRICT KEY ": cannot be evaluated: "

/* ---- changes of the strict run of the case ---- */

static Exhibit__Artifact *left(struct stage *s)
{
    return SCENE_FIND(s->scene, SCENE_CASE_STRICT, ARTIFACT, 0)->artifact;
}

/* Adds another artifact behind the first. */
static Exhibit__Artifact *leave(struct stage *s, const char *path, uint32_t mode)
{
    Exhibit__Artifact *artifact = SCENE_ADD(s->scene, SCENE_CASE_STRICT, ARTIFACT)->artifact;

    artifact->path = scene_text(path);
    artifact->mode = mode;
    scene_move_last(s->scene, scene_at(s->scene, SCENE_CASE_STRICT, EXHIBIT__EVENT__WHAT_ARTIFACT, 0) + 1);
    return artifact;
}

static void by_signal(struct stage *s)
{
    Exhibit__RunExit *exit = SCENE_FIND(s->scene, SCENE_CASE_STRICT, RUN_EXIT, 0)->run_exit;

    exit->how_case = EXHIBIT__RUN_EXIT__HOW_TERM_SIGNAL;
    exit->term_signal = 15;
}

static void no_exit(struct stage *s)
{
    SCENE_DROP(s->scene, SCENE_CASE_STRICT, RUN_EXIT, 0);
}

static void took(struct stage *s, uint64_t took_ns)
{
    uint64_t ended_ns = SCENE_FIND(s->scene, SCENE_CASE_STRICT, RUN_EXIT, 0)->at_ns;

    SCENE_FIND(s->scene, SCENE_CASE_STRICT, SPAWNED, 0)->at_ns = ended_ns - took_ns;
}

static void took_5_ms(struct stage *s)
{
    took(s, 5000000);
}

static void took_more(struct stage *s)
{
    took(s, 5000001);
}

static void took_less(struct stage *s)
{
    took(s, 4999999);
}

static void not_spawned(struct stage *s)
{
    SCENE_DROP(s->scene, SCENE_CASE_STRICT, SPAWNED, 0);
}

/* The time is the same, the order is not. */
static void spawned_late(struct stage *s)
{
    not_spawned(s);
    scene_spawn(s->scene, SCENE_CASE_STRICT);
    scene_move_last(s->scene, scene_at(s->scene, SCENE_CASE_STRICT, EXHIBIT__EVENT__WHAT_RUN_EXIT, 0) + 1);
    SCENE_FIND(s->scene, SCENE_CASE_STRICT, SPAWNED, 0)->at_ns =
        SCENE_FIND(s->scene, SCENE_CASE_STRICT, RUN_EXIT, 0)->at_ns;
}

static void not_kept(struct stage *s)
{
    left(s)->kept = false;
    left(s)->note = strdup("a hard link");
}

static void a_link(struct stage *s)
{
    left(s)->mode = S_IFLNK | 0777;
}

static void another_file(struct stage *s)
{
    leave(s, "other.tgz", S_IFREG | 0644)->kept = true;
}

static void a_socket(struct stage *s)
{
    (void)leave(s, "socket", S_IFSOCK | 0644);
}

static void more_files(struct stage *s)
{
    (void)leave(s, "", S_IFREG);
}

static void a_folder(struct stage *s)
{
    (void)leave(s, "folder", S_IFDIR | 0755);
}

static void not_listed(struct stage *s)
{
    SCENE_DROP(s->scene, SCENE_CASE_STRICT, FREEZE, 1);
}

/* The log ends with what the run left. */
static void ended_in_listing(struct stage *s)
{
    size_t last = scene_at(s->scene, SCENE_CASE_STRICT, EXHIBIT__EVENT__WHAT_ARTIFACT, 0);

    while (s->scene->count > last + 1)
        scene_drop(s->scene, s->scene->count - 1);
}

/* After it comes an event of none, a second Freeze of the run, and nothing else: the first Freeze is the one that
 * counts.
 */
static void frozen_again(struct stage *s)
{
    ended_in_listing(s);
    (void)SCENE_ADD(s->scene, 0, RECORDING_END);
    scene_freeze(s->scene, SCENE_CASE_STRICT, EXHIBIT__FREEZE_MOMENT__FREEZE_RUN_AFTER, "copy");
}

static void cut(struct stage *s)
{
    SCENE_FIND(s->scene, SCENE_CASE_STRICT, STREAM_END, 1)->stream_end->how = EXHIBIT__STREAM_END__HOW__HOW_LIMIT;
}

static void no_stream_end(struct stage *s)
{
    SCENE_DROP(s->scene, SCENE_CASE_STRICT, STREAM_END, 1);
}

static const struct line {
    change *make;
    const char *wanted, *told;
} lines[] = {
    {NULL, "exit: 0", ""},
    {NULL, "exit: 1", STRICT "exit: expected exit status 1, seen exit status 0, at event "},
    {NULL, "signal: TERM", STRICT "signal: expected signal 15, seen exit status 0, at event "},
    {by_signal, "signal: TERM", ""},
    {by_signal, "exit: 15", STRICT "exit: expected exit status 15, seen signal 15, at event "},
    {no_exit, "exit: 0", "build strict 1: no end of it was observed"},

    {took_5_ms, "duration_ms: {at_least: 5, at_most: 5}", ""},
    {took_more, "duration_ms: {at_least: 5}", ""},
    {took_more, "duration_ms: {at_most: 5}", STRICT "duration_ms: expected at most 5 ms, seen 5.000001 ms, at event "},
    {took_less, "duration_ms: {at_most: 5}", ""},
    {took_less, "duration_ms: {at_least: 5}",
     STRICT "duration_ms: expected at least 5 ms, seen 4.999999 ms, at event "},
    {not_spawned, "duration_ms: {at_most: 9}", CANNOT("duration_ms") "no event tells when it was spawned"},
    {spawned_late, "duration_ms: {at_most: 9}", CANNOT("duration_ms") "it is told to have been spawned after its end"},

    {NULL, "files: [{path: out.tgz, exists: true}]", ""},
    {NULL, "files: [{path: '*', exists: true}]", ""},
    {NULL, "files: [{path: out.tar, exists: true}]",
     STRICT "files exists: expected a regular file \"out.tar\", seen none, at none of 1 files that were left"},
    {a_link, "files: [{path: out.tgz, exists: true}]",
     STRICT "files exists: expected a regular file \"out.tgz\", seen a symbolic link, at event "},
    {not_kept, "files: [{path: out.tgz, exists: true}]", ""},
    {more_files, "files: [{path: 'x*', exists: true}]",
     STRICT "files exists: expected a regular file \"x*\", seen none"},

    {NULL, "files: [{path: out.tgz, sha256: " NO_DIGEST "}]", STRICT "files sha256: expected " NO_DIGEST ", seen "},
    {NULL, "files: [{path: x, sha256: " NO_DIGEST "}]", CANNOT("files sha256") "0 of 1 files are of the path, not one"},
    {another_file, "files: [{path: '*.tgz', sha256: " NO_DIGEST "}]", CANNOT("files sha256") "2 of 2 files"},
    {not_kept, "files: [{path: out.tgz, sha256: " NO_DIGEST "}]",
     CANNOT("files sha256") "it was not kept: a hard link"},
    {a_link, "files: [{path: out.tgz, sha256: " NO_DIGEST "}]", CANNOT("files sha256") "it is a symbolic link"},

    {NULL, "files: [{path: x, absent: true}]", ""},
    {NULL, "files: [{path: 'out.*', absent: true}]",
     STRICT "files absent: expected nothing, seen a regular file of 3072 bytes, at \"out.tgz\", event "},
    {a_link, "files: [{path: out.tgz, absent: true}]", STRICT "files absent: expected nothing, seen a symbolic link"},
    {a_socket, "files: [{path: x, absent: true}]", ""},
    {a_socket, "files: [{path: socket, absent: true}]",
     STRICT "files absent: expected nothing, seen neither file, link"},
    {more_files, "files: [{path: x, absent: true}]", CANNOT("files absent") "more files were left than are listed"},
    {more_files, "files: [{path: out.tgz, absent: true}]",
     STRICT "files absent: expected nothing, seen a regular file"},
    {a_folder, "files: [{path: x, absent: true}]", CANNOT("files absent") "a folder could not be looked into"},
    {not_listed, "files: [{path: x, absent: true}]", CANNOT("files absent") "the run's files were not listed"},
    {ended_in_listing, "files: [{path: x, absent: true}]",
     CANNOT("files absent") "the recording ended before the listing"},
    {frozen_again, "files: [{path: x, absent: true}]", ""},

    {NULL, "stdout: {sha256: 98d7da5a3ad2c8f0c5c2a0bb0ac2b0d8bba2a1a1c3fb3bbcd1eee6bcd0f3ba4a}",
     STRICT "stdout sha256: expected 98d7da5a3ad2c8f0c5c2a0bb0ac2b0d8bba2a1a1c3fb3bbcd1eee6bcd0f3ba4a, seen "},
    {NULL, "stderr: {sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855}", ""},
    {NULL, "stderr: {empty: true, lines: 0}", ""},
    {NULL, "stdout: {empty: true}", STRICT "stdout empty: expected no byte, seen 9, at byte 0"},
    {NULL, "stdout: {contains: done, lines: 1}, stderr: {equals: \"\"}", ""},
    {NULL, "stderr: {contains: x}", STRICT "stderr contains: expected \"x\", seen \"\", at no place of 0 bytes"},
    {cut, "stdout: {empty: true}", CANNOT("stdout empty") "the stream had more bytes than are kept"},
    {cut, "stdout: {sha256: " NO_DIGEST "}", CANNOT("stdout sha256") "the stream had more bytes than are kept"},
    {cut, "stdout: {lines: 1}", CANNOT("stdout lines")},
    {cut, "stdout: {matches: done}", CANNOT("stdout matches")},
    {cut, "stdout: {json: [{pointer: /a, absent: true}]}", CANNOT("stdout json")},
    {no_stream_end, "stdout: {empty: true}", CANNOT("stdout empty") "the end of the stream was not recorded"},
    {no_stream_end, "stdout: {sha256: " NO_DIGEST "}",
     CANNOT("stdout sha256") "the end of the stream was not recorded"},
};

static void each_matcher_of_a_run_comes_to_what_the_document_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        asked_check(lines[i].make, lines[i].wanted, CONTRACT, lines[i].told);
}

static void the_digest_of_what_is_there_is_met(void **state)
{
    char wanted[256], hex[2 * DIGEST_BYTES + 1];
    char tar[SCENE_TAR_BYTES];
    struct digest digest = digest_of("all done\n", 9);

    (void)state;
    hex_encode(digest.bytes, DIGEST_BYTES, hex);
    (void)snprintf(wanted, sizeof wanted, "stdout: {sha256: %s}", hex);
    asked_check(NULL, wanted, CONTRACT, "");
    scene_tar(tar);
    digest = digest_of(tar, sizeof tar);
    hex_encode(digest.bytes, DIGEST_BYTES, hex);
    (void)snprintf(wanted, sizeof wanted, "files: [{path: 'out.*', sha256: %s}]", hex);
    asked_check(NULL, wanted, CONTRACT, "");
}

/* One that fails does not hide the next; each run of the baseline is told by its own. */
static void all_failures_are_told_in_the_oracles_order(void **state)
{
    static const char wanted[] = "exit: 1, duration_ms: {at_least: 9999}, stdout: {lines: 2, contains: [x, y]},\n"
                                 "     files: [{path: x, exists: true},\n      {path: x, sha256: " NO_DIGEST "}]";
    static const char *const told[] = {
        " oracle line 4: exit: ",        " oracle line 4: duration_ms: ", " oracle line 4: stdout ",
        " oracle line 4: stdout ",       " oracle line 4: stdout ",       " oracle line 5: files exists: ",
        " oracle line 6: files sha256: "};
    Exhibit__Claim *claim = asked_claim(NULL, wanted);
    const char *at = rule_of(claim, CONTRACT)->detail;

    (void)state;
    for (size_t i = 0; i < sizeof told / sizeof told[0]; i++) {
        const char *found = strstr(at, told[i]);

        if (found == NULL)
            fail_msg("no \"%s\" in \"%s\"", told[i], at);
        at = found + 1;
    }
    assert_null(strstr(at, "; "));
    at = rule_of(claim, "complete.baseline")->detail;
    assert_non_null(strstr(at, "build baseline 1: oracle line 6: files sha256: cannot"));
    assert_non_null(strstr(at, "build baseline 2: oracle line 4: exit: expected"));
    assert_non_null(strstr(at, "; and 6 more"));
    exhibit__claim__free_unpacked(claim, NULL);
}

static void what_there_is_no_room_for_is_counted(void **state)
{
    Exhibit__Claim *claim = asked_claim(NULL, "stdout: {contains: [b, c, f, g, h, i, j, k, m, p, q]}");
    const char *detail = rule_of(claim, CONTRACT)->detail;

    (void)state;
    assert_non_null(strstr(detail, "expected \"k\", seen"));
    assert_null(strstr(detail, "expected \"m\", seen"));
    assert_non_null(strstr(detail, "; and 3 more"));
    assert_false(claim->cases[2]->met);
    exhibit__claim__free_unpacked(claim, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_matcher_of_a_run_comes_to_what_the_document_says),
        cmocka_unit_test(the_digest_of_what_is_there_is_met),
        cmocka_unit_test(all_failures_are_told_in_the_oracles_order),
        cmocka_unit_test(what_there_is_no_room_for_is_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
