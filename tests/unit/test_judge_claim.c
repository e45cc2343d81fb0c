/* docs/DECISION.md section 7: what a claim holds beside its rules. */
#include "judge_scene.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void a_good_recording_is_go(void **state)
{
    (void)state;
    EXPECT_GO(scene_good());
}

static void rules_stand_in_the_order_of_the_document(void **state)
{
    static const char *const names[] = {
        "complete.recording", "complete.pins",     "complete.observers", "complete.controls", "complete.spoke",
        "complete.outcomes",  "complete.baseline", "complete.cleanup",   "boundary.attempts", "boundary.traces",
        "useful.contract",    "useful.archives",   "cancel.ended",       "cancel.quiet"};
    struct scene *scene = scene_good();
    Exhibit__Claim *claim = scene_judge(scene);

    (void)state;
    assert_int_equal(claim->n_rules, 14);
    for (size_t i = 0; i < 14; i++)
        assert_string_equal(claim->rules[i]->rule, names[i]);
    exhibit__claim__free_unpacked(claim, NULL);
    scene_free(scene);
}

static void a_claim_is_bound_to_receipt_and_oracle(void **state)
{
    struct scene *scene = scene_good();
    struct digest receipt = digest_of("receipt", 7);
    Exhibit__Claim *claim = scene_judge(scene);

    (void)state;
    assert_int_equal(claim->version, 2);
    assert_int_equal(claim->receipt_sha256.len, DIGEST_BYTES);
    assert_memory_equal(claim->receipt_sha256.data, receipt.bytes, DIGEST_BYTES);
    assert_memory_equal(claim->oracle_sha256.data, scene->oracle.digest.bytes, DIGEST_BYTES);
    assert_false(claim->prospective);
    exhibit__claim__free_unpacked(claim, NULL);

    scene->events[0].event->recording_start->oracle_sha256.data[0] ^= 1;
    claim = scene_judge(scene);
    assert_true(claim->prospective);
    exhibit__claim__free_unpacked(claim, NULL);
    scene_free(scene);
}

/* Known answers, made with another program; that the judge derives the same is seen by every other test. */
static void nonces_are_derived_as_the_document_says(void **state)
{
    struct scene *scene = scene_good();
    uint32_t run = 7;

    (void)state;
    assert_string_equal(scene->runs[run].nonces[1], "07ab0000000000000000000000000000");
    assert_string_equal(scene->runs[run].nonces[2], "8c4c39da20db3501fed31bfd4d89231b");
    assert_string_equal(scene->runs[run].nonces[3], "fe6999043bdcc00116a8e43c4f0f992c");
    scene_free(scene);
}

static void cases_tell_each_run_and_its_archives_in_order(void **state)
{
    static const char oracle[] = "version: 1\ncases:\n"
                                 "  - {name: check, exit: 0, archives: [{path: '*.tar'}, {path: 'out.*'}]}\n";
    struct scene *scene = scene_good_under(oracle);
    uint32_t run = scene_run_of(scene, "check", MODE(BASELINE), 2);
    size_t place = scene_place(scene, run, SCENE(ARTIFACT), 0);
    Exhibit__Artifact *added;
    Exhibit__Claim *claim;

    (void)state;
    scene_insert(scene, place + 1, run, SCENE(ARTIFACT), scene->events[place].event->artifact);
    added = scene->events[place + 1].event->artifact;
    added->path.data[0] = 'a';
    added->is_archive = false;
    scene_event(scene, run, SCENE(RUN_EXIT), 0)->run_exit->how_case = EXHIBIT__RUN_EXIT__HOW_TERM_SIGNAL;
    scene_event(scene, run, SCENE(RUN_EXIT), 0)->run_exit->term_signal = 9;
    scene_remove(scene, scene_place(scene, scene_run_of(scene, "check", MODE(STRICT), 1), SCENE(RUN_EXIT), 0));
    claim = scene_judge(scene);
    assert_int_equal(claim->n_cases, 3);
    assert_string_equal(claim->cases[0]->mode, "baseline");
    assert_int_equal(claim->cases[0]->how_case, EXHIBIT__CASE_RESULT__HOW_EXIT);
    assert_true(claim->cases[0]->met);
    assert_int_equal(claim->cases[0]->n_archives, 1); /* once, though two patterns match */
    assert_int_equal(claim->cases[0]->archives[0]->members, 2);
    assert_int_equal(claim->cases[1]->repeat, 2);
    assert_int_equal(claim->cases[1]->how_case, EXHIBIT__CASE_RESULT__HOW_SIGNAL);
    assert_int_equal(claim->cases[1]->signal, 9);
    assert_false(claim->cases[1]->met);
    assert_int_equal(claim->cases[1]->n_archives, 2);
    assert_memory_equal(claim->cases[1]->archives[0]->path.data, "aut.tar", 7);
    assert_int_equal(claim->cases[1]->archives[0]->members, 0); /* no archive */
    assert_string_equal(claim->cases[2]->mode, "strict");
    assert_int_equal(claim->cases[2]->how_case, EXHIBIT__CASE_RESULT__HOW__NOT_SET);
    exhibit__claim__free_unpacked(claim, NULL);
    scene_free(scene);
}

