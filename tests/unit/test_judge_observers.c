/* complete.observers and complete.controls: what was not looked at, or cannot be reached at all, shows nothing. */
#include "judge_scene.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <stdio.h>

static uint32_t strict_tree(const struct scene *scene)
{
    return scene_run_of(scene, "tree", MODE(STRICT), 1);
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

static void being_gone_counts_as_an_exit(void **state)
{
    struct scene *scene = scene_good();
    uint32_t run = strict_tree(scene);
    size_t place = scene_place(scene, run, SCENE(PROCESS_EXIT), 1);
    Exhibit__ProcessGone gone = EXHIBIT__PROCESS_GONE__INIT;

    (void)state;
    gone.pid = scene->events[place].event->process_exit->pid;
    gone.start_time = scene->events[place].event->process_exit->start_time;
    scene_insert(scene, place + 1, run, SCENE(PROCESS_GONE), &gone);
    scene_remove(scene, place);
    EXPECT_GO(scene);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lost_events_count_in_trials_and_outside_of_runs_alone),
        cmocka_unit_test(a_listener_that_dropped_or_was_not_asked_is_incomplete),
        cmocka_unit_test(a_strict_run_needs_states_and_ends_of_streams),
        cmocka_unit_test(a_role_without_one_whole_identity_is_incomplete),
        cmocka_unit_test(a_role_that_was_not_seen_to_end_is_incomplete),
        cmocka_unit_test(being_gone_counts_as_an_exit),
        cmocka_unit_test(who_was_alive_may_be_known_after_the_step),
        cmocka_unit_test(optional_identities_accept_a_role_that_spoke),
        cmocka_unit_test(a_control_that_did_not_succeed_told_and_seen_is_incomplete),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
