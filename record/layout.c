#include "record/layout.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "record/stale.h"
#include "record/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* out = base/name. ERR_LIMIT when that is too long. */
static int path_join(char out[PATH_MAX], const char *base, const char *name, struct err *err)
{
    if (snprintf(out, PATH_MAX, "%s/%s", base, name) >= PATH_MAX)
        return err_set(err, ERR_LIMIT, "%s/%s: the path is too long; choose a shorter --work", base, name);
    return 0;
}

static int folder_make(const char *base, const char *name, mode_t mode, struct err *err)
{
    char path[PATH_MAX];

    if (path_join(path, base, name, err) < 0)
        return err->code;
    if (mkdir(path, mode) < 0 || chmod(path, mode) < 0)
        return err_set_errno(err, "make %s", path);
    return 0;
}

static int tool_copy(const struct session *session, const char *program_dir, const char *name, struct err *err)
{
    AUTO_BYTES struct bytes content = {0};
    char from[PATH_MAX], to[PATH_MAX];

    if (path_join(from, program_dir, name, err) < 0 || path_join(to, session->tools, name, err) < 0 ||
        file_read_path(AT_FDCWD, from, 0, LIMIT_TOOL_BYTES, &content, err) < 0)
        return err->code;
    return file_create(AT_FDCWD, to, 0755, content.data, content.size_bytes, err);
}

/* Fills the paths below session->work. */
static int paths_fill(struct session *session, bool has_policy, struct err *err)
{
    if (path_join(session->workspace, session->work, "box/workspace", err) < 0 ||
        path_join(session->scratch, session->work, "box/scratch", err) < 0 ||
        path_join(session->home, session->work, "box/scratch/home", err) < 0 ||
        path_join(session->tools, session->work, "box/tools", err) < 0 ||
        (session->plan->candidate.folder != NULL &&
         path_join(session->candidate, session->work, "box/candidate", err) < 0))
        return err->code;
    return has_policy ? path_join(session->policy, session->work, "box/policy", err) : 0;
}

/* Makes the folders that stay for the whole recording. */
static int folders_make(const struct session *session, struct err *err)
{
    if (folder_make(session->work, "source", 0755, err) < 0 || folder_make(session->work, "box", 0755, err) < 0 ||
        folder_make(session->work, "box/tools", 0755, err) < 0)
        return err->code;
    return 0;
}

/* The files of the candidate's folder, read through links; folders in it are not for the launcher. */
static int candidate_copy(struct session *session, struct err *err)
{
    const char *folder = session->plan->candidate.folder;
    AUTO_DIR DIR *dir = opendir(folder);
    const struct dirent *entry;

    if (dir == NULL)
        return err_set_errno(err, "open %s", folder);
    if (folder_make(session->work, "box/candidate", 0755, err) < 0)
        return err->code;
    while ((entry = readdir(dir)) != NULL) {
        AUTO_BYTES struct bytes content = {0};
        char to[PATH_MAX];
        struct stat seen;

        if (fstatat(dirfd(dir), entry->d_name, &seen, 0) < 0 || !S_ISREG(seen.st_mode))
            continue;
        if (path_join(to, session->candidate, entry->d_name, err) < 0 ||
            file_read_path(dirfd(dir), entry->d_name, 0, LIMIT_TOOL_BYTES, &content, err) < 0 ||
            file_create(AT_FDCWD, to, seen.st_mode & 0755, content.data, content.size_bytes, err) < 0)
            return err->code;
    }
    return 0;
}

int layout_foresee(struct session *session, const char *parent, bool has_policy, struct err *err)
{
    char resolved[PATH_MAX];

    if (parent == NULL)
        parent = LAYOUT_DEFAULT_PARENT;
    if (realpath(parent, resolved) == NULL)
        return err_set(err, ERR_USAGE, "--work %s: %s; name a folder that exists", parent, strerror(errno));
    if (path_join(session->work, resolved, "exhibit-XXXXXX", err) < 0)
        return err->code;
    return paths_fill(session, has_policy, err);
}

int layout_make(struct session *session, const char *parent, const char *program_dir, const struct bytes *policy,
                struct err *err)
{
    char template[PATH_MAX];
    int code = layout_foresee(session, parent, policy != NULL, err);

    memcpy(template, session->work, sizeof template);
    session->work[0] = 0; /* there is nothing to remove yet */
    session->owner_fd = -1;
    if (code < 0)
        return code;
    if (mkdtemp(template) == NULL)
        return err_set(err, ERR_USAGE, "--work %s: %s; name a folder that you may write",
                       parent == NULL ? LAYOUT_DEFAULT_PARENT : parent, strerror(errno));
    memcpy(session->work, template, sizeof session->work);
    /* First: from here on the next one removes what a kill leaves. */
    if (stale_mark(session->work, session->group_prefix, &session->owner_fd, err) < 0 ||
        paths_fill(session, policy != NULL, err) < 0)
        return err->code;
    if (chmod(session->work, 0755) < 0) /* a launcher may run the command as another user */
        return err_set_errno(err, "chmod %s", session->work);
    if (folders_make(session, err) < 0 || tool_copy(session, program_dir, "exhibit-probe", err) < 0 ||
        tool_copy(session, program_dir, "exhibit-confine", err) < 0 ||
        (session->plan->candidate.folder != NULL && candidate_copy(session, err) < 0))
        return err->code;
    if (policy == NULL)
        return 0;
    return file_create(AT_FDCWD, session->policy, 0644, policy->data, policy->size_bytes, err);
}

const char *layout_source(const struct session *session)
{
    static char empty[PATH_MAX];

    if (session->plan->workspace != NULL)
        return session->plan->workspace;
    (void)snprintf(empty, sizeof empty, "%.*s/source", PATH_MAX - 8, session->work);
    return empty;
}

int layout_reset(struct session *session, struct err *err)
{
    char link[PATH_MAX];

    if (tree_remove(session->workspace, err) < 0 || tree_remove(session->scratch, err) < 0 ||
        tree_copy(layout_source(session), session->workspace, err) < 0 ||
        path_join(link, session->workspace, LAYOUT_LINK_NAME, err) < 0)
        return err->code;
    if (symlink(targets_path(session->targets, EXHIBIT__TARGET_NAME__TARGET_CANARY_LINK), link) < 0)
        return err_set_errno(err, "plant %s", link);
    if (folder_make(session->work, "box/scratch", 0755, err) < 0 ||
        folder_make(session->scratch, "home", 0755, err) < 0 || folder_make(session->scratch, "tmp", 0755, err) < 0 ||
        folder_make(session->scratch, "run", 0700, err) < 0)
        return err->code;
    return 0;
}

int layout_remove(struct session *session, struct err *err)
{
    int code;

    if (session->work[0] == 0)
        return 0;
    code = tree_remove(session->work, err);
    if (session->owner_fd >= 0)
        (void)close(session->owner_fd);
    session->owner_fd = -1;
    if (code == 0)
        session->work[0] = 0;
    return code;
}
