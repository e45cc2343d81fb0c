/*
 * What a case must leave in its scratch folder: files, and archives that are compared.
 */
#include "formats/oracle_parts.h"
#include "formats/plan_names.h"

#include <stdlib.h>
#include <string.h>

/* A path in the scratch folder: no empty, "." or ".." part; at most one '*', in the last part. */
static bool pattern_is_fit(const char *path)
{
    const char *star = strchr(path, '*');

    if (star != NULL && strpbrk(star + 1, "*/") != NULL)
        return false;
    for (const char *part = path;; part++) {
        size_t size_bytes = strcspn(part, "/");

        if (size_bytes == 0 || (size_bytes <= 2 && strspn(part, ".") >= size_bytes))
            return false;
        part += size_bytes;
        if (*part == '\0')
            return true;
    }
}

static int path_read(const struct yaml_node *node, char **out, struct err *err)
{
    if (yaml_text_copy(node, out, err) < 0)
        return err->code;
    if (strlen(*out) >= LIMIT_PATH_BYTES || !pattern_is_fit(*out))
        return yaml_fault(node, err,
                          "`path` is not one of a file in the scratch folder; write it relative, without "
                          ". and .., with at most one *, in its last part");
    return 0;
}

/* ---- files ---- */

static int only_true(const struct yaml_node *node, struct err *err)
{
    bool value;

    if (yaml_bool(node, &value, err) < 0)
        return err->code;
    if (!value)
        return yaml_fault(node, err, "`exists: false` and `absent: false` are one another; write the other, true");
    return 0;
}

static int file_read(const struct yaml_node *node, struct oracle_case *out, struct err *err)
{
    static const char *const known[] = {"path", "exists", "absent", "sha256", NULL};
    const struct yaml_node *path, *exists, *absent, *sha256;
    struct oracle_matcher *matcher;

    if (yaml_check_map(node, "a file", known, err) < 0 || yaml_need(node, "a file", "path", &path, err) < 0)
        return err->code;
    exists = yaml_get(node, "exists");
    absent = yaml_get(node, "absent");
    sha256 = yaml_get(node, "sha256");
    if ((exists != NULL) + (absent != NULL) + (sha256 != NULL) != 1)
        return yaml_fault(node, err, "a file needs one of: exists, absent, sha256; write one");
    if (oracle_matcher_add(out,
                           exists != NULL   ? ORACLE_FILE_EXISTS
                           : absent != NULL ? ORACLE_FILE_ABSENT
                                            : ORACLE_FILE_SHA256,
                           node, &matcher, err) < 0 ||
        path_read(path, &matcher->path, err) < 0)
        return err->code;
    if (sha256 != NULL)
        return oracle_digest_read(sha256, &matcher->digest, err);
    return only_true(exists != NULL ? exists : absent, err);
}

int oracle_files_read(const struct yaml_node *node, struct oracle_case *out, struct err *err)
{
    if (yaml_check_list(node, 1, LIMIT_MATCHERS, err) < 0)
        return err->code;
    for (const struct yaml_node *item = node->first; item != NULL; item = item->next)
        if (file_read(item, out, err) < 0)
            return err->code;
    return 0;
}

/* ---- archives ---- */

static int except_paths_read(const struct yaml_node *node, struct oracle_archive *out, struct err *err)
{
    if (yaml_check_list(node, 1, LIMIT_EXCEPT_PATHS, err) < 0)
        return err->code;
    out->except_paths = calloc(node->count + 1, sizeof *out->except_paths);
    if (out->except_paths == NULL)
        return err_set_errno(err, "memory for archives");
    for (const struct yaml_node *item = node->first; item != NULL; item = item->next) {
        char **path = &out->except_paths[out->except_count];

        if (yaml_text_copy(item, path, err) < 0)
            return err->code;
        out->except_count++;
        if (**path == '\0' || strlen(*path) >= LIMIT_PATH_BYTES || strchr(*path, '*') != strrchr(*path, '*'))
            return yaml_fault(item, err, "not a pattern of a member's path; write 1 to 4095 bytes with at most one *");
    }
    return 0;
}

static int except_read(const struct yaml_node *node, struct oracle_archive *out, struct err *err)
{
    static const char *const known[] = {"paths", "mtime", "owner", NULL};
    const struct yaml_node *paths, *mtime, *owner;

    if (yaml_check_map(node, "a map of what is not compared", known, err) < 0)
        return err->code;
    paths = yaml_get(node, "paths");
    mtime = yaml_get(node, "mtime");
    owner = yaml_get(node, "owner");
    if ((paths != NULL && except_paths_read(paths, out, err) < 0) ||
        (mtime != NULL && yaml_bool(mtime, &out->except_mtime, err) < 0) ||
        (owner != NULL && yaml_bool(owner, &out->except_owner, err) < 0))
        return err->code;
    if (out->except_count == 0 && !out->except_mtime && !out->except_owner)
        return yaml_fault(node, err, "`except` leaves nothing out; remove it, or write one of: paths, mtime, owner");
    return 0;
}

static int archive_read(const struct yaml_node *node, struct oracle_archive *out, struct err *err)
{
    static const char *const known[] = {"path", "bytes", "except", NULL};
    const struct yaml_node *path, *bytes, *except;

    out->line = node->line;
    if (yaml_check_map(node, "an archive", known, err) < 0 || yaml_need(node, "an archive", "path", &path, err) < 0 ||
        path_read(path, &out->path, err) < 0)
        return err->code;
    bytes = yaml_get(node, "bytes");
    except = yaml_get(node, "except");
    if ((bytes != NULL && yaml_bool(bytes, &out->bytes, err) < 0) ||
        (except != NULL && except_read(except, out, err) < 0))
        return err->code;
    if (out->bytes && except != NULL)
        return yaml_fault(except, err, "an archive that is compared by `bytes` has no exceptions; keep one of the two");
    return 0;
}

int oracle_archives_read(const struct yaml_node *node, struct oracle_case *out, struct err *err)
{
    if (yaml_check_list(node, 0, LIMIT_MATCHERS, err) < 0)
        return err->code;
    out->archives = calloc(node->count + 1, sizeof *out->archives);
    if (out->archives == NULL)
        return err_set_errno(err, "memory for archives");
    for (const struct yaml_node *item = node->first; item != NULL; item = item->next)
        if (archive_read(item, &out->archives[out->archive_count++], err) < 0)
            return err->code;
    return 0;
}
