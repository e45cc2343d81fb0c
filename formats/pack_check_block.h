/*
 * The content of a pack's blocks against the digests of its objects, several blocks at once (FORMAT 3.4 to 3.6, 4.8).
 * Knows what a journal says of a block; that it says so rightly is pack_check's.
 */
#pragma once

#include "base/crew.h"
#include "formats/pack_reader.h"

/* At most so many blocks are looked at at once: each costs two buffers of a block's size, and memory is bounded. */
#define PACK_CHECK_WORKERS 4u

/* Owned by the caller, free with block_checks_free. */
struct block_checks;

/* A block to be checked, and what its journal lists. */
struct block_check {
    struct crew_job job;
    struct block_checks *checks;
    enum pack_part part;
    uint32_t number;       /* of the part; each is given once, in order */
    struct bytes entries;  /* the journal's, PACK_JOURNAL_ENTRY_BYTES each; owned */
    uint64_t object_start; /* in the part's content: where the first object begins that ends in this block or later */
    uint32_t place;        /* among all that were given */
    int code;              /* with err, once it is done */
    struct err err;
};

/* With at most `most` (up to PACK_CHECK_WORKERS) blocks at once. Borrows the pack. ERR_SYSTEM: no memory. */
int block_checks_new(const struct pack *pack, unsigned most, struct block_checks **out, struct err *err);

/*
 * Begins to check; `block` is borrowed until it was waited for. All but job, checks, place, code and err is set. Of a
 * block that was given after one with a fault nothing may be told.
 */
void block_check_start(struct block_checks *checks, struct block_check *block);

/* Waits for it. ERR_FORMAT, ERR_MISMATCH: with the range of bytes. ERR_SYSTEM. */
int block_check_wait(struct block_check *block, struct err *err);

/* Waits for all and releases; NULL is harmless. */
void block_checks_free(struct block_checks *checks);
