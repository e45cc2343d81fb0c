/*
 * The recorded plan against what was started. Placeholders stand for paths of the recording machine, so a word with one
 * is compared by what is around it; all else is compared byte by byte.
 */
#include "verify/binding.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The size of the placeholder at `at`, or 0. */
static size_t binding_placeholder(const char *at)
{
    static const char *const known[] = {"{workspace}", "{scratch}", "{home}", "{tools}", "{policy}", "{candidate}"};

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strncmp(at, known[i], strlen(known[i])) == 0)
            return strlen(known[i]);
    return 0;
}

bool binding_word_fits(const char *template, const uint8_t *word, size_t word_bytes)
{
    const char *retry = NULL; /* after the last placeholder */
    size_t at = 0, retry_at = 0;

    for (;;) {
        size_t skip = binding_placeholder(template);

        if (skip > 0) {
            retry = template += skip;
            retry_at = at;
        } else if (*template == '\0' && at == word_bytes) {
            return true;
        } else if (at < word_bytes && *template != '\0' && (uint8_t) * template == word[at]) {
            template += template[0] == '{' && template[1] == '{' ? 2 : 1; /* "{{" is a brace */
            at++;
        } else if (retry != NULL && retry_at < word_bytes) {
            template = retry;
            at = ++retry_at; /* the placeholder stands for one byte more */
        } else {
            return false;
        }
    }
}

static bool binding_words_fit(const struct text_list *template, const ProtobufCBinaryData *words, size_t count)
{
    if (template->count != count)
        return false;
    for (size_t i = 0; i < count; i++)
        if (!binding_word_fits(template->items[i], words[i].data, words[i].len))
            return false;
    return true;
}

/* The executed argv is the launcher's template with the command in place of {command}; without a launcher, the command.
 */
static bool binding_argv_fits(const Exhibit__RecordingStart *start, const Exhibit__RunStart *told)
{
    bool strict = told->mode == EXHIBIT__MODE__MODE_STRICT;
    size_t at = 0;

    for (size_t i = 0; i < (strict ? start->n_launcher : 1); i++) {
        char template[LIMIT_PATH_BYTES];
        const ProtobufCBinaryData *word = strict ? &start->launcher[i] : NULL;

        if (!strict || (word->len == 9 && memcmp(word->data, "{command}", 9) == 0)) {
            for (size_t j = 0; j < told->n_command; j++, at++)
                if (at == told->n_argv || !evidence_same(&told->argv[at], &told->command[j]))
                    return false;
            continue;
        }
        if (at == told->n_argv || word->len >= sizeof template)
            return false;
        if (word->len > 0)
            memcpy(template, word->data, word->len);
        template[word->len] = '\0';
        if (!binding_word_fits(template, told->argv[at].data, told->argv[at].len))
            return false;
        at++;
    }
    return at == told->n_argv;
}

static const char *binding_variable(const Exhibit__RunStart *told, const char *name, size_t *size_bytes)
{
    size_t name_bytes = strlen(name);

    for (size_t i = 0; i < told->n_environment; i++) {
        const ProtobufCBinaryData *item = &told->environment[i];

        if (item->len <= name_bytes || memcmp(item->data, name, name_bytes) != 0 || item->data[name_bytes] != '=')
            continue;
        *size_bytes = item->len - name_bytes - 1;
        return (const char *)item->data + name_bytes + 1;
    }
    return NULL;
}

/* Each variable that the plan names is there with its value; one that the case names goes before. */
static bool binding_environment_fits(const struct plan *plan, const struct plan_case *one,
                                     const Exhibit__RunStart *told)
{
    size_t more = one == NULL ? 0 : one->environment_count;

    for (size_t i = 0; i < plan->environment_count + more; i++) {
        const struct plan_variable *variable = i < more ? &one->environment[i] : &plan->environment[i - more];
        bool replaced = false;
        size_t size_bytes = 0;
        const char *value;

        for (size_t j = 0; i >= more && j < more; j++)
            replaced = replaced || strcmp(one->environment[j].name, variable->name) == 0;
        if (replaced)
            continue;
        value = binding_variable(told, variable->name, &size_bytes);
        if (value == NULL || !binding_word_fits(variable->value, (const uint8_t *)value, size_bytes))
            return false;
    }
    return true;
}

