/*
 * Removing a tree, however deep, wide or unwritable its makers left it. Knows the file system only.
 */
#include "record/tree.h"

#include "base/cleanup.h"
#include "record/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

enum { FOLDER_FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, MOVE_TRIES = 100, MOST_LOOKS = 10000 };

struct removal {
    int root_fd;
    uint64_t moved; /* folders that were too deep and now lie in the root */
};

/* Opens a folder to be emptied; refuses to cross into another mount, whose contents are somebody else's. */
static int open_doomed(int parent_fd, const char *name)
{
    struct open_how how = {.flags = FOLDER_FLAGS, .resolve = RESOLVE_NO_XDEV | RESOLVE_BENEATH};
    int fd = (int)syscall(SYS_openat2, parent_fd, name, &how, sizeof how);

    return fd < 0 && errno == ENOSYS ? openat(parent_fd, name, FOLDER_FLAGS) : fd;
}

static int empty_folder(struct removal *removal, int fd, unsigned depth, struct err *err);

/* Moves a folder that is too deep into the root, where it will be found again. */
static int move_up(struct removal *removal, int parent_fd, const char *name, struct err *err)
{
    for (int tries = 0; tries < MOVE_TRIES; tries++) { /* the subject may have taken a name */
        char moved[64];

        (void)snprintf(moved, sizeof moved, "exhibit-deep-%" PRIu64, removal->moved++);
        if (renameat(parent_fd, name, removal->root_fd, moved) == 0)
            return 0;
    }
    return err_set_errno(err, "move it up from more than %d levels", WALK_DEPTH);
}

static int remove_folder(struct removal *removal, int parent_fd, const char *name, unsigned depth, struct err *err)
{
    AUTO_FD int fd = open_doomed(parent_fd, name);

    if (fd < 0 && errno == EACCES && fchmodat(parent_fd, name, 0700, AT_SYMLINK_NOFOLLOW) == 0)
        fd = open_doomed(parent_fd, name);
    if (fd < 0)
        return errno == ENOENT ? 0 : err_set_errno(err, "open the folder");
    (void)fchmod(fd, 0700); /* where this fails, so will the removal of what is inside, and say why */
    if (depth > WALK_DEPTH)
        return move_up(removal, parent_fd, name, err);
    if (empty_folder(removal, fd, depth, err) < 0)
        return err->code;
    if (unlinkat(parent_fd, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
        return err_set_errno(err, "remove the folder");
    return 0;
}

static int remove_one(struct removal *removal, int fd, const char *name, unsigned depth, struct err *err)
{
    if (unlinkat(fd, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR)
        return err_set_errno(err, "remove %s", name);
    return remove_folder(removal, fd, name, depth + 1, err) < 0 ? err_wrap(err, "%s", name) : 0;
}

/* Removes what is in a folder, as much as can be; tells the last failure. */
static int empty_folder(struct removal *removal, int fd, unsigned depth, struct err *err)
{
    size_t left, removed;
    int looks = 0;

    do { /* until a look finds nothing: reading a folder while it shrinks may pass entries over */
        AUTO_FD int own = openat(fd, ".", FOLDER_FLAGS);
        AUTO_DIR DIR *dir = own < 0 ? NULL : fdopendir(own);
        struct dirent *entry;

        if (dir == NULL)
            return err_set_errno(err, "open the folder");
        own = -1; /* the DIR has it */
        left = removed = 0;
        while ((entry = readdir(dir)) != NULL) {
            if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
                continue;
            if (remove_one(removal, fd, entry->d_name, depth, err) == 0)
                removed++;
            else
                left++;
        }
    } while (removed > 0 && ++looks < MOST_LOOKS);
    if (removed > 0)
        return err_set(err, ERR_SYSTEM, "files keep appearing in it");
    return left > 0 ? err->code : 0;
}

int tree_remove(const char *root, struct err *err)
{
    struct removal removal = {.root_fd = -1};
    AUTO_FD int fd = -1;

    if (unlink(root) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR)
        return err_set_errno(err, "remove %s", root);
    fd = open(root, FOLDER_FLAGS);
    if (fd < 0 && errno == EACCES && chmod(root, 0700) == 0)
        fd = open(root, FOLDER_FLAGS);
    if (fd < 0)
        return err_set_errno(err, "open the folder %s", root);
    (void)fchmod(fd, 0700); /* as in remove_folder */
    removal.root_fd = fd;
    if (empty_folder(&removal, fd, 0, err) < 0)
        return err_wrap(err, "remove %s", root);
    return rmdir(root) < 0 && errno != ENOENT ? err_set_errno(err, "remove the folder %s", root) : 0;
}
