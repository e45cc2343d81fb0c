#include "record/preflight.h"

#include "base/cleanup.h"
#include "record/expand.h"
#include "record/host.h"
#include "record/layout.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Says what is wrong with a file; NULL: nothing. `executable`: it has to be that, too. */
static const char *fault_of(const char *path, bool executable)
{
    struct stat seen;

    if (stat(path, &seen) < 0)
        return strerror(errno);
    if (!S_ISREG(seen.st_mode))
        return "not a regular file";
    return executable && access(path, X_OK) < 0 ? "not executable" : NULL;
}

static int pins_check(const struct plan *plan, struct err *err)
{
    for (size_t i = 0; i < plan->pin_count; i++) {
        Exhibit__Pin *pin = NULL;
        struct err why;

        if (host_pin_check(plan->pins[i].path, &plan->pins[i].expected, &pin, &why) < 0)
            return err_set(err, why.code, "%s:%u: %.600s; restore the file, or pin the digest that it should have",
                           plan->file, plan->pins[i].line, why.text);
        exhibit__pin__free_unpacked(pin, NULL);
    }
    return 0;
}

static int launcher_check(const struct plan *plan, const char *program_dir, struct err *err)
{
    static const char tools[] = "{tools}/", workspace[] = "{workspace}/", candidate[] = "{candidate}/";
    const char *word = plan->candidate.argv.items[0], *why;
    char path[PATH_MAX] = "";

    if (strncmp(word, tools, sizeof tools - 1) == 0)
        (void)snprintf(path, sizeof path, "%s/%s", program_dir, word + sizeof tools - 1);
    else if (strncmp(word, workspace, sizeof workspace - 1) == 0 && plan->workspace != NULL)
        (void)snprintf(path, sizeof path, "%s/%s", plan->workspace, word + sizeof workspace - 1);
    else if (strncmp(word, candidate, sizeof candidate - 1) == 0 && plan->candidate.folder != NULL)
        (void)snprintf(path, sizeof path, "%s/%s", plan->candidate.folder, word + sizeof candidate - 1);
    else
        (void)snprintf(path, sizeof path, "%s", word);
    why = fault_of(path, true);
    return why == NULL ? 0
                       : err_set(err, ERR_USAGE, "%s:%u: the launcher %s: %s; install it, or name one that is there",
                                 plan->candidate.argv_file, plan->candidate.argv_line, word, why);
}

/* Whether a run's words fit into an event; `one` is NULL for a trial, whose command is the recorder's own and short. */
static int run_fits(const struct session *session, const struct plan_case *one, bool *out, struct err *err)
{
    AUTO_TEXT_LIST struct text_list command = {0}, argv = {0}, environment = {0};

    *out = false;
    if ((one != NULL && expand_argv(session, &one->command, NULL, &command, err) < 0) ||
        expand_argv(session, &session->plan->candidate.argv, &command, &argv, err) < 0 ||
        expand_environment(session, one == NULL ? NULL : one->environment, one == NULL ? 0 : one->environment_count,
                           &environment, err) < 0)
        return err->code == ERR_LIMIT ? 0 : err->code;
    *out = text_list_size(&command) + text_list_size(&argv) + text_list_size(&environment) <= LIMIT_WORDS_BYTES;
    return 0;
}

static int words_check(const struct plan *plan, const char *work_parent, struct secrets *secrets, struct err *err)
{
    struct session session = {.plan = plan, .secrets = secrets};
    AUTO_TEXT_LIST struct text_list version = {0};
    bool fits;

    if (layout_foresee(&session, work_parent, plan->candidate.policy_file != NULL, err) < 0)
        return err->code;
    if (run_fits(&session, NULL, &fits, err) < 0)
        return err->code;
    if (!fits || expand_argv(&session, &plan->candidate.version, NULL, &version, err) < 0)
        return err_set(err, ERR_USAGE,
                       "%s:%u: the launcher's words and the plan's variables are more than %u bytes with all "
                       "placeholders filled in; shorten them",
                       plan->candidate.argv_file, plan->candidate.argv_line, LIMIT_WORDS_BYTES);
    for (size_t i = 0; i < plan->case_count; i++) {
        if (run_fits(&session, &plan->cases[i], &fits, err) < 0)
            return err->code;
        if (!fits)
            return err_set(err, ERR_USAGE,
                           "%s:%u: the words and variables of a run of case `%s` are more than %u bytes with all "
                           "placeholders filled in (docs/PLAN.md 3.3); shorten them",
                           plan->file, plan->cases[i].line, plan->cases[i].name, LIMIT_WORDS_BYTES);
    }
    return 0;
}

static int programs_check(const struct plan *plan, struct err *err)
{
    for (size_t i = 0; i < plan->candidate.program_count; i++) {
        const struct plan_binary *program = &plan->candidate.programs[i];
        const char *why = fault_of(program->path, true);

        if (why != NULL)
            return err_set(err, ERR_USAGE, "%s:%u: the candidate %s needs %s: %s; to get it: %s",
                           plan->candidate.argv_file, program->line, plan->candidate.name, program->path, why,
                           program->get);
    }
    return 0;
}

int preflight_check(const struct plan *plan, const char *program_dir, const char *work_parent, struct secrets *secrets,
                    struct err *err)
{
    if (pins_check(plan, err) < 0)
        return err->code;
    for (size_t i = 0; i < plan->binary_count; i++) {
        const char *why = fault_of(plan->binaries[i].path, false);

        if (why != NULL)
            return err_set(err, ERR_USAGE, "%s:%u: binary %s, %s: %s; install it, or name one that is there",
                           plan->file, plan->binaries[i].line, plan->binaries[i].name, plan->binaries[i].path, why);
    }
    if (programs_check(plan, err) < 0 || launcher_check(plan, program_dir, err) < 0)
        return err->code;
    return words_check(plan, work_parent, secrets, err);
}
