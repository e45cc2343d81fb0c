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
    uint64_t store_count; /* inputs from the store */
    uint64_t lost_count;  /* inputs that are neither in the file nor in the store, where one was named */
};

struct salvage_request {
    const char *from;
    const char *output;
    const char *store;                             /* NULL: none */
    void (*note)(void *context, const char *text); /* what of the store was passed over or is waited for; a line each */
    void *context;
};

/*
 * Reads the file and writes the pack, which must not exist; inputs that a store had already are taken from there.
 * ERR_USAGE: a finished pack, not a pack, nothing in it that could be salvaged, or no store. ERR_FORMAT, ERR_MISMATCH,
 * ERR_LIMIT: the store's packs. ERR_SYSTEM. No pack is left after a failure.
 */
int salvage_make(const struct salvage_request *request, struct salvage_report *out, struct err *err);
