/*
 * Walks by descriptor. Knows no record and keeps nothing.
 */
#include "record/walk.h"

#include "base/cleanup.h"
#include "formats/limits.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What one system call reads of a folder: some hundred names. */
#define FOLDER_PIECE_BYTES 32768u

/* ---- names ---- */

static int add_name(struct folder_names *names, const struct dirent64 *entry, const char *end, struct err *err)
{
    int code = bytes_add(&names->text, &entry->d_type, 1, LIMIT_FREEZE_BYTES, err);

    if (code == 0)
        code = bytes_add(&names->text, entry->d_name, strlen(entry->d_name), LIMIT_FREEZE_BYTES, err);
    if (code == 0)
        code = bytes_add(&names->text, end, strlen(end) + 1, LIMIT_FREEZE_BYTES, err);
    if (code == 0)
        names->count++;
    return code;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int sort_names(struct folder_names *names, struct err *err)
{
    char *at = (char *)names->text.data;

    if (names->count == 0)
        return 0;
    names->items = calloc(names->count, sizeof(char *));
    if (names->items == NULL)
        return err_set_errno(err, "memory for %zu names", names->count);
    for (size_t i = 0; i < names->count; i++, at += strlen(at) + 1)
        names->items[i] = ++at; /* past its type */
    qsort(names->items, names->count, sizeof(char *), compare_names);
    return 0;
}

/* Adds what one call of getdents64 gave. */
static int add_entries(struct folder_names *names, const char *from, size_t size_bytes, bool descents, struct err *err)
{
    int code = 0;

    for (size_t at = 0; at < size_bytes && code == 0;) {
        const struct dirent64 *entry = (const void *)(from + at);

        at += entry->d_reclen;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        code = add_name(names, entry, "", err);
        if (code == 0 && descents && (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN))
            code = add_name(names, entry, "/", err);
    }
    return code;
}

/* Without a DIR, which would cost a descriptor, three system calls and 32 KiB of the heap for each folder. */
static int gather_names(int fd, bool descents, struct folder_names *names, struct err *err)
{
    _Alignas(struct dirent64) char some[FOLDER_PIECE_BYTES];
    ssize_t got;
    int code = 0;

    if (lseek(fd, 0, SEEK_SET) < 0)
        return err_set_errno(err, "read the folder");
    do {
        got = getdents64(fd, some, sizeof some);
        if (got > 0)
            code = add_entries(names, some, (size_t)got, descents, err);
        else if (got < 0 && errno != ENOENT) /* a folder that was removed meanwhile has no more names */
            code = err_set_errno(err, "read the folder");
    } while (got > 0 && code == 0);
    return code < 0 ? code : sort_names(names, err);
}

int folder_names_read(int fd, bool descents, struct folder_names *out, struct err *err)
{
    int code;

    *out = (struct folder_names){0};
    code = gather_names(fd, descents, out, err);
    if (code < 0)
        folder_names_done(out);
    return code;
}

void folder_names_done(struct folder_names *names)
{
    bytes_done(&names->text);
    free(names->items);
    *names = (struct folder_names){0};
}

/* ---- the walk ---- */

struct walk {
    const struct walk_visitor *visitor;
    char path[LIMIT_PATH_BYTES + 1];
    size_t path_bytes; /* of the folder we are in; 0: the root */
};

static int report_obstacle(struct walk *walk, struct err *err)
{
    walk->path[walk->path_bytes] = 0;
    return walk->visitor->obstacle(walk->visitor->context, walk->path, err);
}

static int visit_one(struct walk *walk, int folder_fd, const char *name, struct err *err)
{
    struct walk_entry entry = {.folder_fd = folder_fd, .name = name, .path = walk->path, .stat.st_mode = S_IFREG};
    bool is_seen = !walk->visitor->files_unseen || (unsigned char)name[-1] != DT_REG;

    if (is_seen && fstatat(folder_fd, name, &entry.stat, AT_SYMLINK_NOFOLLOW) < 0) {
        if (errno == ENOENT)
            return 0;
        err_set_errno(err, "stat %s", name);
        return report_obstacle(walk, err);
    }
    entry.path_bytes = strlen(walk->path);
    return walk->visitor->visit(walk->visitor->context, &entry, err);
}

static int walk_folder(struct walk *walk, int fd, unsigned depth, struct err *err);

/* Walks the folder whose path is in walk->path. `name` is its last part. */
static int descend(struct walk *walk, int parent_fd, const char *name, unsigned depth, struct err *err)
{
    AUTO_FD int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd >= 0 && depth < WALK_DEPTH)
        return walk_folder(walk, fd, depth + 1, err);
    if (fd >= 0)
        err_set(err, ERR_LIMIT, "folders are nested deeper than %d", WALK_DEPTH);
    else if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)
        return 0; /* it is no folder, or no more */
    else
        err_set_errno(err, "open the folder");
    return report_obstacle(walk, err);
}

