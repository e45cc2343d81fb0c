/*
 * Making a bundle of a receipt in a store: its own pack, and the inputs that other packs hold for it.
 */
#pragma once

#include "base/err.h"
#include "formats/digest.h"

#include <stdbool.h>
#include <stdint.h>

struct export_request {
    const char *store;   /* the folder */
    const char *receipt; /* its digest, or how that begins */
    const char *output;
    bool with_local;                                   /* the contents of local inputs, too */
    void (*note)(void *context, const char *text);     /* what was passed over or is waited for; a line each */
    void (*progress)(void *context, const char *text); /* what is done now; valid during the call. NULL: none listens */
    void *context;
};

struct export_report {
    struct digest receipt;
    uint64_t object_count;
    uint64_t elsewhere_count; /* of them from other packs than its own */
    uint64_t frame_count;     /* blocks that were taken as they are */
    uint64_t file_bytes;
};

/*
 * Writes the bundle, which must not exist. ERR_USAGE: no store, no such receipt, the output exists, or it would tell
 * local contents that were not asked for (docs/PLAN.md 5.2). ERR_FORMAT,
 * ERR_MISMATCH, ERR_LIMIT: what it needs is damaged, or not there; with its place. ERR_SYSTEM. No bundle is left after
 * a failure.
 */
int export_make(const struct export_request *request, struct export_report *out, struct err *err);
