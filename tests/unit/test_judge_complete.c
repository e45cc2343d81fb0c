/* complete.* but observers and controls: a recording that cannot answer is INCOMPLETE, and the rule names what is
 * missing. */
#include "judge_scene.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NONE EXHIBIT__EVENT__WHAT__NOT_SET

static uint32_t strict_tree(const struct scene *scene)
{
    return scene_run_of(scene, "tree", MODE(STRICT), 1);
}

/* ---- complete.recording ---- */

static void a_recording_without_end_is_incomplete(void **state)
{
    struct scene *scene = scene_good();

    (void)state;
    scene_remove(scene, scene->count - 1);
    EXPECT(scene, "INCOMPLETE", {"complete.recording", "no end record"});
}

static void a_wrong_number_of_events_is_incomplete(void **state)
{
    struct scene *scene = scene_good();

    (void)state;
    scene->events[scene->count - 1].event->recording_end->event_count = 7;
    scene->miscounted = true;
    EXPECT(scene, "INCOMPLETE", {"complete.recording", "no end record"});
}

static void an_event_after_the_end_is_incomplete(void **state)
{
    struct scene *scene = scene_good();
    Exhibit__Phase phase = EXHIBIT__PHASE__INIT;

    (void)state;
    scene_event(scene, 0, SCENE(RECORDING_END), 0)->recording_end->event_count = scene->count;
    scene->miscounted = true;
    scene_put(scene, 0, SCENE(PHASE), &phase);
    EXPECT(scene, "INCOMPLETE", {"complete.recording", "no end record"});
}

static void each_missing_run_is_named(void **state)
{
    static const struct {
        const char *name;
        Exhibit__Mode mode;
        uint32_t repeat;
        const char *text;
    } runs[] = {{"check", MODE(BASELINE), 1, "check baseline 1 is not in the receipt"},
                {"check", MODE(STRICT), 1, "check strict 1 is not in the receipt"},
                {"tree", MODE(BASELINE), 1, "tree baseline 1 is not in the receipt"},
                {"tree", MODE(STRICT), 1, "tree strict 1 is not in the receipt"},
                {"tree", MODE(CONTROL), 1, "tree control 1 is not in the receipt"},
                {"tree", MODE(CONTROL), 2, "tree control 2 is not in the receipt"}};

    (void)state;
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        struct scene *scene = scene_good();

        scene_drop(scene, scene_run_of(scene, runs[i].name, runs[i].mode, runs[i].repeat), NONE);
        EXPECT(scene, "INCOMPLETE", {"complete.recording", runs[i].text});
    }
}

static void a_run_without_an_observed_end_is_incomplete(void **state)
{
    struct scene *scene = scene_good();
    uint32_t run = scene_run_of(scene, "check", MODE(BASELINE), 1);

    (void)state;
    scene_remove(scene, scene_place(scene, run, SCENE(RUN_EXIT), 0));
    EXPECT(scene, "INCOMPLETE", {"complete.recording", "check baseline 1 has no observed end"},
           {"complete.baseline", "check baseline 1: its end was not seen"},
           {"complete.cleanup", "check baseline: not all processes were gone"});
}

static void a_run_that_could_not_start_is_incomplete(void **state)
{
    struct scene *scene = scene_good();
    uint32_t run = strict_tree(scene);
    Exhibit__SpawnFailed failed = EXHIBIT__SPAWN_FAILED__INIT;

    (void)state;
    scene_insert(scene, scene_place(scene, run, SCENE(RUN_EXIT), 0), run, SCENE(SPAWN_FAILED), &failed);
    EXPECT(scene, "INCOMPLETE", {"complete.recording", "tree strict 1 could not be executed"});
}

static void a_step_that_was_not_sent_as_planned_is_incomplete(void **state)
{
    (void)state;
    for (int change = 0; change < 6; change++) {
        struct scene *scene = scene_good();
        size_t place = scene_place(scene, strict_tree(scene), SCENE(STEP), 0);
        Exhibit__Step *step = scene->events[place].event->step;
        const char *text = "tree strict: step 1 was not sent as planned";

        if (change == 0)
            step->signal = SIGKILL;
        else if (change == 1)
            step->target = EXHIBIT__STEP_TARGET__STEP_LAUNCHER;
        else if (change == 2)
            step->trigger = EXHIBIT__STEP__TRIGGER__TRIGGER_OVERDUE;
        else if (change == 3)
            step->errno_value = 3;
        else if (change == 4)
            step->index = 2;
        else
            scene_remove(scene, place);
        EXPECT(scene, "INCOMPLETE", {"complete.recording", change == 5 ? "0 of 1 steps were sent" : text});
    }
}

