/*
 * Reading objects of a store's packs by their blocks, decoded ahead on other cores where one follows the other. Each
 * object is checked against its digest. Knows the table of a store; not why an object is wanted.
 */
#pragma once

#include "base/crew.h"
#include "formats/store_table.h"

/* Blocks that are decoded at once: the one that is read, and those ahead. Each costs two buffers of a block's size. */
#define STORE_BLOCKS_SLOTS 3u

struct store_block {
    struct crew_job job;
    bool is_filled; /* the job was given; what it made is here once it is done */
    uint32_t pack, number;
    struct layout_block place;
    int fd;           /* the job's own */
    uint8_t *frame;   /* FRAME_BLOCK_MAX_BYTES; NULL before the first */
    uint8_t *content; /* LIMIT_BLOCK_BYTES; NULL before the first */
    ZSTD_DCtx *decoder;
    int code; /* of the job, with err */
    struct err err;
};

/* All zero but `table` (borrowed) is one that was not used. */
struct store_blocks {
    struct store_table *table;
    struct crew *crew; /* NULL before the first block */
    struct store_block slots[STORE_BLOCKS_SLOTS];
    unsigned oldest;                 /* the slot that is filled next */
    uint32_t last_pack, last_number; /* the block that was read last, and whether there was one */
    bool has_last;
};

/* Waits for what is being decoded and releases everything. */
void store_blocks_done(struct store_blocks *blocks);

/*
 * Reads an object that is listed, and checks it against its digest. ERR_FORMAT: its place, or a block, is malformed.
 * ERR_MISMATCH: it has other content. ERR_SYSTEM.
 */
int store_blocks_check(struct store_blocks *blocks, const struct store_listed *listed, struct err *err);
