#include "record/executables.h"

#include "base/cleanup.h"
#include "base/crew.h"
#include "formats/digest.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define EXECUTABLE_MAX_BYTES (512u << 20) /* a larger one is not digested: its digest stays empty */
#define AT_ONCE_BYTES (1u << 20)          /* takes about a millisecond */
#define KNOWN_MOST 64
#define WAITING_MOST 64 /* one more is not digested */

/* One that waits: for the end of the run, or for a thread. */
struct waiting {
    struct crew_job job;
    struct stat seen;
    Exhibit__ProcessIdentity *identity; /* the first that was taken over, or NULL */
    bool by_thread;
    int fd; /* what the thread digests, and closes */
    bool digested;
    struct digest digest;
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
    struct waiting *found; /* what the process that was looked at last executes, if it waits */
    off_t waiting_bytes;   /* of their files: at most EXECUTABLE_MAX_BYTES, so that a run's end does not take long */
    struct crew *crew;     /* NULL: none was needed yet */
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

/* Digests a file. False: it cannot be read, or was changed meanwhile. */
static bool digest_read(int fd, const struct stat *seen, struct digest *out)
{
    struct stat after;
    uint64_t size_bytes;
    struct err err;

    return S_ISREG(seen->st_mode) && seen->st_size <= (off_t)EXECUTABLE_MAX_BYTES &&
           digest_of_fd(fd, out, &size_bytes, &err) == 0 && fstat(fd, &after) == 0 && is_same(seen, &after);
}

static const struct digest *known_add(struct executables *executables, const struct stat *seen,
                                      const struct digest *digest)
{
    size_t place = executables->next;

    executables->known[place].seen = *seen;
    executables->known[place].digest = *digest;
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

static struct waiting *waiting_find(struct executables *executables, const struct stat *stat)
{
    for (size_t i = 0; i < executables->waiting_count; i++)
        if (is_same(&executables->waiting[i].seen, stat))
            return &executables->waiting[i];
    return NULL;
}

/* Whether one may wait by the path that its process knows: none that leads elsewhere in another root or mounts. */
static bool has_path(const struct executables *executables, int folder, const Exhibit__ProcessIdentity *identity,
                     const struct stat *stat)
{
    AUTO_FD int fd = -1;

    if (stat->st_ctim.tv_sec >= executables->older_than_s || !is_one(folder, "ns/mnt", "/proc/self/ns/mnt") ||
        !is_one(folder, "root", "/"))
        return false;
    fd = path_open(identity, stat);
    return fd >= 0;
}

static void thread_digest(struct crew_job *job, unsigned worker)
{
    struct waiting *waiting = (struct waiting *)job; /* its first member */

    (void)worker;
    waiting->digested = digest_read(waiting->fd, &waiting->seen, &waiting->digest);
    (void)close(waiting->fd); /* at once: what is open cannot be unmounted */
}

/* Has a large one wait; NULL: it is left, for too many do. fd: handed over. */
static struct waiting *waiting_add(struct executables *executables, int folder,
                                   const Exhibit__ProcessIdentity *identity, const struct stat *stat, int fd)
{
    AUTO_FD int owned = fd;
    struct waiting *waiting = &executables->waiting[executables->waiting_count];

    if (executables->waiting_count == WAITING_MOST ||
        stat->st_size > (off_t)EXECUTABLE_MAX_BYTES - executables->waiting_bytes)
        return NULL;
    *waiting = (struct waiting){.job.work = thread_digest, .seen = *stat, .fd = -1};
    waiting->by_thread = !has_path(executables, folder, identity, stat);
    if (waiting->by_thread && executables->crew == NULL && (executables->crew = crew_new(2)) == NULL)
        return NULL;
    executables->waiting_count++;
    executables->waiting_bytes += stat->st_size;
    if (waiting->by_thread) {
        waiting->fd = take_fd(&owned);
        crew_give(executables->crew, &waiting->job);
    }
    return waiting;
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
    bool may_wait = executables->older_than_s != INT64_MIN;
    const struct digest *digest;
    struct digest made;
    struct stat stat;

    executables->found = NULL;
    if (fstatat(folder, "exe", &stat, 0) < 0)
        return true;
    digest = known_find(executables, &stat);
    if (digest == NULL && may_wait)
        executables->found = waiting_find(executables, &stat);
    if (digest == NULL && executables->found == NULL && S_ISREG(stat.st_mode)) {
        AUTO_FD int fd = openat(folder, "exe", O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

        if (fd >= 0 && fstat(fd, &stat) == 0) { /* another one may be executed by now: then that one is told */
            if (may_wait && stat.st_size > (off_t)AT_ONCE_BYTES)
                executables->found = waiting_add(executables, folder, identity, &stat, take_fd(&fd));
            else if (digest_read(fd, &stat, &made))
                digest = known_add(executables, &stat, &made);
        }
    }
    identity->executable_device = stat.st_dev;
    identity->executable_inode = stat.st_ino;
    return digest == NULL || digest_set(identity, digest);
}

bool executables_keep(struct executables *executables, Exhibit__ProcessIdentity *identity)
{
    if (executables->found == NULL || executables->found->identity != NULL)
        return false;
    executables->found->identity = identity;
    return true;
}

int executables_digest(struct executables *executables,
                       int (*take)(void *context, Exhibit__ProcessIdentity *identity, struct err *err), void *context,
                       struct err *err)
{
    int code = 0;

    for (size_t i = 0; i < executables->waiting_count; i++) {
        struct waiting *waiting = &executables->waiting[i];
        AUTO_FD int fd = -1;

        if (waiting->by_thread)
            crew_wait(executables->crew, &waiting->job);
        else if (waiting->identity != NULL && code == 0)
            fd = path_open(waiting->identity, &waiting->seen);
        if (fd >= 0)
            waiting->digested = digest_read(fd, &waiting->seen, &waiting->digest);
        if (waiting->digested)
            (void)known_add(executables, &waiting->seen, &waiting->digest);
        if (waiting->identity == NULL)
            continue;
        if (waiting->digested && code == 0)
            code = digest_set(waiting->identity, &waiting->digest) ? take(context, waiting->identity, err)
                                                                   : err_set_errno(err, "memory for a digest");
        exhibit__process_identity__free_unpacked(waiting->identity, NULL);
    }
    executables->found = NULL;
    executables->waiting_count = 0;
    executables->waiting_bytes = 0;
    return code;
}

void executables_free(struct executables *executables)
{
    if (executables == NULL)
        return;
    crew_free(executables->crew); /* waits for what it digests */
    for (size_t i = 0; i < executables->waiting_count; i++)
        if (executables->waiting[i].identity != NULL)
            exhibit__process_identity__free_unpacked(executables->waiting[i].identity, NULL);
    free(executables);
}
