/*
 * Copying. Knows the file system; not what a tree is for.
 */
#include "record/tree.h"

#include "base/cleanup.h"
#include "record/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/sendfile.h>

enum { FOLDER_FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, PERMISSION_BITS = 0777 };

static int copy_file(int from_fd, int to_fd, const char *name, struct err *err)
{
    struct stat stat;
    AUTO_FD int from = walk_open_file(from_fd, name, &stat);
    AUTO_FD int to = -1;
    ssize_t sent;

    if (from < 0)
        return err_set_errno(err, "open");
    if (!S_ISREG(stat.st_mode))
        return err_set(err, ERR_SYSTEM, "it changed its type while it was copied");
    to = openat(to_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (to < 0)
        return err_set_errno(err, "create the copy");
    do
        sent = sendfile(to, from, NULL, 1 << 30);
    while (sent > 0);
    if (sent < 0)
        return err_set_errno(err, "copy");
    if (fchmod(to, stat.st_mode & PERMISSION_BITS) < 0)
        return err_set_errno(err, "chmod the copy");
    return 0;
}

static int copy_link(int from_fd, int to_fd, const char *name, struct err *err)
{
    char target[LIMIT_PATH_BYTES + 1];
    ssize_t size_bytes = readlinkat(from_fd, name, target, sizeof target);

    if (size_bytes < 0)
        return err_set_errno(err, "read the link");
    if (size_bytes > LIMIT_PATH_BYTES)
        return err_set(err, ERR_LIMIT, "a link of more than %d bytes", LIMIT_PATH_BYTES);
    target[size_bytes] = 0;
    return symlinkat(target, to_fd, name) < 0 ? err_set_errno(err, "create the link") : 0;
}

/* A copy under way. After a failure `path` is left where it happened. */
struct copying {
    char path[LIMIT_PATH_BYTES + 1];
    size_t path_bytes;
};

static int copy_below(struct copying *copying, int from_fd, int to_fd, unsigned depth, struct err *err);

/* Copies one folder into the folder to_fd, with its permission bits set last: they may forbid writing. */
static int copy_folder(struct copying *copying, int from_fd, int to_fd, const char *name, unsigned depth,
                       struct err *err)
{
    struct stat stat;
    AUTO_FD int from = openat(from_fd, name, FOLDER_FLAGS);
    AUTO_FD int to = -1;
    int code;

    if (depth > WALK_DEPTH)
        return err_set(err, ERR_LIMIT, "folders are nested deeper than %d", WALK_DEPTH);
    if (from < 0 || fstat(from, &stat) < 0)
        return err_set_errno(err, "open the folder");
    if (mkdirat(to_fd, name, 0700) < 0 || (to = openat(to_fd, name, FOLDER_FLAGS)) < 0)
        return err_set_errno(err, "create the folder");
    code = copy_below(copying, from, to, depth, err);
    if (code == 0 && fchmod(to, stat.st_mode & PERMISSION_BITS) < 0)
        return err_set_errno(err, "chmod the folder");
    return code;
}

static int copy_entry(struct copying *copying, int from_fd, int to_fd, const char *name, unsigned depth,
                      struct err *err)
{
    size_t before = copying->path_bytes, name_bytes = strlen(name);
    struct stat stat;
    int code;

    if (before + 1 + name_bytes > LIMIT_PATH_BYTES)
        return err_set(err, ERR_LIMIT, "it holds a path of more than %d bytes", LIMIT_PATH_BYTES);
    if (before > 0)
        copying->path[copying->path_bytes++] = '/';
    memcpy(copying->path + copying->path_bytes, name, name_bytes + 1);
    copying->path_bytes += name_bytes;
    if (fstatat(from_fd, name, &stat, AT_SYMLINK_NOFOLLOW) < 0)
        return err_set_errno(err, "stat");
    if (S_ISREG(stat.st_mode))
        code = copy_file(from_fd, to_fd, name, err);
    else if (S_ISLNK(stat.st_mode))
        code = copy_link(from_fd, to_fd, name, err);
    else if (S_ISDIR(stat.st_mode))
        code = copy_folder(copying, from_fd, to_fd, name, depth + 1, err);
    else
        code = err_set(err, ERR_USAGE, "it is no regular file, folder or symbolic link");
    if (code == 0) {
        copying->path_bytes = before;
        copying->path[before] = 0;
    }
    return code;
}

static int copy_below(struct copying *copying, int from_fd, int to_fd, unsigned depth, struct err *err)
{
    struct folder_names names;
    int code = folder_names_read(from_fd, false, &names, err);

    for (size_t i = 0; i < names.count && code == 0; i++)
        code = copy_entry(copying, from_fd, to_fd, names.items[i], depth, err);
    folder_names_done(&names);
    return code;
}

int tree_copy(const char *from, const char *to, struct err *err)
{
    struct copying copying = {.path_bytes = 0};
    struct stat stat;
    AUTO_FD int from_fd = open(from, FOLDER_FLAGS);
    AUTO_FD int to_fd = -1;

    if (from_fd < 0 || fstat(from_fd, &stat) < 0)
        return err_set_errno(err, "open the folder %s", from);
    if (mkdir(to, 0700) < 0 || (to_fd = open(to, FOLDER_FLAGS)) < 0)
        return err_set_errno(err, "create the folder %s", to);
    if (copy_below(&copying, from_fd, to_fd, 0, err) < 0)
        return err_wrap(err, "copy %.200s/%.500s", from, copying.path);
    if (fchmod(to_fd, stat.st_mode & PERMISSION_BITS) < 0)
        return err_set_errno(err, "chmod the folder %s", to);
    return 0;
}
