#include "formats/oracle.h"

#include "formats/oracle_parts.h"
#include "formats/plan_names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const role_words[] = {NULL, "parent", "child", "grandchild"};

static int bounds_read(const struct yaml_node *node, struct oracle *out, struct err *err)
{
    static const char *const known[] = {"ended_ms", "grace_ms", NULL};
    const struct yaml_node *ended_ms, *grace_ms;

    if (node == NULL)
        return 0;
    if (yaml_check_map(node, "a map of bounds", known, err) < 0)
        return err->code;
    ended_ms = yaml_get(node, "ended_ms");
    grace_ms = yaml_get(node, "grace_ms");
    if ((ended_ms != NULL && yaml_uint(ended_ms, 1, LIMIT_BOUND_MS, &out->ended_ms, err) < 0) ||
        (grace_ms != NULL && yaml_uint(grace_ms, 0, LIMIT_BOUND_MS, &out->grace_ms, err) < 0))
        return err->code;
    return 0;
}

static int identities_read(const struct yaml_node *node, struct oracle *out, struct err *err)
{
    const char *text;

    if (node == NULL)
        return 0;
    if (yaml_text(node, &text, err) < 0)
        return err->code;
    out->identities_required = strcmp(text, "required") == 0;
    if (!out->identities_required && strcmp(text, "optional") != 0)
        return yaml_fault(node, err, "`identities` is neither required nor optional; write one of them");
    return 0;
}

static int roles_read(const struct yaml_node *node, struct oracle_trial *out, struct err *err)
{
    if (yaml_check_list(node, 1, 3, err) < 0)
        return err->code;
    for (const struct yaml_node *item = node->first; item != NULL; item = item->next) {
        const char *text;
        size_t role = 3;

        if (yaml_text(item, &text, err) < 0)
            return err->code;
        while (role > 0 && strcmp(text, role_words[role]) != 0)
            role--;
        if (role == 0)
            return yaml_fault(item, err, "there is no role `%.64s`; the roles are: parent, child, grandchild", text);
        if (out->roles[role])
            return yaml_fault(item, err, "the role `%s` stands twice; keep one", text);
        out->roles[role] = true;
    }
    return 0;
}

static int trial_read(const struct yaml_node *node, struct oracle_trial *out, struct err *err)
{
    static const char *const known[] = {"name", "roles", "effects", NULL};
    const struct yaml_node *name, *roles;

    if (yaml_check_map(node, "a trial", known, err) < 0 || yaml_need(node, "a trial", "name", &name, err) < 0 ||
        yaml_need(node, "a trial", "roles", &roles, err) < 0 || plan_name_read(name, &out->name, err) < 0 ||
        plan_name_check_fresh(node, "trial", err) < 0 || roles_read(roles, out, err) < 0)
        return err->code;
    out->line = node->line;
    return plan_effects_read(yaml_get(node, "effects"), &out->effects, &out->effect_count, err);
}

/* The trials that an oracle wants which names none: as a plan has by default. */
static int trials_default(struct oracle *out, struct err *err)
{
    static const struct oracle_trial shipped[] = {
        {.name = (char *)"bootstrap", .line = 1, .roles = {false, true, false, false}},
        {.name = (char *)"tree", .line = 1, .roles = {false, true, true, true}}};

    out->trials = calloc(2, sizeof *out->trials);
    if (out->trials == NULL)
        return err_set_errno(err, "memory for trials");
    for (size_t i = 0; i < 2; i++) {
        struct oracle_trial *trial = &out->trials[out->trial_count++];

        *trial = shipped[i];
        trial->name = strdup(shipped[i].name);
        if (trial->name == NULL)
            return err_set_errno(err, "memory for trials");
        if (plan_effects_read(NULL, &trial->effects, &trial->effect_count, err) < 0)
            return err->code;
    }
    return 0;
}

