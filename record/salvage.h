/*
 * Making a complete pack of what a recording that was cut short has left (FORMAT 1.8). Its receipt says partial.
 */
#pragma once

#include "base/err.h"

#include <stdint.h>

/* What was found. */
struct salvage_report {
    uint64_t file_bytes;
    uint64_t whole_bytes; /* of them in whole groups */
    uint64_t event_count;
    uint64_t object_count;
    uint64_t loose_count; /* objects that no event names */
};

/*
 * Reads the file `from` and writes the pack `to`, which must not exist. ERR_USAGE: a finished pack, not a pack, or
 * nothing in it that could be salvaged. ERR_SYSTEM. No pack is left after a failure.
 */
int salvage_make(const char *from, const char *to, struct salvage_report *out, struct err *err);
