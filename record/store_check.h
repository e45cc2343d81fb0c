/*
 * Whether a store is whole: every byte of every pack, and that all inputs that a receipt needs are somewhere in it.
 * Finds damage and whose it is; judges nothing.
 */
#pragma once

#include "formats/store.h"

#include <stdio.h>

struct store_check_report {
    uint32_t pack_count;
    uint32_t damaged_count;   /* packs */
    uint32_t unread_count;    /* packs: a system's error, which says nothing of them */
    uint32_t concerned_count; /* receipts that damage concerns, or of which inputs or local contents are missing */
    uint64_t checked_bytes;
};

/*
 * Checks all, and writes a line for each thing that is found. `progress` may be NULL; text is valid during the call.
 * ERR_SYSTEM: could not go on.
 */
int store_check(const struct store *store, void (*progress)(void *context, const char *text), FILE *out,
                struct store_check_report *report, struct err *err);
