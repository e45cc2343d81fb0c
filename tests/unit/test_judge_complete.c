/* complete.*: a recording that cannot answer is INCOMPLETE, and the rule names what is missing. */
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

/* ---- complete.observers ---- */

static void lost_events_count_in_trials_and_outside_of_runs_alone(void **state)
{
    Exhibit__Lost lost = EXHIBIT__LOST__INIT;
    struct scene *scene = scene_good();
    uint32_t run = scene_run_of(scene, "tree", MODE(CONTROL), 1);

    (void)state;
    scene_insert(scene, scene_place(scene, run, SCENE(RUN_EXIT), 0), run, SCENE(LOST), &lost);
    EXPECT(scene, "INCOMPLETE", {"complete.observers", "tree control: an observer lost events"});

    scene = scene_good();
    scene_insert(scene, 5, 0, SCENE(LOST), &lost);
    EXPECT(scene, "INCOMPLETE", {"complete.observers", "an observer lost events outside of runs"});

    scene = scene_good();
    run = scene_run_of(scene, "check", MODE(STRICT), 1);
    scene_insert(scene, scene_place(scene, run, SCENE(RUN_EXIT), 0), run, SCENE(LOST), &lost);
    EXPECT_GO(scene);

    scene = scene_good_under("version: 1\ntrials: [{name: bootstrap, roles: [parent]}]\n");
    run = strict_tree(scene); /* a trial that this oracle does not name */
    scene_insert(scene, scene_place(scene, run, SCENE(RUN_EXIT), 0), run, SCENE(LOST), &lost);
    EXPECT_GO(scene);
}

static void a_listener_that_dropped_or_was_not_asked_is_incomplete(void **state)
{
    struct scene *scene = scene_good();

    (void)state;
    scene_event(scene, scene_run_of(scene, "bootstrap", MODE(BASELINE), 1), SCENE(DROPS), 1)->drops->count = 1;
    EXPECT(scene, "INCOMPLETE", {"complete.observers", "a listener dropped something"});

    scene = scene_good();
    scene_remove(scene, scene_place(scene, strict_tree(scene), SCENE(DROPS), 1));
    EXPECT(scene, "INCOMPLETE", {"complete.observers", "tree strict: a listener's drop counter was not read"});
}

static void a_strict_run_needs_states_and_ends_of_streams(void **state)
{
    struct scene *scene = scene_good();
    size_t place = scene_place(scene, strict_tree(scene), SCENE(RUN_EXIT), 0);

    (void)state;
    for (size_t i = scene->count; i > place; i--)
        if (scene->events[i - 1].event->what_case == SCENE(TARGET_STATE) &&
            scene->events[i - 1].event->target_state->target == EXHIBIT__TARGET_NAME__TARGET_FOLDER)
            scene_remove(scene, i - 1);
    EXPECT(scene, "INCOMPLETE",
           {"complete.observers", "tree strict: the targets' folder was not looked at after the run"});

    scene = scene_good(); /* set anew before they were looked at */
    place = scene_place(scene, strict_tree(scene), SCENE(DROPS), 1) + 1;
    scene_insert(scene, place, 0, SCENE(TARGETS), scene_event(scene, 0, SCENE(TARGETS), 0)->targets);
    EXPECT(scene, "INCOMPLETE", {"complete.observers", "tree strict: the canary to be read was not looked at after"});

    scene = scene_good();
    place = scene_place(scene, strict_tree(scene), SCENE(RUN_START), 0);
    scene_insert(scene, place, 0, SCENE(TARGETS), scene_event(scene, 0, SCENE(TARGETS), 0)->targets);
    EXPECT(scene, "INCOMPLETE", {"complete.observers", "tree strict: the canary to be read was not looked at before"});

    for (size_t nth = 0; nth < 6; nth++) {
        scene = scene_good();
        scene_remove(scene, scene_place(scene, strict_tree(scene), SCENE(STREAM_END), nth));
        if (nth == 0) /* stdin: nothing is searched in it */
            EXPECT_GO(scene);
        else
            EXPECT(scene, "INCOMPLETE", {"complete.observers", "tree strict: the end of"});
    }
}

