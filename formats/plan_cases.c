/*
 * Cases, and what a plan keeps or identifies beside them: inputs, pins, binaries.
 */
#include "base/cleanup.h"
#include "formats/plan_names.h"
#include "formats/plan_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { WATCHDOG_DEFAULT_MS = 30000 };

static int input_path_read(const struct plan_reader *reader, const struct yaml_node *node, char **out, struct err *err)
{
    AUTO_FREE char *path = NULL;
    const char *text;

    if (yaml_text(node, &text, err) < 0)
        return err->code;
    if (text[0] != '/') {
        if (plan_path_read(node, reader->plan->folder, out, err) < 0)
            return err->code;
        return *out != NULL ? 0 : yaml_text_copy(node, out, err);
    }
    if (plan_path_absolute(node, &path, err) < 0)
        return err->code;
    *out = reader->candidates_dir == NULL ? take_ptr(&path) : realpath(path, NULL);
    if (*out == NULL && errno == ENOMEM)
        return err_set_errno(err, "memory for a path");
    return *out != NULL ? 0 : yaml_fault(node, err, "`path`: %s: %s; name what is there", path, strerror(errno));
}

static int input_read(const struct plan_reader *reader, const struct yaml_node *node, struct plan_input *out,
                      struct err *err)
{
    static const char *const known[] = {"name", "path", "retain", NULL};
    const struct yaml_node *name, *path, *retain;

    if (yaml_check_map(node, "an input", known, err) < 0 || yaml_need(node, "an input", "name", &name, err) < 0 ||
        yaml_need(node, "an input", "path", &path, err) < 0 || plan_name_read(name, &out->name, err) < 0 ||
        plan_name_check_fresh(node, "input", err) < 0)
        return err->code;
    if (strcmp(out->name, "workspace") == 0)
        return yaml_fault(name, err, "the workspace is an input of that name already; rename this one");
    out->retain = true;
    retain = yaml_get(node, "retain");
    if (retain != NULL && yaml_bool(retain, &out->retain, err) < 0)
        return err->code;
    return input_path_read(reader, path, &out->path, err);
}

static int pin_read(const struct yaml_node *node, struct plan_pin *out, struct err *err)
{
    static const char *const known[] = {"path", "sha256", NULL};
    const struct yaml_node *path, *sha256;
    const char *digits;

    if (yaml_check_map(node, "a pin", known, err) < 0 || yaml_need(node, "a pin", "path", &path, err) < 0 ||
        yaml_need(node, "a pin", "sha256", &sha256, err) < 0 || plan_path_absolute(path, &out->path, err) < 0 ||
        yaml_text(sha256, &digits, err) < 0)
        return err->code;
    if (!hex_decode(digits, out->expected.bytes, DIGEST_BYTES))
        return yaml_fault(sha256, err, "`sha256` is not one; write 64 lower-case hexadecimal digits");
    out->line = path->line;
    return 0;
}

/* `is_program`: the candidate's, which says how to get it. */
static int binary_read(const struct yaml_node *node, bool is_program, struct plan_binary *out, struct err *err)
{
    static const char *const known[] = {"name", "path", NULL};
    static const char *const known_of_program[] = {"name", "path", "get", NULL};
    static const char *const reserved[] = {"exhibit-record", "exhibit-probe", "exhibit-confine", "launcher"};
    const char *what = is_program ? "a program" : "a binary";
    const struct yaml_node *name, *path, *get;

    if (yaml_check_map(node, what, is_program ? known_of_program : known, err) < 0 ||
        yaml_need(node, what, "name", &name, err) < 0 || yaml_need(node, what, "path", &path, err) < 0 ||
        plan_name_read(name, &out->name, err) < 0 || plan_name_check_fresh(node, what + 2, err) < 0 ||
        (is_program && (yaml_need(node, what, "get", &get, err) < 0 || yaml_text_copy(get, &out->get, err) < 0)))
        return err->code;
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++)
        if (strcmp(out->name, reserved[i]) == 0)
            return yaml_fault(name, err, "the recorder identifies %s itself; rename this one", out->name);
    out->line = path->line;
    return plan_path_absolute(path, &out->path, err);
}

static int stdin_read(const struct plan_reader *reader, const struct yaml_node *node, struct plan_case *out,
                      struct err *err)
{
    static const char *const known[] = {"base64", "file", NULL};
    const struct yaml_node *named = yaml_get(node, "file");
    AUTO_FREE char *file = NULL;

    if (node->kind == YAML_MAP && yaml_check_map(node, "a map of bytes", known, err) < 0)
        return err->code;
    if (node->kind == YAML_MAP && node->count != 1)
        return yaml_fault(node, err, "`stdin` is a text, {base64: ...} or {file: ...}; write one of them");
    if (named == NULL)
        return yaml_bytes(node, &out->stdin_bytes, err);
    out->stdin_from_file = true;
    if (plan_path_read(named, reader->plan->folder, &file, err) < 0)
        return err->code;
    return file == NULL ? 0 : plan_file_read(named, file, LIMIT_STDIN_BYTES, &out->stdin_bytes, err);
}

static int case_read(const struct plan_reader *reader, const struct yaml_node *node, struct plan_case *out,
                     struct err *err)
{
    static const char *const known[] = {"name", "command", "stdin", "watchdog_ms", "environment", NULL};
    const struct yaml_node *name, *command, *input, *watchdog_ms, *environment;

