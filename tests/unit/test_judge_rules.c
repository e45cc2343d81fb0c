/* boundary.*, useful.* and cancel.*: what makes a complete recording NO-GO. */
#include "judge_scene.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define DIVERSION_ORACLE                                                                                               \
    "version: 1\ntrials: [{name: tree, roles: [parent, child, grandchild]}]\ndenials: {write: {diverted: %s}}\n"

static uint32_t strict_tree(const struct scene *scene)
{
    return scene_run_of(scene, "tree", MODE(STRICT), 1);
}

/* The place just before the run's exit. */
static size_t end_of(const struct scene *scene, uint32_t run)
{
    return scene_place(scene, run, SCENE(RUN_EXIT), 0);
}

static void put_message(struct scene *scene, size_t place, uint32_t run, Exhibit__Protocol protocol, const char *text)
{
    Exhibit__Message message = EXHIBIT__MESSAGE__INIT;

    message.protocol = protocol;
    message.payload = (ProtobufCBinaryData){strlen(text), (uint8_t *)text}; /* only copied from */
    scene_insert(scene, place, run, SCENE(MESSAGE), &message);
}

/* ---- boundary.attempts ---- */

static void a_reached_target_is_no_go_wherever_its_message_arrives(void **state)
{
    struct scene *scene = scene_good();
    char text[128];

    (void)state;
    (void)snprintf(text, sizeof text, "EXHIBIT1 tcp %s child 1\n", scene->runs[strict_tree(scene)].nonces[2]);
    put_message(scene, scene->count - 1, 0, EXHIBIT__PROTOCOL__PROTOCOL_TCP, text);
    EXPECT(scene, "NO-GO", {"boundary.attempts", "tree strict child/1 tcp is reached"},
           {"boundary.traces", "tree strict: a listener got a message of the child"});
}

static void a_diversion_is_no_go_unless_the_oracle_allows_it(void **state)
{
    (void)state;
    for (int allowed = 0; allowed < 2; allowed++) {
        struct scene *scene;
        char oracle[256];

        (void)snprintf(oracle, sizeof oracle, DIVERSION_ORACLE, allowed ? "true" : "false");
        scene = scene_good_under(oracle);
        scene_tell(scene, strict_tree(scene), ROLE(PARENT), 1, "write", "ok");
        if (allowed)
            EXPECT_GO(scene);
        else
            EXPECT(scene, "NO-GO", {"boundary.attempts", "tree strict parent/1 write is diverted"});
    }
}

/* ---- boundary.traces ---- */

static void what_a_listener_hears_in_a_strict_run_is_a_trace(void **state)
{
    Exhibit__Accept accept = EXHIBIT__ACCEPT__INIT;
    struct scene *scene = scene_good();
    uint32_t run = scene_run_of(scene, "launcher", MODE(STRICT), 1);

    (void)state;
    scene_insert(scene, end_of(scene, run), run, SCENE(ACCEPT), &accept);
    EXPECT(scene, "NO-GO", {"boundary.traces", "launcher strict: a listener accepted a connection"});

    scene = scene_good();
    run = scene_run_of(scene, "check", MODE(STRICT), 1);
    put_message(scene, end_of(scene, run), run, EXHIBIT__PROTOCOL__PROTOCOL_UDP, "hello");
    EXPECT(scene, "NO-GO", {"boundary.traces", "check strict: the UDP listener heard something"});
}

static void a_strict_nonce_in_any_payload_is_a_trace_an_earlier_one_too(void **state)
{
    struct scene *scene = scene_good();
    char text[128];

    (void)state;
    (void)snprintf(text, sizeof text, "..%s..", scene->runs[strict_tree(scene)].nonces[3]);
    put_message(scene, 2, 0, EXHIBIT__PROTOCOL__PROTOCOL_UDP, text);
    EXPECT(scene, "NO-GO", {"boundary.traces", "tree strict: a listener got a message of the grandchild"});
}

