/*
 * The paths that a plan names. Knows the file system, and no key of a plan.
 */
#include "base/cleanup.h"
#include "base/file.h"
#include "formats/plan_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int text_check(const struct yaml_node *node, const char **out, struct err *err)
{
    if (yaml_text(node, out, err) < 0)
        return err->code;
    if ((*out)[0] == '\0' || strlen(*out) >= LIMIT_PATH_BYTES)
        return yaml_fault(node, err, "`%.64s` is not a path; write one of 1 to %d bytes", node->key,
                          LIMIT_PATH_BYTES - 1);
    return 0;
}

/* Whether one of the parts is "..". */
static bool goes_up(const char *path)
{
    for (const char *part = path;; part++) {
        size_t size_bytes = strcspn(part, "/");

        if (size_bytes == 2 && memcmp(part, "..", 2) == 0)
            return true;
        part += size_bytes;
        if (*part == '\0')
            return false;
    }
}

static bool is_within(const char *path, const char *folder)
{
    size_t folder_bytes = strcmp(folder, "/") == 0 ? 0 : strlen(folder);

    return strncmp(path, folder, folder_bytes) == 0 && (path[folder_bytes] == '/' || path[folder_bytes] == '\0');
}

int plan_path_read(const struct yaml_node *node, const char *folder, char **out, struct err *err)
{
    return plan_path_within(node, folder, folder, out, err);
}

int plan_path_within(const struct yaml_node *node, const char *folder, const char *root, char **out, struct err *err)
{
    AUTO_FREE char *joined = NULL, *resolved = NULL;
    const char *text;

    if (text_check(node, &text, err) < 0)
        return err->code;
    if (text[0] == '/')
        return yaml_fault(node, err, "`%.64s` is absolute; write it relative to the folder that the file is to be in",
                          node->key);
    if (goes_up(text))
        return yaml_fault(node, err, "`%.64s` leaves its folder; write it without ..", node->key);
    if (folder == NULL)
        return 0;
    if (asprintf(&joined, "%s/%s", folder, text) < 0) {
        joined = NULL;
        return err_set_errno(err, "memory for a path");
    }
    resolved = realpath(joined, NULL);
    if (resolved == NULL && errno == ENOMEM)
        return err_set_errno(err, "memory for a path");
    if (resolved == NULL)
        return yaml_fault(node, err, "`%.64s`: %s: %s; name what is there", node->key, joined, strerror(errno));
    if (!is_within(resolved, root))
        return yaml_fault(node, err, "`%.64s` leaves its folder through a symbolic link, to %s; copy it into %s",
                          node->key, resolved, folder);
    *out = take_ptr(&resolved);
    return 0;
}

int plan_path_absolute(const struct yaml_node *node, char **out, struct err *err)
{
    const char *text;

    if (text_check(node, &text, err) < 0)
        return err->code;
    if (text[0] != '/')
        return yaml_fault(node, err, "`%.64s` is not absolute; write the whole path", node->key);
    return yaml_text_copy(node, out, err);
}

int plan_file_read(const struct yaml_node *node, const char *file, size_t max_bytes, struct bytes *out, struct err *err)
{
    int code = file_read_path(AT_FDCWD, file, 0, max_bytes, out, err);

    if (code == ERR_LIMIT)
        return yaml_fault(node, err, "%s is larger than %zu bytes; make it smaller", file, max_bytes);
    if (code == ERR_USAGE)
        return yaml_fault(node, err, "%s is not a regular file; name one", file);
    return code;
}
