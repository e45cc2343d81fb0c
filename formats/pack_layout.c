/*
 * Fixed-width records to bytes and back. Numbers are given as they stand; what they point at is not known here.
 */
#include "formats/pack_layout.h"

#include "base/cursor.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define VERSION 1
#define FOOTER_DIGEST_OFFSET 168

static const char header_magic[8] = {'E', 'X', 'H', 'I', 'B', 'I', 'T', '\n'};
static const char footer_magic[8] = {'E', 'X', 'H', 'I', 'B', 'E', 'N', 'D'};

/* Writes bytes as they are, and gives the place after them. */
static uint8_t *put_bytes(uint8_t *to, const void *from, size_t size_bytes)
{
    memcpy(to, from, size_bytes);
    return to + size_bytes;
}

void layout_header_put(uint8_t *to)
{
    uint8_t *at = frame_head_put(to, FRAME_HEADER, PACK_HEADER_BYTES - FRAME_HEAD_BYTES);

    at = put_bytes(at, header_magic, sizeof header_magic);
    at = put_u32le(put_u32le(at, VERSION), 0);
    assert(at == to + PACK_HEADER_BYTES);
}

void layout_journal_head_put(uint8_t *to, enum pack_part part, uint32_t object_count)
{
    uint32_t payload_bytes =
        PACK_JOURNAL_HEAD_BYTES - FRAME_HEAD_BYTES + object_count * (uint32_t)PACK_JOURNAL_ENTRY_BYTES;
    uint8_t *at = frame_head_put(to, FRAME_JOURNAL, payload_bytes);

    assert(payload_bytes <= LIMIT_JOURNAL_BYTES);
    at = put_u32le(put_u32le(at, part), object_count);
    assert(at == to + PACK_JOURNAL_HEAD_BYTES);
}

void layout_journal_entry_put(uint8_t *to, const struct digest *digest, uint64_t size_bytes)
{
    uint8_t *at = put_u64le(put_bytes(to, digest->bytes, DIGEST_BYTES), size_bytes);

    assert(size_bytes > 0 && at == to + PACK_JOURNAL_ENTRY_BYTES);
}

/* The size of a whole index frame. */
static uint64_t index_bytes(uint32_t object_count, uint32_t block_count)
{
    return PACK_INDEX_HEAD_BYTES + (uint64_t)object_count * PACK_OBJECT_BYTES +
           (uint64_t)block_count * PACK_BLOCK_BYTES;
}

_Static_assert(LIMIT_OBJECTS < UINT32_MAX / 4 / PACK_OBJECT_BYTES && LIMIT_BLOCKS < UINT32_MAX / 4 / PACK_BLOCK_BYTES,
               "the payload of an index has a size in 32 bits");

void layout_index_head_put(uint8_t *to, enum pack_part part, uint32_t object_count, uint32_t block_count)
{
    uint8_t *at;

    assert(object_count <= LIMIT_OBJECTS && block_count <= LIMIT_BLOCKS);
    at = frame_head_put(to, FRAME_INDEX, (uint32_t)(index_bytes(object_count, block_count) - FRAME_HEAD_BYTES));
    at = put_u32le(put_u32le(at, part), object_count);
    at = put_u32le(put_u32le(at, block_count), 0);
    assert(at == to + PACK_INDEX_HEAD_BYTES);
}

void layout_object_put(uint8_t *to, const struct layout_object *object)
{
    uint8_t *at = put_u64le(put_bytes(to, object->digest.bytes, DIGEST_BYTES), object->size_bytes);

    at = put_u32le(put_u32le(at, object->block), object->offset_bytes);
    assert(at == to + PACK_OBJECT_BYTES);
}

void layout_block_put(uint8_t *to, const struct layout_block *block)
{
    uint8_t *at = put_u64le(to, block->frame.at);

    assert(block->frame.size_bytes <= FRAME_BLOCK_MAX_BYTES && block->content_bytes <= LIMIT_BLOCK_BYTES);
    at = put_u32le(put_u32le(at, (uint32_t)block->frame.size_bytes), block->content_bytes);
    at = put_bytes(at, block->digest.bytes, DIGEST_BYTES);
    assert(at == to + PACK_BLOCK_BYTES);
}

void layout_footer_put(uint8_t *to, const struct layout_footer *footer)
{
    uint8_t *at = frame_head_put(to, FRAME_FOOTER, PACK_FOOTER_BYTES - FRAME_HEAD_BYTES);
    struct digest digest;

    for (size_t i = 0; i < PACK_PART_COUNT; i++) {
        at = put_u64le(put_u64le(at, footer->index[i].frame.at), footer->index[i].frame.size_bytes);
        at = put_bytes(at, footer->index[i].digest.bytes, DIGEST_BYTES);
    }
    at = put_bytes(at, footer->receipt.bytes, DIGEST_BYTES);
    at = put_bytes(at, footer->claim.bytes, DIGEST_BYTES);
    assert(at == to + FOOTER_DIGEST_OFFSET);
    digest = digest_of(to, FOOTER_DIGEST_OFFSET);
    at = put_bytes(at, digest.bytes, DIGEST_BYTES);
    at = put_bytes(at, footer_magic, sizeof footer_magic);
    assert(at == to + PACK_FOOTER_BYTES);
}

