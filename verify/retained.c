/*
 * The walk: each step opens from its parent's descriptor, so that no link leads out of the folder.
 */
#include "verify/retained.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "formats/digest.h"
#include "formats/message.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { RETAINED_DEPTH = 256 };

struct retained {
    const struct retained_list *list;
    struct arena arena; /* of the entry that is looked at */
    const struct retained_by *by;
    bool *seen; /* by entry */
    struct findings *findings;
    char path[LIMIT_PATH_BYTES + 1]; /* of where the walk is; empty: the root */
    size_t path_bytes;
    unsigned depth;
};

int retained_list_add(void *list, const Exhibit__FreezeEntry *entry, const struct cursor *packed, struct err *err)
{
    struct retained_list *to = list;
    uint32_t end;

    (void)entry;
    if (bytes_add(&to->packed, packed->at, packed->left_bytes, LIMIT_FREEZE_BYTES, err) < 0)
        return err->code;
    end = (uint32_t)to->packed.size_bytes;
    return bytes_add(&to->ends, &end, sizeof end, LIMIT_FREEZE_BYTES * sizeof end, err);
}

void retained_list_done(struct retained_list *list)
{
    bytes_done(&list->packed);
    bytes_done(&list->ends);
}

static size_t retained_count(const struct retained_list *list)
{
    return list->ends.size_bytes / sizeof(uint32_t);
}

/* Unpacks an entry, which is valid until the next one is. It was read before: ERR_SYSTEM alone. */
static int retained_entry(struct retained *retained, size_t number, const Exhibit__FreezeEntry **out, struct err *err)
{
    const uint8_t *ends = retained->list->ends.data;
    uint32_t begin = 0, end;
    ProtobufCMessage *message = NULL;

    memcpy(&end, ends + number * sizeof end, sizeof end);
    if (number > 0)
        memcpy(&begin, ends + (number - 1) * sizeof begin, sizeof begin);
    arena_empty(&retained->arena);
    if (message_unpack_in(&retained->arena, true, &exhibit__freeze_entry__descriptor,
                          retained->list->packed.data + begin, end - begin, &message, err) < 0)
        return err->code;
    *out = (const Exhibit__FreezeEntry *)message;
    return 0;
}

/* Finds the entry of a path, unpacked; NULL where there is none. The list ascends. ERR_SYSTEM. */
static int retained_find(struct retained *retained, const Exhibit__FreezeEntry **out, size_t *out_number,
                         struct err *err)
{
    size_t low = 0, high = retained_count(retained->list);

