/*
 * The verifier's own decision: a good scene is GO, and each rule fails for its own reason when one fact is changed.
 */
#include "verify_stage.h"

static void a_good_scene_is_go(void **state)
{
    struct stage stage = set_up(NULL);
    Exhibit__Claim *claim = derive(&stage);

    (void)state;
    for (size_t i = 0; i < claim->n_rules; i++)
        if (!claim->rules[i]->holds)
            fail_msg("%s: %s", claim->rules[i]->rule, claim->rules[i]->detail);
    assert_string_equal(claim->decision, "GO");
    assert_int_equal(claim->n_rules, 14);
    assert_int_equal(claim->n_cases, 3);
    assert_int_equal(claim->n_attempts, 50); /* two modes, 5 rows, 5 effects */
    assert_int_equal(claim->rows[1]->count, 5);
    assert_int_equal(claim->messages[0]->tcp, 5);
    assert_int_equal(claim->messages[1]->udp, 0);
    assert_int_equal(claim->n_tree, 6);
    assert_string_equal(claim->tree[5]->ended_by, "step");
    assert_int_equal(claim->n_not_measured, 0);
    assert_false(claim->prospective);
    exhibit__claim__free_unpacked(claim, NULL);
    scene_free(stage.scene);
}

/* ---- one change for each way in which a rule can fail ---- */

static void no_end(struct stage *s)
{
    SCENE_DROP(s->scene, 0, RECORDING_END, 0);
}

static void wrong_count(struct stage *s)
{
    s->scene->miscounted = true;
}

static void partial(struct stage *s)
{
    s->scene->partial = true;
}

static void no_exit(struct stage *s)
{
    SCENE_DROP(s->scene, SCENE_STRICT, RUN_EXIT, 0);
}

static void other_trial(struct stage *s)
{
    s->oracle.trials[0].name = (char *)(uintptr_t) "other";
}

static void no_trial(struct stage *s)
{
    s->oracle.oracle.trial_count = 0;
}

static void overdue(struct stage *s)
{
    SCENE_FIND(s->scene, SCENE_STRICT, STEP, 0)->step->trigger = EXHIBIT__STEP__TRIGGER__TRIGGER_OVERDUE;
}

static void no_step(struct stage *s)
{
    SCENE_DROP(s->scene, SCENE_TRIAL_BASELINE, STEP, 0);
}

static void thawed(struct stage *s)
{
    struct scene *scene = s->scene;
    size_t at = scene_at(scene, 0, EXHIBIT__EVENT__WHAT_FREEZE, 1);

    scene_freeze(scene, 0, EXHIBIT__FREEZE_MOMENT__FREEZE_AFTER_BASELINE, "changed work");
    scene_move_last(scene, at);
    scene_drop(scene, at + 1);
}

static void nothing_frozen(struct stage *s)
{
    SCENE_DROP(s->scene, 0, FREEZE, 0);
}

static void lost(struct stage *s)
{
    SCENE_ADD(s->scene, SCENE_CONTROL_AFTER, LOST)->lost->observer = EXHIBIT__SOURCE__SOURCE_INOTIFY;
    scene_move_last(s->scene, s->scene->count - 3);
}

static void dropped(struct stage *s)
{
    SCENE_FIND(s->scene, SCENE_CONTROL_BEFORE, DROPS, 1)->drops->count = 3;
}

static void no_counter(struct stage *s)
{
    SCENE_DROP(s->scene, SCENE_STRICT, DROPS, 0);
}

static void no_state(struct stage *s)
{
    size_t at = scene_at(s->scene, SCENE_STRICT, EXHIBIT__EVENT__WHAT_RUN_EXIT, 0);

    while (s->scene->events[at].event->what_case != EXHIBIT__EVENT__WHAT_TARGET_STATE ||
           s->scene->events[at].event->target_state->target != EXHIBIT__TARGET_NAME__TARGET_FOLDER)
        at++;
    scene_drop(s->scene, at); /* the next one follows a reset */
}