static void binding_refute_run(struct binding *binding, const struct ledger_run *run, const char *what)
{
    finding_add(binding->findings, "event %" PRIu64 ": %s of run %s/%s %" PRIu32 " is not what the plan says",
                run->start->seq, what, ledger_told(run)->name, ledger_mode_text(ledger_told(run)->mode),
                ledger_told(run)->repeat);
}

static bool binding_stdin_same(const Exhibit__Stream *a, const Exhibit__Stream *b)
{
    uint64_t a_bytes = a == NULL ? 0 : a->size_bytes, b_bytes = b == NULL ? 0 : b->size_bytes;

    return a_bytes == b_bytes && (a_bytes == 0 || evidence_same(&a->sha256, &b->sha256));
}

/* The same command, environment, folder and stdin in every mode of a case. */
static void binding_check_modes(struct binding *binding, const struct ledger_run *run)
{
    const Exhibit__RunStart *told = ledger_told(run);
    const struct ledger_run *first =
        ledger_find(&binding->ledger, told->kind, told->name, EXHIBIT__MODE__MODE_BASELINE, 1);
    const Exhibit__RunStart *other = first == NULL ? told : ledger_told(first);
    bool same = told->n_command == other->n_command && told->n_environment == other->n_environment &&
                evidence_same(&told->cwd, &other->cwd) && binding_stdin_same(told->stdin_stream, other->stdin_stream);

    for (size_t i = 0; same && i < told->n_command; i++)
        same = evidence_same(&told->command[i], &other->command[i]);
    for (size_t i = 0; same && i < told->n_environment; i++)
        same = evidence_same(&told->environment[i], &other->environment[i]);
    if (!same)
        finding_add(binding->findings,
                    "event %" PRIu64 ": run %s/%s %" PRIu32
                    " has another command, environment, folder or stdin than baseline",
                    run->start->seq, told->name, ledger_mode_text(told->mode), told->repeat);
}

static void binding_check_case(struct binding *binding, const struct ledger_run *run, const struct plan_case *one)
{
    const Exhibit__RunStart *told = ledger_told(run);
    struct digest offered = digest_of(one->stdin_bytes.data, one->stdin_bytes.size_bytes);
    uint64_t size_bytes = told->stdin_stream == NULL ? 0 : told->stdin_stream->size_bytes;

    if (!binding_words_fit(&one->command, told->command, told->n_command))
        binding_refute_run(binding, run, "the command");
    if (!binding_environment_fits(binding->plan, one, told))
        binding_refute_run(binding, run, "the environment");
    if (told->watchdog_ms != one->watchdog_ms)
        binding_refute_run(binding, run, "the watchdog");
    /* What the plan takes from a file is not in the plan: there the runs must agree (binding_check_modes). */
    if (!one->stdin_from_file && (size_bytes != one->stdin_bytes.size_bytes ||
                                  (size_bytes > 0 && !evidence_digest_is(&told->stdin_stream->sha256, &offered))))
        binding_refute_run(binding, run, "the stdin");
    if (told->mode == EXHIBIT__MODE__MODE_CONTROL || told->repeat < 1 ||
        told->repeat > (told->mode == EXHIBIT__MODE__MODE_BASELINE ? 2u : 1u))
        binding_refute_run(binding, run, "the mode or repeat");
    binding_check_modes(binding, run);
}

static bool binding_steps_fit(const struct plan_trial *trial, const Exhibit__ProbeAssignment *probe)
{
    if (probe->n_ending != trial->step_count)
        return false;
    for (size_t i = 0; i < trial->step_count; i++) {
        const Exhibit__StepPlan *step = probe->ending[i];

        if (step->signal != trial->steps[i].signal || step->target != trial->steps[i].target ||
            (i == 0 && (step->after_rounds != trial->steps[i].after_rounds ||
                        step->after_role != EXHIBIT__ROLE__ROLE_GRANDCHILD)) ||
            (i > 0 && step->after_ms != trial->steps[i].after_ms))
            return false;
    }
    return true;
}

