/*
 * The candidate: written in the plan, or taken from a folder of candidates.
 */
#include "base/cleanup.h"
#include "formats/plan_names.h"
#include "formats/plan_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `map` describes it; `policy` (NULL: none) names a file in `folder`, resolved within `root`. */
static int body_read(struct plan_reader *reader, const struct yaml_node *map, const struct yaml_node *policy,
                     const char *folder, const char *root, struct err *err)
{
    struct plan *plan = reader->plan;
    const struct yaml_node *name, *argv, *version_command = yaml_get(map, "version_command");
    const struct yaml_node *programs = yaml_get(map, "programs");

    if (yaml_need(map, "a candidate", "name", &name, err) < 0 ||
        yaml_need(map, "a candidate", "argv", &argv, err) < 0 || plan_name_read(name, &plan->candidate.name, err) < 0)
        return err->code;
    reader->has_policy = policy != NULL;
    plan->candidate.argv_line = argv->line;
    plan->candidate.argv_file = strdup(argv->file);
    if (plan->candidate.argv_file == NULL)
        return err_set_errno(err, "memory for a path");
    if ((policy != NULL && plan_path_within(policy, folder, root, &plan->candidate.policy_file, err) < 0) ||
        plan_programs_read(programs, &plan->candidate.programs, &plan->candidate.program_count, err) < 0 ||
        plan_words_read(reader, argv, PLAN_WORDS_LAUNCHER, &plan->candidate.argv, err) < 0 ||
        (version_command != NULL &&
         plan_words_read(reader, version_command, PLAN_WORDS_COMMAND, &plan->candidate.version, err) < 0))
        return err->code;
    return 0;
}

/* The candidate of a folder, with its own policy unless the plan names another. */
static int folder_read(struct plan_reader *reader, const struct yaml_node *use, const struct yaml_node *policy,
                       struct err *err)
{
    static const char *const known[] = {"version", "name", "argv", "policy", "version_command", "programs", NULL};
    AUTO_FREE char *root = realpath(reader->candidates_dir, NULL), *joined = NULL, *file = NULL;
    const char *folder;
    AUTO_BYTES struct bytes source = {0};
    AUTO_YAML struct yaml yaml = {0};
    const struct yaml_node *name;
    int code;

    if (asprintf(&joined, "%s/%s", reader->candidates_dir, use->text) < 0) {
        joined = NULL;
        return err_set_errno(err, "memory for a path");
    }
    reader->plan->candidate.folder = realpath(joined, NULL);
    folder = reader->plan->candidate.folder;
    if (root == NULL || folder == NULL)
        return yaml_fault(use, err, "there is no candidate `%s` in %s (%s); name one that is there", use->text,
                          reader->candidates_dir, strerror(errno));
    if (asprintf(&file, "%s/candidate.yaml", folder) < 0) {
        file = NULL;
        return err_set_errno(err, "memory for a path");
    }
    reader->has_folder = true;
    code = plan_file_read(use, file, LIMIT_YAML_BYTES, &source, err);
    if (code == ERR_SYSTEM && err->sys_errno == ENOENT)
        return yaml_fault(use, err, "the candidate `%s` has no %s; add it, or name another", use->text, file);
    if (code < 0 || yaml_parse(file, source.data, source.size_bytes, &yaml, err) < 0 ||
        yaml_check_root(&yaml, "a candidate", known, err) < 0 ||
        body_read(reader, yaml.root, policy != NULL ? policy : yaml_get(yaml.root, "policy"), folder, root, err) < 0)
        return err->code;
    name = yaml_get(yaml.root, "name");
    if (strcmp(name->text, use->text) != 0)
        return yaml_fault(name, err, "`name` is not the folder's, %s; rename one", use->text);
    return 0;
}

int plan_candidate_read(struct plan_reader *reader, const struct yaml_node *node, struct err *err)
{
    static const char *const known_of_use[] = {"use", "policy", NULL};
    static const char *const known[] = {"name", "argv", "policy", "version_command", "programs", NULL};
    const struct yaml_node *use = yaml_get(node, "use"), *policy = yaml_get(node, "policy");
    AUTO_FREE char *name = NULL;

    if (yaml_check_map(node, use != NULL ? "a candidate with `use`" : "a candidate", use != NULL ? known_of_use : known,
                       err) < 0)
        return err->code;
    if (use == NULL)
        return body_read(reader, node, policy, reader->plan->folder, reader->plan->folder, err);
    if (plan_name_read(use, &name, err) < 0)
        return err->code;
    if (reader->candidates_dir != NULL)
        return folder_read(reader, use, policy, err);
    reader->has_policy = true; /* the folder may have one */
    reader->has_folder = true;
    reader->plan->candidate.name = take_ptr(&name);
    return policy == NULL ? 0 : plan_path_read(policy, NULL, &reader->plan->candidate.policy_file, err);
}
