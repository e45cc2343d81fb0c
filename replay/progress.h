/*
 * A bar on a terminal while much is done. Knows nothing of what that is.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress {
    bool on; /* stderr is a terminal */
    bool shown;
    size_t whole;
    uint64_t drawn_at_ns;
};

/* Looks whether there is a terminal; draws nothing. */
struct progress progress_start(size_t whole);

/* Draws the bar, unless it was drawn less than 100 ms ago. */
void progress_draw(struct progress *progress, size_t done);

/* Takes the bar away, so that something else can be written there. */
void progress_clear(struct progress *progress);
