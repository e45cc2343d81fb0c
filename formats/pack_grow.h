/*
 * The groups of a pack as they are written: an open block and its journal for each part (FORMAT 3). Knows where bytes
 * go; nothing of equal content, indexes or names.
 */
#pragma once

#include "base/bytes.h"
#include "base/err.h"
#include "formats/frame.h"
#include "formats/pack_layout.h"

struct pack_grow_part {
    uint8_t *content; /* of the open block: LIMIT_BLOCK_BYTES, NULL before the first byte */
    uint32_t content_bytes;
    struct bytes journal; /* of the open block, without its head */
    struct bytes blocks;  /* the index's table of the blocks written, PACK_BLOCK_BYTES each */
};

/* All zero but fd is before pack_grow_init. */
struct pack_grow {
    int fd;      /* borrowed */
    uint64_t at; /* where the next byte of the file goes */
    ZSTD_CCtx *compressor;
    uint8_t *frame; /* FRAME_BLOCK_MAX_BYTES for one block */
    struct pack_grow_part parts[PACK_PART_COUNT];
};

/* The state between two objects, to come back to. */
struct pack_grow_mark {
    uint64_t at;
    size_t blocks_bytes;
};

/* Starts with an empty file at fd and writes the header. ERR_SYSTEM; pack_grow_done is needed then too. */
int pack_grow_init(struct pack_grow *grow, int fd, struct err *err);

/* Releases what is owned (not fd). */
void pack_grow_done(struct pack_grow *grow);

/* Gives the position at which the next byte of the part's content goes, closing the block where it is full. */
int pack_grow_begin(struct pack_grow *grow, enum pack_part part, uint32_t *out_block, uint32_t *out_offset_bytes,
                    struct err *err);

/* Appends bytes of the object that was begun. ERR_LIMIT: over LIMIT_BLOCKS. ERR_SYSTEM: a write failed. */
int pack_grow_add(struct pack_grow *grow, enum pack_part part, const void *from, size_t size_bytes, struct err *err);

/* Lists the object that was begun, and of which size_bytes (at least 1) were added, in the journal. */
int pack_grow_end(struct pack_grow *grow, enum pack_part part, const struct digest *digest, uint64_t size_bytes,
                  struct err *err);

/* Writes the open block, if there is anything in it, and its journal. Errors as pack_grow_add. */
int pack_grow_close(struct pack_grow *grow, enum pack_part part, struct err *err);

/* Writes bytes as they are. */
int pack_grow_write(struct pack_grow *grow, const void *from, size_t size_bytes, struct err *err);

/* The state of the file and of a part whose block was closed just now. */
struct pack_grow_mark pack_grow_mark(const struct pack_grow *grow, enum pack_part part);

/* Takes back what was added to the part since the mark; nothing may have been written for the other part. */
int pack_grow_rewind(struct pack_grow *grow, enum pack_part part, struct pack_grow_mark mark, struct err *err);
