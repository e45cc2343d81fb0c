/*
 * A fault at the n-th step of writing a pack, for exhibit-record (LD_PRELOAD). FAULT=N:KIND, or 0: for none; FAULT_LOG
 * names a file that gets a line for each step, so that a test can see where the fault landed. Steps are the writing,
 * syncing, cutting and naming of files whose name has ".partial-" in it, and the syncing of folders.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned step;

static bool is_pack(int fd)
{
    char link[64], name[4096];
    ssize_t size;
    int before = errno;

    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    size = readlink(link, name, sizeof name - 1);
    errno = before;
    if (size < 0)
        return false;
    name[size] = 0;
    return strstr(name, ".partial-") != NULL;
}

/* Counts a step, writes it down, and gives the kind of the fault that belongs here, or "". */
static const char *fault(const char *what)
{
    const char *wanted = getenv("FAULT"), *log = getenv("FAULT_LOG"), *kind = "";
    char line[128];
    unsigned number;
    int fd;

    (void)pthread_mutex_lock(&lock);
    number = ++step;
    (void)pthread_mutex_unlock(&lock);
    if (wanted != NULL && (unsigned)atoi(wanted) == number && strchr(wanted, ':') != NULL)
        kind = strchr(wanted, ':') + 1;
    fd = log == NULL ? -1 : open(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0) {
        int size = snprintf(line, sizeof line, "%u %s %s\n", number, what, kind);

        (void)syscall(SYS_write, fd, line, (size_t)size);
        (void)close(fd);
    }
    if (strcmp(kind, "kill-before") == 0)
        (void)kill(getpid(), SIGKILL);
    return kind;
}

/* What the fault makes of the call; 1: nothing, go on. */
static int refused(const char *kind)
{
    static const struct {
        const char *kind;
        int number;
    } errors[] = {{"ENOSPC", ENOSPC}, {"EIO", EIO}, {"EINTR", EINTR}, {"EMFILE", EMFILE}};

    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (strcmp(kind, errors[i].kind) == 0) {
            errno = errors[i].number;
            return -1;
        }
    return 1;
}

static void after(const char *kind)
{
    if (strcmp(kind, "kill-after") == 0)
        (void)kill(getpid(), SIGKILL);
}

static ssize_t put(int fd, const void *from, size_t size_bytes, bool at_place, off_t place)
{
    const char *kind = fault("write");
    size_t part = strcmp(kind, "kill-half") == 0 ? size_bytes / 2 : strcmp(kind, "short") == 0 ? 1 : size_bytes;
    ssize_t done;

    if (refused(kind) < 0)
        return -1;
    done = at_place ? syscall(SYS_pwrite64, fd, from, part, place) : syscall(SYS_write, fd, from, part);
    if (strcmp(kind, "kill-half") == 0)
        (void)kill(getpid(), SIGKILL);
    after(kind);
    return done;
}

ssize_t write(int fd, const void *from, size_t size_bytes);
ssize_t write(int fd, const void *from, size_t size_bytes)
{
    return is_pack(fd) ? put(fd, from, size_bytes, false, 0) : syscall(SYS_write, fd, from, size_bytes);
}

ssize_t pwrite64(int fd, const void *from, size_t size_bytes, off_t place);
ssize_t pwrite64(int fd, const void *from, size_t size_bytes, off_t place)
{
    return is_pack(fd) ? put(fd, from, size_bytes, true, place) : syscall(SYS_pwrite64, fd, from, size_bytes, place);
}

int fsync(int fd)
{
    struct stat stat;
    bool folder = fstat(fd, &stat) == 0 && S_ISDIR(stat.st_mode);
    const char *kind = folder || is_pack(fd) ? fault(folder ? "fsync-folder" : "fsync") : "";
    int done = refused(kind);

    if (done < 0)
        return -1;
    done = (int)syscall(SYS_fsync, fd);
    after(kind);
    return done;
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    const char *kind = strstr(from, ".partial-") != NULL ? fault("rename") : "";
    int done = refused(kind);

    if (done < 0)
        return -1;
    done = (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
    after(kind);
    return done;
}
