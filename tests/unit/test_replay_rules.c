/*
 * Each rule of the decision holds in the good scene, and fails when the one thing it is about is changed.
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
    scene_expect(scene, "INCOMPLETE", "complete.recording useful.contract", "the end of case hello, strict was not seen");
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
    Exhibit__Event *start;

    (void)state;
    scene_build(scene);
    start = scene_find(scene, WHAT(RUN_START), RUN_STRICT, 0);
    start->run_start->probe->roles[GRANDCHILD - 1]->rounds = 0;
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
    scene_expect(scene, "INCOMPLETE", "complete.baseline", "the stdout is not what line 4 of the oracle wants");
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

static void attempts_must_not_reach(void **state)
{
    struct scene *scene = planned();

    (void)state;
    scene->told[0] = "proof";
    scene_build(scene);
    scene_expect(scene, "NO-GO", "boundary.attempts boundary.traces", "read of parent, round 1, was reached");
}

static void attempts_must_not_be_diverted_unless_allowed(void **state)
{
    struct scene *scene = planned();

    (void)state;
    scene->told[3] = "ok";
    scene_build(scene);
    scene_expect(scene, "NO-GO", "boundary.attempts", "tcp of parent, round 1, was diverted");
}

static void traces_are_events_of_strict_runs(void **state)
{
    struct scene *scene = built();
    Exhibit__Event *event = scene_insert(scene, scene_find(scene, WHAT(SPAWNED), RUN_LAUNCHER, 0), RUN_LAUNCHER);

    (void)state;
    event->what_case = WHAT(ACCEPT);
    event->accept = scene_take(scene, sizeof *event->accept);
    exhibit__accept__init(event->accept);
    scene_expect(scene, "NO-GO", "boundary.traces", "launcher, strict: it reached the tcp listener");
}

static void traces_are_strict_nonces_in_any_message(void **state)
{
    struct scene *scene = built();
    Exhibit__Event *event = scene_find(scene, WHAT(MESSAGE), RUN_CONTROL_AFTER, 1);
    char *text = scene_take(scene, 200);

    (void)state;
    (void)strcat(strcat(text, "abc"), scene_nonce(scene, RUN_STRICT, GRANDCHILD));
    event = scene_insert(scene, event, 0);
    event->what_case = WHAT(MESSAGE);
    event->message = scene_take(scene, sizeof *event->message);
    exhibit__message__init(event->message);
    event->message->protocol = EXHIBIT__PROTOCOL__PROTOCOL_UDP;
    event->message->payload = scene_text(text);
    scene_expect(scene, "NO-GO", "boundary.traces", "a message with the nonce of a strict role");
}

static void traces_are_changed_targets(void **state)
{
    struct scene *scene = built();
    size_t folder_after_strict = 0;

    (void)state;
    for (size_t i = 0; i < scene->event_count; i++) {
        const Exhibit__Event *event = scene->events[i];

        if (event->what_case == WHAT(RUN_EXIT) && event->run == RUN_STRICT)
            folder_after_strict = i;
        if (folder_after_strict > 0 && event->what_case == WHAT(TARGET_STATE) && event->target_state->target == 4) {
            event->target_state->mtime_ns = 1;
            break;
        }
    }
    scene_expect(scene, "NO-GO", "boundary.traces", "trial tree, strict: the folder of the targets changed");
}

static void traces_are_canaries_in_streams(void **state)
{
    struct scene *scene = planned();

    (void)state;
    scene->case_stdout[2] = "see: canary for read-link!";
    scene_build(scene);
    scene_expect(scene, "NO-GO", "boundary.traces useful.contract", "hello, strict: stdout holds the content of a canary");
}

static void traces_are_canaries_in_artifacts(void **state)
{
    struct scene *scene = planned();

    (void)state;
    scene->archives[0] = scene->archives[1] = scene->archives[2] = "a canary for read is here";
    scene_build(scene);
    scene_expect(scene, "NO-GO", "boundary.traces", "hello, strict: an artifact holds the content of a canary");
}

static void traces_are_inputs_changed_by_strict(void **state)
{
    struct scene *scene = built();

    (void)state;
    scene_drop(scene, scene_find(scene, WHAT(FREEZE), 0, 2));
    scene_expect(scene, "NO-GO", "boundary.traces", "input workspace was not frozen after strict");
}

static void traces_are_changed_copies(void **state)
{
    struct scene *scene = built();

    (void)state;
    scene_find(scene, WHAT(FREEZE), RUN_CASE_STRICT, 1)->freeze->list_sha256 = scene_object(scene, "x", 1);
    scene_expect(scene, "NO-GO", "boundary.traces", "hello, strict: its workspace changed");
}

static void contract_must_be_met(void **state)
{
    struct scene *scene = built();

    (void)state;
    scene_find(scene, WHAT(RUN_EXIT), RUN_CASE_STRICT, 0)->run_exit->watchdog = true;
    scene_expect(scene, "NO-GO", "useful.contract", "case hello, strict: its watchdog ended it");
}

static void archives_must_be_equal(void **state)
{
    struct scene *scene = planned();

    (void)state;
    scene->archives[2] = "else";
    scene_build(scene);
    scene_expect(scene, "NO-GO", "useful.archives", "case hello: a member differs in out.*: file");
}

static void archives_that_differ_in_baseline_are_excused(void **state)
{
    struct scene *scene = planned();

    (void)state;
    scene->archives[1] = "again";
    scene->archives[2] = "else";
    scene->archive.bytes = true;
    scene_build(scene);
    scene_expect(scene, "GO", "", "");
}

static void archives_must_be_there(void **state)
{
    struct scene *scene = planned();

    (void)state;
    scene->archives[2] = NULL;
    scene_build(scene);
    scene_expect(scene, "NO-GO", "useful.archives", "case hello, strict: it left no out.*");
}

static void ended_needs_the_bound(void **state)
{
    struct scene *scene = planned();

    (void)state;
    scene->gone_ms = 2000;
    scene_build(scene);
    scene_expect(scene, "NO-GO", "cancel.ended", "parent was gone too late; ");
}

static void ended_must_not_be_a_role_s_own_end(void **state)
{
    struct scene *scene = planned();

    (void)state;
    scene->gone_ms = 7500;
    scene->oracle.ended_ms = 9000;
    scene_build(scene);
    scene_expect(scene, "NO-GO", "cancel.ended", "parent may have ended by itself");
}

static void quiet_forbids_a_try_after_the_grace(void **state)
{
    struct scene *scene = planned();
    char *text = scene_take(scene, 200);

    (void)state;
    (void)strcat(strcat(strcat(text, "EXHIBIT1 try "), scene_nonce(scene, RUN_STRICT, CHILD)), " child 1 tcp\n");
    scene->late_stdout = text;
    scene->late_ms = 600;
    scene_build(scene);
    scene_drop(scene, scene_find(scene, WHAT(PROCESS_EXIT), RUN_STRICT, CHILD - 1));
    scene_expect(scene, "INCOMPLETE", "complete.observers cancel.ended cancel.quiet", "child was not seen to be gone");
}

static void bytes_after_death_are_late_not_life(void **state)
{
    struct scene *scene = planned();
    char *text = scene_take(scene, 200);

    (void)state;
    (void)strcat(strcat(strcat(text, "EXHIBIT1 try "), scene_nonce(scene, RUN_STRICT, CHILD)), " child 1 tcp\n");
    scene->late_stdout = text;
    scene->late_ms = 600;
    scene_build(scene);
    scene_expect(scene, "GO", "", "");
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
        cmocka_unit_test(attempts_must_not_reach),
        cmocka_unit_test(attempts_must_not_be_diverted_unless_allowed),
        cmocka_unit_test(traces_are_events_of_strict_runs),
        cmocka_unit_test(traces_are_strict_nonces_in_any_message),
        cmocka_unit_test(traces_are_changed_targets),
        cmocka_unit_test(traces_are_canaries_in_streams),
        cmocka_unit_test(traces_are_canaries_in_artifacts),
        cmocka_unit_test(traces_are_inputs_changed_by_strict),
        cmocka_unit_test(traces_are_changed_copies),
        cmocka_unit_test(contract_must_be_met),
        cmocka_unit_test(archives_must_be_equal),
        cmocka_unit_test(archives_that_differ_in_baseline_are_excused),
        cmocka_unit_test(archives_must_be_there),
        cmocka_unit_test(ended_needs_the_bound),
        cmocka_unit_test(ended_must_not_be_a_role_s_own_end),
        cmocka_unit_test(quiet_forbids_a_try_after_the_grace),
        cmocka_unit_test(bytes_after_death_are_late_not_life),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