static void a_role_without_one_whole_identity_is_incomplete(void **state)
{
    static const char *const texts[] = {"tree strict: the child has no host identity",
                                        "tree strict: the child has more than one host identity",
                                        "tree strict: the child was not alive at the first step"};

    (void)state;
    for (int change = 0; change < 3; change++) {
        struct scene *scene = scene_good();
        uint32_t run = strict_tree(scene);
        size_t place = scene_place(scene, run, SCENE(PROCESS_IDENTITY), 1);
        const char *ended = "tree strict: the child was not seen to end";

        if (change == 0)
            scene->events[place].event->process_identity->executable_sha256.data[0] ^= 1;
        if (change == 1) {
            scene_insert(scene, place + 1, run, SCENE(PROCESS_IDENTITY), scene->events[place].event->process_identity);
            scene->events[place + 1].event->process_identity->pid = 9999;
        }
        if (change == 2)
            scene_event(scene, run, SCENE(STEP), 0)->step->alive[1]->start_time++;
        if (change == 2)
            EXPECT(scene, "INCOMPLETE", {"complete.observers", texts[change]});
        else
            EXPECT(scene, "INCOMPLETE", {"complete.observers", texts[change]}, {"cancel.ended", ended});
    }
}

static void a_role_that_was_not_seen_to_end_is_incomplete(void **state)
{
    struct scene *scene = scene_good();

    (void)state;
    scene_remove(scene, scene_place(scene, strict_tree(scene), SCENE(PROCESS_EXIT), 2));
    EXPECT(scene, "INCOMPLETE", {"complete.observers", "tree strict: the grandchild was not seen to end"},
           {"cancel.ended", "tree strict: the grandchild was not seen to end"});
}

static void who_was_alive_may_be_known_after_the_step(void **state)
{
    struct scene *scene = scene_good();
    uint32_t run = strict_tree(scene);
    size_t place = scene_place(scene, run, SCENE(PROCESS_IDENTITY), 2);

    (void)state;
    scene_insert(scene, scene_place(scene, run, SCENE(STEP), 0) + 1, run, SCENE(PROCESS_IDENTITY),
                 scene->events[place].event->process_identity);
    scene_remove(scene, place);
    EXPECT_GO(scene);
}

static void optional_identities_accept_a_role_that_spoke(void **state)
{
    static const char oracle[] = "version: 1\nidentities: optional\n"
                                 "trials: [{name: tree, roles: [parent, child, grandchild]}]\n";
    struct scene *scene = scene_good_under(oracle);
    uint32_t run = strict_tree(scene);
    size_t place;

    (void)state;
    scene_drop(scene, run, SCENE(PROCESS_IDENTITY));
    EXPECT_GO(scene);

    scene = scene_good_under(oracle); /* two are not none */
    place = scene_place(scene, run, SCENE(PROCESS_IDENTITY), 1);
    scene_insert(scene, place, run, SCENE(PROCESS_IDENTITY), scene->events[place].event->process_identity);
    scene->events[place].event->process_identity->pid = 9999;
    EXPECT(scene, "INCOMPLETE", {"complete.observers", "tree strict: the child has more than one host identity"});
}

/* ---- complete.controls ---- */

