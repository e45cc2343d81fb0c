/* formats/plan: values, defaults, recorded plans, and the plans that are shipped. */
#include "tests/unit/test_plan_fixture.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "formats/oracle.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void assert_path(const char *path, const char *below_top)
{
    assert_non_null(path);
    assert_memory_equal(path, plans_top, strlen(plans_top));
    assert_string_equal(path + strlen(plans_top), below_top);
}

/* What does not depend on the plan's folder. */
static void check_good_data(const struct plan *plan)
{
    const struct plan_trial *fell = &plan->trials[1];

    assert_string_equal(plan->name, "trip");
    assert_string_equal(plan->candidate.name, "box");
    assert_int_equal(plan->candidate.argv.count, 3);
    assert_string_equal(plan->candidate.argv.items[1], "--policy={policy}");
    assert_int_equal(plan->candidate.version.count, 2);
    assert_int_equal(plan->environment_count, 3);
    assert_string_equal(plan->environment[1].name, "B");
    assert_string_equal(plan->environment[1].value, "\xff"
                                                    "a");
    assert_int_equal(plan->input_count, 2);
    assert_true(plan->inputs[0].retain && !plan->inputs[1].retain);
    assert_string_equal(plan->inputs[1].path, "/etc/passwd");
    assert_int_equal(plan->pin_count, 1);
    assert_string_equal(plan->pins[0].path, "/bin/sh");
    assert_int_equal(plan->pins[0].expected.bytes[1], 0x11);
    assert_int_equal(plan->binary_count, 1);
    assert_string_equal(plan->binaries[0].name, "sh");
    assert_int_equal(plan->case_count, 2);
    assert_string_equal(plan->cases[0].name, "hello");
    assert_int_equal(plan->cases[0].command.count, 4);
    assert_string_equal(plan->cases[0].command.items[2], "{{x} {scratch}");
    assert_string_equal(plan->cases[0].command.items[3], "\xff");
    assert_int_equal(plan->cases[0].stdin_bytes.size_bytes, 2);
    assert_memory_equal(plan->cases[0].stdin_bytes.data, "\0\1", 2);
    assert_int_equal(plan->cases[0].watchdog_ms, 5);
    assert_string_equal(plan->cases[0].environment[0].value, "/sbin");
    assert_int_equal(plan->cases[1].watchdog_ms, 30000);
    assert_int_equal(plan->trial_count, 2);
    assert_false(plan->trials[0].tree);
    assert_int_equal(plan->trials[0].lifetime_ms, 1000);
    assert_int_equal(plan->trials[0].effect_count, 1);
    assert_int_equal(plan->trials[0].rounds, 1);
    assert_int_equal(plan->trials[0].step_count, 0);
    assert_true(fell->tree);
    assert_int_equal(fell->effect_count, 5);
    assert_int_equal(fell->rounds, 20);
    assert_int_equal(fell->interval_ms, 100);
    assert_int_equal(fell->lifetime_ms, 4900);
    assert_int_equal(fell->step_count, 2);
    assert_int_equal(fell->steps[0].signal, SIGTERM);
    assert_int_equal(fell->steps[0].target, EXHIBIT__STEP_TARGET__STEP_LAUNCHER);
    assert_int_equal(fell->steps[0].after_rounds, 10);
    assert_int_equal(fell->steps[1].signal, SIGKILL);
    assert_int_equal(fell->steps[1].target, EXHIBIT__STEP_TARGET__STEP_GROUP);
    assert_int_equal(fell->steps[1].after_ms, 1000);
}

