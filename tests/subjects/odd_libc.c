/*
 * Preloaded into a recorder: a machine that behaves oddly.
 *   ODD_CLOCK=1    the wall clock goes back by a day each time it is read, from two days after 1970 on
 *   ODD_ROOM=N     a socket, and the ring of process events, gets room for N bytes, whatever is asked for
 *   ODD_NO_BPF=1   the kernel takes no programs
 *   ODD_PAUSE=US   it is held up before it looks at all processes, and before it takes hold of one
 *   ODD_FILES=N:M  from the Nth file, folder, pipe or process that it opens, M times, the system has no descriptor left
 *   ODD_PIPES=N:M  so for pipes alone
 *   ODD_COUNT=FILE at its end it writes there how many it opened, and how many pipes
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define DAY_S 86400

static unsigned files, pipes;

/* Whether the `number`th call is among those that a variable names. */
static bool is_named(const char *variable, unsigned number)
{
    const char *text = getenv(variable);
    unsigned first, count;

    return text != NULL && sscanf(text, "%u:%u", &first, &count) == 2 && number >= first && number - first < count;
}

/* Whether there is no descriptor for the next thing to open. */
static bool is_out_of_files(void)
{
    if (!is_named("ODD_FILES", __atomic_add_fetch(&files, 1, __ATOMIC_RELAXED)))
        return false;
    errno = ENFILE;
    return true;
}

__attribute__((destructor)) static void count_tell(void)
{
    const char *path = getenv("ODD_COUNT");
    FILE *to = path == NULL ? NULL : fopen(path, "we");

    if (to != NULL) {
        (void)fprintf(to, "%u %u\n", files, pipes);
        (void)fclose(to);
    }
}

int pipe2(int fds[2], int flags)
{
    if (is_named("ODD_PIPES", __atomic_add_fetch(&pipes, 1, __ATOMIC_RELAXED))) {
        errno = EMFILE;
        return -1;
    }
    return is_out_of_files() ? -1 : (int)syscall(SYS_pipe2, fds, flags);
}

static mode_t mode_of(int flags, va_list list)
{
    return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(list, mode_t) : 0;
}

int open64(const char *path, int flags, ...)
{
    va_list list;
    mode_t mode;

    va_start(list, flags);
    mode = mode_of(flags, list);
    va_end(list);
    return is_out_of_files() ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int openat64(int folder_fd, const char *path, int flags, ...)
{
    va_list list;
    mode_t mode;

    va_start(list, flags);
    mode = mode_of(flags, list);
    va_end(list);
    return is_out_of_files() ? -1 : (int)syscall(SYS_openat, folder_fd, path, flags, mode);
}

static void pause_make(void)
{
    const char *pause_us = getenv("ODD_PAUSE");

    if (pause_us != NULL)
        (void)usleep((unsigned)atoi(pause_us));
}

/* What the machine makes of a bpf(2). Returns 0, or -1 where it refuses. */
static int bpf_bend(long command, union bpf_attr *attributes)
{
    const char *room = getenv("ODD_ROOM");

    if (getenv("ODD_NO_BPF") != NULL) {
        errno = EPERM;
        return -1;
    }
    if (room != NULL && command == BPF_MAP_CREATE && attributes->map_type == BPF_MAP_TYPE_RINGBUF)
        attributes->max_entries = (unsigned)atoi(room);
    return 0;
}

long syscall(long number, ...)
{
    long (*real)(long, ...), given[6];
    va_list list;

    *(void **)&real = dlsym(RTLD_NEXT, "syscall");
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        given[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_pidfd_open)
        pause_make();
    if (number == SYS_pidfd_open && is_out_of_files())
        return -1;
    if (number == SYS_bpf && bpf_bend(given[0], (union bpf_attr *)given[1]) < 0)
        return -1;
    return real(number, given[0], given[1], given[2], given[3], given[4], given[5]);
}

/* What the two are called where the compiler can tell that there is no mode, and the C library checks it. */
int __open64_2(const char *path, int flags);
int __openat64_2(int folder_fd, const char *path, int flags);

int __open64_2(const char *path, int flags)
{
    return is_out_of_files() ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0);
}

int __openat64_2(int folder_fd, const char *path, int flags)
{
    return is_out_of_files() ? -1 : (int)syscall(SYS_openat, folder_fd, path, flags, 0);
}

DIR *opendir(const char *path)
{
    DIR *(*real)(const char *);

    *(void **)&real = dlsym(RTLD_NEXT, "opendir");
    if (strcmp(path, "/proc") == 0)
        pause_make();
    if (is_out_of_files())
        return NULL;
    return real(path);
}

static long wall_s(void)
{
    static long at = 3 * DAY_S;

    return at -= DAY_S;
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
    if (clock != CLOCK_REALTIME || getenv("ODD_CLOCK") == NULL)
        return (int)syscall(SYS_clock_gettime, clock, out);
    *out = (struct timespec){.tv_sec = wall_s()};
    return 0;
}

time_t time(time_t *out)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (out != NULL)
        *out = now.tv_sec;
    return now.tv_sec;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
    (void)zone;
    *out = (struct timeval){.tv_sec = time(NULL)};
    return 0;
}

int setsockopt(int fd, int level, int option, const void *value, socklen_t size)
{
    const char *room = getenv("ODD_ROOM");
    int room_bytes = room == NULL ? 0 : atoi(room);

    if (room != NULL && level == SOL_SOCKET && (option == SO_RCVBUF || option == SO_RCVBUFFORCE))
        return (int)syscall(SYS_setsockopt, fd, level, option, &room_bytes, sizeof room_bytes);
    return (int)syscall(SYS_setsockopt, fd, level, option, value, size);
}
