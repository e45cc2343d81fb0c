/*
 * Integrity over real packs: nothing that is named may be missing, nothing may be there that no record names.
 */
#include "verify/binding.h"
#include "verify/integrity.h"
#include "verify/proof.h"
#include "verify_pack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

struct place {
    char path[32];
    int dir_fd;
    int fd;
    struct pack *pack;
    struct arena arena;
    const Exhibit__Receipt *receipt;
    struct findings findings;
};

static void open_place(struct place *place, struct scene *scene, const struct scene_packing *packing)
{
    struct err err = {0};

    *place = (struct place){.dir_fd = -1};
    place->dir_fd = scene_folder(place->path);
    scene_seal(scene);
    (void)scene_write(scene, packing, place->dir_fd, "a.exhibit");
    place->fd = openat(place->dir_fd, "a.exhibit", O_RDONLY | O_CLOEXEC);
    scene_must(pack_open(place->fd, &place->pack, &err), &err);
    scene_must(pack_check(place->pack, &err), &err);
    scene_must(receipt_read(place->pack, &place->arena, &place->receipt, &err), &err);
}

static void close_place(struct place *place)
{
    finding_done(&place->findings);
    arena_done(&place->arena);
    pack_close(place->pack);
    (void)unlinkat(place->dir_fd, "a.exhibit", 0);
    (void)close(place->fd);
    (void)close(place->dir_fd);
    (void)rmdir(place->path);
}

static void check(struct place *place, const char *text)
{
    struct err err = {0};

    assert_int_equal(integrity_of_objects(place->pack, place->receipt, NULL, NULL, &place->findings, &err), 0);
    if (text == NULL && place->findings.count > 0)
        fail_msg("%s", place->findings.texts[0]);
    if (text != NULL && (place->findings.count == 0 || strstr(place->findings.texts[0], text) == NULL))
        fail_msg("\"%s\" is not said, but \"%s\"", text,
                 place->findings.count == 0 ? "nothing" : place->findings.texts[0]);
}

static void a_whole_bundle_has_no_finding(void **state)
{
    struct scene *scene = scene_good("plan", "oracle");
    struct place place;

    (void)state;
    open_place(&place, scene, &(struct scene_packing){0});
    check(&place, NULL);
    close_place(&place);
    scene_free(scene);
}

static void an_object_that_no_record_names_is_refuted(void **state)
{
    struct scene *scene = scene_good("plan", "oracle");
    struct place place;

    (void)state;
    open_place(&place, scene, &(struct scene_packing){.extra = "a stowaway"});
    check(&place, "unreferenced object: no record names the observation ");
    close_place(&place);
    scene_free(scene);
}

static void a_missing_object_is_refuted_for_each_kind(void **state)
{
    static const struct {
        const char *content, *text;
    } cases[] = {{"plan", "event 1: the plan is missing"},
                 {"oracle", "event 1: the oracle is missing"},
                 {"the policy", "event 1: the policy is missing"},
                 {"all done\n", "a segment of a stream is missing"},
                 {"a folder's list", "a target's content is missing"}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct scene *scene = scene_good("plan", "oracle");
        struct digest missing = digest_of(cases[i].content, strlen(cases[i].content));
        struct place place;

        open_place(&place, scene, &(struct scene_packing){.missing = &missing});
        check(&place, cases[i].text);
        close_place(&place);
        scene_free(scene);
    }
}

static void a_missing_artifact_is_refuted(void **state)
{
    struct scene *scene = scene_good("plan", "oracle");
    char tar[SCENE_TAR_BYTES];
    struct digest missing;
    struct place place;

    (void)state;
    scene_tar(tar);
    missing = digest_of(tar, sizeof tar);
    open_place(&place, scene, &(struct scene_packing){.missing = &missing});
    check(&place, "a kept artifact is missing");
    close_place(&place);
    scene_free(scene);
}

static void a_retained_file_must_be_there_and_no_other(void **state)
{
    struct scene *scene = scene_good("plan", "oracle");
    struct place place;

    (void)state;
    open_place(&place, scene, &(struct scene_packing){.input = "other work"});
    check(&place, "a retained input's file is missing");
    assert_non_null(strstr(place.findings.texts[1], "no record names the input"));
    close_place(&place);
    scene_free(scene);
}

/* The same scene from memory and from a pack gives the same claim. */
static void a_pack_is_evidence_as_memory_is(void **state)
{
    struct scene *scene = scene_good("plan", "oracle");
    struct scene_oracle oracle;
    struct place place;
    struct evidence_pack source;
    struct evidence evidence;
    Exhibit__Claim *claim = NULL;
    struct err err = {0};

    (void)state;
    scene_fill_oracle(&oracle, scene);
    open_place(&place, scene, &(struct scene_packing){0});
    source = (struct evidence_pack){place.pack, place.receipt};
    evidence_from_pack(&source, &evidence);
    scene_must(proof_derive(&evidence, scene_link_oracle(&oracle), &claim, &err), &err);
    assert_string_equal(claim->decision, "GO");
    exhibit__claim__free_unpacked(claim, NULL);
    close_place(&place);
    scene_free(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_bundle_has_no_finding),
        cmocka_unit_test(an_object_that_no_record_names_is_refuted),
        cmocka_unit_test(a_missing_object_is_refuted_for_each_kind),
        cmocka_unit_test(a_missing_artifact_is_refuted),
        cmocka_unit_test(a_retained_file_must_be_there_and_no_other),
        cmocka_unit_test(a_pack_is_evidence_as_memory_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