struct layout_object layout_object_take(const uint8_t *from)
{
    struct cursor record = {from, PACK_OBJECT_BYTES};
    struct layout_object object = {0};
    bool whole = cursor_copy(&record, object.digest.bytes, DIGEST_BYTES) &&
                 cursor_take_u64le(&record, &object.size_bytes) && cursor_take_u32le(&record, &object.block) &&
                 cursor_take_u32le(&record, &object.offset_bytes);

    assert(whole && record.left_bytes == 0);
    return object;
}

struct layout_block layout_block_take(const uint8_t *from)
{
    struct cursor record = {from, PACK_BLOCK_BYTES};
    struct layout_block block = {0};
    uint32_t frame_bytes = 0;
    bool whole = cursor_take_u64le(&record, &block.frame.at) && cursor_take_u32le(&record, &frame_bytes) &&
                 cursor_take_u32le(&record, &block.content_bytes) &&
                 cursor_copy(&record, block.digest.bytes, DIGEST_BYTES);

    assert(whole && record.left_bytes == 0);
    block.frame.size_bytes = frame_bytes;
    return block;
}

void layout_journal_entry_take(const uint8_t *from, struct digest *out_digest, uint64_t *out_size_bytes)
{
    struct cursor record = {from, PACK_JOURNAL_ENTRY_BYTES};
    bool whole = cursor_copy(&record, out_digest->bytes, DIGEST_BYTES) && cursor_take_u64le(&record, out_size_bytes);

    assert(whole && record.left_bytes == 0);
}

int layout_header_check(const uint8_t *from, struct err *err)
{
    static const struct frame_range where = {0, PACK_HEADER_BYTES};
    struct cursor head = {from + FRAME_HEAD_BYTES, PACK_HEADER_BYTES - FRAME_HEAD_BYTES};
    uint32_t payload_bytes, version = 0, reserved = 0;
    char magic[sizeof header_magic];
    int code = frame_head_take(from, FRAME_HEADER, "header of a pack", 0, &payload_bytes, err);
    bool whole = cursor_copy(&head, magic, sizeof magic) && cursor_take_u32le(&head, &version) &&
                 cursor_take_u32le(&head, &reserved);

    assert(whole);
    if (code < 0)
        return code;
    if (payload_bytes != PACK_HEADER_BYTES - FRAME_HEAD_BYTES || memcmp(magic, header_magic, sizeof magic) != 0)
        return frame_fault(err, ERR_FORMAT, where, "FORMAT 2.1: not the header of a pack");
    if (version != VERSION)
        return frame_fault(err, ERR_FORMAT, where, "FORMAT 2.2: version %" PRIu32 " is not known here", version);
    if (reserved != 0)
        return frame_fault(err, ERR_FORMAT, where, "FORMAT 1.7: reserved bytes of the header are not zero");
    return 0;
}

int layout_journal_head_take(const uint8_t *from, uint64_t at, uint64_t room_bytes, enum pack_part *out_part,
                             uint32_t *out_count, struct err *err)
{
    const struct frame_range where = {at, PACK_JOURNAL_HEAD_BYTES};
    const uint32_t fixed_bytes = PACK_JOURNAL_HEAD_BYTES - FRAME_HEAD_BYTES;
    struct cursor head = {from + FRAME_HEAD_BYTES, PACK_JOURNAL_HEAD_BYTES - FRAME_HEAD_BYTES};
    uint32_t payload_bytes, part = 0, count = 0;
    int code = frame_head_take(from, FRAME_JOURNAL, "journal", at, &payload_bytes, err);
    bool whole = cursor_take_u32le(&head, &part) && cursor_take_u32le(&head, &count);

    assert(whole);
    if (code < 0)
        return code;
    if (payload_bytes > LIMIT_JOURNAL_BYTES)
        return frame_fault(err, ERR_LIMIT, where, "FORMAT 1.9: a journal of %" PRIu32 " bytes", payload_bytes);
    if (payload_bytes < fixed_bytes || (uint64_t)count * PACK_JOURNAL_ENTRY_BYTES != payload_bytes - fixed_bytes)
        return frame_fault(err, ERR_FORMAT, where,
                           "FORMAT 3.2: a journal of %" PRIu32 " bytes that counts %" PRIu32 " objects", payload_bytes,
                           count);
    if (payload_bytes > room_bytes - FRAME_HEAD_BYTES)
        return frame_fault(err, ERR_FORMAT, where, "FORMAT 1.2: the journal reaches into the index");
    if (part != PACK_OBSERVATION && part != PACK_INPUT)
        return frame_fault(err, ERR_FORMAT, where, "FORMAT 3.2: a journal of part %" PRIu32, part);
    *out_part = (enum pack_part)part;
    *out_count = count;
    return 0;
}