static int trials_read(const struct yaml_node *node, struct oracle *out, struct err *err)
{
    if (node == NULL)
        return trials_default(out, err);
    if (yaml_check_list(node, 0, LIMIT_TRIALS, err) < 0)
        return err->code;
    out->trials = calloc(node->count + 1, sizeof *out->trials);
    if (out->trials == NULL)
        return err_set_errno(err, "memory for trials");
    for (const struct yaml_node *item = node->first; item != NULL; item = item->next)
        if (trial_read(item, &out->trials[out->trial_count++], err) < 0)
            return err->code;
    return 0;
}

static size_t case_places(const struct oracle_case *one)
{
    size_t places = 0;

    for (size_t i = 0; i < one->matcher_count; i++)
        places += one->matchers[i].regex == NULL ? 0 : one->matchers[i].regex->place_count;
    return places;
}

static int cases_read(const struct yaml_node *node, struct oracle *out, struct err *err)
{
    size_t places = 0;

    if (node == NULL)
        return 0;
    if (yaml_check_list(node, 0, LIMIT_CASES, err) < 0)
        return err->code;
    out->cases = calloc(node->count + 1, sizeof *out->cases);
    if (out->cases == NULL)
        return err_set_errno(err, "memory for cases");
    for (const struct yaml_node *item = node->first; item != NULL; item = item->next) {
        if (oracle_case_read(item, &out->cases[out->case_count++], err) < 0)
            return err->code;
        places += case_places(&out->cases[out->case_count - 1]);
        if (places > LIMIT_REGEX_PLACES_ALL)
            return yaml_fault(item, err, "regular expressions of more than %d places for a byte so far; ask for less",
                              LIMIT_REGEX_PLACES_ALL);
    }
    return 0;
}

int oracle_parse(const char *file, const void *from, size_t size_bytes, struct oracle *out, struct err *err)
{
    static const char *const known[] = {"version", "bounds", "identities", "denials", "trials", "cases", NULL};
    AUTO_YAML struct yaml yaml = {0};

    *out = (struct oracle){.ended_ms = ORACLE_ENDED_MS, .grace_ms = ORACLE_GRACE_MS, .identities_required = true};
    if (yaml_parse(file, from, size_bytes, &yaml, err) < 0 || yaml_check_root(&yaml, "an oracle", known, err) < 0 ||
        bytes_add(&out->source, from, size_bytes, LIMIT_YAML_BYTES, err) < 0)
        return err->code;
    out->digest = digest_of(from, size_bytes);
    if (bounds_read(yaml_get(yaml.root, "bounds"), out, err) < 0 ||
        identities_read(yaml_get(yaml.root, "identities"), out, err) < 0 ||
        oracle_denials_read(yaml_get(yaml.root, "denials"), out, err) < 0 ||
        trials_read(yaml_get(yaml.root, "trials"), out, err) < 0 ||
        cases_read(yaml_get(yaml.root, "cases"), out, err) < 0)
        return err->code;
    return 0;
}

static bool has_effect(const struct plan_trial *trial, const char *effect)
{
    for (size_t i = 0; i < trial->effect_count; i++)
        if (strcmp(trial->effects[i], effect) == 0)
            return true;
    return false;
}

static int trial_fits(const char *file, const struct oracle_trial *trial, const struct plan *plan, struct err *err)
{
    const struct plan_trial *planned = NULL;

    for (size_t i = 0; i < plan->trial_count && planned == NULL; i++)
        if (strcmp(plan->trials[i].name, trial->name) == 0)
            planned = &plan->trials[i];
    if (planned == NULL)
        return err_set(err, ERR_USAGE, "%s:%u: the plan has no trial `%s`; add it there, or name the trials it has",
                       file, trial->line, trial->name);
    for (size_t role = EXHIBIT__ROLE__ROLE_CHILD; role <= EXHIBIT__ROLE__ROLE_GRANDCHILD; role++)
        if (trial->roles[role] && !planned->tree)
            return err_set(err, ERR_USAGE,
                           "%s:%u: the plan's trial `%s` has no role %s; write `kind: tree` there, or "
                           "name the parent alone",
                           file, trial->line, trial->name, role_words[role]);
    for (size_t i = 0; i < trial->effect_count; i++)
        if (!has_effect(planned, trial->effects[i]))
            return err_set(err, ERR_USAGE,
                           "%s:%u: the plan's trial `%s` has no effect %s; add it there, or remove it "
                           "here",
                           file, trial->line, trial->name, trial->effects[i]);
    return 0;
}