static void a_touched_target_is_a_trace(void **state)
{
    Exhibit__FileEvent touched = EXHIBIT__FILE_EVENT__INIT;
    struct scene *scene = scene_good();
    uint32_t run = scene_run_of(scene, "check", MODE(STRICT), 1);

    (void)state;
    touched.target = EXHIBIT__TARGET_NAME__TARGET_CANARY_READ;
    scene_insert(scene, end_of(scene, run), run, SCENE(FILE_EVENT), &touched);
    EXPECT(scene, "NO-GO", {"boundary.traces", "check strict: the canary to be read was touched"});
}

/* Applies one change to the state of the folder after the strict tree. */
static void state_change(struct scene *scene, int change)
{
    size_t place = end_of(scene, strict_tree(scene));
    Exhibit__TargetState *after;

    while (scene->events[place].event->what_case != SCENE(TARGET_STATE) ||
           scene->events[place].event->target_state->target != EXHIBIT__TARGET_NAME__TARGET_FOLDER)
        place++;
    after = scene->events[place].event->target_state;
    after->exists = change != 0;
    after->mode += change == 1;
    after->size_bytes += change == 2;
    after->inode += change == 3;
    after->mtime_ns += change == 4;
    after->ctime_ns += change == 5;
    after->content_sha256.data[0] ^= (uint8_t)(change == 6);
}

static void each_way_in_which_a_target_changed_is_a_trace(void **state)
{
    (void)state;
    for (int change = 0; change <= 7; change++) {
        struct scene *scene = scene_good();

        state_change(scene, change);
        if (change == 7) /* none */
            EXPECT_GO(scene);
        else
            EXPECT(scene, "NO-GO", {"boundary.traces", "tree strict: the targets' folder changed"});
    }
}

static void a_canary_is_found_across_chunks_and_in_artifacts(void **state)
{
    struct scene *scene = scene_good();
    uint32_t run = strict_tree(scene);
    size_t place = end_of(scene, run);
    char canary[64];

    (void)state;
    (void)snprintf(canary, sizeof canary, "%s", scene->runs[run].canaries[1]);
    scene_insert_text(scene, place, run, STREAM(STDERR), canary + 7);
    canary[7] = 0;
    scene_insert_text(scene, place, run, STREAM(STDERR), canary + 3);
    scene_insert_text(scene, place, run, STREAM(STDOUT), "between"); /* another stream is between them */
    canary[3] = 0;
    scene_insert_text(scene, place, run, STREAM(STDERR), canary);
    EXPECT(scene, "NO-GO", {"boundary.traces", "tree strict: a canary's content came out"});

    scene = scene_good(); /* of an earlier run, in a later one */
    run = scene_run_of(scene, "check", MODE(STRICT), 1);
    scene_replace(scene, run, "the archive", scene->runs[scene_run_of(scene, "tree", MODE(BASELINE), 1)].canaries[0]);
    EXPECT(scene, "NO-GO", {"boundary.traces", "check strict: a canary's content came out"});
}

static void a_canary_that_was_set_after_the_exit_or_shown_unconfined_is_no_trace(void **state)
{
    struct scene *scene = scene_good();
    uint32_t run = scene_run_of(scene, "bootstrap", MODE(STRICT), 1);
    uint32_t next = scene_run_of(scene, "bootstrap", MODE(CONTROL), 2);
    size_t place = scene_place(scene, next, SCENE(RUN_START), 0);

    (void)state;
    scene_insert_text(scene, place, run, STREAM(STDERR), scene->runs[next].canaries[0]);
    EXPECT_GO(scene);

    scene = scene_good();
    run = scene_run_of(scene, "tree", MODE(BASELINE), 1);
    scene_insert_text(scene, end_of(scene, run), run, STREAM(STDOUT), scene->runs[run].canaries[0]);
    EXPECT_GO(scene);
}

