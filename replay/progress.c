/*
 * One line of a terminal, drawn over and over.
 */
#include "replay/progress.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct progress progress_start(size_t whole)
{
    return (struct progress){.on = isatty(STDERR_FILENO) == 1, .whole = whole};
}

void progress_draw(struct progress *progress, size_t done)
{
    enum { BAR_COLUMNS = 40, NS_PER_DRAWING = 100000000 };
    static const char full[BAR_COLUMNS + 1] = "########################################";
    struct timespec now;
    uint64_t now_ns;
    int columns;

    if (!progress->on || progress->whole == 0)
        return;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    now_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    if (now_ns - progress->drawn_at_ns < NS_PER_DRAWING)
        return;
    columns = (int)(done * BAR_COLUMNS / progress->whole);
    (void)fprintf(stderr, "\r[%.*s%*s] %zu/%zu", columns, full, BAR_COLUMNS - columns, "", done, progress->whole);
    (void)fflush(stderr);
    progress->drawn_at_ns = now_ns;
    progress->shown = true;
}

void progress_clear(struct progress *progress)
{
    if (!progress->shown)
        return;
    (void)fputs("\r\033[K", stderr);
    (void)fflush(stderr);
    progress->shown = false;
    progress->drawn_at_ns = 0;
}