static void stream_unfinished(struct stage *s)
{
    SCENE_DROP(s->scene, SCENE_STRICT, STREAM_END, 1);
}

static void unseen(struct stage *s)
{
    SCENE_DROP(s->scene, SCENE_STRICT, PROCESS_IDENTITY, 1);
}

static void not_gone(struct stage *s)
{
    SCENE_DROP(s->scene, SCENE_STRICT, PROCESS_EXIT, 2);
}

static void not_alive(struct stage *s)
{
    SCENE_FIND(s->scene, SCENE_STRICT, STEP, 0)->step->alive[1]->start_time++;
}

static void two_identities(struct stage *s)
{
    Exhibit__ProcessIdentity *process = scene_identify(s->scene, SCENE_STRICT, 2);

    process->pid = 999;
    scene_move_last(s->scene, scene_at(s->scene, SCENE_STRICT, EXHIBIT__EVENT__WHAT_STEP, 0));
}

static void control_failed(struct stage *s)
{
    assert_true(scene_replace(s->scene, SCENE_CONTROL_BEFORE, "tcp=ok", "tcp=errno:111", 0));
}

static void control_unheard(struct stage *s)
{
    SCENE_DROP(s->scene, SCENE_CONTROL_AFTER, MESSAGE, 1);
}

static void control_untouched(struct stage *s)
{
    for (size_t i = 0; i < 3; i++)
        SCENE_FIND(s->scene, SCENE_CONTROL_BEFORE, FILE_EVENT, i * 3 + 1)->file_event->target =
            EXHIBIT__TARGET_NAME__TARGET_FOLDER;
}

static void control_contested(struct stage *s)
{
    assert_true(scene_replace(s->scene, SCENE_CONTROL_AFTER, "udp=ok", "udp=timeout",
                              EXHIBIT__STREAM_NAME__STREAM_SCRATCH_PARENT));
}

static void silent_child(struct stage *s)
{
    assert_true(scene_replace(s->scene, SCENE_STRICT, " child 1 ", " child 01 ", 0));
}

static void contested(struct stage *s)
{
    assert_true(scene_replace(s->scene, SCENE_STRICT, "child 1 read=errno:13", "child 1 read=errno:1",
                              EXHIBIT__STREAM_NAME__STREAM_SCRATCH_CHILD));
}

static void unlisted(struct stage *s)
{
    assert_true(scene_replace(s->scene, SCENE_STRICT, "tcp=errno:13", "tcp=errno:5", 0));
}

static void refused_network(struct stage *s)
{
    assert_true(scene_replace(s->scene, SCENE_STRICT, "tcp=errno:13", "tcp=errno:111", 0));
}

static void baseline_unmet(struct stage *s)
{
    assert_true(scene_replace(s->scene, SCENE_CASE_AGAIN, "done", "over", 0));
}

static void remaining(struct stage *s)
{
    SCENE_FIND(s->scene, SCENE_LAUNCHER, ALL_GONE, 0)->all_gone->remaining = 2;
}

static void hasty(struct stage *s)
{
    SCENE_ADD(s->scene, SCENE_STRICT, CLEANUP)->cleanup->reason = EXHIBIT__CLEANUP__REASON__REASON_BOUND;
    scene_move_last(s->scene, scene_at(s->scene, SCENE_STRICT, EXHIBIT__EVENT__WHAT_ALL_GONE, 0));
}

static void reached_read(struct stage *s)
{
    char success[80], told[128];

    scene_success(SCENE_STRICT, 3, 2, 0, success, sizeof success);
    (void)snprintf(told, sizeof told, "grandchild 2 read=%s", success);
    assert_true(scene_replace(s->scene, SCENE_STRICT, "grandchild 2 read=errno:13", told, 0));
}

static void diverted_read(struct stage *s)
{
    char told[128];

    (void)snprintf(told, sizeof told, "parent 1 read=ok:%064d", 0);
    assert_true(scene_replace(s->scene, SCENE_STRICT, "parent 1 read=errno:13", told, 0));
}

