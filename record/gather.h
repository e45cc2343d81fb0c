/*
 * Taking inputs out of the packs of a store into a pack that is being written. What is damaged in one pack is taken
 * from another that has the same content; only where none has it is something missing.
 */
#pragma once

#include "formats/pack_copy.h"
#include "formats/store.h"
#include "record/needs.h"

struct gather {
    const struct store *store; /* borrowed, as the following are */
    const struct needs *needs; /* what is to be there at the end */
    struct pack_writer *to;
    struct pack_copied counts;        /* of inputs alone */
    struct err fault;                 /* the first of what was damaged or could not be read; ERR_OK: nothing */
    char place[2 * STORE_NAME_BYTES]; /* of the pack that is being read, for messages */
};

/* Starts; puts the empty object where it is needed, for it is in no block. Errors as pack_put. */
int gather_start(struct gather *gather, const struct store *store, const struct needs *needs, struct pack_writer *to,
                 struct err *err);

/* How many are missing yet. */
size_t gather_missing(const struct gather *gather);

/*
 * Takes what is needed and not there yet out of an open pack, the one at `number` in the store. What is damaged in it
 * is noted and stays missing. Errors as pack_copy; the writer is spent then.
 */
int gather_pack(struct gather *gather, uint32_t number, struct pack *pack, struct err *err);

/* The same with a pack that is opened for it. One that cannot be opened is noted, and passed over. */
int gather_number(struct gather *gather, uint32_t number, struct err *err);

/* Says what is missing, if anything is: where it was damaged, or that it is nowhere. ERR_FORMAT, ERR_MISMATCH,
 * ERR_SYSTEM
 */
int gather_check(const struct gather *gather, struct err *err);
