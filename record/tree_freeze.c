/*
 * Freezing: a FreezeList in the order of the walk, while the contents are read on all cores. Knows the FreezeList and
 * the file system; not why a tree is frozen.
 */
#include "base/cleanup.h"
#include "formats/intake.h"
#include "formats/message.h"
#include "proto/exhibit.pb-c.h"
#include "record/tree.h"
#include "record/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOOK_BYTES (256u << 10)

enum { FOLDER_FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

/* From this size on a file of holes is listed without being read. */
#define HOLLOW_BYTES (1ull << 30)

/* An entry that waits for its turn, and where it has a content for that. */
struct waiting {
    struct waiting *next;
    uint32_t mode;
    uint64_t size_bytes;
    bool is_read; /* digest and size come from the intake */
    bool has_digest;
    struct digest digest;
    size_t path_bytes;
    char path[]; /* NUL-terminated */
};

struct freezing {
    struct pack_writer *retain; /* NULL: digests only */
    const struct freeze_way *way;
    struct intake *intake;
    struct waiting *first, **last; /* in the order of the walk; the intake answers in it */
    struct bytes list;
};

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

/* Looks for secrets in a content that is to be kept. It is read once more for that alone. */
static int content_look(const struct freezing *freezing, int fd, struct err *err)
{
    const struct secrets *secrets = freezing->way->secrets;
    struct needle_flow flow = {0};
    AUTO_FREE uint8_t *piece = NULL;
    uint64_t offset = 0;
    int code = 0;

    if (secrets == NULL || freezing->retain == NULL)
        return 0;
    piece = malloc(LOOK_BYTES);
    if (piece == NULL)
        return err_set_errno(err, "memory for a piece");
    while (code == 0) {
        ssize_t got = pread(fd, piece, LOOK_BYTES, (off_t)offset);

        if (got == 0)
            break;
        if (got < 0 && errno != EINTR)
            code = err_set_errno(err, "read at %llu", (unsigned long long)offset);
        if (got <= 0)
            continue;
        code = secrets_look_input(secrets, &flow, piece, (size_t)got, err);
        offset += (uint64_t)got;
    }
    needle_flow_done(&flow);
    return code;
}

/* Opens a file whose content is to be read, and completes its entry. *out_fd stays -1 where it is listed without. */
static int freeze_file(const struct freezing *freezing, const struct walk_entry *seen, struct waiting *entry,
                       int *out_fd, struct err *err)
{
    struct stat stat = seen->stat;
    AUTO_FD int fd = walk_open_file(seen->folder_fd, seen->name, &stat);

    if (fd < 0) {
        err_set_errno(err, "open");
        return may_stay_unread(freezing, err) ? 0 : err->code;
    }
    entry->mode = stat.st_mode; /* what was opened counts, if it is not what was seen before */
    entry->size_bytes = S_ISREG(stat.st_mode) ? (uint64_t)stat.st_size : 0;
    if (S_ISREG(stat.st_mode) && (freezing->retain != NULL || !walk_file_is_hollow(fd, &stat, HOLLOW_BYTES))) {
        if (content_look(freezing, fd, err) < 0)
            return err->code;
        entry->is_read = entry->has_digest = true;
        *out_fd = take_fd(&fd);
    }
    return 0;
}

static struct digest link_digest(const uint8_t *salt, const char *target, size_t size_bytes)
{
    uint8_t salted[FREEZE_SALT_BYTES + LIMIT_PATH_BYTES];

    if (salt == NULL)
        return digest_of(target, size_bytes);
    memcpy(salted, salt, FREEZE_SALT_BYTES);
    memcpy(salted + FREEZE_SALT_BYTES, target, size_bytes);
    return digest_of(salted, FREEZE_SALT_BYTES + size_bytes);
}

static int freeze_link(const struct freezing *freezing, const struct walk_entry *seen, struct waiting *entry,
                       struct err *err)
{
    char target[LIMIT_PATH_BYTES + 1];
    ssize_t size_bytes = readlinkat(seen->folder_fd, seen->name, target, sizeof target);