static bool binding_roles_fit(const struct plan_trial *trial, const Exhibit__RunStart *told)
{
    bool control = told->mode == EXHIBIT__MODE__MODE_CONTROL;
    size_t count = trial->tree && !(control && told->repeat == 2) ? 3 : 1;

    if (told->probe->n_roles != count)
        return false;
    for (size_t i = 0; i < count; i++)
        if (told->probe->roles[i]->role != (Exhibit__Role)(i + 1) ||
            told->probe->roles[i]->rounds != (i == 2 && !control ? trial->rounds : 1))
            return false;
    return true;
}

static void binding_check_trial(struct binding *binding, const struct ledger_run *run, const struct plan_trial *trial)
{
    const Exhibit__RunStart *told = ledger_told(run);
    const Exhibit__ProbeAssignment *probe = told->probe;
    bool control = told->mode == EXHIBIT__MODE__MODE_CONTROL, effects = probe->n_effects == trial->effect_count;

    for (size_t i = 0; effects && i < trial->effect_count; i++)
        effects = strcmp(probe->effects[i], trial->effects[i]) == 0;
    if (!effects)
        binding_refute_run(binding, run, "the list of effects");
    if (!binding_roles_fit(trial, told))
        binding_refute_run(binding, run, "the list of roles and rounds");
    if (probe->interval_ms != trial->interval_ms || (!control && probe->lifetime_ms != trial->lifetime_ms))
        binding_refute_run(binding, run, "interval or lifetime");
    if (probe->ignores_term != trial->ignores_term)
        binding_refute_run(binding, run, "whether SIGTERM is ignored");
    if (control ? probe->n_ending != 0 || probe->parent_ms != 0
                : !binding_steps_fit(trial, probe) || probe->parent_ms != trial->parent_ms)
        binding_refute_run(binding, run, "the ending");
    if (!binding_environment_fits(binding->plan, NULL, told))
        binding_refute_run(binding, run, "the environment");
    if (told->repeat < 1 || told->repeat > (control ? 2u : 1u))
        binding_refute_run(binding, run, "the repeat");
    if (told->n_command < 4 || told->command[2].len != 6 || memcmp(told->command[2].data, "parent", 6) != 0 ||
        told->command[3].len != LEDGER_NONCE_DIGITS ||
        memcmp(told->command[3].data, run->nonces[EXHIBIT__ROLE__ROLE_PARENT], LEDGER_NONCE_DIGITS) != 0)
        binding_refute_run(binding, run, "the probe's command (role and nonce)");
}

static const struct plan_case *binding_case_named(const struct plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->case_count; i++)
        if (strcmp(plan->cases[i].name, name) == 0)
            return &plan->cases[i];
    return NULL;
}

static const struct plan_trial *binding_trial_named(const struct plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->trial_count; i++)
        if (strcmp(plan->trials[i].name, name) == 0)
            return &plan->trials[i];
    return NULL;
}

static void binding_check_run(struct binding *binding, const struct ledger_run *run)
{
    const Exhibit__RunStart *told = ledger_told(run);
    const struct plan_case *one = binding_case_named(binding->plan, told->name);
    const struct plan_trial *trial = binding_trial_named(binding->plan, told->name);

    if (!binding_argv_fits(binding->ledger.recording_start->recording_start, told))
        binding_refute_run(binding, run, "the executed argv");
    if (told->kind == EXHIBIT__RUN_KIND__RUN_CASE && one != NULL)
        binding_check_case(binding, run, one);
    else if (told->kind == EXHIBIT__RUN_KIND__RUN_TRIAL && trial != NULL)
        binding_check_trial(binding, run, trial);
    else if (told->kind != EXHIBIT__RUN_KIND__RUN_LAUNCHER || strcmp(told->name, "launcher") != 0 ||
             told->mode != EXHIBIT__MODE__MODE_STRICT)
        binding_refute_run(binding, run, "the name");
}