static void an_oracle_without_a_trial_is_incomplete(void **state)
{
    (void)state;
    EXPECT(scene_good_under("version: 1\ntrials: []\n"), "INCOMPLETE",
           {"complete.recording", "without a hostile probe there is no decision"});
}

static void a_role_that_no_run_lists_is_incomplete(void **state)
{
    (void)state;
    EXPECT(scene_good_under("version: 1\ntrials: [{name: bootstrap, roles: [parent, child]}]\n"), "INCOMPLETE",
           {"complete.recording", "bootstrap baseline has no role child"},
           {"complete.observers", "bootstrap strict: the child has no host identity"},
           {"complete.controls", "bootstrap control 1: read of the child"},
           {"complete.spoke", "bootstrap strict: the child left no row"});
}

static void an_effect_that_a_run_does_not_try_is_incomplete(void **state)
{
    struct scene *scene = scene_good();
    uint32_t run = scene_run_of(scene, "tree", MODE(CONTROL), 2);
    Exhibit__ProbeAssignment *probe = scene_event(scene, run, SCENE(RUN_START), 0)->run_start->probe;

    (void)state;
    free(probe->effects[--probe->n_effects]);
    EXPECT(scene, "INCOMPLETE", {"complete.recording", "tree control does not try udp"},
           {"complete.controls", "tree control 2: read of the parent did not succeed unconfined"});
}

/* ---- complete.pins ---- */

static void another_pinned_digest_is_incomplete(void **state)
{
    struct scene *scene = scene_good();

    (void)state;
    scene->events[0].event->recording_start->pins[0]->seen_sha256.data[0] ^= 1;
    EXPECT(scene, "INCOMPLETE", {"complete.pins", "a pinned file had another digest"});
}

static void an_input_that_changed_or_was_not_frozen_again_is_incomplete(void **state)
{
    (void)state;
    for (int missing = 0; missing < 2; missing++) {
        struct scene *scene = scene_good();
        size_t place = scene_place(scene, 0, SCENE(FREEZE), 1);

        if (missing)
            scene_remove(scene, place);
        else
            scene->events[place].event->freeze->list_sha256.data[0] ^= 1;
        EXPECT(scene, "INCOMPLETE", {"complete.pins", "input sources changed during the baseline"});
    }
}

static void a_recording_without_a_frozen_input_is_incomplete(void **state)
{
    struct scene *scene = scene_good();

    (void)state;
    scene_drop(scene, 0, SCENE(FREEZE));
    EXPECT(scene, "INCOMPLETE", {"complete.pins", "no input was frozen"});
}

/* ---- complete.spoke, outcomes, baseline, cleanup ---- */

static void a_role_that_never_spoke_is_incomplete(void **state)
{
    struct scene *scene = scene_good();
    char row[64];

    (void)state;
    (void)snprintf(row, sizeof row, "EXHIBIT1 row %s", scene->runs[strict_tree(scene)].nonces[1]);
    scene_replace(scene, strict_tree(scene), row, "EXHIBIT1 row of nobody");
    EXPECT(scene, "INCOMPLETE", {"complete.spoke", "tree strict: the parent left no row"});
}

static void an_undetermined_attempt_is_incomplete(void **state)
{
    struct scene *scene = scene_good();

    (void)state;
    scene_tell(scene, strict_tree(scene), ROLE(GRANDCHILD), 2, "write", "errno:5");
    EXPECT(scene, "INCOMPLETE", {"complete.outcomes", "tree strict grandchild/2 write is undetermined"});
}

static void a_case_that_fails_unconfined_is_incomplete(void **state)
{
    (void)state;
    for (uint32_t repeat = 1; repeat <= 2; repeat++) {
        struct scene *scene = scene_good();
        uint32_t run = scene_run_of(scene, "check", MODE(BASELINE), repeat);

        scene_event(scene, run, SCENE(RUN_EXIT), 0)->run_exit->exit_status = 3;
        EXPECT(scene, "INCOMPLETE",
               {"complete.baseline", repeat == 1
                                         ? "check baseline 1: oracle line 7: exit: expected exit 0, seen exit 3"
                                         : "check baseline 2: oracle line 7: exit: expected exit 0, seen exit 3"});
    }
}