/* The endings that send nothing to a group or launcher, and a probe that will not hear. */
static void parent_exit_cgroup_kill_and_deafness_are_read(void **state)
{
    static const char text[] = "version: 1\nname: x\ncandidate: {name: box, argv: [/bin/box, \"{command}\"]}\n"
                               "trials:\n"
                               "  - name: left\n    kind: tree\n    ignores_term: true\n    ending:\n      steps:\n"
                               "        - {after: {role: grandchild, rounds: 3}, exit: parent}\n"
                               "        - {after_ms: 70, signal: KILL, to: cgroup}\n"
                               "  - {name: plain, kind: tree}\n";
    struct plan plan = plans_read(text);
    const struct plan_trial *left = &plan.trials[0];

    (void)state;
    assert_true(left->ignores_term);
    assert_int_equal(left->step_count, 2);
    assert_int_equal(left->steps[0].signal, 0);
    assert_int_equal(left->steps[0].target, EXHIBIT__STEP_TARGET__STEP_PARENT_EXIT);
    assert_int_equal(left->parent_ms, 1400); /* two intervals of 200 ms, and a second */
    assert_int_equal(left->steps[1].signal, SIGKILL);
    assert_int_equal(left->steps[1].target, EXHIBIT__STEP_TARGET__STEP_CGROUP);
    assert_int_equal(plan_trial_ending_ms(left), 1470);
    assert_int_equal(plan.trials[1].parent_ms, 0);
    assert_false(plan.trials[1].ignores_term);
    plan_done(&plan);
}

static void every_key_is_read_and_resolved(void **state)
{
    struct plan plan = plans_read(plans_good);
    struct digest digest = digest_of(plans_good, strlen(plans_good));

    (void)state;
    check_good_data(&plan);
    assert_true(digest_equal(&plan.digest, &digest));
    assert_string_equal(plan.file, "p/plan.yaml");
    assert_path(plan.folder, "/p");
    assert_path(plan.oracle_file, "/p/o.yaml");
    assert_path(plan.candidate.policy_file, "/p/sub/p.yaml");
    assert_path(plan.workspace, "/p/w");
    assert_path(plan.inputs[0].path, "/p/w");
    assert_true(plan.cases[1].stdin_from_file && !plan.cases[0].stdin_from_file);
    assert_string_equal((char *)plan.cases[1].stdin_bytes.data, "text\n");
    plan_done(&plan);
    assert_null(plan.cases);
}

