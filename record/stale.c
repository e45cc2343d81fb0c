#include "record/stale.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "record/cgroup.h"
#include "record/layout.h"
#include "record/loop.h"
#include "record/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FOLDER_PREFIX "exhibit-"
#define FRESH_NAME "owner.new"
#define HALF_MADE_SECONDS 60 /* a recorder takes less than a millisecond from making the folder to its mark */

int stale_mark(const char *work, char out_prefix[STALE_PREFIX_BYTES], int *out_fd, struct err *err)
{
    uint8_t random[8];
    char digits[2 * sizeof random + 1];
    AUTO_FD int dir = open(work, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO_FD int fd = dir < 0 ? -1 : openat(dir, FRESH_NAME, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (file_random(random, sizeof random, err) < 0)
        return err->code;
    hex_encode(random, sizeof random, digits);
    (void)snprintf(out_prefix, STALE_PREFIX_BYTES, FOLDER_PREFIX "%s", digits);
    if (fd < 0 || file_write_all(fd, out_prefix, strlen(out_prefix), err) < 0)
        return err_set_errno(err, "mark %s as in use", work);
    /* Locked before it has its name: nobody finds it unlocked. */
    if (flock(fd, LOCK_EX | LOCK_NB) < 0 || renameat(dir, FRESH_NAME, dir, STALE_OWNER_NAME) < 0)
        return err_set_errno(err, "lock %s", work);
    *out_fd = fd;
    fd = -1;
    return 0;
}

/* Reads the prefix of a folder whose recorder is gone. False: it is no such folder. The lock is ours then. */
static bool owner_read(int dir, char out[64], int *out_fd)
{
    AUTO_FD int fd = openat(dir, STALE_OWNER_NAME, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat stat;
    ssize_t got;

    if (fd < 0 || fstat(fd, &stat) < 0 || !S_ISREG(stat.st_mode) || stat.st_uid != geteuid() || stat.st_nlink != 1 ||
        flock(fd, LOCK_EX | LOCK_NB) < 0)
        return false;
    got = pread(fd, out, 63, 0);
    if (got < (ssize_t)strlen(FOLDER_PREFIX))
        return false;
    out[got] = 0;
    if (strncmp(out, FOLDER_PREFIX, strlen(FOLDER_PREFIX)) != 0 ||
        strspn(out + strlen(FOLDER_PREFIX), "0123456789abcdef") != 16 || strlen(out) != strlen(FOLDER_PREFIX) + 16)
        return false;
    *out_fd = fd;
    fd = -1;
    return true;
}

/* Ends the members of every control group whose name begins with the prefix, and removes it. */
static void groups_end(const char *prefix, void (*tell)(const char *text))
{
    static const struct timespec pause = {.tv_nsec = 20000000};
    char parent[PATH_MAX];
    DIR *dir = cgroup_parent(parent) ? opendir(parent) : NULL;
    const struct dirent *entry;

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        struct cgroup cgroup;

        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0 || !cgroup_adopt(entry->d_name, &cgroup))
            continue;
        if (cgroup_is_populated(&cgroup)) {
            char text[NAME_MAX + 128];

            (void)snprintf(text, sizeof text,
                           "ended the processes that a recording that was killed had left in the control group %s",
                           entry->d_name);
            tell(text);
        }
        (void)cgroup_kill(&cgroup);
        for (int i = 0; i < 100 && cgroup_is_populated(&cgroup); i++)
            (void)nanosleep(&pause, NULL);
        cgroup_close(&cgroup);
    }
    if (dir != NULL)
        (void)closedir(dir);
}

/* Whether a link of a process leads into the folder. */
static bool leads_into(const char *pid, const char *link, const char *folder)
{
    char path[64], target[PATH_MAX];
    size_t folder_bytes = strlen(folder);
    ssize_t size_bytes;

    (void)snprintf(path, sizeof path, "/proc/%.20s/%s", pid, link);
    size_bytes = readlink(path, target, sizeof target);
    return size_bytes > 0 && (size_t)size_bytes > folder_bytes && memcmp(target, folder, folder_bytes) == 0 &&
           target[folder_bytes] == '/';
}

/*
 * Names the processes that work or were started in the folder. They are not ended: only a control group tells surely
 * whose a process is.
 */
static void processes_tell(const char *path, void (*tell)(const char *text))
{
    AUTO_FREE char *folder = realpath(path, NULL);
    DIR *dir = folder == NULL ? NULL : opendir("/proc");
    const struct dirent *entry;

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        char text[2 * PATH_MAX];

        if (strspn(entry->d_name, "0123456789") != strlen(entry->d_name) ||
            (!leads_into(entry->d_name, "cwd", folder) && !leads_into(entry->d_name, "exe", folder)))
            continue;
        (void)snprintf(
            text, sizeof text,
            "process %s, which a recording or check that was killed had left in %s, still runs and is not ended by us",
            entry->d_name, folder);
        tell(text);
    }
    if (dir != NULL)
        (void)closedir(dir);
}

