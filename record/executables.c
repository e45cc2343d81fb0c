#include "record/executables.h"

#include "base/cleanup.h"
#include "formats/digest.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define EXECUTABLE_MAX_BYTES (512u << 20) /* a larger one is not digested: its digest stays empty */
#define AT_ONCE_BYTES (1u << 20)          /* takes about a millisecond */
#define KNOWN_MOST 64
#define WAITING_MOST 64 /* one more is digested at once */

/* One that waits. */
struct waiting {
    struct stat seen;
    Exhibit__ProcessIdentity *identity; /* the first that was taken over, or NULL */
};

struct executables {
    int64_t older_than_s;
    struct {
        struct stat seen;
        struct digest digest;
    } known[KNOWN_MOST];
    size_t next; /* the place of the next one that becomes known: the oldest goes */
    struct waiting waiting[WAITING_MOST];
    size_t waiting_count;
    off_t waiting_bytes; /* of their files: at most EXECUTABLE_MAX_BYTES, so that a run's end does not take long */
};

struct executables *executables_new(void)
{
    struct executables *executables = calloc(1, sizeof *executables);

    if (executables != NULL)
        executables->older_than_s = INT64_MIN;
    return executables;
}

void executables_defer(struct executables *executables, int64_t older_than_s)
{
    executables->older_than_s = older_than_s;
}

/* Whether two looks show one file with one content: every change of it changes the time, too, which no call sets. */
static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static const struct digest *known_find(const struct executables *executables, const struct stat *stat)
{
    for (size_t i = 0; i < KNOWN_MOST; i++)
        if (is_same(&executables->known[i].seen, stat))
            return &executables->known[i].digest;
    return NULL;
}

/* Digests a file. NULL: it cannot be read, or was changed meanwhile. */
static const struct digest *digest_make(struct executables *executables, int fd, const struct stat *seen)
{
    size_t place = executables->next;
    struct digest digest;
    struct stat after;
    uint64_t size_bytes;
    struct err err;

    if (!S_ISREG(seen->st_mode) || seen->st_size > (off_t)EXECUTABLE_MAX_BYTES ||
        digest_of_fd(fd, &digest, &size_bytes, &err) < 0 || fstat(fd, &after) < 0 || !is_same(seen, &after))
        return NULL;
    executables->known[place].seen = *seen;
    executables->known[place].digest = digest;
    executables->next = (place + 1) % KNOWN_MOST;
    return &executables->known[place].digest;
}

/* The file that we know by the path that the identity tells. -1: there is none, or it is another one than was seen. */
static int path_open(const Exhibit__ProcessIdentity *identity, const struct stat *seen)
{
    char path[PATH_MAX];
    struct stat now;
    int fd;

    if (identity->executable.len == 0 || identity->executable.len >= sizeof path)
        return -1;
    memcpy(path, identity->executable.data, identity->executable.len);
    path[identity->executable.len] = 0;
    if (stat(path, &now) < 0 || !is_same(&now, seen)) /* what is not a file is not to be opened at all */
        return -1;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 && (fstat(fd, &now) < 0 || !is_same(&now, seen))) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

/* Whether two names are of one file. */
static bool is_one(int folder, const char *name, const char *other)
{
    struct stat a, b;

    return fstatat(folder, name, &a, 0) == 0 && stat(other, &b) == 0 && a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

/*
 * Whether the executable waits, as it may and as others of the same file do. A path that leads elsewhere in another
 * root or among other mounts is none that we follow.
 */
static bool is_left(struct executables *executables, int folder, const Exhibit__ProcessIdentity *identity,
                    const struct stat *stat)
{
    bool is_old = stat->st_ctim.tv_sec < executables->older_than_s;
    int fd;

    for (size_t i = 0; i < executables->waiting_count; i++)
        if (is_same(&executables->waiting[i].seen, stat))
            return is_old;
    if (!is_old || stat->st_size <= (off_t)AT_ONCE_BYTES || executables->waiting_count == WAITING_MOST ||
        stat->st_size > (off_t)EXECUTABLE_MAX_BYTES - executables->waiting_bytes ||
        !is_one(folder, "ns/mnt", "/proc/self/ns/mnt") || !is_one(folder, "root", "/"))
        return false;
    fd = path_open(identity, stat);
    if (fd < 0)
        return false;
    (void)close(fd);
    executables->waiting[executables->waiting_count++] = (struct waiting){*stat, NULL};
    executables->waiting_bytes += stat->st_size;
    return true;
}

/* Has the digest told. False: no memory. */
static bool digest_set(Exhibit__ProcessIdentity *identity, const struct digest *digest)
{
    uint8_t *copy = malloc(DIGEST_BYTES);

    if (copy == NULL)
        return false;
    memcpy(copy, digest->bytes, DIGEST_BYTES);
    identity->executable_sha256 = (ProtobufCBinaryData){DIGEST_BYTES, copy};
    return true;
}

bool executables_identify(struct executables *executables, int folder, Exhibit__ProcessIdentity *identity)
{
    const struct digest *digest;
    struct stat stat;

    if (fstatat(folder, "exe", &stat, 0) < 0)
        return true;
    digest = known_find(executables, &stat);
    if (digest == NULL && S_ISREG(stat.st_mode) && !is_left(executables, folder, identity, &stat)) {
        AUTO_FD int fd = openat(folder, "exe", O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

        if (fd >= 0 && fstat(fd, &stat) == 0) /* another one may be executed by now: then that one is told */
            digest = digest_make(executables, fd, &stat);
    }
    identity->executable_device = stat.st_dev;
    identity->executable_inode = stat.st_ino;
    return digest == NULL || digest_set(identity, digest);
}

bool executables_keep(struct executables *executables, Exhibit__ProcessIdentity *identity)
{
    for (size_t i = 0; identity->executable_sha256.len == 0 && i < executables->waiting_count; i++) {
        struct waiting *waiting = &executables->waiting[i];

        if (waiting->identity == NULL && waiting->seen.st_ino == identity->executable_inode &&
            waiting->seen.st_dev == identity->executable_device) {
            waiting->identity = identity;
            return true;
        }
    }
    return false;
}

int executables_digest(struct executables *executables,
                       int (*take)(void *context, Exhibit__ProcessIdentity *identity, struct err *err), void *context,
                       struct err *err)
{
    int code = 0;

    for (size_t i = 0; i < executables->waiting_count; i++) {
        const struct waiting *waiting = &executables->waiting[i];
        AUTO_FD int fd = waiting->identity == NULL || code < 0 ? -1 : path_open(waiting->identity, &waiting->seen);
        const struct digest *digest = fd < 0 ? NULL : digest_make(executables, fd, &waiting->seen);

        if (digest != NULL && !digest_set(waiting->identity, digest))
            code = err_set_errno(err, "memory for a digest");
        else if (digest != NULL)
            code = take(context, waiting->identity, err);
        if (waiting->identity != NULL)
            exhibit__process_identity__free_unpacked(waiting->identity, NULL);
    }
    executables->waiting_count = 0;
    executables->waiting_bytes = 0;
    return code;
}

void executables_free(struct executables *executables)
{
    if (executables == NULL)
        return;
    for (size_t i = 0; i < executables->waiting_count; i++)
        if (executables->waiting[i].identity != NULL)
            exhibit__process_identity__free_unpacked(executables->waiting[i].identity, NULL);
    free(executables);
}