static void a_recorded_plan_is_the_same_but_for_what_lies_outside(void **state)
{
    struct plan plan;
    struct err err = {0};

    (void)state;
    assert_int_equal(chdir("/"), 0); /* nothing it names is here */
    if (plan_parse_recorded(plans_good, strlen(plans_good), &plan, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(chdir(plans_top), 0);
    check_good_data(&plan);
    assert_int_equal(plan.source.size_bytes, strlen(plans_good));
    assert_null(plan.folder);
    assert_null(plan.oracle_file);
    assert_null(plan.candidate.policy_file);
    assert_null(plan.workspace);
    assert_string_equal(plan.inputs[0].path, "w");
    assert_true(plan.cases[1].stdin_from_file);
    assert_int_equal(plan.cases[1].stdin_bytes.size_bytes, 0);
    plan_done(&plan);

    assert_int_equal(plan_parse_recorded(plans_used, strlen(plans_used), &plan, &err), 0);
    assert_string_equal(plan.candidate.name, "box");
    assert_int_equal(plan.candidate.argv.count, 0);
    plan_done(&plan);
    assert_int_equal(plan_parse_recorded("version: 1\nname: A\n", 19, &plan, &err), ERR_USAGE);
    assert_string_equal(err.text, "the recorded plan:1: a plan needs `candidate`; add it");
    plan_done(&plan);
}

static void secrets_and_local_inputs_are_read_from_a_recorded_plan_too(void **state)
{
    AUTO_FREE char *secret = plans_changed(plans_good, "PATH: /sbin", "PATH: {secret: CI_TOKEN}");
    AUTO_FREE char *local = plans_changed(secret, "pins:", "local: [workspace, one]\npins:");
    struct plan plan = plans_read(plans_good);
    struct err err = {0};

    (void)state;
    assert_false(plan_has_secret(&plan) || plan_has_local(&plan));
    plan_done(&plan);
    for (int recorded = 0; recorded < 2; recorded++) {
        if (recorded)
            assert_int_equal(plan_parse_recorded(local, strlen(local), &plan, &err), 0);
        else
            plan = plans_read(local);
        assert_true(plan_has_secret(&plan) && plan_has_local(&plan));
        assert_string_equal(plan.cases[0].environment[0].secret, "CI_TOKEN");
        assert_string_equal(plan.cases[0].environment[0].value, "");
        assert_null(plan.environment[0].secret);
        assert_true(plan_input_is_local(&plan, "workspace") && plan_input_is_local(&plan, "one"));
        assert_false(plan_input_is_local(&plan, "two") || plan_input_is_local(&plan, "none"));
        plan_done(&plan);
    }
}

static void a_plan_of_little_has_the_defaults(void **state)
{
    struct plan plan = plans_read(plans_used);

    (void)state;
    assert_null(plan.oracle_file);
    assert_null(plan.workspace);
    assert_int_equal(plan.input_count + plan.pin_count + plan.binary_count + plan.environment_count, 0);
    assert_int_equal(plan.cases[0].stdin_bytes.size_bytes, 0);
    assert_int_equal(plan.cases[0].watchdog_ms, 30000);
    assert_int_equal(plan.trial_count, 2);
    assert_string_equal(plan.trials[0].name, "bootstrap");
    assert_false(plan.trials[0].tree);
    assert_int_equal(plan.trials[0].effect_count, 5);
    assert_int_equal(plan.trials[0].lifetime_ms, 1200);
    assert_int_equal(plan.trials[0].interval_ms, 200);
    assert_int_equal(plan.trials[0].step_count, 0);
    assert_string_equal(plan.trials[1].name, "tree");
    assert_true(plan.trials[1].tree);
    assert_int_equal(plan.trials[1].effect_count, 5);
    assert_int_equal(plan.trials[1].rounds, 32);
    assert_int_equal(plan.trials[1].interval_ms, 200);
    assert_int_equal(plan.trials[1].lifetime_ms, 8000);
    assert_int_equal(plan.trials[1].step_count, 1);
    assert_int_equal(plan.trials[1].steps[0].signal, SIGTERM);
    assert_int_equal(plan.trials[1].steps[0].target, EXHIBIT__STEP_TARGET__STEP_GROUP);
    assert_int_equal(plan.trials[1].steps[0].after_rounds, 8);
    plan_done(&plan);
}

static void a_trial_with_its_kind_alone_has_the_defaults(void **state)
{
    AUTO_FREE char *text =
        plans_changed(plans_used, "cases:\n", "trials: [{name: b, kind: bootstrap}, {name: t, kind: tree}]\ncases:\n");
    struct plan plan = plans_read(text);

    (void)state;
    assert_int_equal(plan.trials[0].lifetime_ms, 1200);
    assert_int_equal(plan.trials[0].rounds, 1);
    assert_int_equal(plan.trials[1].lifetime_ms, 8000);
    assert_int_equal(plan.trials[1].rounds, 32);
    assert_int_equal(plan.trials[1].steps[0].after_rounds, 8);
    plan_done(&plan);
}

static void a_candidate_of_a_folder_brings_argv_and_policy(void **state)
{
    AUTO_FREE char *other = plans_changed(plans_used, "use: box", "use: box, policy: q.yaml");
    struct plan plan = plans_read(plans_used);

    (void)state;
    assert_string_equal(plan.candidate.name, "box");
    assert_int_equal(plan.candidate.argv.count, 4);
    assert_string_equal(plan.candidate.version.items[1], "-V");
    assert_path(plan.candidate.policy_file, "/c/box/p.yaml");
    plan_done(&plan);
    plan = plans_read(other);
    assert_path(plan.candidate.policy_file, "/c/box/q.yaml");
    assert_path(plan.candidate.folder, "/c/box");
    assert_int_equal(plan.candidate.program_count, 1);
    assert_string_equal(plan.candidate.programs[0].path, "/bin/mount");
    assert_string_equal(plan.candidate.programs[0].get, "apt-get install mount");
    plan_done(&plan);
}

/* A path through a link that stays inside is fine. */
static void a_link_within_the_folder_is_followed(void **state)
{
    AUTO_FREE char *text = plans_changed(plans_good, "o.yaml", "self/o.yaml");
    struct plan plan = plans_read(text);

    (void)state;
    assert_path(plan.oracle_file, "/p/o.yaml");
    plan_done(&plan);
}

#define HOOKS EXPERIMENTS "/hook-confinement"

static void the_shipped_plans_fit_their_oracles(void **state)
{
    static const struct {
        const char *folder, *file, *candidate, *policy;
        size_t case_count, trial_count;
        const char *oracles[2];
    } plans[] = {
        {HOOKS, "plan.yaml", "landlock", "deny-default.yaml", 5, 2, {"oracle.yaml", "oracle-wrong.yaml"}},
        {HOOKS, "plan-open.yaml", "open", "deny-default.yaml", 5, 2, {"oracle.yaml", "oracle-wrong.yaml"}},
        {HOOKS, "plan-usable.yaml", "landlock-pidns", "usable.yaml", 5, 2, {"oracle.yaml", "oracle-wrong.yaml"}},
        {EXPERIMENTS "/lifetimes", "plan.yaml", "landlock-pidns", "usable.yaml", 0, 6, {"oracle.yaml"}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++) {
        char path[512];
        struct plan plan;
        struct err err = {0};

        (void)snprintf(path, sizeof path, "%s/%s", plans[i].folder, plans[i].file);
        if (plan_read(path, CANDIDATES, &plan, &err) < 0)
            fail_msg("%s", err.text);
        assert_string_equal(plan.candidate.name, plans[i].candidate);
        assert_int_equal(plan.candidate.policy_file != NULL, plans[i].policy != NULL);
        if (plans[i].policy != NULL)
            assert_string_equal(strrchr(plan.candidate.policy_file, '/') + 1, plans[i].policy);
        assert_string_equal(strrchr(plan.oracle_file, '/'), "/oracle.yaml");
        assert_int_equal(plan.case_count, plans[i].case_count);
        assert_int_equal(plan.trial_count, plans[i].trial_count);
        for (size_t j = 0; j < 2 && plans[i].oracles[j] != NULL; j++) {
            AUTO_BYTES struct bytes text = {0};
            struct oracle oracle;

            (void)snprintf(path, sizeof path, "%s/%s", plans[i].folder, plans[i].oracles[j]);
            assert_int_equal(file_read_path(AT_FDCWD, path, 0, LIMIT_YAML_BYTES, &text, &err), 0);
            if (oracle_parse(path, text.data, text.size_bytes, &oracle, &err) < 0 ||
                oracle_fits_plan(path, &oracle, &plan, &err) < 0)
                fail_msg("%s", err.text);
            oracle_done(&oracle);
        }
        plan_done(&plan);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_is_read_and_resolved),
        cmocka_unit_test(parent_exit_cgroup_kill_and_deafness_are_read),
        cmocka_unit_test(a_recorded_plan_is_the_same_but_for_what_lies_outside),
        cmocka_unit_test(secrets_and_local_inputs_are_read_from_a_recorded_plan_too),
        cmocka_unit_test(a_plan_of_little_has_the_defaults),
        cmocka_unit_test(a_trial_with_its_kind_alone_has_the_defaults),
        cmocka_unit_test(a_candidate_of_a_folder_brings_argv_and_policy),
        cmocka_unit_test(a_link_within_the_folder_is_followed),
        cmocka_unit_test(the_shipped_plans_fit_their_oracles),
    };

    return cmocka_run_group_tests(tests, plans_set_up, plans_tear_down);
}