/* A case that no oracle names would be run and never judged: a decision that looks as if it had counted. */
static int case_is_judged(const char *oracle_file, const struct oracle *oracle, const struct plan *plan,
                          const struct plan_case *one, struct err *err)
{
    for (size_t i = 0; i < oracle->case_count; i++)
        if (strcmp(oracle->cases[i].name, one->name) == 0)
            return 0;
    return err_set(err, ERR_USAGE, "%s:%u: the oracle %s says nothing of case `%s`; name it there, or remove it here",
                   plan->file, one->line, oracle_file, one->name);
}

int oracle_fits_plan(const char *oracle_file, const struct oracle *oracle, const struct plan *plan, struct err *err)
{
    for (size_t i = 0; i < oracle->case_count; i++) {
        bool found = false;

        for (size_t j = 0; j < plan->case_count; j++)
            found = found || strcmp(plan->cases[j].name, oracle->cases[i].name) == 0;
        if (!found)
            return err_set(err, ERR_USAGE, "%s:%u: the plan has no case `%s`; add it there, or remove it here",
                           oracle_file, oracle->cases[i].line, oracle->cases[i].name);
    }
    for (size_t i = 0; i < oracle->trial_count; i++)
        if (trial_fits(oracle_file, &oracle->trials[i], plan, err) < 0)
            return err->code;
    return 0;
}

int oracle_names_cases(const char *oracle_file, const struct oracle *oracle, const struct plan *plan, struct err *err)
{
    for (size_t i = 0; i < plan->case_count; i++)
        if (case_is_judged(oracle_file, oracle, plan, &plan->cases[i], err) < 0)
            return err->code;
    return 0;
}

int oracle_hears_silence(const struct oracle *oracle, const struct plan *plan, struct err *err)
{
    for (size_t i = 0; i < plan->trial_count; i++) {
        const struct plan_trial *trial = &plan->trials[i];
        uint64_t until_ms = plan_trial_ending_ms(trial) + oracle->grace_ms;

        if (trial->step_count == 0 ||
            ((uint64_t)(trial->rounds - 1) * trial->interval_ms > until_ms && trial->lifetime_ms > until_ms))
            continue;
        return err_set(err, ERR_USAGE,
                       "%s:%u: the trial `%s` says nothing any more %" PRIu64
                       " ms after its start, when its ending and "
                       "the grace of %" PRIu32 " ms are over, so that its silence proves nothing; write more `rounds` "
                       "(and `lifetime_ms`), or an earlier ending",
                       plan->file, trial->line, trial->name, until_ms, oracle->grace_ms);
    }
    return 0;
}

static void case_done(struct oracle_case *one)
{
    for (size_t i = 0; i < one->matcher_count; i++) {
        struct oracle_matcher *matcher = &one->matchers[i];

        if (matcher->regex != NULL)
            oracle_regex_done(matcher->regex);
        free(matcher->regex);
        free(matcher->pointer);
        free(matcher->path);
        bytes_done(&matcher->bytes);
    }
    for (size_t i = 0; i < one->archive_count; i++) {
        free(one->archives[i].path);
        plan_texts_free(one->archives[i].except_paths, one->archives[i].except_count);
    }
    free(one->matchers);
    free(one->archives);
    free(one->name);
}

void oracle_done(struct oracle *oracle)
{
    for (size_t i = 0; i < oracle->denial_count; i++) {
        free(oracle->denials[i].effect);
        free(oracle->denials[i].errnos);
    }
    for (size_t i = 0; i < oracle->case_count; i++)
        case_done(&oracle->cases[i]);
    for (size_t i = 0; i < oracle->trial_count; i++) {
        free(oracle->trials[i].name);
        plan_texts_free(oracle->trials[i].effects, oracle->trials[i].effect_count);
    }
    free(oracle->denials);
    free(oracle->cases);
    free(oracle->trials);
    bytes_done(&oracle->source);
    *oracle = (struct oracle){0};
}
