/*
 * The groups of a pack as they are written: an open block and its journal for each part (FORMAT 3). Closed blocks are
 * compressed by a crew, several at once, and reach the file in the order in which they were closed: the bytes do not
 * depend on how many there are. Knows where bytes go; nothing of equal content, indexes or names.
 */
#pragma once

#include "base/bytes.h"
#include "base/crew.h"
#include "base/err.h"
#include "formats/frame.h"
#include "formats/pack_layout.h"

#include <stdbool.h>

/* At most so many blocks are compressed at once: each costs two buffers of a block's size, and memory is bounded. */
#define PACK_GROW_WORKERS 4u

/* So many closed blocks may be on their way: an old one that takes long must not keep the workers from new ones. */
#define PACK_GROW_RING 5u

/* The entries of a journal have at most so many bytes (FORMAT 1.9). */
#define PACK_GROW_JOURNAL_BYTES (LIMIT_JOURNAL_BYTES - (PACK_JOURNAL_HEAD_BYTES - FRAME_HEAD_BYTES))

struct pack_grow_part {
    uint8_t *content; /* of the open block: FRAME_BLOCK_MAX_BYTES, NULL before the first byte */
    uint32_t content_bytes;
    uint32_t closed_count; /* blocks that were closed, and have their numbers */
    struct bytes journal;  /* of the open block, without its head */
    struct bytes blocks;   /* the index's table of the blocks written, PACK_BLOCK_BYTES each */
};

/* A closed block on its way to the file. */
struct pack_grow_block {
    struct crew_job job;
    struct pack_grow *grow;
    enum pack_part part;
    uint32_t number; /* in its part */
    uint8_t *bytes;  /* FRAME_BLOCK_MAX_BYTES: the content, and the frame once the job is done */
    uint32_t content_bytes;
    size_t frame_bytes;
    struct digest digest; /* of the frame */
    struct bytes journal;
    int code; /* of the job, with err */
    struct err err;
};

/* What a worker keeps for itself. */
struct pack_grow_tools {
    ZSTD_CCtx *compressor;
    uint8_t *spare; /* FRAME_BLOCK_MAX_BYTES */
};

/* The state before an object that may be taken back. */
struct pack_grow_mark {
    enum pack_part part;
    uint32_t block; /* the number that the next block of the part gets */
};

/* All zero but fd is before pack_grow_init. It must not be moved afterwards. */
struct pack_grow {
    int fd;            /* borrowed */
    uint64_t at;       /* where the next byte of the file goes */
    struct crew *crew; /* NULL before the first block */
    struct pack_grow_tools tools[PACK_GROW_WORKERS];
    struct pack_grow_block blocks[PACK_GROW_RING]; /* `pending` of them from `oldest` on, around */
    unsigned oldest, pending;
    struct pack_grow_mark mark;
    uint64_t content_bytes, mark_content_bytes; /* in the file, and when the marked block was written */
    uint64_t mark_at;                           /* where the marked block's journal begins; 0: it was not written yet */
    struct pack_grow_part parts[PACK_PART_COUNT];
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

/*
 * The room that is left in the part's open block, at least 1 byte, to be filled by the caller, who then tells how much
 * he did: the same as pack_grow_add, without copying. Errors as pack_grow_add.
 */
int pack_grow_room(struct pack_grow *grow, enum pack_part part, uint8_t **out, size_t *out_bytes, struct err *err);
void pack_grow_fill(struct pack_grow *grow, enum pack_part part, size_t size_bytes);

/*
 * Gives the open block, if there is anything in it, and its journal to the crew. It is in the file after
 * pack_grow_settle. Errors as pack_grow_add, also those of earlier blocks.
 */
int pack_grow_close(struct pack_grow *grow, enum pack_part part, struct err *err);

/*
 * Writes a block as it is, of another pack: `frame` (of block->frame.size_bytes) and a journal of the entries in
 * `journal` (at most PACK_GROW_JOURNAL_BYTES). What is open of the part is closed before; it may end within an object
 * that the block goes on with. The block's number is the part's closed_count before. Errors as pack_grow_add.
 */
int pack_grow_copy(struct pack_grow *grow, enum pack_part part, const struct layout_block *block, uint8_t *frame,
                   const struct bytes *journal, struct err *err);

/* Waits until all closed blocks are in the file. Errors as pack_grow_add. */
int pack_grow_settle(struct pack_grow *grow, struct err *err);

/* The crew, which others may use too. NULL with ERR_SYSTEM: no memory. */
struct crew *pack_grow_crew(struct pack_grow *grow, struct err *err);

/* Writes bytes as they are; all closed blocks are in the file. */
int pack_grow_write(struct pack_grow *grow, const void *from, size_t size_bytes, struct err *err);

/* Remembers the state of a part whose block was closed just now, in place of what was remembered before. */
void pack_grow_mark(struct pack_grow *grow, enum pack_part part);

/* Takes back what was added to the part since the mark; nothing may have been closed of the other part. */
int pack_grow_rewind(struct pack_grow *grow, struct err *err);