/* Handles one item of folder_names_read: an entry, or with a "/" behind it the place of what it holds. */
static int walk_item(struct walk *walk, int fd, char *item, unsigned depth, struct err *err)
{
    size_t folder_bytes = walk->path_bytes, name_bytes = strlen(item);
    bool is_descent = item[name_bytes - 1] == '/';
    size_t joint = folder_bytes > 0 ? 1 : 0;
    int code;

    if (is_descent)
        item[--name_bytes] = 0;
    if (folder_bytes + joint + name_bytes > LIMIT_PATH_BYTES) {
        err_set(err, ERR_LIMIT, "it holds a path of more than %d bytes", LIMIT_PATH_BYTES);
        return is_descent ? 0 : report_obstacle(walk, err);
    }
    if (joint > 0)
        walk->path[folder_bytes] = '/';
    memcpy(walk->path + folder_bytes + joint, item, name_bytes + 1);
    if (is_descent) {
        walk->path_bytes = folder_bytes + joint + name_bytes;
        code = descend(walk, fd, item, depth, err);
        walk->path_bytes = folder_bytes;
    } else {
        code = visit_one(walk, fd, item, err);
    }
    return code;
}

static int walk_folder(struct walk *walk, int fd, unsigned depth, struct err *err)
{
    struct folder_names names;
    int code = folder_names_read(fd, true, &names, err);

    if (code < 0)
        return report_obstacle(walk, err);
    for (size_t i = 0; i < names.count && code == 0; i++)
        code = walk_item(walk, fd, names.items[i], depth, err);
    folder_names_done(&names);
    return code;
}

int walk_tree(int root_fd, const struct walk_visitor *visitor, struct err *err)
{
    struct walk walk = {.visitor = visitor};

    return walk_folder(&walk, root_fd, 0, err);
}

/* ---- files ---- */

enum { FILE_FLAGS = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC };

static int with_stat(int given_fd, struct stat *out_stat)
{
    AUTO_FD int fd = given_fd;

    if (fd < 0 || fstat(fd, out_stat) < 0)
        return -1;
    return take_fd(&fd);
}

int walk_open_file(int folder_fd, const char *name, struct stat *out_stat)
{
    return with_stat(openat(folder_fd, name, FILE_FLAGS), out_stat);
}

/* Name by name, each from its parent's descriptor, as the walk came there; it knows no "..". */
static int open_by_names(int root_fd, const char *path)
{
    AUTO_FD int fd = -1;
    char name[NAME_MAX + 1];

    for (const char *slash; (slash = strchr(path, '/')) != NULL; path = slash + 1) {
        size_t name_bytes = (size_t)(slash - path);
        int next;

        if (name_bytes > NAME_MAX) {
            errno = ENAMETOOLONG;
            return -1;
        }
        memcpy(name, path, name_bytes);
        name[name_bytes] = 0;
        next = openat(fd < 0 ? root_fd : fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (next < 0)
            return -1;
        if (fd >= 0)
            (void)close(fd);
        fd = next;
    }
    return openat(fd < 0 ? root_fd : fd, path, FILE_FLAGS);
}

int walk_open_below(int root_fd, const char *path, struct stat *out_stat)
{
    struct open_how how = {.flags = FILE_FLAGS, .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
    int fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof how);

    return with_stat(fd < 0 && errno == ENOSYS ? open_by_names(root_fd, path) : fd, out_stat);
}

bool walk_file_is_hollow(int fd, const struct stat *stat, uint64_t min_bytes)
{
    uint64_t size_bytes = (uint64_t)stat->st_size;

    if (size_bytes < min_bytes || (uint64_t)stat->st_blocks * 512 >= size_bytes / 64)
        return false;
    /* Some file systems do not count blocks: there must be a hole as well. */
    return (uint64_t)lseek(fd, 0, SEEK_HOLE) < size_bytes;
}