    if (size_bytes < 0) {
        err_set_errno(err, "read the link");
        return may_stay_unread(freezing, err) ? 0 : err->code;
    }
    if (size_bytes > LIMIT_PATH_BYTES)
        return err_set(err, ERR_LIMIT, "a link of more than %d bytes", LIMIT_PATH_BYTES);
    entry->digest = link_digest(freezing->way->salt, target, (size_t)size_bytes);
    entry->has_digest = true;
    return 0;
}

/* Appends an entry: the packed lists of one entry each, put end to end, are the packed list of them all. */
static int append_entry(struct freezing *freezing, struct waiting *waiting, struct err *err)
{
    AUTO_BYTES struct bytes packed = {0};
    Exhibit__FreezeEntry entry = EXHIBIT__FREEZE_ENTRY__INIT, *entries = &entry;
    Exhibit__FreezeList one = EXHIBIT__FREEZE_LIST__INIT;
    int code;

    entry.path = (ProtobufCBinaryData){waiting->path_bytes, (uint8_t *)waiting->path};
    entry.mode = waiting->mode;
    entry.size_bytes = waiting->size_bytes;
    if (waiting->has_digest)
        entry.sha256 = (ProtobufCBinaryData){DIGEST_BYTES, waiting->digest.bytes};
    one.n_entries = 1;
    one.entries = &entries;
    code = message_pack(&one.base, LIMIT_FREEZE_BYTES, &packed, err);
    return code < 0 ? code : bytes_add(&freezing->list, packed.data, packed.size_bytes, LIMIT_FREEZE_BYTES, err);
}

/* The first of the waiting has its turn: its content was read, if it has one that is. */
static int entry_done(void *context, const struct digest *digest, uint64_t size_bytes, struct err *err)
{
    struct freezing *freezing = context;
    struct waiting *entry = freezing->first;
    int code = digest == NULL ? err->code : 0;

    freezing->first = entry->next;
    if (freezing->first == NULL)
        freezing->last = &freezing->first;
    if (code == 0 && entry->is_read) {
        entry->digest = *digest;
        entry->size_bytes = size_bytes;
    }
    if (code == 0)
        code = append_entry(freezing, entry, err);
    if (code < 0)
        (void)err_wrap(err, "%.500s", entry->path);
    free(entry);
    return code;
}

/* Makes the entry of what was seen. *out_fd is a descriptor to be read, or -1. */
static int entry_make(const struct freezing *freezing, const struct walk_entry *seen, struct waiting **out, int *out_fd,
                      struct err *err)
{
    AUTO_FREE struct waiting *entry = calloc(1, sizeof *entry + seen->path_bytes + 1);
    int code = 0;

    if (entry == NULL)
        return err_set_errno(err, "memory for an entry");
    entry->path_bytes = seen->path_bytes;
    memcpy(entry->path, seen->path, seen->path_bytes);
    entry->mode = seen->stat.st_mode;
    if (S_ISREG(seen->stat.st_mode)) {
        entry->size_bytes = (uint64_t)seen->stat.st_size;
        code = freeze_file(freezing, seen, entry, out_fd, err);
    } else if (S_ISLNK(seen->stat.st_mode)) {
        code = freeze_link(freezing, seen, entry, err);
    }
    if (code == 0)
        *out = take_ptr(&entry);
    return code;
}

static int freeze_entry(void *context, const struct walk_entry *seen, struct err *err)
{
    struct freezing *freezing = context;
    struct waiting *entry = NULL;
    int fd = -1;

    if (entry_make(freezing, seen, &entry, &fd, err) < 0) {
        if (err->code == ERR_SYSTEM && err->sys_errno == ENOENT)
            return 0; /* it vanished since it was seen: it is not there */
        return err_wrap(err, "%.500s", seen->path);
    }
    *freezing->last = entry;
    freezing->last = &entry->next;
    return intake_give(freezing->intake, fd, entry->size_bytes, err); /* wrapped where it is known whose fault it is */
}

/* A folder that cannot be read is there by its mode alone, unless its contents were to be kept. */
static int freeze_obstacle(void *context, const char *path, struct err *err)
{
    const struct freezing *freezing = context;

    return may_stay_unread(freezing, err) ? 0 : err_wrap(err, "%.500s", path);
}

static int freeze_walk(const char *root, struct freezing *freezing, struct err *err)
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

/* The whole of it, with an intake. */
static int freeze_all(const char *root, struct freezing *freezing, struct err *err)
{
    struct intake_request request = {.keep = freezing->retain,
                                     .part = PACK_INPUT,
                                     .salt = freezing->way->salt,
                                     .done = entry_done,
                                     .context = freezing};
    int code = intake_new(&request, &freezing->intake, err);

    if (code == 0)
        code = freeze_walk(root, freezing, err);
    if (code == 0)
        code = intake_finish(freezing->intake, err);
    intake_free(freezing->intake);
    while (freezing->first != NULL) {
        struct waiting *next = freezing->first->next;

        free(freezing->first);
        freezing->first = next;
    }
    return code;
}

int tree_freeze(const char *root, struct pack_writer *retain, struct bytes *out, struct err *err)
{
    return tree_freeze_by(root, &(struct freeze_way){.retain = retain}, out, err);
}

_Static_assert(FREEZE_SALT_BYTES == INTAKE_SALT_BYTES, "the salt goes through the intake");

int tree_freeze_by(const char *root, const struct freeze_way *way, struct bytes *out, struct err *err)
{
    struct freezing freezing = {.retain = way->retain, .way = way};
    int code;

    freezing.last = &freezing.first;
    code = freeze_all(root, &freezing, err);
    if (code < 0) {
        bytes_done(&freezing.list);
        return err_wrap(err, "freeze %.200s", root);
    }
    bytes_done(out);
    *out = freezing.list;
    return 0;
}
