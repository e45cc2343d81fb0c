/*
 * What the claim says beside its rules: outcomes, copies, counts, the tree; and how two claims are told apart.
 */
#include "replay_scene.h"

#include "replay/derive.h"
#include "replay/differ.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WHAT(kind) EXHIBIT__EVENT__WHAT_##kind

static struct scene scene;
static struct facts facts;

static int start(void **state)
{
    (void)state;
    scene_init(&scene);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    facts_done(&facts);
    scene_done(&scene);
    return 0;
}

/* The claim of the scene, which was built. */
static const Exhibit__Claim *claimed(void)
{
    const Exhibit__Claim *claim = NULL;
    struct err err = {0};

    if (scene_claim(&scene, &facts, &claim, &err) < 0)
        fail_msg("no claim: %s", err.text);
    return claim;
}

/* The attempt of the strict run. */
static const Exhibit__AttemptResult *attempt_of(const Exhibit__Claim *claim, const char *role, uint32_t round,
                                                const char *effect)
{
    for (size_t i = 0; i < claim->n_attempts; i++) {
        const Exhibit__AttemptResult *attempt = claim->attempts[i];

        if (strcmp(attempt->mode, "strict") == 0 && strcmp(attempt->role, role) == 0 && attempt->round == round &&
            strcmp(attempt->effect, effect) == 0)
            return attempt;
    }
    fail_msg("no such attempt");
    return NULL;
}

static bool rule_holds(const Exhibit__Claim *claim, const char *rule)
{
    for (size_t i = 0; i < claim->n_rules; i++)
        if (strcmp(claim->rules[i]->rule, rule) == 0)
            return claim->rules[i]->holds;
    fail_msg("no such rule");
    return false;
}

static void the_claim_of_the_good_scene(void **state)
{
    const Exhibit__Claim *claim;

    (void)state;
    scene_build(&scene);
    claim = claimed();
    assert_false(claim->prospective);
    assert_int_equal(claim->n_rules, 14);
    assert_string_equal(claim->rules[0]->rule, "complete.recording");
    assert_string_equal(claim->rules[13]->rule, "cancel.quiet");
    assert_int_equal(claim->n_cases, 3);
    assert_string_equal(claim->cases[1]->mode, "baseline");
    assert_int_equal(claim->cases[1]->repeat, 2);
    assert_int_equal(claim->cases[2]->how_case, EXHIBIT__CASE_RESULT__HOW_EXIT);
    assert_int_equal(claim->cases[2]->n_archives, 1);
    assert_int_equal(claim->cases[2]->archives[0]->members, 1);
    assert_int_equal(claim->n_attempts, 2 * 4 * 5);
    assert_string_equal(claim->attempts[0]->mode, "baseline");
    assert_string_equal(claim->attempts[0]->outcome, "reached");
    assert_string_equal(claim->attempts[15]->role, "grandchild");
    assert_int_equal(claim->attempts[15]->round, 2);
    assert_int_equal(claim->n_rows, 2);
    assert_int_equal(claim->rows[1]->count, 4);
    assert_int_equal(claim->messages[0]->tcp, 4);
    assert_int_equal(claim->messages[0]->udp, 4);
    assert_int_equal(claim->messages[1]->tcp, 0);
    assert_int_equal(claim->n_tree, 6);
    assert_int_equal(claim->tree[3]->pid, RUN_STRICT * 100 + PARENT);
    assert_string_equal(claim->tree[3]->ended_by, "step");
    assert_int_equal(claim->tree[3]->survived_ms, 101);
    assert_int_equal(claim->n_not_measured, 0);
}

/* Each branch of DECISION 3.2 but those of the events. */
static void outcomes_follow_from_what_was_told(void **state)
{
    static const struct {
        int effect;
        const char *told;
        bool private;
        const char *outcome;
        uint32_t number;
    } rows[] = {
        {0, "errno:13", false, "denied", 13},
        {0, "errno:5", false, "undetermined", 5},
        {0, "ok:0000000000000000000000000000000000000000000000000000000000000000", false, "diverted", 0},
        {0, "proof", false, "reached", 0},
        {1, "proof", false, "reached", 0},
        {0, "timeout", false, "undetermined", 0},
        {2, "timeout", false, "denied", 0},
        {3, "timeout", false, "undetermined", 0},
        {3, "timeout", true, "denied", 0},
        {2, "signal:31", false, "denied", 0},
        {0, "signal:31", false, "undetermined", 0},
        {3, "signal:31", false, "denied", 0},
        {3, "errno:111", true, "denied", 111},
        {3, "errno:111", false, "undetermined", 111},
        {3, "errno:13", false, "denied", 13},
        {4, "ok", true, "diverted", 0},
        {4, "ok", false, "undetermined", 0},
        {2, "ok", false, "diverted", 0},
    };
    static const char *const effects[] = {"read", "read-link", "write", "tcp", "udp"};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const Exhibit__AttemptResult *attempt;

        if (i > 0)
            scene_init(&scene);
        scene.told[rows[i].effect] = rows[i].told;
        for (int effect = 2; effect < 4; effect++)
            scene.denials[effect].timeout = scene.denials[effect].signal = true;
        scene_build(&scene);
        for (int role = 0; role < 3; role++)
            scene_find(&scene, WHAT(PROCESS_IDENTITY), RUN_STRICT, (size_t)role)
                ->process_identity->routes_beyond_loopback = rows[i].private ? 0 : 1;
        attempt = attempt_of(claimed(), "child", 1, effects[rows[i].effect]);
        assert_string_equal(attempt->outcome, rows[i].outcome);
        assert_int_equal(attempt->errno_value, rows[i].number);
        if (i + 1 < sizeof rows / sizeof *rows)
            (void)stop(NULL);
    }
}