int layout_index_head_take(const uint8_t *from, enum pack_part part, struct frame_range frame, uint32_t *out_objects,
                           uint32_t *out_blocks, struct err *err)
{
    const struct frame_range where = {frame.at, PACK_INDEX_HEAD_BYTES};
    struct cursor head = {from + FRAME_HEAD_BYTES, PACK_INDEX_HEAD_BYTES - FRAME_HEAD_BYTES};
    uint32_t payload_bytes, found_part = 0, objects = 0, blocks = 0, reserved = 0;
    int code = frame_head_take(from, FRAME_INDEX, "index", frame.at, &payload_bytes, err);
    bool whole = cursor_take_u32le(&head, &found_part) && cursor_take_u32le(&head, &objects) &&
                 cursor_take_u32le(&head, &blocks) && cursor_take_u32le(&head, &reserved);

    assert(whole);
    if (code < 0)
        return code;
    if (objects > LIMIT_OBJECTS || blocks > LIMIT_BLOCKS)
        return frame_fault(err, ERR_LIMIT, where, "FORMAT 1.9: an index of %" PRIu32 " objects and %" PRIu32 " blocks",
                           objects, blocks);
    if (index_bytes(objects, blocks) != frame.size_bytes || payload_bytes != frame.size_bytes - FRAME_HEAD_BYTES)
        return frame_fault(err, ERR_FORMAT, where,
                           "FORMAT 4.1: the index's counts (%" PRIu32 ", %" PRIu32 ") do not agree with its size",
                           objects, blocks);
    if (found_part != part)
        return frame_fault(err, ERR_FORMAT, where, "FORMAT 4.1: the index is of part %" PRIu32, found_part);
    if (reserved != 0)
        return frame_fault(err, ERR_FORMAT, where, "FORMAT 1.7: reserved bytes of the index are not zero");
    *out_objects = objects;
    *out_blocks = blocks;
    return 0;
}

bool layout_content_fits(uint64_t content_bytes, uint64_t file_bytes)
{
    return content_bytes <= LIMIT_CONTENT_BYTES ||
           (content_bytes - LIMIT_CONTENT_BYTES + LIMIT_CONTENT_RATIO - 1) / LIMIT_CONTENT_RATIO <= file_bytes;
}

bool layout_footer_place(const struct layout_footer *footer, uint64_t *out_at)
{
    uint64_t end = footer->index[0].frame.at;

    if (end < PACK_HEADER_BYTES)
        return false;
    for (size_t i = 0; i < PACK_PART_COUNT; i++) {
        struct frame_range frame = footer->index[i].frame;

        if (frame.at != end || frame.size_bytes < PACK_INDEX_HEAD_BYTES ||
            __builtin_add_overflow(end, frame.size_bytes, &end))
            return false;
    }
    *out_at = end;
    return end <= INT64_MAX - PACK_FOOTER_BYTES;
}

int layout_footer_take(const uint8_t *from, uint64_t at, struct layout_footer *out, struct err *err)
{
    const struct frame_range where = {at, PACK_FOOTER_BYTES};
    struct cursor rest = {from, PACK_FOOTER_BYTES};
    struct layout_footer footer = {0};
    struct digest digest = {0}, right = digest_of(from, FOOTER_DIGEST_OFFSET);
    uint32_t magic = 0, payload_bytes = 0;
    char end_magic[sizeof footer_magic];
    bool whole = cursor_take_u32le(&rest, &magic) && cursor_take_u32le(&rest, &payload_bytes);

    for (size_t i = 0; i < PACK_PART_COUNT; i++)
        whole = whole && cursor_take_u64le(&rest, &footer.index[i].frame.at) &&
                cursor_take_u64le(&rest, &footer.index[i].frame.size_bytes) &&
                cursor_copy(&rest, footer.index[i].digest.bytes, DIGEST_BYTES);
    whole = whole && cursor_copy(&rest, footer.receipt.bytes, DIGEST_BYTES) &&
            cursor_copy(&rest, footer.claim.bytes, DIGEST_BYTES) && cursor_copy(&rest, digest.bytes, DIGEST_BYTES) &&
            cursor_copy(&rest, end_magic, sizeof end_magic);
    assert(whole && rest.left_bytes == 0);
    if (magic != FRAME_FOOTER || memcmp(end_magic, footer_magic, sizeof end_magic) != 0)
        return frame_fault(err, ERR_FORMAT, where,
                           "FORMAT 1.8: partial or cut short, or followed by something: no footer at its end; see "
                           "exhibit-record salvage");
    if (payload_bytes != PACK_FOOTER_BYTES - FRAME_HEAD_BYTES || !digest_equal(&digest, &right))
        return frame_fault(err, ERR_FORMAT, where, "FORMAT 5.1: the footer is damaged");
    *out = footer;
    return 0;
}
