/*
 * Trials and their endings.
 */
#include "formats/oracle.h"
#include "formats/plan_names.h"
#include "formats/plan_parts.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROUNDS_DEFAULT = 32,
    AFTER_ROUNDS_DEFAULT = 8,
    INTERVAL_DEFAULT_MS = 200,
    LIFETIME_TREE_DEFAULT_MS = 8000,
    LIFETIME_BOOTSTRAP_DEFAULT_MS = 1200,
    LIFETIME_MIN_MS = 1000, /* shorter, and a role may end before it was seen */
    MARGIN_MS = 1000,
    PARENT_LATER_MS = 1000, /* how long after its last awaited round a parent ends itself */
};

static void trial_default(bool tree, struct plan_trial *out)
{
    out->tree = tree;
    out->rounds = tree ? ROUNDS_DEFAULT : 1;
    out->interval_ms = INTERVAL_DEFAULT_MS;
    out->lifetime_ms = tree ? LIFETIME_TREE_DEFAULT_MS : LIFETIME_BOOTSTRAP_DEFAULT_MS;
    if (!tree)
        return;
    out->step_count = 1;
    out->steps[0].signal = SIGTERM;
    out->steps[0].target = EXHIBIT__STEP_TARGET__STEP_GROUP;
    out->steps[0].after_rounds = AFTER_ROUNDS_DEFAULT;
}

static int after_read(const struct yaml_node *node, const struct plan_trial *trial, uint32_t *out_rounds,
                      struct err *err)
{
    static const char *const known[] = {"role", "rounds", NULL};
    const struct yaml_node *role, *rounds;
    const char *text;

    if (yaml_check_map(node, "a map of `after`", known, err) < 0 ||
        yaml_need(node, "a map of `after`", "role", &role, err) < 0 ||
        yaml_need(node, "a map of `after`", "rounds", &rounds, err) < 0 || yaml_text(role, &text, err) < 0 ||
        yaml_uint(rounds, 1, LIMIT_ROUNDS, out_rounds, err) < 0)
        return err->code;
    if (strcmp(text, "grandchild") != 0)
        return yaml_fault(role, err, "`role` is not grandchild, the one that makes many rounds; write grandchild");
    if (*out_rounds > trial->rounds)
        return yaml_fault(rounds, err,
                          "an ending after %" PRIu32 " rounds of a trial of %" PRIu32 "; write at most "
                          "that many",
                          *out_rounds, trial->rounds);
    return 0;
}

/* When a step comes: after rounds for the first, after a time for the others. */
static int moment_read(const struct yaml_node *node, struct plan_trial *out, struct err *err)
{
    const struct yaml_node *after = yaml_get(node, "after"), *after_ms = yaml_get(node, "after_ms");
    bool first = out->step_count == 0;

    if (first ? after == NULL || after_ms != NULL : after != NULL || after_ms == NULL)
        return yaml_fault(node, err,
                          first ? "the first step comes after rounds; write `after: {role: grandchild, "
                                  "rounds: N}`"
                                : "a later step comes after a time; write `after_ms: N`");
    return first ? after_read(after, out, &out->steps[0].after_rounds, err)
                 : yaml_uint(after_ms, 0, LIMIT_LIFETIME_MS, &out->steps[out->step_count].after_ms, err);
}

/* What a step does: a signal to somebody. */
static int signal_read(const struct yaml_node *node, struct plan_trial *out, struct err *err)
{
    static const char *const targets[] = {"group", "launcher", "cgroup"};
    const struct yaml_node *signal, *to;
    const char *signal_text, *to_text;
    size_t target = 0;

    if (yaml_need(node, "a step", "signal", &signal, err) < 0 || yaml_need(node, "a step", "to", &to, err) < 0 ||
        yaml_text(signal, &signal_text, err) < 0 || yaml_text(to, &to_text, err) < 0)
        return err->code;
    if (strcmp(signal_text, "TERM") != 0 && strcmp(signal_text, "KILL") != 0)
        return yaml_fault(signal, err, "`signal` is neither TERM nor KILL; write one of them");
    while (target < sizeof targets / sizeof targets[0] && strcmp(to_text, targets[target]) != 0)
        target++;
    if (target == sizeof targets / sizeof targets[0])
        return yaml_fault(to, err, "`to` is neither group, launcher nor cgroup; write one of them");
    out->steps[out->step_count].signal = strcmp(signal_text, "TERM") == 0 ? SIGTERM : SIGKILL;
    out->steps[out->step_count].target = (Exhibit__StepTarget)(EXHIBIT__STEP_TARGET__STEP_GROUP + target);
    if (out->steps[out->step_count].target == EXHIBIT__STEP_TARGET__STEP_CGROUP && signal_text[0] != 'K')
        return yaml_fault(signal, err, "cgroup.kill knows KILL alone; write `signal: KILL`, or another `to`");
    return 0;
}

