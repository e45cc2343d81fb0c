/*
 * Reading a policy.
 */
#include "candidates/confine/policy.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "formats/limits.h"
#include "formats/yaml.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GRANTS_MAX 1024 /* of one kind */

struct reader {
    const struct setting *settings;
    size_t setting_count;
    struct policy *policy;
};

static const char *const kinds[] = {[GRANT_READ] = "read", [GRANT_EXECUTE] = "execute", [GRANT_WRITE] = "write"};

static const struct setting *setting_called(const struct reader *reader, const char *name, size_t name_bytes)
{
    for (size_t i = 0; i < reader->setting_count; i++) {
        const struct setting *setting = &reader->settings[i];

        if (setting->name_bytes == name_bytes && memcmp(setting->name, name, name_bytes) == 0)
            return setting;
    }
    return NULL;
}

/* Takes the placeholder that *at begins with and appends its value. */
static int fill_placeholder(const struct reader *reader, const struct yaml_node *node, const char **at,
                            struct bytes *path, struct err *err)
{
    size_t name_bytes = strcspn(*at + 1, "}");
    const struct setting *setting;

    if ((*at)[1 + name_bytes] != '}')
        return yaml_fault(node, err, "'{' without '}'");
    setting = setting_called(reader, *at + 1, name_bytes);
    if (setting == NULL)
        return yaml_fault(node, err, "no value for {%.*s}; give one with --set", (int)name_bytes, *at + 1);
    *at += name_bytes + 2;
    return bytes_add(path, setting->value, strlen(setting->value), LIMIT_PATH_BYTES - 1, err);
}

/* Appends text with its placeholders filled in. */
static int fill(const struct reader *reader, const struct yaml_node *node, const char *text, struct bytes *path,
                struct err *err)
{
    int code = 0;

    while (code == 0 && *text != '\0') {
        size_t plain_bytes = strcspn(text, "{");

        if (plain_bytes == 0) {
            code = fill_placeholder(reader, node, &text, path, err);
        } else {
            code = bytes_add(path, text, plain_bytes, LIMIT_PATH_BYTES - 1, err);
            text += plain_bytes;
        }
    }
    if (code == ERR_LIMIT)
        return yaml_fault(node, err, "the path is longer than %d bytes", LIMIT_PATH_BYTES - 1);
    if (code == 0 && (path->size_bytes == 0 || path->data[0] != '/'))
        return yaml_fault(node, err, "the path is not absolute");
    return code;
}

/* Takes PATH or `optional: PATH` into the next free grant. */
static int take_grant(const struct reader *reader, const struct yaml_node *node, enum grant_kind kind, struct err *err)
{
    static const char *const known[] = {"optional", NULL};
    struct policy *policy = reader->policy;
    AUTO_BYTES struct bytes path = {0};
    bool optional = node->kind == YAML_MAP;
    unsigned line = node->line;
    const char *text;
    char *taken;
    int code = 0;

    if (optional)
        code = yaml_check_map(node, "an optional path", known, err);
    if (optional && code == 0)
        code = yaml_need(node, "an optional path", "optional", &node, err);
    if (code == 0)
        code = yaml_text(node, &text, err);
    if (code == 0)
        code = fill(reader, node, text, &path, err);
    if (code < 0)
        return code;
    taken = bytes_to_text(&path);
    if (taken == NULL)
        return err_set_errno(err, "memory for a path");
    policy->grants[policy->grant_count++] =
        (struct grant){.kind = kind, .path = taken, .optional = optional, .line = line};
    return 0;
}

static int take_list(const struct reader *reader, const struct yaml_node *list, enum grant_kind kind, struct err *err)
{
    struct policy *policy = reader->policy;
    struct grant *grown;
    int code;

    if (list == NULL)
        return 0;
    code = yaml_check_list(list, 0, GRANTS_MAX, err);
    if (code < 0)
        return code;
    grown = reallocarray(policy->grants, policy->grant_count + list->count + 1, sizeof *grown);
    if (grown == NULL)
        return err_set_errno(err, "%s", policy->file);
    policy->grants = grown;
    for (const struct yaml_node *node = list->first; code == 0 && node != NULL; node = node->next)
        code = take_grant(reader, node, kind, err);
    return code;
}

