/*
 * The fixed-width records of a pack as bytes (FORMAT 2, 3.2, 4 and 5). Knows sizes and places; follows no position.
 */
#pragma once

#include "base/err.h"
#include "formats/digest.h"
#include "formats/frame.h"
#include "formats/pack.h"

#include <stdbool.h>
#include <stdint.h>

#define PACK_PART_COUNT 2

#define PACK_HEADER_BYTES 24
#define PACK_JOURNAL_HEAD_BYTES 16 /* the frame's own 8 bytes too */
#define PACK_JOURNAL_ENTRY_BYTES 40
#define PACK_INDEX_HEAD_BYTES 24 /* the frame's own 8 bytes too */
#define PACK_OBJECT_BYTES 48
#define PACK_BLOCK_BYTES 48
#define PACK_FOOTER_BYTES 208

/* The place of a part in an array. */
static inline unsigned pack_slot(enum pack_part part)
{
    return (unsigned)part - 1;
}

/* Where an object is (FORMAT 4.2). */
struct layout_object {
    struct digest digest;
    uint64_t size_bytes;
    uint32_t block;
    uint32_t offset_bytes; /* in the block's content */
};

/* Where a block is (FORMAT 4.5). */
struct layout_block {
    struct frame_range frame;
    uint32_t content_bytes;
    struct digest digest; /* of the frame as it stands in the file */
};

/* One index as the footer names it. */
struct layout_place {
    struct frame_range frame;
    struct digest digest;
};

struct layout_footer {
    struct layout_place index[PACK_PART_COUNT];
    struct digest receipt;
    struct digest claim; /* all zero: none */
};

/* Each writes exactly the size of its record to `to`. */
void layout_header_put(uint8_t *to);
void layout_journal_head_put(uint8_t *to, enum pack_part part, uint32_t object_count);
void layout_journal_entry_put(uint8_t *to, const struct digest *digest, uint64_t size_bytes);
void layout_index_head_put(uint8_t *to, enum pack_part part, uint32_t object_count, uint32_t block_count);
void layout_object_put(uint8_t *to, const struct layout_object *object);
void layout_block_put(uint8_t *to, const struct layout_block *block);
void layout_footer_put(uint8_t *to, const struct layout_footer *footer);

/* Each reads a record of exactly its size; the numbers are as they stand there, unchecked. */
struct layout_object layout_object_take(const uint8_t *from);
struct layout_block layout_block_take(const uint8_t *from);
void layout_journal_entry_take(const uint8_t *from, struct digest *out_digest, uint64_t *out_size_bytes);

/* Checks the PACK_HEADER_BYTES at the start of a file. ERR_FORMAT: not a header, or not a version known here. */
int layout_header_check(const uint8_t *from, struct err *err);

/*
 * Reads the head of a journal that stands at `at`, `room_bytes` before the first index; checks that part and count
 * are possible and agree with the payload's size. ERR_FORMAT, ERR_LIMIT (over LIMIT_JOURNAL_BYTES).
 */
int layout_journal_head_take(const uint8_t *from, uint64_t at, uint64_t room_bytes, enum pack_part *out_part,
                             uint32_t *out_count, struct err *err);

/*
 * Reads the head of the index of `part`, whose frame the footer says to be at `frame`. ERR_FORMAT: counts that do not
 * agree with its size. ERR_LIMIT: over LIMIT_OBJECTS or LIMIT_BLOCKS.
 */
int layout_index_head_take(const uint8_t *from, enum pack_part part, struct frame_range frame, uint32_t *out_objects,
                           uint32_t *out_blocks, struct err *err);

/*
 * Reads the footer that stands at `at`, where the file has its last PACK_FOOTER_BYTES. Where the indexes are is not
 * checked. ERR_FORMAT: no footer ("partial or cut short"), or a damaged one. Unchanged out then.
 */
int layout_footer_take(const uint8_t *from, uint64_t at, struct layout_footer *out, struct err *err);

/* Whether a file of this size may have so much content (FORMAT 1.9). */
bool layout_content_fits(uint64_t content_bytes, uint64_t file_bytes);

/* Gives where a footer has to stand: right after its indexes. False: they follow no header, or not one another. */
bool layout_footer_place(const struct layout_footer *footer, uint64_t *out_at);