/*
 * Removes a folder whose recorder was killed before it had marked it: of that name and mode, for a while, with nothing
 * but the beginning of the mark in it.
 */
static bool half_made_remove(int parent_fd, const char *name, const struct stat *stat)
{
    AUTO_FD int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    bool bare = dir != NULL && strlen(name) == strlen(FOLDER_PREFIX) + 6 && (stat->st_mode & 07777) == 0700 &&
                clock_wall_ns() / 1000000000 - stat->st_mtime > HALF_MADE_SECONDS; /* the clock of file times */

    if (dir == NULL)
        return false;
    while (bare && (entry = readdir(dir)) != NULL)
        bare = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
               strcmp(entry->d_name, FRESH_NAME) == 0;
    if (bare)
        (void)unlinkat(fd, FRESH_NAME, 0);
    bare = bare && unlinkat(parent_fd, name, AT_REMOVEDIR) == 0;
    fd = -1; /* closedir closes it */
    (void)closedir(dir);
    return bare;
}

static void folder_clean(int parent_fd, const char *parent, const char *name, void (*tell)(const char *text))
{
    AUTO_FD int dir = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    AUTO_FD int lock = -1;
    char prefix[64], path[PATH_MAX], text[PATH_MAX + 1100];
    struct stat stat;
    struct err err;

    if (dir < 0 || fstat(dir, &stat) < 0 || stat.st_uid != geteuid() ||
        snprintf(path, sizeof path, "%s/%s", parent, name) >= (int)sizeof path)
        return;
    (void)snprintf(text, sizeof text, "removed %s, which a recording or check that was killed had left", path);
    if (!owner_read(dir, prefix, &lock)) {
        if (half_made_remove(parent_fd, name, &stat))
            tell(text);
        return;
    }
    groups_end(prefix, tell);
    processes_tell(path, tell);
    if (tree_remove(path, &err) < 0)
        (void)snprintf(text, sizeof text,
                       "%s, which a recording or check that was killed had left, could not be removed: %s", path,
                       err.text);
    tell(text);
}

void stale_clean(const char *parent, void (*tell)(const char *text))
{
    const char *folder = parent == NULL ? LAYOUT_DEFAULT_PARENT : parent;
    DIR *dir = opendir(folder);
    const struct dirent *entry;

    while (dir != NULL && (entry = readdir(dir)) != NULL)
        if (strncmp(entry->d_name, FOLDER_PREFIX, strlen(FOLDER_PREFIX)) == 0)
            folder_clean(dirfd(dir), folder, entry->d_name, tell);
    if (dir != NULL)
        (void)closedir(dir);
}

/* Whether no writer has the file any more: it keeps it locked (formats/pack_writer.c). Not of the file `except`. */
static bool is_left(int dir, const char *name, const char *except)
{
    AUTO_FD int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat seen, other;

    if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) < 0)
        return false;
    return except == NULL || fstat(fd, &seen) < 0 || stat(except, &other) < 0 || seen.st_dev != other.st_dev ||
           seen.st_ino != other.st_ino;
}

void stale_partials_tell(const char *output, const char *except, void (*tell)(const char *text))
{
    AUTO_FREE char *copy_dir = strdup(output);
    AUTO_FREE char *copy_base = strdup(output);
    AUTO_FREE char *start = NULL;
    const char *folder;
    const struct dirent *entry;
    DIR *dir;

    if (copy_dir == NULL || copy_base == NULL || asprintf(&start, ".%s.partial-", basename(copy_base)) < 0)
        return;
    folder = dirname(copy_dir);
    dir = opendir(folder);
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        char text[2 * PATH_MAX];

        if (strncmp(entry->d_name, start, strlen(start)) != 0 || !is_left(dirfd(dir), entry->d_name, except))
            continue;
        (void)snprintf(text, sizeof text,
                       "%s/%s: left by a call that was killed; if it was a recording, exhibit-record salvage makes a "
                       "bundle of it; an export or a salvage can be made again: then remove it",
                       folder, entry->d_name);
        tell(text);
    }
    if (dir != NULL)
        (void)closedir(dir);
}