/* The other thing that a step can be: the parent's own end, for which it gets a lifetime of its own. */
static int exit_read(const struct yaml_node *node, struct plan_trial *out, struct err *err)
{
    const struct yaml_node *exit = yaml_get(node, "exit");
    const char *text;

    if (yaml_get(node, "signal") != NULL || yaml_get(node, "to") != NULL)
        return yaml_fault(exit, err, "a step either sends a signal or is an exit; keep one");
    if (yaml_text(exit, &text, err) < 0)
        return err->code;
    if (strcmp(text, "parent") != 0 || out->step_count > 0)
        return yaml_fault(exit, err, "`exit` is for the parent, and for the first step; write `exit: parent` there");
    out->steps[0].signal = 0;
    out->steps[0].target = EXHIBIT__STEP_TARGET__STEP_PARENT_EXIT;
    return 0;
}

static int step_read(const struct yaml_node *node, struct plan_trial *out, struct err *err)
{
    static const char *const known[] = {"after", "after_ms", "signal", "to", "exit", NULL};

    if (yaml_check_map(node, "a step", known, err) < 0 ||
        (yaml_get(node, "exit") != NULL ? exit_read(node, out, err) : signal_read(node, out, err)) < 0 ||
        moment_read(node, out, err) < 0)
        return err->code;
    out->step_count++;
    return 0;
}

static int ending_read(const struct yaml_node *node, struct plan_trial *out, struct err *err)
{
    static const char *const known[] = {"steps", NULL};
    const struct yaml_node *steps;

    if (yaml_check_map(node, "an ending", known, err) < 0 || yaml_need(node, "an ending", "steps", &steps, err) < 0 ||
        yaml_check_list(steps, 1, LIMIT_STEPS, err) < 0)
        return err->code;
    memset(out->steps, 0, sizeof out->steps);
    out->step_count = 0;
    for (const struct yaml_node *item = steps->first; item != NULL; item = item->next)
        if (step_read(item, out, err) < 0)
            return err->code;
    return 0;
}

uint64_t plan_trial_ending_ms(const struct plan_trial *trial)
{
    uint64_t ending_ms = 0;

    if (trial->step_count == 0)
        return 0;
    ending_ms = (uint64_t)(trial->steps[0].after_rounds - 1) * trial->interval_ms;
    if (trial->steps[0].target == EXHIBIT__STEP_TARGET__STEP_PARENT_EXIT)
        ending_ms += PARENT_LATER_MS;
    for (size_t i = 1; i < trial->step_count; i++)
        ending_ms += trial->steps[i].after_ms;
    return ending_ms;
}

/* The roles must still live when the ending and the time that it may take are over: else they may end by themselves. */
static int lifetime_check(const struct yaml_node *at, const struct plan_trial *trial, struct err *err)
{
    uint64_t needed_ms = plan_trial_ending_ms(trial) + ORACLE_ENDED_MS + MARGIN_MS;

    if (trial->lifetime_ms < needed_ms)
        return yaml_fault(at, err,
                          "the trial `%s` may end by itself after %" PRIu32 " ms, before its ending is over; "
                          "write `lifetime_ms` of at least %" PRIu64 ", or an earlier ending",
                          trial->name, trial->lifetime_ms, needed_ms);
    return 0;
}

