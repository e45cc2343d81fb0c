/*
 * A fault at the n-th step of writing a bundle, for exhibit-record (LD_PRELOAD). FAULT=N:KIND, or 0: for none; FAULT_OF
 * says which steps are counted (default: pack); FAULT_LOG names a file that gets a line for each step, so that a test
 * can see where the fault landed: number, call, name of the file without its folder (or -), kind of the fault if any.
 * Steps of
 *   pack: the writing, syncing and naming of files whose name has ".partial" in it, the syncing of folders,
 *         the removing of a store's packs;
 *   spool: what goes into the nameless files in the work folder;
 *   move: what is moved into a pipe, on its way there;
 *   tools: the making of the tools in the work folder, which are the first files of a recording in it;
 *   descriptor: the making of these files, of pipes, sockets and descriptors of processes, signals and watches, the
 *         opening of a store's files and of what is frozen.
 * A fault of the kind "pause" is none: the process waits for a second before the step.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned step;

/* The C library's own, beneath those in here. */
static long raw(long number, ...)
{
    static long (*next)(long number, ...);
    long words[6];
    va_list list;

    va_start(list, number);
    for (int i = 0; i < 6; i++)
        words[i] = va_arg(list, long);
    va_end(list);
    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "syscall");
    return next(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

/* The path of a file behind a descriptor, with what the kernel adds to it; empty where it tells none. */
static void path_of(int fd, char *out, size_t room)
{
    char link[64];
    ssize_t size;
    int before = errno;

    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    size = readlink(link, out, room - 1);
    errno = before;
    out[size < 0 ? 0 : size] = 0;
}

/* Whose bytes the file of this path holds: "pack", "spool", or NULL for any other. */
static const char *owner_of(const char *path)
{
    if (strstr(path, "/exhibit-") != NULL && strstr(path, " (deleted)") != NULL)
        return "spool";
    return strstr(path, ".partial") != NULL ? "pack" : NULL;
}

/* Counts a step if it is of those that count, writes it down, and gives the kind of the fault that belongs here, or "".
 */
static const char *fault(const char *owner, const char *what, const char *path)
{
    const char *wanted = getenv("FAULT"), *log = getenv("FAULT_LOG"), *counted = getenv("FAULT_OF"), *kind = "";
    const char *name = strrchr(path, '/') == NULL ? path : strrchr(path, '/') + 1;
    char line[512];
    unsigned number;
    int fd;

    if (owner == NULL || strcmp(owner, counted == NULL ? "pack" : counted) != 0)
        return "";

    (void)pthread_mutex_lock(&lock);
    number = ++step;
    (void)pthread_mutex_unlock(&lock);
    if (wanted != NULL && (unsigned)atoi(wanted) == number && strchr(wanted, ':') != NULL)
        kind = strchr(wanted, ':') + 1;
    fd = log == NULL ? -1 : (int)raw(SYS_open, log, (long)(O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC), 0600L);
    if (fd >= 0) {
        int name_bytes = (int)strcspn(name, " "); /* "(deleted)" comes after */
        int size = snprintf(line, sizeof line, "%u %s %.*s %s\n", number, what, name_bytes, name, kind);

        (void)raw(SYS_write, (long)fd, line, (size_t)size);
        (void)close(fd);
    }
    if (strcmp(kind, "kill-before") == 0)
        (void)kill(getpid(), SIGKILL);
    if (strcmp(kind, "pause") == 0)
        (void)usleep(1000000);
    return kind;
}

/* What the fault makes of the call; 1: nothing, go on. */
static int refused(const char *kind)
{
    static const struct {
        const char *kind;
        int number;
    } errors[] = {{"ENOSPC", ENOSPC}, {"EIO", EIO}, {"EINTR", EINTR}, {"EMFILE", EMFILE}, {"EINVAL", EINVAL}};

    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (strcmp(kind, errors[i].kind) == 0) {
            errno = errors[i].number;
            return -1;
        }
    return 1;
}

/* What cannot be done by half is done whole. */
static void after(const char *kind)
{
    if (strcmp(kind, "kill-after") == 0 || strcmp(kind, "kill-half") == 0)
        (void)kill(getpid(), SIGKILL);
}

/* How much of a writing is let through. */
static size_t part_of(const char *kind, size_t size_bytes)
{
    return strcmp(kind, "kill-half") == 0 ? size_bytes / 2 : strcmp(kind, "short") == 0 ? 1 : size_bytes;
}

static ssize_t put(int fd, const void *from, size_t size_bytes, bool at_place, off_t place)
{
    char path[PATH_MAX];
    const char *kind;
    size_t part;
    ssize_t done;

    path_of(fd, path, sizeof path);
    kind = fault(owner_of(path), "write", path);
    part = part_of(kind, size_bytes);
    if (refused(kind) < 0)
        return -1;
    done = at_place ? raw(SYS_pwrite64, (long)fd, from, part, place) : raw(SYS_write, (long)fd, from, part);
    after(kind);
    return done;
}

ssize_t write(int fd, const void *from, size_t size_bytes);
ssize_t write(int fd, const void *from, size_t size_bytes)
{
    return put(fd, from, size_bytes, false, 0);
}

ssize_t pwrite64(int fd, const void *from, size_t size_bytes, off_t place);
ssize_t pwrite64(int fd, const void *from, size_t size_bytes, off_t place)
{
    return put(fd, from, size_bytes, true, place);
}

ssize_t splice(int from, off64_t *from_place, int to, off64_t *to_place, size_t size_bytes, unsigned flags)
{
    char path[PATH_MAX];
    const char *kind;
    ssize_t done;

    path_of(to, path, sizeof path);
    kind = strncmp(path, "pipe:", 5) == 0 ? fault("move", "move", path) : fault(owner_of(path), "splice", path);
    if (refused(kind) < 0)
        return -1;
    done = raw(SYS_splice, (long)from, from_place, (long)to, to_place, part_of(kind, size_bytes), (long)flags);
    after(kind);
    return done;
}

int fsync(int fd)
{
    struct stat stat;
    bool folder = fstat(fd, &stat) == 0 && S_ISDIR(stat.st_mode);
    char path[PATH_MAX];
    const char *kind;
    int done;

    path_of(fd, path, sizeof path);
    kind = fault(folder ? "pack" : owner_of(path), folder ? "fsync-folder" : "fsync", path);
    if (refused(kind) < 0)
        return -1;
    done = (int)raw(SYS_fsync, (long)fd);
    after(kind);
    return done;
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    const char *kind = fault(strstr(from, ".partial-") != NULL ? "pack" : NULL, "rename", from);
    int done = refused(kind);

    if (done < 0)
        return -1;
    done = (int)raw(SYS_renameat2, (long)from_dir, from, (long)to_dir, to, (long)flags);
    after(kind);
    return done;
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    const char *kind = fault(strstr(from, ".partial") != NULL ? "pack" : NULL, "rename", from);
    int done = refused(kind);

    if (done < 0)
        return -1;
    done = (int)raw(SYS_renameat2, (long)from_dir, from, (long)to_dir, to, 0L);
    after(kind);
    return done;
}

static bool ends_in(const char *name, const char *suffix)
{
    size_t size = strlen(name), suffix_size = strlen(suffix);

    return size >= suffix_size && strcmp(name + size - suffix_size, suffix) == 0;
}

int unlinkat(int folder, const char *name, int flags)
{
    bool counts = ends_in(name, ".pack") || ends_in(name, ".local");
    const char *kind = fault(counts ? "pack" : NULL, "unlink", name);
    int done = refused(kind);

    if (done < 0)
        return -1;
    done = (int)raw(SYS_unlinkat, (long)folder, name, (long)flags);
    after(kind);
    return done;
}

/* ---- descriptors ---- */

static int open_any(int folder, const char *name, int flags, unsigned mode)
{
    bool temporary = (flags & O_TMPFILE) == O_TMPFILE, pack = flags & O_CREAT && strstr(name, ".partial") != NULL;
    bool kept = ends_in(name, ".pack"), store = strcmp(name, "lock") == 0 || strcmp(name, "exhibit-store") == 0;
    bool tool = flags & O_CREAT && strstr(name, "/box/tools/") != NULL;
    const char *what = temporary ? "open-spool" : (pack ? "open-pack" : (kept ? "open-kept" : "open-store"));
    const char *owner = temporary || pack || kept || store ? "descriptor" : (tool ? "tools" : NULL);
    const char *kind = fault(owner, tool ? "open-tool" : what, name);

    return refused(kind) < 0 ? -1 : (int)raw(SYS_openat, (long)folder, name, (long)flags, (long)mode);
}

/* The mode, where there is one; as the C library tells it. */
#define MODE_TAKE(mode, flags)                                                                                         \
    do {                                                                                                               \
        va_list list;                                                                                                  \
        va_start(list, flags);                                                                                         \
        if (((flags)&O_CREAT) != 0 || ((flags)&O_TMPFILE) == O_TMPFILE)                                                \
            (mode) = va_arg(list, unsigned);                                                                           \
        va_end(list);                                                                                                  \
    } while (false)

int open64(const char *name, int flags, ...)
{
    unsigned mode = 0;

    MODE_TAKE(mode, flags);
    return open_any(AT_FDCWD, name, flags, mode);
}

int openat64(int folder, const char *name, int flags, ...)
{
    unsigned mode = 0;

    MODE_TAKE(mode, flags);
    return open_any(folder, name, flags, mode);
}

/* What the two are called where the compiler can tell that there is no mode, and the C library checks it. */
int __open64_2(const char *name, int flags);
int __openat64_2(int folder, const char *name, int flags);

int __open64_2(const char *name, int flags)
{
    return open_any(AT_FDCWD, name, flags, 0);
}

int __openat64_2(int folder, const char *name, int flags)
{
    return open_any(folder, name, flags, 0);
}

int pipe2(int pipes[2], int flags)
{
    return refused(fault("descriptor", "pipe", "-")) < 0 ? -1 : (int)raw(SYS_pipe2, pipes, (long)flags);
}

int socket(int family, int type, int protocol)
{
    return refused(fault("descriptor", "socket", "-")) < 0
               ? -1
               : (int)raw(SYS_socket, (long)family, (long)type, (long)protocol);
}

int epoll_create1(int flags)
{
    return refused(fault("descriptor", "epoll", "-")) < 0 ? -1 : (int)raw(SYS_epoll_create1, (long)flags);
}

int inotify_init1(int flags)
{
    return refused(fault("descriptor", "inotify", "-")) < 0 ? -1 : (int)raw(SYS_inotify_init1, (long)flags);
}

int signalfd(int fd, const sigset_t *signals, int flags)
{
    enum { KERNEL_SET_BYTES = 8 };

    return refused(fault("descriptor", "signalfd", "-")) < 0
               ? -1
               : (int)raw(SYS_signalfd4, (long)fd, signals, (long)KERNEL_SET_BYTES, (long)flags);
}

long syscall(long number, ...)
{
    long words[6];
    va_list list;

    va_start(list, number);
    for (int i = 0; i < 6; i++)
        words[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_pidfd_open && refused(fault("descriptor", "pidfd", "-")) < 0)
        return -1;
    if (number == SYS_openat2 && refused(fault("descriptor", "openat2", (const char *)words[1])) < 0)
        return -1;
    return raw(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}