static void an_uplink_that_comes_later_is_one(void **state)
{
    static const char *const outcomes[] = {"undetermined", "undetermined", "denied"};

    (void)state;
    for (size_t i = 0; i < sizeof outcomes / sizeof *outcomes; i++) {
        Exhibit__Event *first, *again;

        if (i > 0)
            scene_init(&scene);
        scene.told[3] = "errno:111";
        scene_build(&scene);
        for (int role = 0; role < 3; role++)
            scene_find(&scene, WHAT(PROCESS_IDENTITY), RUN_STRICT, (size_t)role)
                ->process_identity->routes_beyond_loopback = 0;
        first = scene_find(&scene, WHAT(PROCESS_IDENTITY), RUN_STRICT, 1);
        again = scene_insert(&scene, scene_find(&scene, WHAT(STEP), RUN_STRICT, 0), RUN_STRICT);
        again->what_case = WHAT(PROCESS_IDENTITY);
        again->process_identity = scene_take(&scene, sizeof *again->process_identity);
        *again->process_identity = *first->process_identity;
        if (i == 0)
            again->process_identity->routes_beyond_loopback = 1;
        if (i == 1)
            again->process_identity->network_namespace += 1;
        if (i == 2)
            again->process_identity->routes_case = EXHIBIT__PROCESS_IDENTITY__ROUTES__NOT_SET;
        assert_string_equal(attempt_of(claimed(), "child", 1, "tcp")->outcome, outcomes[i]);
        if (i + 1 < sizeof outcomes / sizeof *outcomes)
            (void)stop(NULL);
    }
}

static void a_trace_that_nothing_explains_reaches_every_attempt_of_its_effect(void **state)
{
    Exhibit__Event *event;
    const Exhibit__Claim *claim;

    (void)state;
    scene_build(&scene);
    event = scene_insert(&scene, scene_find(&scene, WHAT(STEP), RUN_STRICT, 0), RUN_STRICT);
    event->what_case = WHAT(FILE_EVENT);
    event->file_event = scene_take(&scene, sizeof *event->file_event);
    exhibit__file_event__init(event->file_event);
    event->file_event->target = EXHIBIT__TARGET_NAME__TARGET_CANARY_LINK;
    claim = claimed();
    assert_string_equal(attempt_of(claim, "grandchild", 2, "read-link")->outcome, "reached");
    assert_string_equal(attempt_of(claim, "grandchild", 2, "read")->outcome, "denied");
    assert_false(rule_holds(claim, "boundary.attempts"));
}

static void copies_that_differ_make_a_row_undetermined(void **state)
{
    const Exhibit__Claim *claim;

    (void)state;
    scene.told[0] = "errno:1";
    scene.extra_stdout = scene_row(&scene, RUN_STRICT, CHILD, 1);
    scene.told[0] = "errno:13";
    scene_build(&scene);
    claim = claimed();
    assert_string_equal(attempt_of(claim, "child", 1, "tcp")->outcome, "undetermined");
    assert_int_equal(attempt_of(claim, "child", 1, "read")->errno_value, 13);
    assert_string_equal(attempt_of(claim, "parent", 1, "tcp")->outcome, "denied");
    assert_int_equal(claim->rows[1]->count, 4);
    assert_false(rule_holds(claim, "complete.outcomes"));
}

static void equal_copies_are_one_row(void **state)
{
    const Exhibit__Claim *claim;

    (void)state;
    scene.extra_stdout = scene_row(&scene, RUN_STRICT, CHILD, 1);
    scene_build(&scene);
    claim = claimed();
    assert_int_equal(claim->rows[1]->count, 4);
    assert_string_equal(claim->decision, "GO");
}

static void another_oracle_makes_the_claim_prospective(void **state)
{
    (void)state;
    scene.oracle.digest = digest_of("another", 7);
    scene_build(&scene);
    assert_true(claimed()->prospective);
}

static void an_effect_that_no_trial_names_is_not_measured(void **state)
{
    const Exhibit__Claim *claim;

    (void)state;
    scene.trial.effect_count = 4;
    scene_build(&scene);
    claim = claimed();
    assert_int_equal(claim->n_not_measured, 1);
    assert_string_equal(claim->not_measured[0], "udp");
}

