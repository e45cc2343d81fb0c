/*
 * The frames of a pack as bytes; zstd frames through libzstd, held to the one form of FORMAT 3.5.
 */
#include "formats/frame.h"

#include "base/cursor.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <zstd_errors.h>

#define BLOCK_MAGIC 0xFD2FB528u
#define LARGE_PAGE_BYTES (2u << 20)
#define BLOCK_LEVEL 3
#define BLOCK_WINDOW_LOG 22 /* a window of LIMIT_BLOCK_BYTES: libzstd then writes a single segment */

_Static_assert(1u << BLOCK_WINDOW_LOG == LIMIT_BLOCK_BYTES, "the window holds one block");

/* The descriptor of a canonical frame, but for the width of its content size (FORMAT 3.5). */
enum {
    DESCRIPTOR_DICTIONARY = 0x03,
    DESCRIPTOR_CHECKSUM = 0x04,
    DESCRIPTOR_RESERVED = 0x18,
    DESCRIPTOR_SINGLE_SEGMENT = 0x20,
    DESCRIPTOR_SIZE_SHIFT = 6,
};

int frame_fault(struct err *err, enum err_code code, struct frame_range where, const char *fmt, ...)
{
    char text[sizeof err->text - 64]; /* leaves room for the range */
    va_list args;

    assert(where.size_bytes > 0);
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return err_set(err, code, "%s (bytes %" PRIu64 " to %" PRIu64 ")", text, where.at,
                   where.at + (where.size_bytes - 1));
}

uint8_t *put_u32le(uint8_t *to, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++)
        *to++ = (uint8_t)(value >> 8 * i);
    return to;
}

uint8_t *put_u64le(uint8_t *to, uint64_t value)
{
    return put_u32le(put_u32le(to, (uint32_t)value), (uint32_t)(value >> 32));
}

uint8_t *frame_head_put(uint8_t *to, enum frame_magic magic, uint32_t payload_bytes)
{
    return put_u32le(put_u32le(to, magic), payload_bytes);
}

int frame_head_take(const uint8_t *from, enum frame_magic magic, const char *what, uint64_t at, uint32_t *out_bytes,
                    struct err *err)
{
    struct cursor head = {from, FRAME_HEAD_BYTES};
    uint32_t found = 0, payload_bytes = 0;
    bool whole = cursor_take_u32le(&head, &found) && cursor_take_u32le(&head, &payload_bytes);

    assert(whole); /* by its size above */
    if (found != magic)
        return frame_fault(err, ERR_FORMAT, (struct frame_range){at, FRAME_HEAD_BYTES},
                           "FORMAT 1.3: no %s here: magic number 0x%08" PRIX32, what, found);
    *out_bytes = payload_bytes;
    return 0;
}

uint8_t *frame_room_new(size_t size_bytes)
{
    void *room;

    if (size_bytes < LARGE_PAGE_BYTES)
        return malloc(size_bytes);
    errno = posix_memalign(&room, LARGE_PAGE_BYTES, size_bytes);
    if (errno != 0)
        return NULL;
    (void)madvise(room, size_bytes, MADV_HUGEPAGE); /* a wish */
    return room;
}

ZSTD_CCtx *frame_compressor_new(void)
{
    ZSTD_CCtx *compressor = ZSTD_createCCtx();

    if (compressor == NULL)
        return NULL;
    if (ZSTD_isError(ZSTD_CCtx_setParameter(compressor, ZSTD_c_compressionLevel, BLOCK_LEVEL)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(compressor, ZSTD_c_windowLog, BLOCK_WINDOW_LOG)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(compressor, ZSTD_c_contentSizeFlag, 1)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(compressor, ZSTD_c_checksumFlag, 1))) {
        ZSTD_freeCCtx(compressor);
        return NULL;
    }
    return compressor;
}

/* The code for the width of the content size field that is the shortest for this size: 1, 2 or 4 bytes. */
static unsigned size_code(uint32_t content_bytes)
{
    return content_bytes < 256 ? 0 : content_bytes < 65536 + 256 ? 1 : 2;
}

