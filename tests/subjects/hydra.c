/*
 * A process that is never there when one looks: each generation leaves a child behind and ends, after the given number
 * of microseconds, in a session of its own. The first one ends with 0 at once.
 */
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    unsigned pause_us = argc > 1 ? (unsigned)atoi(argv[1]) : 1000;

    for (;;) {
        if (fork() != 0)
            _exit(0);
        (void)setsid();
        (void)usleep(pause_us);
    }
}
