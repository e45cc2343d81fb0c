/*
 * Preloaded into a recorder: a machine that behaves oddly.
 *   ODD_CLOCK=1   the wall clock goes back by a day each time it is read, from two days after 1970 on
 *   ODD_ROOM=N    a socket gets room for N bytes, whatever is asked for
 *   ODD_PAUSE=US  it is held up before it looks at all processes, and before it takes hold of one
 */
#include <dirent.h>
#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define DAY_S 86400

static void pause_make(void)
{
    const char *pause_us = getenv("ODD_PAUSE");

    if (pause_us != NULL)
        (void)usleep((unsigned)atoi(pause_us));
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
    return real(number, given[0], given[1], given[2], given[3], given[4], given[5]);
}

DIR *opendir(const char *path)
{
    DIR *(*real)(const char *);

    *(void **)&real = dlsym(RTLD_NEXT, "opendir");
    if (strcmp(path, "/proc") == 0)
        pause_make();
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
