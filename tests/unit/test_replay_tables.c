/*
 * Logs that cannot be judged are refused with their reason.
 */
#include "replay_scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WHAT(kind) EXHIBIT__EVENT__WHAT_##kind

static struct scene *built(void)
{
    static struct scene scene;

    scene_init(&scene);
    scene_build(&scene);
    return &scene;
}

static void an_empty_log_is_refused(void **state)
{
    struct scene *scene = built();

    (void)state;
    scene->event_count = 0;
    scene_expect_malformed(scene, ERR_FORMAT, "the log has no event");
}

static void a_log_begins_with_the_recording(void **state)
{
    struct scene *scene = built();

    (void)state;
    scene_drop(scene, scene->events[0]);
    scene_expect_malformed(scene, ERR_FORMAT, "event 1: the start of the recording must be the first event");
}

static void a_run_begins_with_its_start(void **state)
{
    struct scene *scene = built();

    (void)state;
    scene_drop(scene, scene_find(scene, WHAT(RUN_START), RUN_STRICT, 0));
    scene_expect_malformed(scene, ERR_FORMAT, "run 7 has no RunStart before it");
}

static void a_run_has_one_start(void **state)
{
    struct scene *scene = built();
    const Exhibit__Event *start = scene_find(scene, WHAT(RUN_START), RUN_STRICT, 0);

    (void)state;
    *scene_insert(scene, start, RUN_STRICT) = *start;
    scene_expect_malformed(scene, ERR_FORMAT, "a second RunStart of run 7");
}

static void a_run_has_a_name_of_its_own(void **state)
{
    struct scene *scene = built();

    (void)state;
    scene_find(scene, WHAT(RUN_START), RUN_CASE_BASELINE_AGAIN, 0)->run_start->repeat = 1;
    scene_expect_malformed(scene, ERR_FORMAT, "runs 2 and 3 have the same name, mode and repeat");
}

static void a_trial_has_an_assignment(void **state)
{
    struct scene *scene = built();

    (void)state;
    scene_find(scene, WHAT(RUN_START), RUN_STRICT, 0)->run_start->probe = NULL;
    scene_expect_malformed(scene, ERR_FORMAT, "a trial, and a trial alone, has an assignment");
}

static void roles_are_in_order(void **state)
{
    struct scene *scene = built();

    (void)state;
    scene_find(scene, WHAT(RUN_START), RUN_STRICT, 0)->run_start->probe->roles[1]->role = EXHIBIT__ROLE__ROLE_PARENT;
    scene_expect_malformed(scene, ERR_FORMAT, "its roles are not in order");
}

static void rounds_are_bounded(void **state)
{
    struct scene *scene = built();

    (void)state;
    scene_find(scene, WHAT(RUN_START), RUN_STRICT, 0)->run_start->probe->roles[2]->rounds = LIMIT_ROUNDS + 1;
    scene_expect_malformed(scene, ERR_LIMIT, "1001 rounds");
}

static void effects_are_known_and_there_once(void **state)
{
    struct scene *scene = built();
    Exhibit__ProbeAssignment *probe = scene_find(scene, WHAT(RUN_START), RUN_STRICT, 0)->run_start->probe;

    (void)state;
    probe->effects[4] = probe->effects[3];
    scene_expect_malformed(scene, ERR_FORMAT, "its effect 5 is unknown or there twice");
}

static void pieces_of_a_stream_follow_one_another(void **state)
{
    struct scene *scene = built();

    (void)state;
    scene_find(scene, WHAT(CHUNK), RUN_STRICT, 1)->chunk->offset_bytes++;
    scene_expect_malformed(scene, ERR_FORMAT, "it does not continue its stream");
}

static void a_stream_has_the_bytes_that_arrived(void **state)
{
    struct scene *scene = built();

    (void)state;
    scene_find(scene, WHAT(STREAM_END), RUN_STRICT, 0)->stream_end->content->size_bytes--;
    scene_expect_malformed(scene, ERR_FORMAT, "bytes, of which");
}

static void members_are_derived_anew(void **state)
{
    struct scene *scene = built();

    (void)state;
    scene_find(scene, WHAT(ARTIFACT), RUN_CASE_BASELINE, 0)->artifact->members[0]->mode = 0755;
    scene_expect_malformed(scene, ERR_MISMATCH, "its member 1 is not as recorded");
}

static void an_archive_is_an_archive(void **state)
{
    struct scene *scene = built();
    Exhibit__Event *event = scene_find(scene, WHAT(ARTIFACT), RUN_CASE_BASELINE, 0);

    (void)state;
    event->artifact->sha256 = scene_object(scene, "no archive at all", 17);
    scene_expect_malformed(scene, ERR_MISMATCH, "not an archive that can be read, though it was recorded as one");
}

static void an_object_that_is_named_must_be_there(void **state)
{
    struct scene *scene = built();

    (void)state;
    scene_find(scene, WHAT(ARTIFACT), RUN_CASE_BASELINE, 0)->artifact->sha256 =
        scene_text("12345678901234567890123456789012");
    scene_expect_malformed(scene, ERR_MISMATCH, "no such object");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_log_is_refused),
        cmocka_unit_test(a_log_begins_with_the_recording),
        cmocka_unit_test(a_run_begins_with_its_start),
        cmocka_unit_test(a_run_has_one_start),
        cmocka_unit_test(a_run_has_a_name_of_its_own),
        cmocka_unit_test(a_trial_has_an_assignment),
        cmocka_unit_test(roles_are_in_order),
        cmocka_unit_test(rounds_are_bounded),
        cmocka_unit_test(effects_are_known_and_there_once),
        cmocka_unit_test(pieces_of_a_stream_follow_one_another),
        cmocka_unit_test(a_stream_has_the_bytes_that_arrived),
        cmocka_unit_test(members_are_derived_anew),
        cmocka_unit_test(an_archive_is_an_archive),
        cmocka_unit_test(an_object_that_is_named_must_be_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
