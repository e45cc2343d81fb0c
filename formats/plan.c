#include "formats/plan.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "formats/plan_names.h"
#include "formats/plan_parts.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int places_read(struct plan_reader *reader, const struct yaml_node *root, struct err *err)
{
    const struct yaml_node *oracle = yaml_get(root, "oracle"), *workspace = yaml_get(root, "workspace");
    struct plan *plan = reader->plan;
    struct stat seen;

    if ((oracle != NULL && plan_path_read(oracle, plan->folder, &plan->oracle_file, err) < 0) ||
        (workspace != NULL && plan_path_read(workspace, plan->folder, &plan->workspace, err) < 0))
        return err->code;
    if (plan->oracle_file != NULL && (stat(plan->oracle_file, &seen) < 0 || !S_ISREG(seen.st_mode)))
        return yaml_fault(oracle, err, "`oracle`: %s is not a regular file; name one", oracle->text);
    if (plan->workspace != NULL) {
        AUTO_FD int fd = open(plan->workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (fd < 0)
            return yaml_fault(workspace, err, "`workspace` is not a folder that can be read; name one");
    }
    return 0;
}

/* Everything but source, digest, file and folder. */
static int parse(struct plan_reader *reader, const struct yaml *yaml, struct err *err)
{
    static const char *const known[] = {"version",     "name",   "oracle", "candidate", "workspace",
                                        "environment", "inputs", "local",  "pins",      "binaries",
                                        "cases",       "trials", NULL};
    const struct yaml_node *root = yaml->root, *name, *candidate, *environment;
    struct plan *plan = reader->plan;

    if (yaml_check_root(yaml, "a plan", known, err) < 0 || yaml_need(root, "a plan", "name", &name, err) < 0 ||
        yaml_need(root, "a plan", "candidate", &candidate, err) < 0 || plan_name_read(name, &plan->name, err) < 0 ||
        places_read(reader, root, err) < 0 || plan_candidate_read(reader, candidate, err) < 0)
        return err->code;
    environment = yaml_get(root, "environment");
    if ((environment != NULL &&
         plan_environment_read(reader, environment, &plan->environment, &plan->environment_count, err) < 0) ||
        plan_inputs_read(reader, yaml_get(root, "inputs"), err) < 0 ||
        plan_local_read(reader, yaml_get(root, "local"), err) < 0 ||
        plan_pins_read(reader, yaml_get(root, "pins"), err) < 0 ||
        plan_binaries_read(reader, yaml_get(root, "binaries"), err) < 0 ||
        plan_cases_read(reader, yaml_get(root, "cases"), err) < 0 ||
        plan_trials_read(reader, yaml_get(root, "trials"), err) < 0)
        return err->code;
    if (plan->case_count == 0 && plan->trial_count == 0)
        return yaml_fault(root, err, "a plan with neither a case nor a trial; write one of them");
    return 0;
}

static int source_parse(struct plan_reader *reader, const char *file, struct err *err)
{
    struct plan *plan = reader->plan;
    AUTO_YAML struct yaml yaml = {0};

    plan->digest = digest_of(plan->source.data, plan->source.size_bytes);
    plan->file = strdup(file);
    if (plan->file == NULL)
        return err_set_errno(err, "memory for a plan");
    if (yaml_parse(file, plan->source.data, plan->source.size_bytes, &yaml, err) < 0)
        return err->code;
    return parse(reader, &yaml, err);
}

/* The folder of a file, absolute and resolved; owned by the caller. */
static int folder_of(const char *file, char **out, struct err *err)
{
    const char *slash = strrchr(file, '/');
    AUTO_FREE char *folder = slash == NULL ? strdup(".") : strndup(file, (size_t)(slash - file) + 1);

    *out = folder == NULL ? NULL : realpath(folder, NULL);
    return *out != NULL ? 0 : err_set_errno(err, "the folder of %s", file);
}

int plan_read(const char *file, const char *candidates_dir, struct plan *out, struct err *err)
{
    struct plan_reader reader = {.plan = out, .candidates_dir = candidates_dir};
    const struct yaml_node whole = {.file = file, .line = 1};

    *out = (struct plan){0};
    if (plan_file_read(&whole, file, LIMIT_YAML_BYTES, &out->source, err) < 0 || folder_of(file, &out->folder, err) < 0)
        return err->code;
    return source_parse(&reader, file, err);
}

int plan_parse_recorded(const void *from, size_t size_bytes, struct plan *out, struct err *err)
{
    struct plan_reader reader = {.plan = out};

    *out = (struct plan){0};
    if (bytes_add(&out->source, from, size_bytes, LIMIT_YAML_BYTES, err) < 0)
        return err->code == ERR_LIMIT ? err_set(err, ERR_USAGE,
                                                "the recorded plan:1: larger than %u bytes; record it "
                                                "again",
                                                LIMIT_YAML_BYTES)
                                      : err->code;
    return source_parse(&reader, "the recorded plan", err);
}

static const struct plan_variable *secret_among(const struct plan_variable *variables, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (variables[i].secret != NULL)
            return &variables[i];
    return NULL;
}

bool plan_has_secret(const struct plan *plan)
{
    bool found = secret_among(plan->environment, plan->environment_count) != NULL;

    for (size_t i = 0; i < plan->case_count; i++)
        found = found || secret_among(plan->cases[i].environment, plan->cases[i].environment_count) != NULL;
    return found;
}

bool plan_input_is_local(const struct plan *plan, const char *name)
{
    if (strcmp(name, "workspace") == 0)
        return plan->workspace_local;
    for (size_t i = 0; i < plan->input_count; i++)
        if (strcmp(plan->inputs[i].name, name) == 0)
            return plan->inputs[i].local;
    return false;
}

bool plan_has_local(const struct plan *plan)
{
    bool found = plan->workspace_local;

    for (size_t i = 0; i < plan->input_count; i++)
        found = found || plan->inputs[i].local;
    return found;
}

static void case_done(struct plan_case *one)
{
    free(one->name);
    plan_texts_free(one->command.items, one->command.count);
    bytes_done(&one->stdin_bytes);
    plan_environment_free(one->environment, one->environment_count);
}

void plan_done(struct plan *plan)
{
    for (size_t i = 0; i < plan->input_count; i++) {
        free(plan->inputs[i].name);
        free(plan->inputs[i].path);
    }
    for (size_t i = 0; i < plan->pin_count; i++)
        free(plan->pins[i].path);
    for (size_t i = 0; i < plan->case_count; i++)
        case_done(&plan->cases[i]);
    for (size_t i = 0; i < plan->trial_count; i++) {
        free(plan->trials[i].name);
        plan_texts_free(plan->trials[i].effects, plan->trials[i].effect_count);
    }
    free(plan->inputs);
    free(plan->pins);
    plan_programs_free(plan->binaries, plan->binary_count);
    free(plan->cases);
    free(plan->trials);
    plan_environment_free(plan->environment, plan->environment_count);
    plan_texts_free(plan->candidate.argv.items, plan->candidate.argv.count);
    plan_texts_free(plan->candidate.version.items, plan->candidate.version.count);
    plan_programs_free(plan->candidate.programs, plan->candidate.program_count);
    free(plan->candidate.name);
    free(plan->candidate.folder);
    free(plan->candidate.argv_file);
    free(plan->candidate.policy_file);
    free(plan->file);
    free(plan->folder);
    free(plan->name);
    free(plan->oracle_file);
    free(plan->workspace);
    bytes_done(&plan->source);
    *plan = (struct plan){0};
}