    if (yaml_check_map(node, "a case", known, err) < 0 || yaml_need(node, "a case", "name", &name, err) < 0 ||
        yaml_need(node, "a case", "command", &command, err) < 0 || plan_name_read(name, &out->name, err) < 0 ||
        plan_name_check_fresh(node, "case", err) < 0 ||
        plan_words_read(reader, command, PLAN_WORDS_COMMAND, &out->command, err) < 0)
        return err->code;
    input = yaml_get(node, "stdin");
    watchdog_ms = yaml_get(node, "watchdog_ms");
    environment = yaml_get(node, "environment");
    out->watchdog_ms = WATCHDOG_DEFAULT_MS;
    out->line = node->line;
    if ((input != NULL && stdin_read(reader, input, out, err) < 0) ||
        (watchdog_ms != NULL && yaml_uint(watchdog_ms, 1, LIMIT_WATCHDOG_MS, &out->watchdog_ms, err) < 0) ||
        (environment != NULL &&
         plan_environment_read(reader, environment, &out->environment, &out->environment_count, err) < 0))
        return err->code;
    return 0;
}

/* Checks a list and makes room for its items, all zero; NULL where there is no list. */
static int list_begin(const struct yaml_node *node, size_t max_count, size_t item_bytes, void *out, struct err *err)
{
    if (node == NULL)
        return 0;
    if (yaml_check_list(node, 0, max_count, err) < 0)
        return err->code;
    *(void **)out = calloc(node->count + 1, item_bytes);
    return *(void **)out != NULL ? 0 : err_set_errno(err, "memory for a list");
}

int plan_inputs_read(struct plan_reader *reader, const struct yaml_node *node, struct err *err)
{
    struct plan *plan = reader->plan;

    if (list_begin(node, LIMIT_INPUTS, sizeof *plan->inputs, &plan->inputs, err) < 0)
        return err->code;
    for (const struct yaml_node *item = node == NULL ? NULL : node->first; item != NULL; item = item->next)
        if (input_read(reader, item, &plan->inputs[plan->input_count++], err) < 0)
            return err->code;
    return 0;
}

static int local_mark(struct plan *plan, const struct yaml_node *node, struct err *err)
{
    const char *name;
    bool *local = NULL;

    if (yaml_text(node, &name, err) < 0)
        return err->code;
    if (strcmp(name, "workspace") == 0)
        local = &plan->workspace_local;
    for (size_t i = 0; i < plan->input_count && local == NULL; i++) {
        if (strcmp(plan->inputs[i].name, name) != 0)
            continue;
        if (!plan->inputs[i].retain)
            return yaml_fault(node, err, "nothing is kept of the input `%s` but digests; retain it, or do not name it",
                              name);
        local = &plan->inputs[i].local;
    }
    if (local == NULL)
        return yaml_fault(node, err, "there is no input `%.64s`; name one of `inputs`, or workspace", name);
    if (*local)
        return yaml_fault(node, err, "`%s` stands twice; keep one", name);
    *local = true;
    return 0;
}

int plan_local_read(struct plan_reader *reader, const struct yaml_node *node, struct err *err)
{
    if (node == NULL)
        return 0;
    if (yaml_check_list(node, 1, LIMIT_INPUTS + 1, err) < 0)
        return err->code;
    for (const struct yaml_node *item = node->first; item != NULL; item = item->next)
        if (local_mark(reader->plan, item, err) < 0)
            return err->code;
    return 0;
}

int plan_pins_read(struct plan_reader *reader, const struct yaml_node *node, struct err *err)
{
    struct plan *plan = reader->plan;

    if (list_begin(node, LIMIT_PINS, sizeof *plan->pins, &plan->pins, err) < 0)
        return err->code;
    for (const struct yaml_node *item = node == NULL ? NULL : node->first; item != NULL; item = item->next)
        if (pin_read(item, &plan->pins[plan->pin_count++], err) < 0)
            return err->code;
    return 0;
}

int plan_binaries_read(struct plan_reader *reader, const struct yaml_node *node, struct err *err)
{
    struct plan *plan = reader->plan;

    if (list_begin(node, LIMIT_PINS, sizeof *plan->binaries, &plan->binaries, err) < 0)
        return err->code;
    for (const struct yaml_node *item = node == NULL ? NULL : node->first; item != NULL; item = item->next)
        if (binary_read(item, false, &plan->binaries[plan->binary_count++], err) < 0)
            return err->code;
    return 0;
}

int plan_programs_read(const struct yaml_node *node, struct plan_binary **out, size_t *out_count, struct err *err)
{
    if (list_begin(node, LIMIT_PINS, sizeof **out, out, err) < 0)
        return err->code;
    for (const struct yaml_node *item = node == NULL ? NULL : node->first; item != NULL; item = item->next)
        if (binary_read(item, true, &(*out)[(*out_count)++], err) < 0)
            return err->code;
    return 0;
}

void plan_programs_free(struct plan_binary *programs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(programs[i].name);
        free(programs[i].path);
        free(programs[i].get);
    }
    free(programs);
}

int plan_cases_read(struct plan_reader *reader, const struct yaml_node *node, struct err *err)
{
    struct plan *plan = reader->plan;

    if (list_begin(node, LIMIT_CASES, sizeof *plan->cases, &plan->cases, err) < 0)
        return err->code;
    for (const struct yaml_node *item = node == NULL ? NULL : node->first; item != NULL; item = item->next)
        if (case_read(reader, item, &plan->cases[plan->case_count++], err) < 0)
            return err->code;
    return 0;
}
