/*
 * Each complete.* rule holds in the good scene, and fails when the one thing it is about is changed.
 */
#include "replay_scene.h"

#include "replay/derive.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WHAT(kind) EXHIBIT__EVENT__WHAT_##kind

/* A good scene, built; the test changes it. */
static struct scene *built(void)
{
    static struct scene scene;

    scene_init(&scene);
    scene_build(&scene);
    return &scene;
}

/* A good scene, not built yet. */
static struct scene *planned(void)
{
    static struct scene scene;

    scene_init(&scene);
    return &scene;
}

static void the_good_scene_is_go(void **state)
{
    (void)state;
    scene_expect(built(), "GO", "", "");
}

static void recording_needs_an_end_that_counts(void **state)
{
    struct scene *scene = built();

    (void)state;
    scene->end_count_is_wrong = true;
    scene_expect(scene, "INCOMPLETE", "complete.recording", "does not end with an end that counts");
}

static void recording_needs_every_run(void **state)
{
    struct scene *scene = planned();

    (void)state;
    scene->oracle_case.name = (char *)"another";
    scene_build(scene);
    scene_expect(scene, "INCOMPLETE", "complete.recording", "case another, baseline has no run");
}

static void recording_needs_each_end(void **state)
{
    struct scene *scene = built();

    (void)state;
    scene_drop(scene, scene_find(scene, WHAT(RUN_EXIT), RUN_CASE_STRICT, 0));
    scene_expect(scene, "INCOMPLETE", "complete.recording complete.cleanup useful.contract",
                 "the end of case hello, strict was not seen");
}

static void recording_refuses_a_spawn_that_failed(void **state)
{
    struct scene *scene = built();
    Exhibit__Event *event = scene_insert(scene, scene_find(scene, WHAT(ALL_GONE), RUN_CASE_STRICT, 0), RUN_CASE_STRICT);

    (void)state;
    event->what_case = WHAT(SPAWN_FAILED);
    event->spawn_failed = scene_take(scene, sizeof *event->spawn_failed);
    exhibit__spawn_failed__init(event->spawn_failed);
    scene_expect(scene, "INCOMPLETE", "complete.recording", "case hello, strict could not be started");
}

static void recording_needs_the_steps_as_planned(void **state)
{
    struct scene *scene = built();

    (void)state;
    scene_find(scene, WHAT(STEP), RUN_STRICT, 0)->step->trigger = EXHIBIT__STEP__TRIGGER__TRIGGER_OVERDUE;
    scene_expect(scene, "INCOMPLETE", "complete.recording", "step 1 was not done as planned");
}

static void recording_needs_every_step(void **state)
{
    struct scene *scene = built();

    (void)state;
    scene_drop(scene, scene_find(scene, WHAT(STEP), RUN_BASELINE, 0));
    scene_expect(scene, "INCOMPLETE", "complete.recording", "trial tree, baseline: 0 steps, 1 were planned");
}

static void recording_needs_a_trial(void **state)
{
    struct scene *scene = planned();

    (void)state;
    scene->oracle.trial_count = 0;
    scene_build(scene);
    scene_expect(scene, "INCOMPLETE", "complete.recording", "the oracle names no trial");
}

static void recording_needs_the_effects_of_the_oracle(void **state)
{
    struct scene *scene = built();

    (void)state;
    scene_find(scene, WHAT(RUN_START), RUN_CONTROL_AFTER, 0)->run_start->probe->n_effects = 4;
    scene_expect(scene, "INCOMPLETE", "complete.recording complete.controls", "control, has no effect udp");
}

static void pins_must_be_as_expected(void **state)
{
    struct scene *scene = built();

    (void)state;
    scene->events[0]->recording_start->pins[0]->seen_sha256 = scene_object(scene, "x", 1);
    scene_expect(scene, "INCOMPLETE", "complete.pins", "pin 1 had another digest");
}

static void pins_need_the_inputs_unchanged_by_baseline(void **state)
{
    struct scene *scene = built();

    (void)state;
    scene_find(scene, WHAT(FREEZE), 0, 1)->freeze->list_sha256 = scene_object(scene, "x", 1);
    scene_expect(scene, "INCOMPLETE", "complete.pins", "input workspace was changed by baseline");
}

static void pins_need_an_input(void **state)
{
    struct scene *scene = built();

    (void)state;
    scene_drop(scene, scene_find(scene, WHAT(FREEZE), 0, 0));
    scene_expect(scene, "INCOMPLETE", "complete.pins", "no input was frozen");
}

/* Adds a Lost event to a run. */
static void lose(struct scene *scene, uint32_t run)
{
    Exhibit__Event *event = scene_insert(scene, scene_find(scene, WHAT(FREEZE), 0, 2), run);

    event->what_case = WHAT(LOST);
    event->lost = scene_take(scene, sizeof *event->lost);
    exhibit__lost__init(event->lost);
    event->lost->observer = EXHIBIT__SOURCE__SOURCE_INOTIFY;
}