/* What was set until the exit counts, for bytes that came before it too; without an exit all that was ever set. */
static void a_canary_that_was_set_while_the_run_was_on_is_found(void **state)
{
    (void)state;
    for (int without_exit = 0; without_exit < 2; without_exit++) {
        struct scene *scene = scene_good();
        uint32_t run = scene_run_of(scene, "launcher", MODE(STRICT), 1);
        Exhibit__Targets targets = EXHIBIT__TARGETS__INIT;
        size_t place = end_of(scene, run);
        char secret[] = "set late";

        targets.canary_link = (ProtobufCBinaryData){sizeof secret - 1, (uint8_t *)secret};
        scene_insert(scene, place, 0, SCENE(TARGETS), &targets);
        scene_insert_text(scene, place, run, STREAM(STDERR), "it was set late.");
        if (!without_exit) {
            EXPECT(scene, "NO-GO", {"boundary.traces", "launcher strict: a canary's content came out"});
            continue;
        }
        scene_remove(scene, end_of(scene, run));
        EXPECT(scene, "INCOMPLETE", {"complete.cleanup", "launcher strict: not all processes were gone"},
               {"boundary.traces", "launcher strict: a canary's content came out"});
    }
}

static void a_right_proof_is_a_trace_and_reached(void **state)
{
    struct scene *scene = scene_good();
    uint32_t run = strict_tree(scene);
    char row[1024];

    (void)state;
    scene_row(scene, run, ROLE(CHILD), 1, "ok", row);
    row[strcspn(strstr(row, "read="), " ") + (size_t)(strstr(row, "read=") - row)] = 0;
    scene_tell(scene, run, ROLE(CHILD), 1, "read", strstr(row, "ok:"));
    EXPECT(scene, "NO-GO", {"boundary.attempts", "tree strict child/1 read is reached"},
           {"boundary.traces", "tree strict child/1 proves that it read the canary of read"});
}

/* In pieces, with other digits around it; an upper-case one is none, and what baseline proves is no secret. */
static void a_proof_that_comes_out_is_a_trace(void **state)
{
    (void)state;
    for (int which = 0; which < 3; which++) {
        struct scene *scene = scene_good();
        uint32_t run = strict_tree(scene);
        size_t place = end_of(scene, run);
        char row[1024], *proof;

        scene_row(scene, which == 2 ? scene_run_of(scene, "tree", MODE(BASELINE), 1) : run, ROLE(CHILD), 1, "ok", row);
        proof = strstr(row, "read=ok:") + strlen("read=ok:");
        proof[64] = 0;
        for (size_t i = 0; which == 1 && i < 64; i++)
            proof[i] = (char)(proof[i] >= 'a' ? proof[i] - 'a' + 'A' : proof[i]);
        scene_insert_text(scene, place, run, STREAM(STDERR), "0");
        scene_insert_text(scene, place, run, STREAM(STDERR), proof + 9);
        proof[9] = 0;
        scene_insert_text(scene, place, run, STREAM(STDERR), proof);
        scene_insert_text(scene, place, run, STREAM(STDERR), "f");
        if (which > 0) {
            EXPECT_GO(scene);
            continue;
        }
        EXPECT(scene, "NO-GO", {"boundary.traces", "tree strict: a proof of a strict read came out"});
    }
}

static void an_input_or_a_workspace_that_changed_is_a_trace(void **state)
{
    (void)state;
    for (int change = 0; change < 4; change++) {
        struct scene *scene = scene_good();
        uint32_t run = change < 2 ? 0 : scene_run_of(scene, "check", MODE(STRICT), 1);
        size_t place = scene_place(scene, run, SCENE(FREEZE), change < 2 ? 2 : 1);

        if (change % 2 == 0)
            scene_remove(scene, place);
        else
            scene->events[place].event->freeze->list_sha256.data[0] ^= 1;
        EXPECT(scene, "NO-GO",
               {"boundary.traces", change < 2 ? "input sources changed" : "check strict: the workspace changed"});
    }
}

/* ---- useful ---- */

static void a_case_that_fails_in_strict_mode_is_no_go(void **state)
{
    struct scene *scene = scene_good();
    uint32_t run = scene_run_of(scene, "check", MODE(STRICT), 1);

    (void)state;
    scene_replace(scene, run, "ne\n", "xx\n");
    EXPECT(scene, "NO-GO",
           {"useful.contract", "check strict 1: oracle line 8: stdout contains: expected \"fine\", seen \"all is "
                               "fixx?\", at none of the 12 bytes"});

    scene = scene_good();
    scene_event(scene, run, SCENE(RUN_EXIT), 0)->run_exit->watchdog = true;
    EXPECT(scene, "NO-GO", {"useful.contract", "check strict 1: it overran and was ended by the watchdog"});
}

