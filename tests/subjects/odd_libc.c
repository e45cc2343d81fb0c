/*
 * Preloaded into a recorder: a machine that behaves oddly.
 *   ODD_CLOCK=1   the wall clock goes back by a day each time it is read, from two days after 1970 on
 *   ODD_ROOM=N    a socket gets room for N bytes, whatever is asked for
 */
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define DAY_S 86400

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
