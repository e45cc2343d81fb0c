/*
 * Copying and freezing. Knows the FreezeList and the file system; not why a tree is frozen.
 */
#include "record/tree.h"

#include "base/cleanup.h"
#include "formats/message.h"
#include "proto/exhibit.pb-c.h"
#include "record/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/sendfile.h>

enum { FOLDER_FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, PERMISSION_BITS = 0777 };

/* ---- copy ---- */

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

/* ---- freeze ---- */

/* From this size on a file of holes is listed without being read. */
#define HOLLOW_BYTES (1ull << 30)

struct freezing {
    struct pack_writer *retain; /* NULL: digests only */
    struct bytes list;
};

/* Digests (and retains) an open file. */
static int freeze_content(struct freezing *freezing, int fd, const struct stat *stat, struct digest *digest,
                          Exhibit__FreezeEntry *entry, struct err *err)
{
    entry->size_bytes = (uint64_t)stat->st_size;
    if (freezing->retain == NULL && walk_file_is_hollow(fd, stat, HOLLOW_BYTES))
        return 0;
    entry->sha256 = (ProtobufCBinaryData){DIGEST_BYTES, digest->bytes};
    if (freezing->retain != NULL)
        return pack_put_fd(freezing->retain, PACK_INPUT, fd, digest, &entry->size_bytes, err);
    return digest_of_fd(fd, digest, &entry->size_bytes, err);
}

/*
 * Whether what could not be opened is listed without its content: a subject must not be able to end a recording by a
 * chmod, or by changing a file's type at the right moment. Content that was to be kept is another matter.
 */
static bool may_stay_unread(const struct freezing *freezing, const struct err *err)
{
    int number = err->code == ERR_SYSTEM ? err->sys_errno : 0;

    return freezing->retain == NULL &&
           (number == EACCES || number == EPERM || number == ELOOP || number == ENXIO || number == EINVAL);
}

static int freeze_file(struct freezing *freezing, const struct walk_entry *seen, struct digest *digest,
                       Exhibit__FreezeEntry *entry, struct err *err)
{
    struct stat stat = seen->stat;
    AUTO_FD int fd = walk_open_file(seen->folder_fd, seen->name, &stat);

    if (fd < 0) {
        err_set_errno(err, "open");
        entry->size_bytes = (uint64_t)seen->stat.st_size;
        return may_stay_unread(freezing, err) ? 0 : err->code;
    }
    entry->mode = stat.st_mode; /* what was opened counts, if it is not what was seen before */
    return S_ISREG(stat.st_mode) ? freeze_content(freezing, fd, &stat, digest, entry, err) : 0;
}

static int freeze_link(const struct freezing *freezing, const struct walk_entry *seen, struct digest *digest,
                       Exhibit__FreezeEntry *entry, struct err *err)
{
    char target[LIMIT_PATH_BYTES + 1];
    ssize_t size_bytes = readlinkat(seen->folder_fd, seen->name, target, sizeof target);

    if (size_bytes < 0) {
        err_set_errno(err, "read the link");
        return may_stay_unread(freezing, err) ? 0 : err->code;
    }
    if (size_bytes > LIMIT_PATH_BYTES)
        return err_set(err, ERR_LIMIT, "a link of more than %d bytes", LIMIT_PATH_BYTES);
    *digest = digest_of(target, (size_t)size_bytes);
    entry->sha256 = (ProtobufCBinaryData){DIGEST_BYTES, digest->bytes};
    return 0;
}

/* Appends an entry: the packed lists of one entry each, put end to end, are the packed list of them all. */
static int append_entry(struct freezing *freezing, Exhibit__FreezeEntry *entry, struct err *err)
{
    AUTO_BYTES struct bytes packed = {0};
    Exhibit__FreezeList one = EXHIBIT__FREEZE_LIST__INIT;
    int code;

    one.n_entries = 1;
    one.entries = &entry;
    code = message_pack(&one.base, LIMIT_FREEZE_BYTES, &packed, err);
    return code < 0 ? code : bytes_add(&freezing->list, packed.data, packed.size_bytes, LIMIT_FREEZE_BYTES, err);
}

static int freeze_entry(void *context, const struct walk_entry *seen, struct err *err)
{
    struct freezing *freezing = context;
    Exhibit__FreezeEntry entry = EXHIBIT__FREEZE_ENTRY__INIT;
    struct digest digest;
    int code = 0;

    entry.path = (ProtobufCBinaryData){seen->path_bytes, (uint8_t *)seen->path};
    entry.mode = seen->stat.st_mode;
    if (S_ISREG(seen->stat.st_mode))
        code = freeze_file(freezing, seen, &digest, &entry, err);
    else if (S_ISLNK(seen->stat.st_mode))
        code = freeze_link(freezing, seen, &digest, &entry, err);
    if (code < 0 && err->code == ERR_SYSTEM && err->sys_errno == ENOENT)
        return 0; /* it vanished since it was seen: it is not there */
    if (code == 0)
        code = append_entry(freezing, &entry, err);
    return code < 0 ? err_wrap(err, "%.500s", seen->path) : 0;
}

/* A folder that cannot be read is there by its mode alone, unless its contents were to be kept. */
static int freeze_obstacle(void *context, const char *path, struct err *err)
{
    const struct freezing *freezing = context;

    return may_stay_unread(freezing, err) ? 0 : err_wrap(err, "%.500s", path);
}

static int freeze_all(const char *root, struct freezing *freezing, struct err *err)
{
    struct walk_entry entry = {.path = "", .folder_fd = AT_FDCWD, .name = root};
    struct walk_visitor visitor = {freeze_entry, freeze_obstacle, freezing};
    AUTO_FD int fd = -1;
    int code;

    if (lstat(root, &entry.stat) < 0)
        return err_set_errno(err, "stat");
    code = freeze_entry(freezing, &entry, err);
    if (code < 0 || !S_ISDIR(entry.stat.st_mode))
        return code;
    fd = open(root, FOLDER_FLAGS);
    if (fd < 0) {
        err_set_errno(err, "open the folder");
        return freeze_obstacle(freezing, "", err);
    }
    return walk_tree(fd, &visitor, err);
}

int tree_freeze(const char *root, struct pack_writer *retain, struct bytes *out, struct err *err)
{
    struct freezing freezing = {.retain = retain};
    int code = freeze_all(root, &freezing, err);

    if (code < 0) {
        bytes_done(&freezing.list);
        return err_wrap(err, "freeze %.200s", root);
    }
    bytes_done(out);
    *out = freezing.list;
    return 0;
}
