/*
 * Each rule of boundary, useful and cancel fails when the one thing it is about is changed in the good scene.
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
    scene_expect(scene, "NO-GO", "boundary.traces useful.contract",
                 "hello, strict: stdout holds the content of a canary");
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
    scene_expect(scene, "NO-GO", "useful.contract", "hello strict 1: its watchdog ended it");
}

static void failures_beyond_the_room_are_counted(void **state)
{
    struct scene *scene = built();

    (void)state;
    for (size_t i = 3; i < 7; i++)
        scene->matchers[i] = (struct oracle_matcher){.kind = ORACLE_EMPTY, .line = (unsigned)i};
    scene->oracle_case.matcher_count = 7;
    scene_expect(
        scene, "INCOMPLETE", "complete.baseline useful.contract",
        "hello baseline 1: oracle line 3: stdout empty: expected no byte, seen 6 bytes, at stdout byte 0; hello "
        "baseline 1: oracle line 4: stdout empty: expected no byte, seen 6 bytes, at stdout byte 0; hello "
        "baseline 1: oracle line 5: stdout empty: expected no byte, seen 6 bytes, at stdout byte 0; and 5 more");
}

static void archives_must_be_equal(void **state)
{
    struct scene *scene = planned();

    (void)state;
    scene->archives[2] = "else";
    scene_build(scene);
    scene_expect(scene, "NO-GO", "useful.archives",
                 "hello: oracle line 6: archive out.*: member \"file\": its digest differs");
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
    scene_expect(scene, "NO-GO", "useful.archives", "hello: oracle line 6: archive out.*: strict: none was left");
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
        cmocka_unit_test(failures_beyond_the_room_are_counted),
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