static int kind_read(const struct yaml_node *map, struct plan_trial *out, struct err *err)
{
    static const char *const of_trees[] = {"rounds", "interval_ms", "ignores_term", "ending"};
    const struct yaml_node *kind;
    const char *text;
    bool tree;

    if (yaml_need(map, "a trial", "kind", &kind, err) < 0 || yaml_text(kind, &text, err) < 0)
        return err->code;
    tree = strcmp(text, "tree") == 0;
    if (!tree && strcmp(text, "bootstrap") != 0)
        return yaml_fault(kind, err, "`kind` is neither bootstrap nor tree; write one of them");
    for (size_t i = 0; !tree && i < sizeof of_trees / sizeof of_trees[0]; i++) {
        const struct yaml_node *node = yaml_get(map, of_trees[i]);

        if (node != NULL)
            return yaml_fault(node, err, "`%s` is for a tree, and this trial is a bootstrap; remove it", of_trees[i]);
    }
    trial_default(tree, out);
    return 0;
}

static int trial_read(const struct yaml_node *node, struct plan_trial *out, struct err *err)
{
    static const char *const known[] = {"name",        "kind",         "effects", "rounds", "interval_ms",
                                        "lifetime_ms", "ignores_term", "ending",  NULL};
    const struct yaml_node *name, *rounds, *interval_ms, *lifetime_ms, *ignores, *ending;

    if (yaml_check_map(node, "a trial", known, err) < 0 || yaml_need(node, "a trial", "name", &name, err) < 0 ||
        plan_name_read(name, &out->name, err) < 0 || plan_name_check_fresh(node, "trial", err) < 0 ||
        kind_read(node, out, err) < 0 ||
        plan_effects_read(yaml_get(node, "effects"), &out->effects, &out->effect_count, err) < 0)
        return err->code;
    rounds = yaml_get(node, "rounds");
    interval_ms = yaml_get(node, "interval_ms");
    lifetime_ms = yaml_get(node, "lifetime_ms");
    ignores = yaml_get(node, "ignores_term");
    ending = yaml_get(node, "ending");
    out->line = node->line;
    if ((rounds != NULL && yaml_uint(rounds, 1, LIMIT_ROUNDS, &out->rounds, err) < 0) ||
        (interval_ms != NULL && yaml_uint(interval_ms, 1, LIMIT_INTERVAL_MS, &out->interval_ms, err) < 0) ||
        (lifetime_ms != NULL &&
         yaml_uint(lifetime_ms, LIFETIME_MIN_MS, LIMIT_LIFETIME_MS, &out->lifetime_ms, err) < 0) ||
        (ignores != NULL && yaml_bool(ignores, &out->ignores_term, err) < 0) ||
        (ending != NULL && ending_read(ending, out, err) < 0))
        return err->code;
    if (!out->tree)
        return 0;
    if (out->steps[0].target == EXHIBIT__STEP_TARGET__STEP_PARENT_EXIT)
        out->parent_ms = (out->steps[0].after_rounds - 1) * out->interval_ms + PARENT_LATER_MS;
    if (ending == NULL && out->rounds < AFTER_ROUNDS_DEFAULT)
        return yaml_fault(rounds, err,
                          "the default ending comes after %d rounds; write at least that many, or an "
                          "`ending`",
                          AFTER_ROUNDS_DEFAULT);
    return lifetime_check(lifetime_ms != NULL ? lifetime_ms : node, out, err);
}

static int trials_default(struct plan *plan, struct err *err)
{
    static const char *const names[] = {"bootstrap", "tree"};

    for (size_t i = 0; i < 2; i++) {
        struct plan_trial *trial = &plan->trials[plan->trial_count++];

        trial->name = strdup(names[i]);
        if (trial->name == NULL)
            return err_set_errno(err, "memory for trials");
        trial_default(i == 1, trial);
        if (plan_effects_read(NULL, &trial->effects, &trial->effect_count, err) < 0)
            return err->code;
    }
    return 0;
}

int plan_trials_read(struct plan_reader *reader, const struct yaml_node *node, struct err *err)
{
    struct plan *plan = reader->plan;

    if (node != NULL && yaml_check_list(node, 0, LIMIT_TRIALS, err) < 0)
        return err->code;
    plan->trials = calloc(node == NULL ? 2 : node->count + 1, sizeof *plan->trials);
    if (plan->trials == NULL)
        return err_set_errno(err, "memory for trials");
    if (node == NULL)
        return trials_default(plan, err);
    for (const struct yaml_node *item = node->first; item != NULL; item = item->next)
        if (trial_read(item, &plan->trials[plan->trial_count++], err) < 0)
            return err->code;
    return 0;
}
