/*
 * One index as it was read and found possible by itself: order, bounds, sums (FORMAT 4). Knows no block's bytes.
 */
#pragma once

#include "base/bytes.h"
#include "base/err.h"
#include "formats/pack_layout.h"

#include <stdbool.h>

/* All zero is the one of a part without objects. */
struct pack_index {
    struct bytes frame; /* the whole index as it stands in the file */
    uint32_t object_count;
    uint32_t block_count;
    uint32_t room_bytes;    /* that hold each block, compressed or not */
    const uint64_t *starts; /* block_count + 1: where each block begins in the part's content, and where that ends */
    struct bytes starts_room;
};

/* Releases what is owned. Harmless on the one that is all zero. */
void pack_index_done(struct pack_index *index);

/*
 * Reads the index of `part` from where the footer says it is; the blocks have to lie between the header and
 * blocks_end. Memory grows with the bytes that are there, not with what they say. ERR_FORMAT, ERR_LIMIT: with the
 * range of bytes. ERR_SYSTEM: a read error, out of memory. The index is all zero after a failure.
 */
int pack_index_read(int fd, enum pack_part part, const struct layout_place *place, uint64_t blocks_end,
                    struct pack_index *out, struct err *err);

/* The record of an object, of a block; by number, which must be below the count. */
struct layout_object pack_index_object(const struct pack_index *index, uint32_t number);
struct layout_block pack_index_block(const struct pack_index *index, uint32_t number);

/* The offset in the part's content at which an object of this index that is not empty begins. */
uint64_t pack_index_start(const struct pack_index *index, const struct layout_object *object);

/* Looks a digest up and gives its number, or its record. False: not there; out unset. */
bool pack_index_number(const struct pack_index *index, const struct digest *digest, uint32_t *out);
bool pack_index_find(const struct pack_index *index, const struct digest *digest, struct layout_object *out);