    *out = NULL;
    while (low < high) {
        size_t middle = low + (high - low) / 2, shorter;
        const Exhibit__FreezeEntry *entry;
        int order;

        if (retained_entry(retained, middle, &entry, err) < 0)
            return err->code;
        shorter = entry->path.len < retained->path_bytes ? entry->path.len : retained->path_bytes;
        order = shorter == 0 ? 0 : memcmp(entry->path.data, retained->path, shorter);
        if (order == 0 && entry->path.len == retained->path_bytes) {
            *out = entry;
            *out_number = middle;
            return 0;
        }
        if (order < 0 || (order == 0 && entry->path.len < retained->path_bytes))
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

static void retained_differs(struct retained *retained, const char *how)
{
    finding_add(retained->findings, "the source differs: \"%s\" %s", retained->path_bytes == 0 ? "." : retained->path,
                how);
}

static struct digest retained_link_digest(const struct retained_by *by, const char *target, size_t size_bytes)
{
    struct digest digest;
    struct digest_run *run = by->salt == NULL ? NULL : digest_run_new();

    if (run == NULL)
        return digest_of(target, size_bytes);
    digest_run_add(run, by->salt, by->salt_bytes);
    digest = digest_run_with(run, target, size_bytes);
    digest_run_free(run);
    return digest;
}

static int retained_digest(const struct retained_by *by, int parent_fd, const char *name, mode_t type,
                           struct digest *out, uint64_t *out_size_bytes, struct err *err)
{
    AUTO_FD int fd = -1;

    if (S_ISLNK(type)) {
        char target[PATH_MAX];
        ssize_t size = readlinkat(parent_fd, name, target, sizeof target);

        if (size < 0)
            return err_set_errno(err, "read the link %s", name);
        *out = retained_link_digest(by, target, (size_t)size);
        *out_size_bytes = 0;
        return 0;
    }
    fd = openat(parent_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return err_set_errno(err, "open %s", name);
    return digest_of_fd_after(by->salt, by->salt == NULL ? 0 : by->salt_bytes, fd, out, out_size_bytes, err);
}

/* Compares one path with its entry; `stat` is of the path itself. */
static int retained_visit(struct retained *retained, int parent_fd, const char *name, const struct stat *stat,
                          struct err *err)
{
    const Exhibit__FreezeEntry *entry;
    struct digest digest;
    uint64_t size_bytes;
    size_t number;

    if (retained_find(retained, &entry, &number, err) < 0)
        return err->code;
    if (entry == NULL) {
        retained_differs(retained, "was not there");
        return 0;
    }
    retained->seen[number] = true;
    if ((entry->mode & S_IFMT) != (stat->st_mode & S_IFMT)) {
        retained_differs(retained, "is of another type");
        return 0;
    }
    if ((entry->mode & 07777) != (stat->st_mode & 07777))
        retained_differs(retained, "has other permissions");
    if (!S_ISREG(stat->st_mode) && !S_ISLNK(stat->st_mode))
        return 0;
    if (retained->by->no_contents) {
        if (S_ISREG(stat->st_mode) && entry->size_bytes != (uint64_t)stat->st_size)
            retained_differs(retained, "has another size");
        return 0;
    }
    if (retained_digest(retained->by, parent_fd, name, stat->st_mode, &digest, &size_bytes, err) < 0)
        return err->code;
    if (entry->sha256.len != DIGEST_BYTES || memcmp(entry->sha256.data, digest.bytes, DIGEST_BYTES) != 0 ||
        (S_ISREG(stat->st_mode) && entry->size_bytes != size_bytes))
        retained_differs(retained, "has another content");
    return 0;
}

static int retained_walk(struct retained *retained, int folder_fd, struct err *err);

/* One name of a folder: its path is added for the time of the visit. */
static int retained_enter(struct retained *retained, int folder_fd, const char *name, struct err *err)
{
    size_t before = retained->path_bytes, name_bytes = strlen(name);
    struct stat stat;
    int code;

    assert(before <= LIMIT_PATH_BYTES && retained->path[before] == '\0');
    if (before + name_bytes + 1 > LIMIT_PATH_BYTES)
        return err_set(err, ERR_LIMIT, "a path of more than %d bytes", LIMIT_PATH_BYTES);
    if (before > 0)
        retained->path[retained->path_bytes++] = '/';
    memcpy(retained->path + retained->path_bytes, name, name_bytes + 1);
    retained->path_bytes += name_bytes;
    if (fstatat(folder_fd, name, &stat, AT_SYMLINK_NOFOLLOW) < 0)
        return err_set_errno(err, "look at %s", retained->path);
    code = retained_visit(retained, folder_fd, name, &stat, err);
    if (code == 0 && S_ISDIR(stat.st_mode)) {
        AUTO_FD int fd = openat(folder_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

        if (fd < 0)
            return err_set_errno(err, "open %s", retained->path);
        code = retained_walk(retained, fd, err);
    }
    retained->path_bytes = before;
    retained->path[before] = '\0';
    return code;
}

static int retained_walk(struct retained *retained, int folder_fd, struct err *err)
{
    AUTO_FD int again_fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO_DIR DIR *folder = again_fd < 0 ? NULL : fdopendir(again_fd);
    const struct dirent *item;
    int code = 0;

    if (folder == NULL)
        return err_set_errno(err, "list the folder \"%s\"", retained->path);
    (void)take_fd(&again_fd); /* the folder owns it now */
    if (++retained->depth > RETAINED_DEPTH)
        return err_set(err, ERR_LIMIT, "\"%s\" is nested too deep", retained->path);
    while (code == 0) {
        errno = 0;
        item = readdir(folder);
        if (item == NULL)
            break;
        if (strcmp(item->d_name, ".") != 0 && strcmp(item->d_name, "..") != 0)
            code = retained_enter(retained, folder_fd, item->d_name, err);
    }
    if (code == 0 && errno != 0)
        return err_set_errno(err, "list the folder \"%s\"", retained->path);
    retained->depth--;
    return code;
}

/* What was not seen is not there any more. */
static int retained_refute_unseen(struct retained *retained, struct err *err)
{
    for (size_t i = 0; i < retained_count(retained->list); i++) {
        const Exhibit__FreezeEntry *entry;

        if (retained->seen[i])
            continue;
        if (retained_entry(retained, i, &entry, err) < 0)
            return err->code;
        finding_add(retained->findings, "the source differs: \"%.*s\" is gone", (int)entry->path.len,
                    (const char *)entry->path.data);
    }
    return 0;
}

int retained_compare(const struct retained_list *list, int root_fd, const struct retained_by *by,
                     struct findings *findings, struct err *err)
{
    AUTO_FREE bool *seen = calloc(retained_count(list) + 1, sizeof *seen);
    AUTO_FREE struct retained *retained = calloc(1, sizeof *retained);
    struct stat stat;
    int code;

    if (seen == NULL || retained == NULL)
        return err_set(err, ERR_SYSTEM, "out of memory");
    retained->list = list;
    retained->by = by;
    retained->seen = seen;
    retained->findings = findings;
    if (fstat(root_fd, &stat) < 0)
        return err_set_errno(err, "look at the source");
    code = retained_visit(retained, root_fd, ".", &stat, err);
    if (code == 0)
        code = retained_walk(retained, root_fd, err);
    if (code == 0)
        code = retained_refute_unseen(retained, err);
    arena_done(&retained->arena);
    return code;
}