static void observers_must_not_lose_events_of_a_trial(void **state)
{
    struct scene *scene = built();

    (void)state;
    lose(scene, RUN_CONTROL_BEFORE);
    scene_expect(scene, "INCOMPLETE", "complete.observers", "an observer lost events");
}

static void observers_may_lose_events_of_a_case(void **state)
{
    struct scene *scene = built();

    (void)state;
    lose(scene, RUN_CASE_BASELINE);
    scene_expect(scene, "GO", "", "");
}

static void observers_must_not_drop(void **state)
{
    struct scene *scene = built();

    (void)state;
    scene_find(scene, WHAT(DROPS), RUN_BASELINE, 1)->drops->count = 3;
    scene_expect(scene, "INCOMPLETE", "complete.observers", "a listener dropped 3");
}

static void observers_must_read_the_drops_of_strict(void **state)
{
    struct scene *scene = built();

    (void)state;
    scene_drop(scene, scene_find(scene, WHAT(DROPS), RUN_STRICT, 1));
    scene_expect(scene, "INCOMPLETE", "complete.observers", "the drops of the udp listener were not read");
}

static void observers_must_look_at_the_targets_after_strict(void **state)
{
    struct scene *scene = built();
    size_t at = 0;

    (void)state;
    while (scene->events[at]->run != RUN_STRICT || scene->events[at]->what_case != WHAT(RUN_EXIT))
        at++;
    while (scene->events[at]->what_case != WHAT(TARGET_STATE) ||
           scene->events[at]->target_state->target != EXHIBIT__TARGET_NAME__TARGET_WRITE)
        at++;
    scene_drop(scene, scene->events[at]); /* the next one follows a reset */
    scene_expect(scene, "INCOMPLETE", "complete.observers", "the write target was not looked at before and after");
}

static void observers_must_read_streams_to_their_end(void **state)
{
    struct scene *scene = built();

    (void)state;
    scene_drop(scene, scene_find(scene, WHAT(STREAM_END), RUN_STRICT, 1));
    scene_expect(scene, "INCOMPLETE", "complete.observers", "stream 3 was not read to its end");
}

static void observers_must_see_each_role_alive(void **state)
{
    struct scene *scene = built();

    (void)state;
    scene_find(scene, WHAT(STEP), RUN_STRICT, 0)->step->alive[CHILD - 1]->start_time++;
    scene_expect(scene, "INCOMPLETE", "complete.observers", "child was not alive at the first step");
}

static void observers_must_see_each_role_gone(void **state)
{
    struct scene *scene = built();

    (void)state;
    scene_drop(scene, scene_find(scene, WHAT(PROCESS_EXIT), RUN_STRICT, GRANDCHILD - 1));
    scene_expect(scene, "INCOMPLETE", "complete.observers cancel.ended", "grandchild was not seen to be gone");
}

/* Makes the child's identity one of another program. No outcome rests on its network. */
static struct scene *without_child(void)
{
    struct scene *scene = planned();

    scene->told[3] = scene->told[4] = "errno:13";
    scene_build(scene);
    scene_find(scene, WHAT(PROCESS_IDENTITY), RUN_STRICT, CHILD - 1)->process_identity->executable_sha256 =
        scene_object(scene, "a shell", 7);
    return scene;
}

static void observers_need_an_identity_of_each_role(void **state)
{
    (void)state;
    scene_expect(without_child(), "INCOMPLETE", "complete.observers cancel.ended", "child has no identity");
}

static void observers_accept_a_row_where_identities_are_optional(void **state)
{
    struct scene *scene = without_child();

    (void)state;
    scene->oracle.identities_required = false;
    scene_expect(scene, "GO", "", "");
}

static void observers_refuse_two_identities(void **state)
{
    struct scene *scene = built();
    const Exhibit__Event *first = scene_find(scene, WHAT(PROCESS_IDENTITY), RUN_STRICT, PARENT - 1);
    Exhibit__Event *second = scene_insert(scene, first, RUN_STRICT);

    (void)state;
    second->what_case = first->what_case;
    second->process_identity = scene_take(scene, sizeof *second->process_identity);
    *second->process_identity = *first->process_identity;
    second->process_identity->pid = 999;
    scene_expect(scene, "INCOMPLETE", "complete.observers complete.outcomes cancel.ended", "parent has two identities");
}

static void a_fork_of_a_role_is_not_a_second_identity(void **state)
{
    struct scene *scene = built();
    const Exhibit__Event *first = scene_find(scene, WHAT(PROCESS_IDENTITY), RUN_STRICT, PARENT - 1);
    Exhibit__Event *second = scene_insert(scene, first, RUN_STRICT);

    (void)state;
    second->what_case = first->what_case;
    second->process_identity = scene_take(scene, sizeof *second->process_identity);
    *second->process_identity = *first->process_identity;
    second->process_identity->pid = 999;
    second->process_identity->parent_pid = first->process_identity->pid;
    scene_expect(scene, "GO", "", "");
}

