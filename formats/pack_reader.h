/*
 * An open pack from inside, for the files that read it.
 */
#pragma once

#include "formats/pack.h"
#include "formats/pack_index.h"

#include <zstd.h>

/* The block of a part that was decoded last. */
struct pack_cache {
    uint8_t *content; /* LIMIT_BLOCK_BYTES; NULL before the first */
    uint32_t block;   /* meaningful where `filled` */
    bool filled;
};

struct pack {
    int fd; /* borrowed */
    struct layout_footer footer;
    struct pack_index index[PACK_PART_COUNT];
    struct pack_cache cache[PACK_PART_COUNT];
    bool inputs_skipped; /* opened without the inputs' index */
    ZSTD_DCtx *decoder;
    uint8_t *frame; /* FRAME_BLOCK_MAX_BYTES; NULL before the first block */
};

/*
 * Gives the content of a block (by number, below the count), valid until the next block of the part is loaded.
 * ERR_FORMAT: the block is not what FORMAT 3.4 to 3.6 say; with its range. ERR_SYSTEM.
 */
int pack_block_load(struct pack *pack, enum pack_part part, uint32_t number, const uint8_t **out, struct err *err);