/* Roles in order, rounds ascending though they came in another order, effects as planned. */
static void attempts_are_sorted(void **state)
{
    struct scene *scene = scene_good();
    uint32_t run = scene_run_of(scene, "tree", MODE(STRICT), 1);
    size_t place = scene_place(scene, run, SCENE(STEP), 0), at = 0;
    char row[1024], told[4096] = "", wanted[4096] = "";
    Exhibit__Claim *claim;

    (void)state;
    scene_row(scene, run, ROLE(GRANDCHILD), 4, "errno:13", row);
    scene_insert_text(scene, place, run, STREAM(STDOUT), row);
    scene_row(scene, run, ROLE(GRANDCHILD), 3, "errno:13", row);
    scene_insert_text(scene, place + 1, run, STREAM(STDOUT), row);
    claim = scene_judge(scene);
    for (size_t i = 0; i < claim->n_attempts; i++)
        if (strcmp(claim->attempts[i]->trial, "tree") == 0 && strcmp(claim->attempts[i]->mode, "strict") == 0)
            at += (size_t)snprintf(told + at, sizeof told - at, "%s/%u %s\n", claim->attempts[i]->role,
                                   claim->attempts[i]->round, claim->attempts[i]->effect);
    at = 0;
    for (unsigned line = 0; line < 6; line++)
        for (int i = 0; effect_names[i] != NULL; i++)
            at += (size_t)snprintf(wanted + at, sizeof wanted - at, "%s/%u %s\n",
                                   line == 0   ? "parent"
                                   : line == 1 ? "child"
                                               : "grandchild",
                                   line < 2 ? 1 : line - 1, effect_names[i]);
    assert_string_equal(told, wanted);
    assert_string_equal(claim->attempts[0]->trial, "bootstrap");
    assert_string_equal(claim->attempts[0]->mode, "baseline");
    assert_string_equal(claim->attempts[0]->outcome, "reached");
    exhibit__claim__free_unpacked(claim, NULL);
    scene_free(scene);
}

static void rows_messages_and_tree_are_told_for_both_modes(void **state)
{
    struct scene *scene = scene_good();
    Exhibit__Claim *claim = scene_judge(scene);
    const Exhibit__TreeMember *member = scene_member(claim, "tree", "strict", "grandchild");
    uint32_t run = scene_run_of(scene, "tree", MODE(STRICT), 1);

    (void)state;
    assert_int_equal(claim->n_rows, 4);
    assert_string_equal(claim->rows[2]->trial, "tree");
    assert_string_equal(claim->rows[2]->mode, "baseline");
    assert_int_equal(claim->rows[2]->count, 4);
    assert_int_equal(claim->n_messages, 4);
    assert_int_equal(claim->messages[2]->tcp, 4);
    assert_int_equal(claim->messages[2]->udp, 4);
    assert_int_equal(claim->messages[3]->tcp, 0);
    assert_int_equal(claim->n_tree, 8);
    assert_int_equal(member->pid, run * 100 + 3);
    assert_int_equal(member->start_time, run * 100 + 10);
    assert_string_equal(member->ended_by, "step");
    assert_int_equal(member->survived_ms, 30);
    assert_int_equal(claim->n_not_measured, 0);
    exhibit__claim__free_unpacked(claim, NULL);

    scene_drop(scene, run, EXHIBIT__EVENT__WHAT__NOT_SET); /* a run that is not there has counts all the same */
    claim = scene_judge(scene);
    assert_int_equal(claim->n_rows, 4);
    assert_int_equal(claim->rows[3]->count, 0);
    assert_int_equal(claim->n_messages, 4);
    assert_int_equal(claim->n_tree, 5);
    exhibit__claim__free_unpacked(claim, NULL);
    scene_free(scene);
}

static void effects_that_no_trial_asks_for_are_not_measured(void **state)
{
    struct scene *scene = scene_good_under("version: 1\ntrials:\n"
                                           "  - {name: tree, roles: [parent], effects: [read, tcp]}\n"
                                           "  - {name: bootstrap, roles: [parent], effects: [udp]}\n");
    Exhibit__Claim *claim = scene_judge(scene);

    (void)state;
    assert_int_equal(claim->n_not_measured, 2);
    assert_string_equal(claim->not_measured[0], "read-link");
    assert_string_equal(claim->not_measured[1], "write");
    exhibit__claim__free_unpacked(claim, NULL);
    scene_free(scene);
}

static void all_failures_are_counted_and_the_first_few_told(void **state)
{
    struct scene *scene = scene_good();
    uint32_t run = scene_run_of(scene, "tree", MODE(STRICT), 1);
    Exhibit__Claim *claim;
    const Exhibit__RuleResult *rule;

    (void)state;
    for (int i = 0; effect_names[i] != NULL; i++)
        scene_tell(scene, run, ROLE(GRANDCHILD), 2, effect_names[i], "errno:5");
    claim = scene_judge(scene);
    rule = claim->rules[5];
    assert_string_equal(rule->rule, "complete.outcomes");
    assert_non_null(strstr(rule->detail, "tree strict grandchild/2 tcp is undetermined; and 1 more"));
    assert_int_equal(rule->n_evidence, 4);
    assert_string_equal(rule->evidence[0], "run tree strict row grandchild/2");
    exhibit__claim__free_unpacked(claim, NULL);
    scene_free(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_recording_is_go),
        cmocka_unit_test(rules_stand_in_the_order_of_the_document),
        cmocka_unit_test(a_claim_is_bound_to_receipt_and_oracle),
        cmocka_unit_test(nonces_are_derived_as_the_document_says),
        cmocka_unit_test(cases_tell_each_run_and_its_archives_in_order),
        cmocka_unit_test(attempts_are_sorted),
        cmocka_unit_test(rows_messages_and_tree_are_told_for_both_modes),
        cmocka_unit_test(effects_that_no_trial_asks_for_are_not_measured),
        cmocka_unit_test(all_failures_are_counted_and_the_first_few_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
