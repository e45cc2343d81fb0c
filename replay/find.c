/*
 * A walk with fts, folder after folder, whatever their depth is; the order is made afterwards.
 */
#include "replay/find.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fts.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

static int add_path(struct found *found, const char *path, struct err *err)
{
    size_t size_bytes = strlen(path) + 1 + sizeof path;

    if (size_bytes > FOUND_MAX_BYTES - found->text_bytes)
        return err_set(err, ERR_LIMIT, "too many bundles for one call; name fewer folders");
    if ((found->count & (found->count + 1)) == 0) { /* 0, 1, 3, 7 ...: full */
        char **grown = reallocarray(found->paths, 2 * found->count + 2, sizeof *grown);

        if (grown == NULL)
            return err_set_errno(err, "memory for paths");
        found->paths = grown;
    }
    found->paths[found->count] = strdup(path);
    if (found->paths[found->count] == NULL)
        return err_set_errno(err, "memory for paths");
    found->count++;
    found->text_bytes += size_bytes;
    return 0;
}

/* Bundles, and the packs of a store (FORMAT 11.3), which have all that a judge needs. */
static bool is_bundle_name(const char *name)
{
    static const char *const ends[] = {".exhibit", ".pack"};
    size_t size_bytes = strlen(name);

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (size_bytes > strlen(ends[i]) && strcmp(name + size_bytes - strlen(ends[i]), ends[i]) == 0)
            return true;
    return false;
}

/* Whether what the walk came to is to be opened. */
static bool is_meant(const FTSENT *entry)
{
    bool named = entry->fts_level == FTS_ROOTLEVEL;

    switch (entry->fts_info) {
    case FTS_D:
    case FTS_DP:
    case FTS_DC:
        return false;
    case FTS_DNR: /* a folder that cannot be read */
    case FTS_ERR:
        return true;
    case FTS_F:
    case FTS_NS:
    case FTS_NSOK:
        return named || is_bundle_name(entry->fts_name);
    default: /* links and devices */
        return named;
    }
}

static int walk(FTS *tree, struct found *found, struct err *err)
{
    size_t before = 0;
    FTSENT *entry;

    while (errno = 0, (entry = fts_read(tree)) != NULL) {
        if (entry->fts_level == FTS_ROOTLEVEL && entry->fts_info == FTS_D)
            before = found->count;
        if (entry->fts_level == FTS_ROOTLEVEL && entry->fts_info == FTS_DP && found->count == before)
            return err_set(err, ERR_USAGE, "%.200s: no *.exhibit is beneath this folder", entry->fts_path);
        if (is_meant(entry) && add_path(found, entry->fts_path, err) < 0)
            return err->code;
    }
    return errno == 0 ? 0 : err_set_errno(err, "the folders cannot be walked");
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void drop_doubles(struct found *found)
{
    size_t kept = 0;

    for (size_t i = 0; i < found->count; i++) {
        if (kept > 0 && strcmp(found->paths[kept - 1], found->paths[i]) == 0)
            free(found->paths[i]);
        else
            found->paths[kept++] = found->paths[i];
    }
    found->count = kept;
}

int find_bundles(char *const *paths, size_t path_count, struct found *out, struct err *err)
{
    AUTO_FREE char **roots = calloc(path_count + 1, sizeof *roots);
    FTS *tree;
    int code;

    *out = (struct found){0};
    if (roots == NULL)
        return err_set_errno(err, "memory for paths");
    for (size_t i = 0; i < path_count; i++) {
        if (*paths[i] == 0) /* fts would refuse all of them, and not say which */
            return err_set(err, ERR_USAGE, "a bundle's name is empty: name a bundle, a folder or a store");
        roots[i] = paths[i];
    }
    tree = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
    if (tree == NULL)
        return err_set_errno(err, "the folders cannot be walked");
    code = walk(tree, out, err);
    (void)fts_close(tree);
    if (code < 0)
        return code;
    qsort(out->paths, out->count, sizeof *out->paths, compare_paths);
    drop_doubles(out);
    return 0;
}

void found_done(struct found *found)
{
    for (size_t i = 0; i < found->count; i++)
        free(found->paths[i]);
    free(found->paths);
    *found = (struct found){0};
}