static void a_control_that_did_not_succeed_told_and_seen_is_incomplete(void **state)
{
    struct scene *scene = scene_good();
    uint32_t run = scene_run_of(scene, "tree", MODE(CONTROL), 1);
    Exhibit__Message *message;
    char text[128];

    (void)state;
    scene_tell(scene, run, ROLE(CHILD), 1, "tcp", "errno:111");
    EXPECT(scene, "INCOMPLETE", {"complete.controls", "tree control 1: tcp of the child did not succeed unconfined"});

    scene = scene_good();
    message = scene_event(scene, scene_run_of(scene, "tree", MODE(CONTROL), 2), SCENE(MESSAGE), 1)->message;
    message->truncated = true;
    EXPECT(scene, "INCOMPLETE", {"complete.controls", "tree control 2: udp of the parent did not succeed unconfined"});

    scene = scene_good();
    for (size_t i = scene->count; i > 0; i--)
        if (scene->events[i - 1].event->run == run && scene->events[i - 1].event->what_case == SCENE(FILE_EVENT) &&
            scene->events[i - 1].event->file_event->target == EXHIBIT__TARGET_NAME__TARGET_CANARY_LINK)
            scene_remove(scene, i - 1);
    EXPECT(scene, "INCOMPLETE", {"complete.controls", "tree control 1: read-link of the parent"});

    scene = scene_good(); /* a row that no copy contradicts is needed */
    (void)snprintf(text, sizeof text,
                   "EXHIBIT1 row %s parent 1 read=timeout read-link=timeout write=ok tcp=ok udp=ok\n",
                   scene->runs[run].nonces[1]);
    scene_insert_text(scene, scene_place(scene, run, SCENE(RUN_EXIT), 0), run, STREAM(STDOUT), text);
    EXPECT(scene, "INCOMPLETE", {"complete.controls", "tree control 1: read of the parent"});
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
               {"complete.baseline", repeat == 1 ? "check baseline 1 ended with exit status 3"
                                                 : "check baseline 2 ended with exit status 3"});
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

    (void)state;
    cleanup.reason = EXHIBIT__CLEANUP__REASON__REASON_BOUND;
    scene_insert(scene, scene_place(scene, run, SCENE(RUN_EXIT), 0), run, SCENE(CLEANUP), &cleanup);
    EXPECT(scene, "INCOMPLETE",
           {"complete.cleanup", "tree strict: the cleanup came before the parent could end itself"});

    scene = scene_good(); /* after every lifetime and one second more it is in time */
    scene_insert(scene, scene_place(scene, run, SCENE(RUN_EXIT), 0), run, SCENE(CLEANUP), &cleanup);
    scene_delay(scene, scene_place(scene, run, SCENE(CLEANUP), 0), 9000);
    EXPECT_GO(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_recording_without_end_is_incomplete),
        cmocka_unit_test(a_wrong_number_of_events_is_incomplete),
        cmocka_unit_test(an_event_after_the_end_is_incomplete),
        cmocka_unit_test(each_missing_run_is_named),
        cmocka_unit_test(a_run_that_could_not_start_is_incomplete),
        cmocka_unit_test(a_step_that_was_not_sent_as_planned_is_incomplete),
        cmocka_unit_test(an_oracle_without_a_trial_is_incomplete),
        cmocka_unit_test(a_role_that_no_run_lists_is_incomplete),
        cmocka_unit_test(an_effect_that_a_run_does_not_try_is_incomplete),
        cmocka_unit_test(another_pinned_digest_is_incomplete),
        cmocka_unit_test(an_input_that_changed_or_was_not_frozen_again_is_incomplete),
        cmocka_unit_test(a_recording_without_a_frozen_input_is_incomplete),
        cmocka_unit_test(lost_events_count_in_trials_and_outside_of_runs_alone),
        cmocka_unit_test(a_listener_that_dropped_or_was_not_asked_is_incomplete),
        cmocka_unit_test(a_strict_run_needs_states_and_ends_of_streams),
        cmocka_unit_test(a_role_without_one_whole_identity_is_incomplete),
        cmocka_unit_test(a_role_that_was_not_seen_to_end_is_incomplete),
        cmocka_unit_test(who_was_alive_may_be_known_after_the_step),
        cmocka_unit_test(optional_identities_accept_a_role_that_spoke),
        cmocka_unit_test(a_control_that_did_not_succeed_told_and_seen_is_incomplete),
        cmocka_unit_test(a_role_that_never_spoke_is_incomplete),
        cmocka_unit_test(an_undetermined_attempt_is_incomplete),
        cmocka_unit_test(a_case_that_fails_unconfined_is_incomplete),
        cmocka_unit_test(processes_that_are_left_are_incomplete),
        cmocka_unit_test(a_cleanup_that_came_too_early_is_incomplete),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