static void archives_that_differ_are_no_go(void **state)
{
    struct scene *scene = scene_good();
    uint32_t run = scene_run_of(scene, "check", MODE(STRICT), 1);

    (void)state;
    scene_event(scene, run, SCENE(ARTIFACT), 0)->artifact->members[1]->mode = 0755;
    EXPECT(scene, "NO-GO", {"useful.archives", "check: oracle line 9: archive out.tar: member \"a\" differs"});
}

/* ---- cancel ---- */

static void a_role_that_outlives_the_ending_is_no_go(void **state)
{
    struct scene *scene = scene_good();
    size_t place = scene_place(scene, strict_tree(scene), SCENE(PROCESS_EXIT), 2);

    (void)state;
    scene_delay(scene, place, 1970); /* exactly the bound: 30 ms are over */
    EXPECT_GO(scene);

    scene = scene_good();
    scene_delay(scene, place, 1971);
    EXPECT(scene, "NO-GO", {"cancel.ended", "tree strict: the grandchild outlived the ending by 2001 ms (step)"});
}

static void a_role_that_may_have_ended_itself_is_no_go(void **state)
{
    struct scene *scene = scene_good();
    uint32_t run = strict_tree(scene);
    size_t place = scene_place(scene, run, SCENE(STEP), 0);
    uint64_t first_ns = scene_event(scene, run, SCENE(PROCESS_IDENTITY), 0)->at_ns;
    uint64_t gone_ns = scene_event(scene, run, SCENE(PROCESS_EXIT), 0)->at_ns;

    (void)state;
    scene_delay(scene, place, 7499 - (gone_ns - first_ns) / SCENE_MS); /* the parent: 1 ms before */
    EXPECT_GO(scene);

    scene = scene_good();
    scene_delay(scene, place, 7500 - (gone_ns - first_ns) / SCENE_MS);
    EXPECT(scene, "NO-GO", {"cancel.ended", "tree strict: the parent may have ended by itself"});
}

/* Lets the grandchild write a line ("try ROUND ..." or "row ROUND ...") so long after the step; dead by then or not. */
static struct scene *late_text(const char *oracle, uint64_t delay_ms, bool dead, const char *line)
{
    struct scene *scene = scene_good_under(oracle);
    uint32_t run = strict_tree(scene);
    size_t place = scene_place(scene, run, SCENE(PROCESS_EXIT), dead ? 2 : 0) + (dead ? 1 : 0);
    uint64_t step_ns = scene_event(scene, run, SCENE(STEP), 0)->at_ns;
    char text[1024];

    (void)snprintf(text, sizeof text, "EXHIBIT1 %.3s %s grandchild%s\n", line, scene->runs[run].nonces[3], line + 3);
    scene_insert_text(scene, place, run, STREAM(STDOUT), text);
    scene_delay(scene, place, delay_ms - (scene->events[place].event->at_ns - step_ns) / SCENE_MS);
    return scene;
}

#define LATE_TRY "try 3 write"
#define LATE_ROW "row 3 read=timeout read-link=errno:13 write=errno:13 tcp=errno:13 udp=errno:13"
#define LATE_COPY "row 2 read=errno:13 read-link=errno:13 write=errno:13 tcp=errno:13 udp=errno:13"
#define LATE_OTHER_COPY "row 2 read=errno:1 read-link=errno:13 write=errno:13 tcp=errno:13 udp=errno:13"

static void a_line_after_the_ending_is_no_go_unless_its_role_is_dead(void **state)
{
    const char *loud = "tree strict: 1 lines and messages of the grandchild came after the ending";

    (void)state;
    EXPECT_GO(late_text(scene_oracle, 1000, false, LATE_TRY)); /* exactly the grace */
    EXPECT(late_text(scene_oracle, 1001, false, LATE_TRY), "NO-GO", {"cancel.quiet", loud});
    EXPECT_GO(late_text(scene_oracle, 1001, true, LATE_TRY));
    EXPECT(late_text(scene_oracle, 1001, false, LATE_ROW), "INCOMPLETE",
           {"complete.outcomes", "tree strict grandchild/3 read is undetermined"}, {"cancel.quiet", loud});
}