/* In a recording that came to its end, all that the plan names was done. */
static void binding_need_run(struct binding *binding, Exhibit__RunKind kind, const char *name, Exhibit__Mode mode,
                             uint32_t repeat)
{
    if (ledger_find(&binding->ledger, kind, name, mode, repeat) == NULL)
        finding_add(binding->findings, "the plan has %s/%s %" PRIu32 ", the receipt has no such run", name,
                    ledger_mode_text(mode), repeat);
}

static void binding_need_all(struct binding *binding)
{
    const struct plan *plan = binding->plan;

    for (size_t i = 0; i < plan->case_count; i++) {
        binding_need_run(binding, EXHIBIT__RUN_KIND__RUN_CASE, plan->cases[i].name, EXHIBIT__MODE__MODE_BASELINE, 1);
        binding_need_run(binding, EXHIBIT__RUN_KIND__RUN_CASE, plan->cases[i].name, EXHIBIT__MODE__MODE_STRICT, 1);
    }
    for (size_t i = 0; i < plan->trial_count; i++) {
        const char *name = plan->trials[i].name;

        binding_need_run(binding, EXHIBIT__RUN_KIND__RUN_TRIAL, name, EXHIBIT__MODE__MODE_BASELINE, 1);
        binding_need_run(binding, EXHIBIT__RUN_KIND__RUN_TRIAL, name, EXHIBIT__MODE__MODE_STRICT, 1);
        binding_need_run(binding, EXHIBIT__RUN_KIND__RUN_TRIAL, name, EXHIBIT__MODE__MODE_CONTROL, 1);
        binding_need_run(binding, EXHIBIT__RUN_KIND__RUN_TRIAL, name, EXHIBIT__MODE__MODE_CONTROL, 2);
    }
}

static void binding_check_start(struct binding *binding)
{
    const Exhibit__RecordingStart *start = binding->ledger.recording_start->recording_start;
    const struct plan *plan = binding->plan;
    bool pins = start->n_pins == plan->pin_count;
    struct err err;

    if (strcmp(start->experiment, plan->name == NULL ? "" : plan->name) != 0)
        finding_add(binding->findings, "event 1: the experiment is not called as in the plan");
    if (strcmp(start->candidate, plan->candidate.name == NULL ? "" : plan->candidate.name) != 0)
        finding_add(binding->findings, "event 1: the candidate is not called as in the plan");
    for (size_t i = 0; pins && i < plan->pin_count; i++)
        pins = start->pins[i]->path.len == strlen(plan->pins[i].path) &&
               memcmp(start->pins[i]->path.data, plan->pins[i].path, start->pins[i]->path.len) == 0 &&
               evidence_digest_is(&start->pins[i]->expected_sha256, &plan->pins[i].expected);
    if (!pins)
        finding_add(binding->findings, "event 1: the pins are not those of the plan");
    if (plan->candidate.argv.count > 0 && !binding_words_fit(&plan->candidate.argv, start->launcher, start->n_launcher))
        finding_add(binding->findings, "event 1: the launcher is not that of the plan");
    for (size_t i = 0; i < plan->binary_count; i++) {
        bool found = false;

        for (size_t j = 0; j < start->n_binaries; j++)
            found = found || strcmp(start->binaries[j]->name, plan->binaries[i].name) == 0;
        if (!found)
            finding_add(binding->findings, "event 1: the plan's binary %s is not identified", plan->binaries[i].name);
    }
    if (binding->oracle != NULL && oracle_fits_plan("the recorded oracle", binding->oracle, plan, &err) < 0)
        finding_add(binding->findings, "oracle and plan do not fit: %s", err.text);
}

void binding_check_plan(struct binding *binding)
{
    binding_check_start(binding);
    for (size_t i = 0; i < binding->ledger.run_count; i++)
        binding_check_run(binding, binding->ledger.runs[i]);
    if (!binding->evidence->partial)
        binding_need_all(binding);
}