static void connection(struct stage *s)
{
    size_t at = scene_at(s->scene, SCENE_STRICT, EXHIBIT__EVENT__WHAT_STEP, 0);

    scene_message_of(s->scene, SCENE_STRICT, 1, 1, false);
    scene_move_last(s->scene, at); /* the message, then the connection before it */
    scene_move_last(s->scene, at);
}

static void stray_nonce(struct stage *s)
{
    Exhibit__Message *message = SCENE_FIND(s->scene, SCENE_CONTROL_AFTER, MESSAGE, 1)->message;
    char nonce[33], text[64];

    scene_nonce(SCENE_STRICT, 2, nonce);
    (void)snprintf(text, sizeof text, "see %s, says someone", nonce);
    free(message->payload.data);
    message->payload = scene_text(text);
}

static void target_changed(struct stage *s)
{
    size_t at = scene_at(s->scene, SCENE_STRICT, EXHIBIT__EVENT__WHAT_FREEZE, 1);

    while (s->scene->events[at].event->what_case != EXHIBIT__EVENT__WHAT_TARGET_STATE)
        at++;
    s->scene->events[at].event->target_state->ctime_ns++;
}

static void leaked_stderr(struct stage *s)
{
    char text[128];

    (void)snprintf(text, sizeof text, "oops: %s\n", scene_canary_link);
    scene_say(s->scene, SCENE_LAUNCHER, EXHIBIT__STREAM_NAME__STREAM_STDERR, text);
    scene_move_last(s->scene, scene_at(s->scene, SCENE_LAUNCHER, EXHIBIT__EVENT__WHAT_RUN_EXIT, 0));
}

static void leaked_artifact(struct stage *s)
{
    Exhibit__Artifact *artifact = SCENE_FIND(s->scene, SCENE_CASE_STRICT, ARTIFACT, 0)->artifact;
    char text[128];

    (void)snprintf(text, sizeof text, "archive with %s in it", scene_canary);
    memcpy(artifact->sha256.data, scene_put(s->scene, text, strlen(text)).bytes, DIGEST_BYTES);
}

/* The proof of another round than those that were told, among other digits. */
static void leaked_proof(struct stage *s)
{
    char success[80], text[128];

    scene_success(SCENE_STRICT, 3, 2, 1, success, sizeof success);
    (void)snprintf(text, sizeof text, "0%s0\n", success + strlen("ok:"));
    scene_say(s->scene, SCENE_STRICT, EXHIBIT__STREAM_NAME__STREAM_STDERR, text);
    scene_move_last(s->scene, scene_at(s->scene, SCENE_STRICT, EXHIBIT__EVENT__WHAT_RUN_EXIT, 0));
}

static void copy_changed(struct stage *s)
{
    Exhibit__Freeze *freeze = SCENE_FIND(s->scene, SCENE_CASE_STRICT, FREEZE, 1)->freeze;

    freeze->list_sha256.data[0] ^= 1;
}

static void copy_unfrozen(struct stage *s)
{
    SCENE_DROP(s->scene, SCENE_LAUNCHER, FREEZE, 1);
}

static void strict_unmet(struct stage *s)
{
    SCENE_FIND(s->scene, SCENE_CASE_STRICT, RUN_EXIT, 0)->run_exit->exit_status = 3;
}

static void watchdog(struct stage *s)
{
    SCENE_FIND(s->scene, SCENE_CASE_STRICT, RUN_EXIT, 0)->run_exit->watchdog = true;
}

static void cut_stream(struct stage *s)
{
    SCENE_FIND(s->scene, SCENE_CASE_STRICT, STREAM_END, 1)->stream_end->how = EXHIBIT__STREAM_END__HOW__HOW_LIMIT;
}

static void member_differs(struct stage *s)
{
    SCENE_FIND(s->scene, SCENE_CASE_STRICT, ARTIFACT, 0)->artifact->members[1]->mode = 0600;
}

static void no_archive(struct stage *s)
{
    SCENE_DROP(s->scene, SCENE_CASE_STRICT, ARTIFACT, 0);
}