static void processes_that_are_left_are_incomplete(void **state)
{
    struct scene *scene = scene_good();
    uint32_t run = scene_run_of(scene, "launcher", MODE(STRICT), 1);
    Exhibit__AllGone gone = EXHIBIT__ALL_GONE__INIT;
    const char *text = "launcher strict: not all processes were gone at its end";

    (void)state;
    scene_event(scene, run, SCENE(ALL_GONE), 0)->all_gone->remaining = 1;
    EXPECT(scene, "INCOMPLETE", {"complete.cleanup", text});

    scene = scene_good();
    scene_remove(scene, scene_place(scene, run, SCENE(ALL_GONE), 0));
    EXPECT(scene, "INCOMPLETE", {"complete.cleanup", text});

    scene = scene_good(); /* before the exit it says nothing */
    scene_remove(scene, scene_place(scene, run, SCENE(ALL_GONE), 0));
    scene_insert(scene, scene_place(scene, run, SCENE(RUN_EXIT), 0), run, SCENE(ALL_GONE), &gone);
    EXPECT(scene, "INCOMPLETE", {"complete.cleanup", text});

    scene = scene_good(); /* the last one counts */
    scene_event(scene, run, SCENE(ALL_GONE), 0)->all_gone->remaining = 1;
    scene_insert(scene, scene_place(scene, run, SCENE(ALL_GONE), 0) + 1, run, SCENE(ALL_GONE), &gone);
    EXPECT_GO(scene);
}

static void a_cleanup_that_came_too_early_is_incomplete(void **state)
{
    Exhibit__Cleanup cleanup = EXHIBIT__CLEANUP__INIT;
    struct scene *scene = scene_good();
    uint32_t run = strict_tree(scene);
    uint64_t first_ns;
    size_t place;

    (void)state;
    cleanup.reason = EXHIBIT__CLEANUP__REASON__REASON_BOUND;
    scene_insert(scene, scene_place(scene, run, SCENE(RUN_EXIT), 0), run, SCENE(CLEANUP), &cleanup);
    EXPECT(scene, "INCOMPLETE",
           {"complete.cleanup", "tree strict: the cleanup came before the parent could end itself"});

    for (uint64_t early_ms = 0; early_ms <= 1; early_ms++) { /* the grandchild began last: its lifetime and 1 s */
        scene = scene_good();
        first_ns = scene_event(scene, run, SCENE(PROCESS_IDENTITY), 2)->at_ns;
        place = scene_place(scene, run, SCENE(RUN_EXIT), 0);
        scene_insert(scene, place, run, SCENE(CLEANUP), &cleanup);
        scene_delay(scene, place, 9000 - early_ms - (scene->events[place].event->at_ns - first_ns) / SCENE_MS);
        if (early_ms == 0)
            EXPECT_GO(scene);
        else
            EXPECT(scene, "INCOMPLETE",
                   {"complete.cleanup", "tree strict: the cleanup came before the grandchild could end itself"});
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_recording_without_end_is_incomplete),
        cmocka_unit_test(a_wrong_number_of_events_is_incomplete),
        cmocka_unit_test(an_event_after_the_end_is_incomplete),
        cmocka_unit_test(each_missing_run_is_named),
        cmocka_unit_test(a_run_without_an_observed_end_is_incomplete),
        cmocka_unit_test(a_run_that_could_not_start_is_incomplete),
        cmocka_unit_test(a_step_that_was_not_sent_as_planned_is_incomplete),
        cmocka_unit_test(an_oracle_without_a_trial_is_incomplete),
        cmocka_unit_test(a_role_that_no_run_lists_is_incomplete),
        cmocka_unit_test(an_effect_that_a_run_does_not_try_is_incomplete),
        cmocka_unit_test(another_pinned_digest_is_incomplete),
        cmocka_unit_test(an_input_that_changed_or_was_not_frozen_again_is_incomplete),
        cmocka_unit_test(a_recording_without_a_frozen_input_is_incomplete),
        cmocka_unit_test(a_role_that_never_spoke_is_incomplete),
        cmocka_unit_test(an_undetermined_attempt_is_incomplete),
        cmocka_unit_test(a_case_that_fails_unconfined_is_incomplete),
        cmocka_unit_test(processes_that_are_left_are_incomplete),
        cmocka_unit_test(a_cleanup_that_came_too_early_is_incomplete),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