static void controls_need_what_the_host_saw(void **state)
{
    struct scene *scene = built();

    (void)state;
    scene_find(scene, WHAT(MESSAGE), RUN_CONTROL_AFTER, 0)->message->truncated = true;
    scene_expect(scene, "INCOMPLETE", "complete.controls", "control 2: tcp of parent was not seen by the host");
}

static void controls_need_each_canary_watched(void **state)
{
    struct scene *scene = built();

    (void)state;
    scene_drop(scene, scene_find(scene, WHAT(FILE_EVENT), RUN_CONTROL_AFTER, 0));
    scene_expect(scene, "INCOMPLETE", "complete.controls", "read of parent was not seen on the canary");
}

static void spoke_needs_a_row_of_each_role(void **state)
{
    struct scene *scene = planned();

    (void)state;
    scene->mute_role = GRANDCHILD;
    scene_build(scene);
    scene_expect(scene, "INCOMPLETE", "complete.spoke", "grandchild left no row");
}

static void outcomes_must_be_determined(void **state)
{
    struct scene *scene = planned();

    (void)state;
    scene->told[2] = "errno:28";
    scene_build(scene);
    scene_expect(scene, "INCOMPLETE", "complete.outcomes", "write of parent, round 1, is undetermined");
}

static void baseline_must_be_met_each_time(void **state)
{
    struct scene *scene = planned();

    (void)state;
    scene->case_stdout[1] = "good bye\n";
    scene_build(scene);
    scene_expect(scene, "INCOMPLETE", "complete.baseline",
                 "hello baseline 2: oracle line 4: stdout equals: expected 6 bytes, there ");
}

static void cleanup_needs_everything_gone(void **state)
{
    struct scene *scene = built();

    (void)state;
    scene_find(scene, WHAT(ALL_GONE), RUN_LAUNCHER, 0)->all_gone->remaining = 1;
    scene_expect(scene, "INCOMPLETE", "complete.cleanup", "launcher, strict: not every process was seen to be gone");
}

static void cleanup_must_not_come_early(void **state)
{
    struct scene *scene = built();
    Exhibit__Event *event = scene_insert(scene, scene_find(scene, WHAT(PROCESS_EXIT), RUN_STRICT, 2), RUN_STRICT);

    (void)state;
    event->what_case = WHAT(CLEANUP);
    event->cleanup = scene_take(scene, sizeof *event->cleanup);
    exhibit__cleanup__init(event->cleanup);
    event->cleanup->reason = EXHIBIT__CLEANUP__REASON__REASON_BOUND;
    scene_expect(scene, "INCOMPLETE", "complete.cleanup", "the cleanup came before parent could have ended itself");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_good_scene_is_go),
        cmocka_unit_test(recording_needs_an_end_that_counts),
        cmocka_unit_test(recording_needs_every_run),
        cmocka_unit_test(recording_needs_each_end),
        cmocka_unit_test(recording_refuses_a_spawn_that_failed),
        cmocka_unit_test(recording_needs_the_steps_as_planned),
        cmocka_unit_test(recording_needs_every_step),
        cmocka_unit_test(recording_needs_a_trial),
        cmocka_unit_test(recording_needs_the_effects_of_the_oracle),
        cmocka_unit_test(pins_must_be_as_expected),
        cmocka_unit_test(pins_need_the_inputs_unchanged_by_baseline),
        cmocka_unit_test(pins_need_an_input),
        cmocka_unit_test(observers_must_not_lose_events_of_a_trial),
        cmocka_unit_test(observers_may_lose_events_of_a_case),
        cmocka_unit_test(observers_must_not_drop),
        cmocka_unit_test(observers_must_read_the_drops_of_strict),
        cmocka_unit_test(observers_must_look_at_the_targets_after_strict),
        cmocka_unit_test(observers_must_read_streams_to_their_end),
        cmocka_unit_test(observers_must_see_each_role_alive),
        cmocka_unit_test(observers_must_see_each_role_gone),
        cmocka_unit_test(observers_need_an_identity_of_each_role),
        cmocka_unit_test(observers_accept_a_row_where_identities_are_optional),
        cmocka_unit_test(observers_refuse_two_identities),
        cmocka_unit_test(a_fork_of_a_role_is_not_a_second_identity),
        cmocka_unit_test(controls_need_what_the_host_saw),
        cmocka_unit_test(controls_need_each_canary_watched),
        cmocka_unit_test(spoke_needs_a_row_of_each_role),
        cmocka_unit_test(outcomes_must_be_determined),
        cmocka_unit_test(baseline_must_be_met_each_time),
        cmocka_unit_test(cleanup_needs_everything_gone),
        cmocka_unit_test(cleanup_must_not_come_early),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
