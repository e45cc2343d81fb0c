/*
 * Freezing: a FreezeList in the order of the walk, while the contents are read on all cores. Contents that are kept are
 * read in the order of the files' own names, so that those which resemble each other (each package's README, its
 * index.js) share blocks: a tree of packages takes a tenth less. Knows the FreezeList and the file system; not why a
 * tree is frozen.
 */
#include "base/cleanup.h"
#include "formats/intake.h"
#include "formats/message.h"
#include "proto/exhibit.pb-c.h"
#include "record/tree.h"
#include "record/walk.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOOK_BYTES (256u << 10)

enum { FOLDER_FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

/* From this size on a file of holes is listed without being read. */
#define HOLLOW_BYTES (1ull << 30)

/*
 * How many files are put into the order of their names at a time, and how many entries may wait for one that is not
 * read yet: what a tree of many more costs is not more memory.
 */
#ifndef SORT_FILES /* a test has fewer */
#define SORT_FILES 16384u
#endif
#define WAITING_MOST (4 * SORT_FILES)

/* An entry that waits: for its content to be read, or for one before it whose content is. */
struct waiting {
    struct waiting *next;       /* in the order of the walk */
    struct waiting *next_given; /* in the order of the intake */
    bool is_done;               /* nothing of it is missing any more */
    bool is_gone;               /* it vanished before it could be opened: it was not there */
    uint32_t mode;
    uint64_t size_bytes;
    bool has_digest;
    struct digest digest;
    size_t path_bytes;
    char path[]; /* NUL-terminated */
};

struct freezing {
    struct pack_writer *retain; /* NULL: digests only */
    const struct freeze_way *way;
    struct intake *intake;
    int root_fd;                   /* of the folder, where it is one; borrowed */
    struct waiting *first, **last; /* in the order of the walk */
    size_t waiting_count;
    struct waiting *given, **last_given;
    struct waiting **unsorted; /* SORT_FILES of them where contents are kept: those whose files are not open yet */
    size_t unsorted_count;
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

/* Completes the entry of a file that could not be opened, as errno says. `seen` is not needed where it is kept. */
static int file_unread(const struct freezing *freezing, const struct walk_entry *seen, struct waiting *entry,
                       struct err *err)
{
    struct stat stat;

    err_set_errno(err, "open");
    entry->is_done = true;
    entry->is_gone = err->sys_errno == ENOENT;
    if (entry->is_gone)
        return 0;
    if (!may_stay_unread(freezing, err))
        return err_wrap(err, "%.500s", entry->path);
    if (fstatat(seen->folder_fd, seen->name, &stat, AT_SYMLINK_NOFOLLOW) < 0) {
        entry->is_gone = true; /* one that was there has a state, whoever may read it */
        return 0;
    }
    entry->mode = stat.st_mode;
    entry->size_bytes = S_ISREG(stat.st_mode) ? (uint64_t)stat.st_size : 0;
    return 0;
}

/* Takes a file that was opened, completes its entry and gives its content to be read, if it has one that is. */
static int file_give(struct freezing *freezing, int given_fd, const struct stat *stat, struct waiting *entry,
                     struct err *err)
{
    AUTO_FD int fd = given_fd;