/* Checks magic number, descriptor and content size of a block (FORMAT 3.5). */
static int head_check(const uint8_t *from, struct frame_range frame, uint32_t content_bytes, struct err *err)
{
    static const uint32_t size_base[] = {0, 256, 0};
    struct cursor head = {from, (size_t)frame.size_bytes};
    unsigned code = size_code(content_bytes);
    uint32_t magic, stated = 0;
    uint8_t descriptor, field[4] = {0};
    struct cursor number = {field, sizeof field};

    if (!cursor_take_u32le(&head, &magic) || !cursor_copy(&head, &descriptor, 1) || magic != BLOCK_MAGIC)
        return frame_fault(err, ERR_FORMAT, frame, "FORMAT 3.5: no zstd frame where a block should be");
    if (descriptor & DESCRIPTOR_DICTIONARY)
        return frame_fault(err, ERR_FORMAT, frame, "FORMAT 3.5: the block names a dictionary");
    if (descriptor & DESCRIPTOR_RESERVED)
        return frame_fault(err, ERR_FORMAT, frame, "FORMAT 3.5: an unused or reserved bit of the block is set");
    if (!(descriptor & DESCRIPTOR_CHECKSUM))
        return frame_fault(err, ERR_FORMAT, frame, "FORMAT 3.5: the block has no content checksum");
    if (!(descriptor & DESCRIPTOR_SINGLE_SEGMENT))
        return frame_fault(err, ERR_FORMAT, frame, "FORMAT 3.5: the block has a window descriptor: not one segment");
    if (descriptor >> DESCRIPTOR_SIZE_SHIFT != code)
        return frame_fault(err, ERR_FORMAT, frame,
                           "FORMAT 3.5: the block's content size is not in its shortest field or not %" PRIu32,
                           content_bytes);
    if (!cursor_copy(&head, field, (size_t)1 << code) || !cursor_take_u32le(&number, &stated) ||
        stated + size_base[code] != content_bytes)
        return frame_fault(err, ERR_FORMAT, frame, "FORMAT 3.6: the block's content size is not %" PRIu32,
                           content_bytes);
    return 0;
}

int frame_compress(ZSTD_CCtx *compressor, const void *from, size_t size_bytes, uint8_t *out, size_t *out_bytes,
                   struct err *err)
{
    size_t done;
    int code;

    assert(size_bytes > 0 && size_bytes <= LIMIT_BLOCK_BYTES);
    done = ZSTD_compress2(compressor, out, FRAME_BLOCK_MAX_BYTES, from, size_bytes);
    if (ZSTD_isError(done))
        return err_set(err, ERR_SYSTEM, "compress %zu bytes: %s", size_bytes, ZSTD_getErrorName(done));
    code = head_check(out, (struct frame_range){0, done}, (uint32_t)size_bytes, err);
    assert(code == 0); /* a library that writes another form must not make a file that no one reads */
    *out_bytes = done;
    return 0;
}

int frame_decode(ZSTD_DCtx *decoder, const uint8_t *from, struct frame_range frame, uint8_t *out,
                 uint32_t content_bytes, struct err *err)
{
    size_t done;
    int code = head_check(from, frame, content_bytes, err);

    if (code < 0)
        return code;
    done = ZSTD_findFrameCompressedSize(from, (size_t)frame.size_bytes);
    if (ZSTD_isError(done))
        return frame_fault(err, ERR_FORMAT, frame, "FORMAT 3.4: the block is damaged: %s", ZSTD_getErrorName(done));
    if (done != frame.size_bytes)
        return frame_fault(err, ERR_FORMAT, frame, "FORMAT 3.6: %" PRIu64 " bytes follow the block's end",
                           frame.size_bytes - done);
    done = ZSTD_decompressDCtx(decoder, out, content_bytes, from, (size_t)frame.size_bytes);
    if (ZSTD_isError(done) && ZSTD_getErrorCode(done) == ZSTD_error_memory_allocation)
        return err_set(err, ERR_SYSTEM, "decode a block: %s", ZSTD_getErrorName(done));
    if (ZSTD_isError(done) || done != content_bytes)
        return frame_fault(err, ERR_FORMAT, frame, "FORMAT 3.4: the block is damaged: %s", ZSTD_getErrorName(done));
    return 0;
}