/* Each way to end is told by its name (DECISION 4.3). */
static void ended_by_names_the_first_that_applies(void **state)
{
    Exhibit__Event *event, *gone;
    const Exhibit__Claim *claim;

    (void)state;
    scene.gone_ms = 7500;
    scene_build(&scene);
    gone = scene_find(&scene, WHAT(PROCESS_EXIT), RUN_STRICT, PARENT - 1);
    event = scene_insert(&scene, scene_find(&scene, WHAT(CHUNK), RUN_STRICT, 0), RUN_STRICT);
    event->what_case = WHAT(PROCESS_EXIT);
    event->process_exit = gone->process_exit;
    event = scene_find(&scene, WHAT(PROCESS_EXIT), RUN_STRICT, CHILD); /* the inserted one comes before it */
    event = scene_insert(&scene, event, RUN_STRICT);
    event->what_case = WHAT(CLEANUP);
    event->cleanup = scene_take(&scene, sizeof *event->cleanup);
    exhibit__cleanup__init(event->cleanup);
    scene_drop(&scene, scene_find(&scene, WHAT(PROCESS_EXIT), RUN_BASELINE, PARENT - 1));
    scene_drop(&scene, scene_find(&scene, WHAT(STEP), RUN_BASELINE, 0));
    claim = claimed();
    assert_string_equal(claim->tree[0]->ended_by, "none");
    assert_string_equal(claim->tree[1]->ended_by, "early");
    assert_int_equal(claim->tree[1]->survived_ms, 0);
    assert_string_equal(claim->tree[3]->ended_by, "early");
    assert_string_equal(claim->tree[4]->ended_by, "self-expiry");
    assert_string_equal(claim->tree[5]->ended_by, "cleanup");
}

/* ---- differences ---- */

static char told[4096];

static void hear(void *context, const char *text)
{
    (void)context;
    (void)strcat(strcat(told, text), "\n");
}

static size_t differences(const Exhibit__Claim *recorded, const Exhibit__Claim *derived)
{
    size_t count = 99;
    struct err err = {0};

    told[0] = 0;
    assert_int_equal(claims_differ(recorded, derived, hear, NULL, &count, &err), 0);
    return count;
}

static void claims_differ_in_what_they_state_and_not_in_free_texts(void **state)
{
    const Exhibit__Claim *claim;
    Exhibit__Claim other;
    Exhibit__RuleResult rule, *other_rules[14];
    Exhibit__AttemptResult attempt;

    (void)state;
    scene_build(&scene);
    claim = claimed();
    other = *claim;
    other.rules = other_rules;
    memcpy(other_rules, claim->rules, sizeof other_rules);
    rule = *claim->rules[3];
    other_rules[3] = &rule;
    rule.detail = (char *)"in other words";
    assert_int_equal(differences(&other, claim), 0);
    rule.holds = false;
    assert_int_equal(differences(&other, claim), 1);
    assert_string_equal(told, "recorded: rule complete.controls fails; derived: rule complete.controls holds\n");
    rule.holds = true;
    attempt = *claim->attempts[1];
    attempt.at_ns++;
    claim->attempts[1]->round = 1;
    other.attempts = scene_take(&scene, claim->n_attempts * sizeof *other.attempts);
    memcpy(other.attempts, claim->attempts, claim->n_attempts * sizeof *other.attempts);
    other.attempts[1] = &attempt;
    assert_int_equal(differences(&other, claim), 1);
    assert_non_null(strstr(told, "recorded: attempt tree/baseline/parent/1/read-link reached errno 0 at "));
    other.n_attempts--;
    other.n_tree = 0;
    other.decision = (char *)"NO-GO";
    assert_int_equal(differences(&other, claim), 4);
    assert_non_null(strstr(told, "0 members of trees are recorded, 6 derived"));
    assert_non_null(strstr(told, "recorded: decision NO-GO; derived: GO"));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_claim_of_the_good_scene, start, stop),
        cmocka_unit_test_setup_teardown(an_uplink_that_comes_later_is_one, start, stop),
        cmocka_unit_test_setup_teardown(outcomes_follow_from_what_was_told, start, stop),
        cmocka_unit_test_setup_teardown(a_trace_that_nothing_explains_reaches_every_attempt_of_its_effect, start, stop),
        cmocka_unit_test_setup_teardown(copies_that_differ_make_a_row_undetermined, start, stop),
        cmocka_unit_test_setup_teardown(equal_copies_are_one_row, start, stop),
        cmocka_unit_test_setup_teardown(another_oracle_makes_the_claim_prospective, start, stop),
        cmocka_unit_test_setup_teardown(an_effect_that_no_trial_names_is_not_measured, start, stop),
        cmocka_unit_test_setup_teardown(ended_by_names_the_first_that_applies, start, stop),
        cmocka_unit_test_setup_teardown(claims_differ_in_what_they_state_and_not_in_free_texts, start, stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