static void bytes_differ(struct stage *s)
{
    s->oracle.archives[0].bytes = true;
    SCENE_FIND(s->scene, SCENE_CASE_STRICT, ARTIFACT, 0)->artifact->kept = true;
    memcpy(SCENE_FIND(s->scene, SCENE_CASE_STRICT, ARTIFACT, 0)->artifact->sha256.data,
           scene_put(s->scene, "other archive", 13).bytes, DIGEST_BYTES);
}

/* All that follows the last step comes so much later. */
static void delay_after_step(struct stage *s, uint64_t by_ms)
{
    size_t at = scene_at(s->scene, SCENE_STRICT, EXHIBIT__EVENT__WHAT_STEP, 0);

    while (++at < s->scene->count)
        s->scene->events[at].event->at_ns += by_ms * SCENE_MS;
}

static void late_end(struct stage *s)
{
    delay_after_step(s, 2100);
}

static void self_end(struct stage *s)
{
    s->oracle.oracle.ended_ms = 60000;
    delay_after_step(s, 7400);
}

static void late_try(struct stage *s)
{
    char line[128], nonce[33];

    delay_after_step(s, 700);
    scene_nonce(SCENE_STRICT, 3, nonce);
    (void)snprintf(line, sizeof line, "EXHIBIT1 try %s grandchild 3 udp\n", nonce);
    scene_say(s->scene, SCENE_STRICT, EXHIBIT__STREAM_NAME__STREAM_STDOUT, line);
    scene_move_last(s->scene, scene_at(s->scene, SCENE_STRICT, EXHIBIT__EVENT__WHAT_PROCESS_EXIT, 0));
}