static int take_document(const struct reader *reader, const struct yaml *yaml, struct err *err)
{
    static const char *const known[] = {"version", "read", "execute", "write", "network", "pid_namespace", NULL};
    const struct yaml_node *network, *pid_namespace;
    const char *text = "";
    int code = yaml_check_root(yaml, "a policy", known, err);

    for (enum grant_kind kind = GRANT_READ; code == 0 && kind <= GRANT_WRITE; kind++)
        code = take_list(reader, yaml_get(yaml->root, kinds[kind]), kind, err);
    if (code == 0)
        code = yaml_need(yaml->root, "a policy", "network", &network, err);
    if (code == 0)
        code = yaml_text(network, &text, err);
    if (code < 0)
        return code;
    if (strcmp(text, "none") != 0)
        return yaml_fault(network, err, "network is '%s'; the only value is none", text);
    pid_namespace = yaml_get(yaml->root, "pid_namespace");
    return pid_namespace == NULL ? 0 : yaml_bool(pid_namespace, &reader->policy->pid_namespace, err);
}

int policy_read(const char *file, const struct setting *settings, size_t setting_count, struct policy *out,
                struct err *err)
{
    struct reader reader = {.settings = settings, .setting_count = setting_count, .policy = out};
    AUTO_BYTES struct bytes source = {0};
    AUTO_YAML struct yaml yaml = {0};
    int code = file_read_path(AT_FDCWD, file, 0, LIMIT_YAML_BYTES, &source, err);

    *out = (struct policy){.file = file};
    if (code < 0)
        return err_wrap(err, "%s", file);
    code = yaml_parse(file, source.data, source.size_bytes, &yaml, err);
    return code < 0 ? code : take_document(&reader, &yaml, err);
}

const char *grant_kind_name(enum grant_kind kind)
{
    return kinds[kind];
}

static int grant_compare(const void *a, const void *b)
{
    return strcmp(((const struct grant *)a)->path, ((const struct grant *)b)->path);
}

int policy_sort(struct policy *policy, struct err *err)
{
    size_t kept = 0;

    for (size_t i = 0; i < policy->grant_count; i++) {
        const struct grant *grant = &policy->grants[i];

        if (strchr(grant->path, '\n') != NULL)
            return err_set(err, ERR_USAGE, "%s:%u: a path with a newline", policy->file, grant->line);
        if (!grant->optional && access(grant->path, F_OK) < 0)
            return err_set(err, ERR_USAGE, "%s:%u: %s: %s", policy->file, grant->line, grant->path, strerror(errno));
    }
    for (size_t i = 0; i < policy->grant_count; i++) {
        if (access(policy->grants[i].path, F_OK) == 0)
            policy->grants[kept++] = policy->grants[i];
        else
            free(policy->grants[i].path);
    }
    policy->grant_count = kept;
    qsort(policy->grants, kept, sizeof *policy->grants, grant_compare);
    return 0;
}

/* Whether `path` lies below `folder`; both resolved. */
static bool lies_below(const char *path, const char *folder)
{
    size_t folder_bytes = strlen(folder);

    return strncmp(path, folder, folder_bytes) == 0 && path[folder_bytes] == '/';
}

/* Where a grant is: its folder resolved, its last part as it is. Owned by the caller; NULL: out of memory, or gone. */
static char *place_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    AUTO_FREE char *folder = strndup(path, (size_t)(slash - path) + 1);
    AUTO_FREE char *resolved = folder == NULL ? NULL : realpath(folder, NULL);
    char *out = NULL;

    if (resolved == NULL || asprintf(&out, "%s%s", strcmp(resolved, "/") == 0 ? "" : resolved, slash) < 0)
        return NULL;
    return out;
}

const char *policy_mount_kind(const struct policy *policy, size_t place)
{
    const struct grant *grant = &policy->grants[place];
    AUTO_FREE char *at = place_of(grant->path);
    struct stat seen;

    for (size_t i = 0; at != NULL && i < policy->grant_count; i++) {
        bool enough = grant->kind != GRANT_WRITE || policy->grants[i].kind == GRANT_WRITE;

        if (i != place && enough && lies_below(at, policy->grants[i].path))
            return NULL;
    }
    if (lstat(grant->path, &seen) == 0 && S_ISLNK(seen.st_mode))
        return "link";
    return grant_kind_name(grant->kind == GRANT_EXECUTE ? GRANT_READ : grant->kind);
}

void policy_done(struct policy *policy)
{
    for (size_t i = 0; i < policy->grant_count; i++)
        free(policy->grants[i].path);
    free(policy->grants);
    *policy = (struct policy){0};
}
