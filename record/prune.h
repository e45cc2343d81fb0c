/*
 * Dropping receipts from a store, and never what one that is kept needs.
 */
#pragma once

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct prune_request {
    const char *store;                                 /* the folder */
    const char *const *receipts;                       /* their digests, or how these begin */
    size_t receipt_count;                              /* at least 1 */
    void (*note)(void *context, const char *text);     /* what is waited for, passed over, removed; a line each */
    void (*progress)(void *context, const char *text); /* what is done now; valid during the call. NULL: none listens */
    void *context;
};

struct prune_report {
    uint32_t dropped_count; /* packs */
    uint64_t dropped_bytes; /* of their files, and of the local contents beside them */
    uint32_t grown_count;   /* packs that were written anew with what they need */
    uint64_t moved_count;   /* objects that these got */
    uint64_t moved_bytes;   /* by which these grew */
};

/*
 * Waits for all writers. First every kept pack that needs what only dropped ones hold is replaced by one that has it;
 * then the dropped ones are removed. So whatever happens in between, every receipt that is kept has what it needs, and
 * prune can be called again. ERR_USAGE: no store, no such receipt; nothing was changed. ERR_FORMAT, ERR_MISMATCH,
 * ERR_LIMIT: a pack that is kept, or what it needs, is damaged, so that it is not known what may go; nothing was
 * dropped. ERR_SYSTEM. *out tells what was done, also after a failure.
 */
int prune_make(const struct prune_request *request, struct prune_report *out, struct err *err);