    entry->is_done = true;
    entry->mode = stat->st_mode; /* what was opened counts, whatever the folder called it */
    entry->size_bytes = S_ISREG(stat->st_mode) ? (uint64_t)stat->st_size : 0;
    if (!S_ISREG(stat->st_mode) || (freezing->retain == NULL && walk_file_is_hollow(fd, stat, HOLLOW_BYTES)))
        return 0;
    if (content_look(freezing, fd, err) < 0)
        return err_wrap(err, "%.500s", entry->path);
    entry->is_done = false;
    *freezing->last_given = entry;
    freezing->last_given = &entry->next_given;
    /* What fails may be an earlier file's: content_done names it. */
    return intake_give(freezing->intake, take_fd(&fd), entry->size_bytes, err);
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
        entry->is_gone = err->sys_errno == ENOENT;
        return entry->is_gone || may_stay_unread(freezing, err) ? 0 : err->code;
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

/* Appends those that nothing is missing of, up to the first that waits. */
static int append_done(struct freezing *freezing, struct err *err)
{
    int code = 0;

    while (code == 0 && freezing->first != NULL && freezing->first->is_done) {
        struct waiting *entry = freezing->first;

        freezing->first = entry->next;
        if (freezing->first == NULL)
            freezing->last = &freezing->first;
        if (!entry->is_gone && append_entry(freezing, entry, err) < 0)
            code = err_wrap(err, "%.500s", entry->path);
        free(entry);
        freezing->waiting_count--;
    }
    return code;
}

/* The first that was given was read. */
static int content_done(void *context, const struct digest *digest, uint64_t size_bytes, struct err *err)
{
    struct freezing *freezing = context;
    struct waiting *entry = freezing->given;

    freezing->given = entry->next_given;
    if (freezing->given == NULL)
        freezing->last_given = &freezing->given;
    if (digest == NULL)
        return err_wrap(err, "%.500s", entry->path);
    entry->digest = *digest;
    entry->size_bytes = size_bytes;
    entry->has_digest = entry->is_done = true;
    return append_done(freezing, err);
}

static const char *own_name(const struct waiting *entry)
{
    const char *slash = strrchr(entry->path, '/');

    return slash == NULL ? entry->path : slash + 1;
}

static int compare_own_names(const void *a, const void *b)
{
    const struct waiting *left = *(struct waiting *const *)a, *right = *(struct waiting *const *)b;
    int order = strcmp(own_name(left), own_name(right));

    return order != 0 ? order : strcmp(left->path, right->path);
}

/* Opens the files that wait for that, in the order of their names. */
static int give_sorted(struct freezing *freezing, struct err *err)
{
    int code = 0;

    if (freezing->unsorted_count > 0)
        qsort(freezing->unsorted, freezing->unsorted_count, sizeof(struct waiting *), compare_own_names);
    for (size_t i = 0; i < freezing->unsorted_count && code == 0; i++) {
        struct waiting *entry = freezing->unsorted[i];
        struct stat stat;
        int fd = walk_open_below(freezing->root_fd, entry->path, &stat);

        code = fd < 0 ? file_unread(freezing, NULL, entry, err) : file_give(freezing, fd, &stat, entry, err);
    }
    freezing->unsorted_count = 0;
    return code < 0 ? code : append_done(freezing, err);
}

/* Takes a regular file: opens it at once, or lets it wait for those whose names resemble its own. */
static int take_file(struct freezing *freezing, const struct walk_entry *seen, struct waiting *entry, struct err *err)
{
    struct stat stat;
    int fd;

    /* Of the longest paths the system takes no more than a name at a time. */
    if (freezing->unsorted == NULL || entry->path_bytes == 0 || entry->path_bytes >= PATH_MAX) {
        fd = walk_open_file(seen->folder_fd, seen->name, &stat);
        return fd < 0 ? file_unread(freezing, seen, entry, err) : file_give(freezing, fd, &stat, entry, err);
    }
    freezing->unsorted[freezing->unsorted_count++] = entry;
    return freezing->unsorted_count < SORT_FILES ? 0 : give_sorted(freezing, err);
}

static struct waiting *entry_add(struct freezing *freezing, const struct walk_entry *seen)
{
    struct waiting *entry = calloc(1, sizeof *entry + seen->path_bytes + 1);

    if (entry == NULL)
        return NULL;
    entry->path_bytes = seen->path_bytes;
    memcpy(entry->path, seen->path, seen->path_bytes);
    entry->mode = seen->stat.st_mode;
    *freezing->last = entry;
    freezing->last = &entry->next;
    freezing->waiting_count++;
    assert(freezing->waiting_count <= WAITING_MOST);
    return entry;
}

static int freeze_entry(void *context, const struct walk_entry *seen, struct err *err)
{
    struct freezing *freezing = context;
    struct waiting *entry = entry_add(freezing, seen);
    int code = 0;

    if (entry == NULL)
        return err_set_errno(err, "memory for an entry");
    if (S_ISREG(seen->stat.st_mode)) {
        code = take_file(freezing, seen, entry, err);
    } else {
        if (S_ISLNK(seen->stat.st_mode) && freeze_link(freezing, seen, entry, err) < 0)
            return err_wrap(err, "%.500s", seen->path);
        entry->is_done = true;
    }
    if (code == 0)
        code = append_done(freezing, err);
    if (code == 0 && freezing->waiting_count == WAITING_MOST) { /* for few files, behind which there is much else */
        code = give_sorted(freezing, err);
        if (code == 0)
            code = intake_finish(freezing->intake, err);
    }
    return code;
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
    struct walk_visitor visitor = {
        .visit = freeze_entry, .obstacle = freeze_obstacle, .context = freezing, .files_unseen = true};
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
    freezing->root_fd = fd;
    code = walk_tree(fd, &visitor, err);
    return code < 0 ? code : give_sorted(freezing, err);
}

/* The whole of it, with an intake. */
static int freeze_all(const char *root, struct freezing *freezing, struct err *err)
{
    struct intake_request request = {.keep = freezing->retain,
                                     .part = PACK_INPUT,
                                     .salt = freezing->way->salt,
                                     .done = content_done,
                                     .context = freezing};
    int code = intake_new(&request, &freezing->intake, err);

    if (code == 0 && freezing->retain != NULL) {
        freezing->unsorted = calloc(SORT_FILES, sizeof(struct waiting *));
        if (freezing->unsorted == NULL)
            code = err_set_errno(err, "memory for names");
    }
    if (code == 0)
        code = freeze_walk(root, freezing, err);
    if (code == 0)
        code = intake_finish(freezing->intake, err);
    intake_free(freezing->intake);
    free(freezing->unsorted);
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
    freezing.last_given = &freezing.given;
    code = freeze_all(root, &freezing, err);
    if (code < 0) {
        bytes_done(&freezing.list);
        return err_wrap(err, "freeze %.200s", root);
    }
    bytes_done(out);
    *out = freezing.list;
    return 0;
}