static const struct fault {
    const char *rule;
    change *make;
    const char *text;
    const char *decision;
} faults[] = {
    {"complete.recording", no_end, "is not the end of the recording", "INCOMPLETE"},
    {"complete.recording", wrong_count, "is not the end of the recording", "INCOMPLETE"},
    {"complete.recording", partial, "partial", "INCOMPLETE"},
    {"complete.recording", no_exit, "run tree/strict has no observed end", "INCOMPLETE"},
    {"complete.recording", other_trial, "there is no run other/baseline 1", "INCOMPLETE"},
    {"complete.recording", no_trial, "the oracle names no trial", "INCOMPLETE"},
    {"complete.recording", overdue, "step 1 of run tree/strict is not as planned", "INCOMPLETE"},
    {"complete.recording", no_step, "run tree/baseline has 0 of 1 planned steps", "INCOMPLETE"},
    {"complete.pins", thawed, "input workspace is another after the baseline", "INCOMPLETE"},
    {"complete.pins", nothing_frozen, "no input is frozen", "INCOMPLETE"},
    {"complete.observers", lost, "an observer lost events", "INCOMPLETE"},
    {"complete.observers", dropped, "dropped 3 messages", "INCOMPLETE"},
    {"complete.observers", no_counter, "lacks the drop counter of tcp", "INCOMPLETE"},
    {"complete.observers", no_state, "target 4 lacks a state before or after run tree/strict", "INCOMPLETE"},
    {"complete.observers", stream_unfinished, "stream 2 of run tree/strict has no end", "INCOMPLETE"},
    {"complete.observers", unseen, "child of run tree/strict was not seen as a process", "INCOMPLETE"},
    {"complete.observers", not_gone, "grandchild of run tree/strict was not seen to be gone", "INCOMPLETE"},
    {"complete.observers", not_alive, "child of run tree/strict was not seen alive", "INCOMPLETE"},
    {"complete.observers", two_identities, "child of run tree/strict has two identities", "INCOMPLETE"},
    {"complete.controls", control_failed, "tcp of run tree/control row parent/1 did not succeed", "INCOMPLETE"},
    {"complete.controls", control_unheard, "udp of run tree/control 2 row parent/1 was not seen", "INCOMPLETE"},
    {"complete.controls", control_untouched, "read-link of run tree/control row parent/1 left no file", "INCOMPLETE"},
    {"complete.controls", control_contested, "told in copies that differ", "INCOMPLETE"},
    {"complete.spoke", silent_child, "child of run tree/strict left no row", "INCOMPLETE"},
    {"complete.outcomes", contested, "read of run tree/strict row child/1 is undetermined", "INCOMPLETE"},
    {"complete.outcomes", unlisted, "tcp of run tree/strict row parent/1 is undetermined", "INCOMPLETE"},
    {"complete.outcomes", refused_network, "tcp of run tree/strict row parent/1 is undetermined", "INCOMPLETE"},
    {"complete.baseline", baseline_unmet, "build baseline 2: oracle line 4: stdout contains: exp", "INCOMPLETE"},
    {"complete.cleanup", remaining, "run launcher/strict left 2 processes", "INCOMPLETE"},
    {"complete.cleanup", hasty, "the cleanup of run tree/strict came too early for parent", "INCOMPLETE"},
    {"boundary.attempts", reached_read, "read of run tree/strict row grandchild/2 reached", "NO-GO"},
    {"boundary.attempts", diverted_read, "read of run tree/strict row parent/1 was diverted", "NO-GO"},
    {"boundary.attempts", connection, "tcp of run tree/strict row parent/1 reached", "NO-GO"},
    {"boundary.traces", reached_read, "proves reads in 1 attempts, the first in row grandchild/2", "NO-GO"},
    {"boundary.traces", connection, "a message in run tree/strict", "NO-GO"},
    {"boundary.traces", stray_nonce, "holds a nonce of a strict run", "INCOMPLETE"},
    {"boundary.traces", target_changed, "target canary_read changed over run tree/strict", "NO-GO"},
    {"boundary.traces", leaked_stderr, "a canary's content is in stderr of run launcher/strict", "NO-GO"},
    {"boundary.traces", leaked_proof, "a proof of a strict read is in stderr of run tree/strict", "NO-GO"},
    {"boundary.traces", leaked_artifact, "a canary's content is in an artifact of run build/strict", "NO-GO"},
    {"boundary.traces", copy_changed, "run build/strict left its workspace changed", "NO-GO"},
    {"boundary.traces", copy_unfrozen, "run launcher/strict lacks a freeze", "NO-GO"},
    {"useful.contract", strict_unmet, "build strict 1: oracle line 3: exit: expected exit status 0,", "NO-GO"},
    {"useful.contract", watchdog, "build strict 1: its watchdog ended it", "NO-GO"},
    {"useful.contract", cut_stream, "oracle line 4: stdout contains: cannot be evaluated: ", "NO-GO"},
    {"useful.archives", member_differs, "build: oracle line 5: archive *.tgz: member \"b\" differs in mode", "NO-GO"},
    {"useful.archives", no_archive, "archive *.tgz: not exactly one file matches in strict", "NO-GO"},
    {"useful.archives", bytes_differ, "archive *.tgz: its members are the same in both modes, its bytes", "NO-GO"},
    {"cancel.ended", late_end, "later than 2000 ms", "NO-GO"},
    {"cancel.ended", self_end, "may have ended by itself", "NO-GO"},
    {"cancel.quiet", late_try, "a line of grandchild of run tree/strict arrived after the grace", "NO-GO"},
};

static void each_rule_fails_for_its_own_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        struct stage stage = set_up(faults[i].make);
        Exhibit__Claim *claim = derive(&stage);
        const Exhibit__RuleResult *rule = rule_of(claim, faults[i].rule);

        if (rule->holds || strstr(rule->detail, faults[i].text) == NULL)
            fail_msg("fault %zu: %s says \"%s\", not \"%s\"", i, faults[i].rule, rule->detail, faults[i].text);
        if (strcmp(claim->decision, faults[i].decision) != 0)
            fail_msg("fault %zu (%s): decision %s", i, faults[i].text, claim->decision);
        exhibit__claim__free_unpacked(claim, NULL);
        scene_free(stage.scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_scene_is_go),
        cmocka_unit_test(each_rule_fails_for_its_own_reason),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
