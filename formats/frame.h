/*
 * The frames that a pack is made of: the leading bytes of skippable frames, and blocks as zstd frames of one form
 * (FORMAT 1.3, 3.4 to 3.6). Knows no part, object or index.
 */
#pragma once

#include "base/err.h"
#include "formats/limits.h"

#include <stddef.h>
#include <stdint.h>
#include <zstd.h>

/* Magic numbers of the skippable frames (FORMAT 1.3). */
enum frame_magic {
    FRAME_HEADER = 0x184D2A50,
    FRAME_JOURNAL = 0x184D2A51,
    FRAME_INDEX = 0x184D2A52,
    FRAME_FOOTER = 0x184D2A53,
};

#define FRAME_HEAD_BYTES 8       /* magic number and payload size */
#define FRAME_BLOCK_MIN_BYTES 14 /* 6 of header, 3 of a zstd block's own, 1 at least in it, 4 of checksum */
#define FRAME_BLOCK_MAX_BYTES (LIMIT_BLOCK_BYTES + LIMIT_BLOCK_BYTES / 256)

/* A range of bytes of the file, for messages. */
struct frame_range {
    uint64_t at;
    uint64_t size_bytes;
};

/* As err_set, with " (bytes A to B)" appended: the first and the last byte of the range that holds the fault. */
int frame_fault(struct err *err, enum err_code code, struct frame_range where, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Writes numbers least significant byte first, and gives the place after them. */
uint8_t *put_u32le(uint8_t *to, uint32_t value);
uint8_t *put_u64le(uint8_t *to, uint64_t value);

/* Writes the FRAME_HEAD_BYTES of a skippable frame, and gives the place after them. */
uint8_t *frame_head_put(uint8_t *to, enum frame_magic magic, uint32_t payload_bytes);

/*
 * Reads the FRAME_HEAD_BYTES of a skippable frame that stand at `at` in the file. ERR_FORMAT: another magic number;
 * `what` names the part that was expected. Unchanged out then.
 */
int frame_head_take(const uint8_t *from, enum frame_magic magic, const char *what, uint64_t at, uint32_t *out_bytes,
                    struct err *err);

/* Room for a block, in large pages where it is large and the kernel gives them; free with free(). NULL: no memory. */
uint8_t *frame_room_new(size_t size_bytes);

/* A compressor set up for blocks; free with ZSTD_freeCCtx. NULL: out of memory. */
ZSTD_CCtx *frame_compressor_new(void);

/*
 * Compresses size_bytes (1 to LIMIT_BLOCK_BYTES) to `out`, which has room for FRAME_BLOCK_MAX_BYTES.
 * ERR_SYSTEM: libzstd could not (out of memory).
 */
int frame_compress(ZSTD_CCtx *compressor, const void *from, size_t size_bytes, uint8_t *out, size_t *out_bytes,
                   struct err *err);

/*
 * Decodes the block of frame.size_bytes bytes that stands at frame.at in the file to `out`, which has room for
 * content_bytes (1 to LIMIT_BLOCK_BYTES). ERR_FORMAT: not exactly one frame of the canonical form with that much
 * content and a right checksum; `out` is undefined then. ERR_SYSTEM: out of memory.
 */
int frame_decode(ZSTD_DCtx *decoder, const uint8_t *from, struct frame_range frame, uint8_t *out,
                 uint32_t content_bytes, struct err *err);
