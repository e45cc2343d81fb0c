/*
 * The program from end to end: bundles written by the real writers, exit codes, and what it says.
 */
#include "formats/archive.h"
#include "verify_place.h"

#include <jansson.h>

static void a_whole_bundle_is_verified(void **state)
{
    static const char *const texts[] = {"experiment   demo",
                                        "candidate    box",
                                        "version      box 1.0",
                                        "cases        build",
                                        "trials       tree",
                                        "effects      read, read-link, write, tcp, udp",
                                        "not measured none of those known",
                                        "kernel       6.1.0 x86_64",
                                        "observer     kernel process events",
                                        "It cannot prove that the recorder told the truth",
                                        "(as recorded)",
                                        "\nverified\ndecision: GO\n"};
    struct place place;

    (void)state;
    make(&place, NULL, NULL, NULL);
    RUN(&place, "a.exhibit");
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        want(&place, 0, texts[i]);
    assert_int_equal(place.said.size_bytes, 0);
    done(&place);
}

static void a_bundle_without_a_claim_is_verified_with_a_note(void **state)
{
    struct place place;

    (void)state;
    make(&place, NULL, NULL, &(struct scene_packing){.input = "no claim"});
    RUN(&place, "a.exhibit");
    want(&place, 0, "note: the bundle holds no claim");
    want(&place, 0, "decision: GO");
    done(&place);
}

static void tell_go(Exhibit__Claim *claim)
{
    free(claim->attempts[30]->outcome);
    claim->attempts[30]->outcome = strdup("diverted");
}