static void a_late_copy_is_quiet_unless_it_differs(void **state)
{
    (void)state;
    EXPECT_GO(late_text(scene_oracle, 1001, false, LATE_COPY));
    EXPECT(late_text(scene_oracle, 1001, false, LATE_OTHER_COPY), "INCOMPLETE",
           {"complete.outcomes", "tree strict grandchild/2 read is undetermined (copies differ)"},
           {"cancel.quiet", "1 lines and messages of the grandchild"});
}

static void a_message_after_the_ending_is_no_go(void **state)
{
    struct scene *scene = scene_good();
    uint32_t run = strict_tree(scene);
    size_t place = scene_place(scene, run, SCENE(PROCESS_EXIT), 0);
    char text[128];

    (void)state;
    (void)snprintf(text, sizeof text, "EXHIBIT1 udp %s grandchild 5\n", scene->runs[run].nonces[3]);
    put_message(scene, place, 0, EXHIBIT__PROTOCOL__PROTOCOL_UDP, text);
    scene_delay(scene, place, 1100);
    EXPECT(scene, "NO-GO", {"boundary.traces", "a message of the grandchild"},
           {"cancel.quiet", "tree strict: 1 lines and messages of the grandchild came after the ending"});
}

static void a_role_without_identity_is_ended_by_its_last_line(void **state)
{
    static const char oracle[] = "version: 1\nidentities: optional\nbounds: {ended_ms: 900}\n"
                                 "trials: [{name: tree, roles: [parent, child, grandchild]}]\n";
    struct scene *scene = late_text(oracle, 900, false, LATE_TRY);

    (void)state;
    scene_drop(scene, strict_tree(scene), SCENE(PROCESS_IDENTITY));
    EXPECT_GO(scene);

    scene = late_text(oracle, 901, false, LATE_TRY);
    scene_drop(scene, strict_tree(scene), SCENE(PROCESS_IDENTITY));
    EXPECT(scene, "NO-GO", {"cancel.ended", "tree strict: the grandchild still wrote after the bound"});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reached_target_is_no_go_wherever_its_message_arrives),
        cmocka_unit_test(a_diversion_is_no_go_unless_the_oracle_allows_it),
        cmocka_unit_test(what_a_listener_hears_in_a_strict_run_is_a_trace),
        cmocka_unit_test(a_strict_nonce_in_any_payload_is_a_trace_an_earlier_one_too),
        cmocka_unit_test(a_touched_target_is_a_trace),
        cmocka_unit_test(each_way_in_which_a_target_changed_is_a_trace),
        cmocka_unit_test(a_canary_is_found_across_chunks_and_in_artifacts),
        cmocka_unit_test(a_canary_that_was_set_after_the_exit_or_shown_unconfined_is_no_trace),
        cmocka_unit_test(a_canary_that_was_set_while_the_run_was_on_is_found),
        cmocka_unit_test(a_right_proof_is_a_trace_and_reached),
        cmocka_unit_test(a_proof_that_comes_out_is_a_trace),
        cmocka_unit_test(an_input_or_a_workspace_that_changed_is_a_trace),
        cmocka_unit_test(a_case_that_fails_in_strict_mode_is_no_go),
        cmocka_unit_test(archives_that_differ_are_no_go),
        cmocka_unit_test(a_role_that_outlives_the_ending_is_no_go),
        cmocka_unit_test(a_role_that_may_have_ended_itself_is_no_go),
        cmocka_unit_test(a_line_after_the_ending_is_no_go_unless_its_role_is_dead),
        cmocka_unit_test(a_late_copy_is_quiet_unless_it_differs),
        cmocka_unit_test(a_message_after_the_ending_is_no_go),
        cmocka_unit_test(a_role_without_identity_is_ended_by_its_last_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
