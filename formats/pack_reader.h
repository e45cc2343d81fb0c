/*
 * An open pack from inside, for the files that read it.
 */
#pragma once

#include "formats/pack.h"
#include "formats/pack_index.h"

#include <zstd.h>

/* A decoded block. */
struct pack_cache {
    uint8_t *content; /* pack_room_bytes(); NULL before the first */
    uint32_t block;   /* meaningful where `filled` */
    bool filled;
};

/* Small blocks are kept decoded, for what is read is all over them; of large ones the last of a part. */
#define PACK_CACHE_SLOTS 16

struct pack {
    int fd; /* borrowed */
    struct layout_footer footer;
    struct pack_index index[PACK_PART_COUNT];
    struct pack_cache cache[PACK_PART_COUNT][PACK_CACHE_SLOTS];
    bool inputs_skipped; /* opened without the inputs' index */
    uint64_t read_bytes; /* handed on so far, and how many may be */
    uint64_t read_max_bytes;
    uint64_t blocks_read[PACK_PART_COUNT];
    struct digest known_log;
    bool has_known_log;
    ZSTD_DCtx *decoder;
    uint8_t *frame; /* pack_room_bytes(); NULL before the first block */
};

/*
 * Reads and checks the two fixed ends of the file: its header, and the footer, which stands at *out_at. Whether that is
 * where it has to be is not checked. Errors as pack_open.
 */
int pack_ends_read(int fd, struct layout_footer *out, uint64_t *out_at, struct err *err);

/*
 * Gives the content of a block (by number, below the count), valid until the next block of the part is loaded.
 * ERR_FORMAT: the block is not what FORMAT 3.4 to 3.6 say; with its range. ERR_SYSTEM.
 */
int pack_block_load(struct pack *pack, enum pack_part part, uint32_t number, const uint8_t **out, struct err *err);

/* Room that holds each block of the pack, compressed or not. */
size_t pack_room_bytes(const struct pack *pack);

/* Forgets what was decoded: the next reads are of the file. */
void pack_cache_drop(struct pack *pack);

/* FORMAT 5.2, as it is told. */
#define PACK_MOVED_TEXT "FORMAT 5.2: the indexes that the footer names do not end where it begins"

/*
 * Says what is wrong with a pack whose footer belongs to `place` and stands at `at`: where bytes are missing or too
 * many. The footer is read, nothing else yet. ERR_FORMAT, ERR_LIMIT, ERR_MISMATCH: with a range of at most a block
 * that holds the place. ERR_SYSTEM.
 */
int pack_moved_fault(struct pack *pack, uint64_t place, uint64_t at, struct err *err);

/*
 * Reads a block's frame from the file to `frame`, which has room for it, and checks its digest; it is not decoded.
 * Errors as pack_block_load.
 */
int pack_block_read(int fd, const struct layout_block *block, uint8_t *frame, struct err *err);

/*
 * Reads, checks and decodes a block with the caller's own means: `frame` and `content` have room for it. May be called
 * by several threads at once. Errors as pack_block_load.
 */
int pack_block_decode(const struct pack *pack, const struct layout_block *block, ZSTD_DCtx *decoder, uint8_t *frame,
                      uint8_t *content, struct err *err);

/* The same of a pack that is not open: by its descriptor. */
int pack_block_decode_fd(int fd, const struct layout_block *block, ZSTD_DCtx *decoder, uint8_t *frame, uint8_t *content,
                         struct err *err);

/*
 * Puts before the fault that pack_block_decode found which block it is: its part, number and the object that holds its
 * first byte. Other errors stay as they are. Returns the code.
 */
int pack_block_fault(const struct pack *pack, enum pack_part part, uint32_t number, struct err *err);
