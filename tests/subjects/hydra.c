/*
 * A process that is never there when one looks: each generation leaves a child behind and ends, after the given number
 * of microseconds, in a session of its own. The first one ends with 0 at once; the last one after LIFETIME_S, for
 * nobody catches them by hand.
 */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define LIFETIME_S 120

static time_t now_s(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

int main(int argc, char **argv)
{
    unsigned pause_us = argc > 1 ? (unsigned)atoi(argv[1]) : 1000;
    time_t end_s = now_s() + LIFETIME_S;

    while (now_s() < end_s) {
        if (fork() != 0)
            _exit(0);
        (void)setsid();
        (void)usleep(pause_us);
    }
    return 0;
}