static void what_is_not_so_is_refuted(void **state)
{
    const struct digest oracle = digest_of(oracle_text, strlen(oracle_text));
    const struct {
        struct scene_packing packing;
        void (*lie)(Exhibit__Claim *);
        const char *text;
    } cases[] = {
        {{.extra = "a stowaway"}, NULL, "refuted: unreferenced object"},
        {{.missing = &oracle}, NULL, "refuted: event 1: the oracle is missing"},
        {{.input = "other"}, NULL, "a retained input's file is missing"},
        {{.other_run_id = true}, NULL, "the receipt's run id is not that of the recording"},
        {{0}, tell_go, "the claim states \"attempt tree/strict/child/1/read: diverted"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct place place;

        make(&place, NULL, cases[i].lie, &cases[i].packing);
        RUN(&place, "a.exhibit");
        want(&place, 1, cases[i].text);
        done(&place);
    }
}

static void a_cut_or_flipped_file_is_refuted(void **state)
{
    AUTO_BYTES struct bytes whole = {0};
    struct err err = {0};
    struct place place;
    AUTO_FD int fd = -1;

    (void)state;
    make(&place, NULL, NULL, NULL);
    scene_must(file_read_path(place.dir_fd, "a.exhibit", 1, 1 << 24, &whole, &err), &err);
    scene_must(file_create(place.dir_fd, "cut", 0644, whole.data, whole.size_bytes - 208, &err), &err);
    RUN(&place, "cut");
    want(&place, 1, "the container: malformed: ");
    whole.data[whole.size_bytes / 2] ^= 1;
    scene_must(file_create(place.dir_fd, "flipped", 0644, whole.data, whole.size_bytes, &err), &err);
    RUN(&place, "flipped");
    want(&place, 1, "refuted: the container: ");
    done(&place);
}

static void what_cannot_be_read_is_not_refuted(void **state)
{
    struct place place;

    (void)state;
    make(&place, NULL, NULL, NULL);
    RUN(&place, "missing.exhibit");
    want(&place, 5, "exhibit-verify: missing.exhibit: could not open: No such file");
    RUN(&place, ".");
    want(&place, 5, "exhibit-verify: .: not a regular file");
    RUN(&place, "a.exhibit", "--source", "nowhere");
    want(&place, 5, "exhibit-verify: nowhere: could not open the folder");
    done(&place);
}

static void wrong_usage_is_told(void **state)
{
    struct place place;

    (void)state;
    make(&place, NULL, NULL, NULL);
    run(&place, (const char *const[]){NULL});
    want(&place, 2, "name exactly one bundle");
    RUN(&place, "a.exhibit", "b.exhibit");
    want(&place, 2, "name exactly one bundle");
    RUN(&place, "a.exhibit", "--unheard");
    want(&place, 2, "unknown option");
    RUN(&place, "a.exhibit", "--require", "go");
    want(&place, 2, "--require go needs --oracle");
    RUN(&place, "a.exhibit", "--require", "nogo", "--oracle", "same.yaml");
    want(&place, 2, "--require knows only \"go\"");
    RUN(&place, "a.exhibit", "--sha256", "ABC");
    want(&place, 2, "--sha256 needs 64 lower-case");
    RUN(&place, "a.exhibit", "--oracle", "a.exhibit");
    want(&place, 2, "exhibit-verify: a.exhibit:");
    RUN(&place, "a.exhibit", "--oracle", "missing.yaml");
    want(&place, 2, "missing.yaml");
    RUN(&place, "--help");
    want(&place, 0, "usage: exhibit-verify BUNDLE");
    done(&place);
}

static void expected_digests_are_compared(void **state)
{
    AUTO_BYTES struct bytes whole = {0};
    struct err err = {0};
    struct place place;
    struct digest digest;
    char hex[65];

    (void)state;
    make(&place, NULL, NULL, NULL);
    scene_must(file_read_path(place.dir_fd, "a.exhibit", 1, 1 << 24, &whole, &err), &err);
    digest = digest_of(whole.data, whole.size_bytes);
    hex_encode(digest.bytes, DIGEST_BYTES, hex);
    RUN(&place, "a.exhibit", "--sha256", hex);
    want(&place, 0, "verified");
    RUN(&place, "a.exhibit", "--expect-policy", hex);
    want(&place, 1, "the measured policy is another than the expected one");
    digest = digest_of("the policy", 10);
    hex_encode(digest.bytes, DIGEST_BYTES, hex);
    RUN(&place, "a.exhibit", "--expect-policy", hex);
    want(&place, 0, "verified");
    RUN(&place, "a.exhibit", "--sha256", hex);
    want(&place, 1, "refuted: the file has the SHA-256 ");
    done(&place);
}

static void touch_canary(struct scene *scene)
{
    scene_touch(scene, SCENE_STRICT, EXHIBIT__TARGET_NAME__TARGET_CANARY_READ);
    scene_move_last(scene, scene_at(scene, SCENE_STRICT, EXHIBIT__EVENT__WHAT_STEP, 0));
}

static void interrupt(struct scene *scene)
{
    scene->partial = true;
}

static void a_required_decision_must_be_owned_by_the_receipt(void **state)
{
    struct place place;

    (void)state;
    make(&place, NULL, NULL, NULL);
    RUN(&place, "a.exhibit", "--require", "go", "--oracle", "same.yaml");
    want(&place, 0, "(yours)");
    RUN(&place, "a.exhibit", "--oracle", "other.yaml");
    want(&place, 0, "decision: GO (prospective)");
    RUN(&place, "a.exhibit", "--require", "go", "--oracle", "other.yaml");
    want(&place, 4, "decision: GO (prospective)");
    done(&place);

    make(&place, touch_canary, NULL, NULL);
    RUN(&place, "a.exhibit");
    want(&place, 0, "decision: NO-GO");
    RUN(&place, "a.exhibit", "--require", "go", "--oracle", "same.yaml");
    want(&place, 4, "decision: NO-GO");
    done(&place);

    make(&place, interrupt, NULL, NULL);
    RUN(&place, "a.exhibit");
    want(&place, 3, "decision: INCOMPLETE");
    RUN(&place, "a.exhibit", "--require", "go", "--oracle", "same.yaml");
    want(&place, 4, "decision: INCOMPLETE");
    done(&place);

    /* A lie is refuted whatever oracle the reader brings. */
    make(&place, NULL, tell_go, NULL);
    RUN(&place, "a.exhibit", "--require", "go", "--oracle", "other.yaml");
    want(&place, 1, "the claim states \"attempt tree/strict/child/1/read: diverted");
    done(&place);
}

static void the_source_is_compared_as_it_is_now(void **state)
{
    struct place place;
    struct err err = {0};
    AUTO_FD int source_fd = -1;

    (void)state;
    make(&place, NULL, NULL, NULL);
    assert_int_equal(mkdirat(place.dir_fd, "source", 0755), 0);
    source_fd = openat(place.dir_fd, "source", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(fchmod(source_fd, 0755), 0);
    RUN(&place, "a.exhibit", "--source", "source");
    want(&place, 1, "the source differs: \"work.txt\" is gone");
    scene_must(file_create(source_fd, "work.txt", 0644, "work", 4, &err), &err);
    RUN(&place, "a.exhibit", "--source", "source");
    want(&place, 0, "verified");
    assert_int_equal(fchmodat(source_fd, "work.txt", 0600, 0), 0);
    RUN(&place, "a.exhibit", "--source", "source");
    want(&place, 1, "the source differs: \"work.txt\" has other permissions");
    assert_int_equal(unlinkat(source_fd, "work.txt", 0), 0);
    scene_must(file_create(source_fd, "work.txt", 0644, "wark", 4, &err), &err);
    RUN(&place, "a.exhibit", "--source", "source");
    want(&place, 1, "the source differs: \"work.txt\" has another content");
    assert_int_equal(symlinkat("/etc/passwd", source_fd, "more"), 0);
    RUN(&place, "a.exhibit", "--source", "source");
    want(&place, 1, "the source differs: \"more\" was not there");
    done(&place);
}

/* Puts an archive with a name beyond ASCII, in a record that libarchive converts, in place of each artifact. */
static void name_beyond_ascii(struct scene *scene)
{
    static const uint32_t runs[] = {SCENE_CASE_BASELINE, SCENE_CASE_AGAIN, SCENE_CASE_STRICT};
    char tar[SCENE_TAR_BYTES] = {0};
    struct digest digest;

    scene_tar_file(tar, "extended", "11 path=\xc3\xa9\n");
    scene_tar_retype(tar, 'x');
    scene_tar_file(tar + 1024, "b", "beta");
    digest = scene_put(scene, tar, sizeof tar);
    for (size_t i = 0; i < 3; i++) {
        Exhibit__Artifact *artifact = SCENE_FIND(scene, runs[i], ARTIFACT, 0)->artifact;
        struct archive_list list = {0};
        struct err err = {0};

        while (artifact->n_members > 0)
            exhibit__archive_member__free_unpacked(artifact->members[--artifact->n_members], NULL);
        scene_must(archive_list_read(tar, sizeof tar, &list, &err), &err);
        assert_int_equal(list.count, 1);
        assert_int_equal(list.members[0]->path.len, 2);
        artifact->members[artifact->n_members++] = list.members[0];
        list.count = 0;
        archive_list_done(&list);
        memcpy(artifact->sha256.data, digest.bytes, DIGEST_BYTES);
    }
}

/* The confinement must not change how an archive reads. */
static void archives_read_the_same_when_confined(void **state)
{
    char tar[SCENE_TAR_BYTES];
    struct digest replaced;
    struct place place;

    (void)state;
    scene_tar(tar);
    replaced = digest_of(tar, sizeof tar);
    make(&place, name_beyond_ascii, NULL, &(struct scene_packing){.missing = &replaced});
    RUN(&place, "a.exhibit");
    want(&place, 0, "verified");
    done(&place);
}

static void the_verdict_as_json_says_the_same(void **state)
{
    struct place place;
    json_error_t error;
    json_t *json, *lines;

    (void)state;
    make(&place, NULL, tell_go, NULL);
    RUN(&place, "a.exhibit", "--json");
    assert_int_equal(place.status, 1);
    json = json_loadb((const char *)place.out.data, place.out.size_bytes, 0, &error);
    assert_non_null(json);
    assert_string_equal(json_string_value(json_object_get(json, "schema")), "exhibit.verdict/1");
    assert_string_equal(json_string_value(json_object_get(json, "verdict")), "refuted");
    assert_int_equal(json_array_size(json_object_get(json, "findings")), 1);
    assert_string_equal(json_string_value(json_object_get(json_object_get(json, "claim"), "decision")), "GO");
    assert_true(json_array_size(json_object_get(json, "limits")) > 0);
    lines = json_object_get(json, "oracle");
    assert_true(json_array_size(lines) > 0);
    for (size_t i = 0; i < json_array_size(lines); i++) {
        assert_true(json_is_string(json_object_get(json_array_get(lines, i), "text")));
        assert_true(json_is_false(json_object_get(json_array_get(lines, i), "wider")));
    }
    json_decref(json);
    done(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_bundle_is_verified),
        cmocka_unit_test(a_bundle_without_a_claim_is_verified_with_a_note),
        cmocka_unit_test(what_is_not_so_is_refuted),
        cmocka_unit_test(a_cut_or_flipped_file_is_refuted),
        cmocka_unit_test(what_cannot_be_read_is_not_refuted),
        cmocka_unit_test(wrong_usage_is_told),
        cmocka_unit_test(expected_digests_are_compared),
        cmocka_unit_test(a_required_decision_must_be_owned_by_the_receipt),
        cmocka_unit_test(the_source_is_compared_as_it_is_now),
        cmocka_unit_test(archives_read_the_same_when_confined),
        cmocka_unit_test(the_verdict_as_json_says_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
