/*
 * Reading an index, and the checks that need nothing but the index.
 */
#include "formats/pack_index.h"

#include "base/file.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FRAME_MAX_BYTES                                                                                                \
    (PACK_INDEX_HEAD_BYTES + (size_t)LIMIT_OBJECTS * PACK_OBJECT_BYTES + (size_t)LIMIT_BLOCKS * PACK_BLOCK_BYTES)

void pack_index_done(struct pack_index *index)
{
    bytes_done(&index->frame);
    bytes_done(&index->starts_room);
    *index = (struct pack_index){0};
}

/* Where the record of an object begins in the frame, and that of a block (by FORMAT 4.1). */
static size_t object_place(uint32_t number)
{
    return PACK_INDEX_HEAD_BYTES + (size_t)number * PACK_OBJECT_BYTES;
}

static size_t block_place(const struct pack_index *index, uint32_t number)
{
    return object_place(index->object_count) + (size_t)number * PACK_BLOCK_BYTES;
}

struct layout_object pack_index_object(const struct pack_index *index, uint32_t number)
{
    assert(number < index->object_count);
    return layout_object_take(index->frame.data + object_place(number));
}

struct layout_block pack_index_block(const struct pack_index *index, uint32_t number)
{
    assert(number < index->block_count);
    return layout_block_take(index->frame.data + block_place(index, number));
}

uint64_t pack_index_start(const struct pack_index *index, const struct layout_object *object)
{
    assert(object->size_bytes > 0 && object->block < index->block_count);
    return index->starts[object->block] + object->offset_bytes;
}

bool pack_index_number(const struct pack_index *index, const struct digest *digest, uint32_t *out)
{
    uint32_t low = 0, high = index->object_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = memcmp(index->frame.data + object_place(middle), digest->bytes, DIGEST_BYTES);

        if (order == 0) {
            *out = middle;
            return true;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

bool pack_index_find(const struct pack_index *index, const struct digest *digest, struct layout_object *out)
{
    uint32_t number;

    if (!pack_index_number(index, digest, &number))
        return false;
    *out = pack_index_object(index, number);
    return true;
}

/* Checks the table of blocks and fills `starts` (FORMAT 4.5, 4.6). `at` is the index's own place in the file. */
static int check_blocks(struct pack_index *index, uint64_t at, uint64_t blocks_end, struct err *err)
{
    uint64_t free_from = PACK_HEADER_BYTES, *starts;
    int code = bytes_reserve(&index->starts_room, ((size_t)index->block_count + 1) * sizeof *starts,
                             ((size_t)LIMIT_BLOCKS + 1) * sizeof *starts, err);

    if (code < 0)
        return err_wrap(err, "%" PRIu32 " blocks", index->block_count);
    starts = (uint64_t *)(void *)index->starts_room.data;
    starts[0] = 0;
    index->starts = starts;
    for (uint32_t i = 0; i < index->block_count; i++) {
        struct layout_block block = pack_index_block(index, i);
        struct frame_range where = {at + block_place(index, i), PACK_BLOCK_BYTES};

        if (block.content_bytes < 1 || block.content_bytes > LIMIT_BLOCK_BYTES ||
            block.frame.size_bytes < FRAME_BLOCK_MIN_BYTES || block.frame.size_bytes > FRAME_BLOCK_MAX_BYTES)
            return frame_fault(err, ERR_LIMIT, where,
                               "FORMAT 1.9: block %" PRIu32 " of %" PRIu64 " bytes and %" PRIu32 " of content", i,
                               block.frame.size_bytes, block.content_bytes);
        if (block.frame.at > blocks_end || block.frame.size_bytes > blocks_end - block.frame.at ||
            block.frame.at < free_from + PACK_JOURNAL_HEAD_BYTES)
            return frame_fault(err, ERR_FORMAT, where,
                               "FORMAT 4.6: block %" PRIu32 " at %" PRIu64 " is outside its room or out of order", i,
                               block.frame.at);
        free_from = block.frame.at + block.frame.size_bytes;
        if (index->room_bytes < block.content_bytes)
            index->room_bytes = block.content_bytes;
        if (index->room_bytes < block.frame.size_bytes)
            index->room_bytes = (uint32_t)block.frame.size_bytes;
        starts[i + 1] = starts[i] + block.content_bytes;
    }
    return 0;
}

/* Checks one object by itself: FORMAT 1.9 and 4.4. */
static int check_object(const struct pack_index *index, uint32_t number, const struct layout_object *object,
                        struct frame_range where, struct err *err)
{
    uint64_t content_bytes = index->starts[index->block_count], start;

    if (object->size_bytes > LIMIT_OBJECT_BYTES)
        return frame_fault(err, ERR_LIMIT, where, "FORMAT 1.9: object %" PRIu32 " of %" PRIu64 " bytes", number,
                           object->size_bytes);
    if (object->size_bytes == 0 && (object->block != 0 || object->offset_bytes != 0))
        return frame_fault(err, ERR_FORMAT, where, "FORMAT 4.4: the empty object has a position");
    if (object->size_bytes == 0)
        return 0;
    if (object->block >= index->block_count ||
        object->offset_bytes >= index->starts[object->block + 1] - index->starts[object->block])
        return frame_fault(err, ERR_FORMAT, where, "FORMAT 4.4: object %" PRIu32 " begins outside every block", number);
    start = index->starts[object->block] + object->offset_bytes;
    if (object->size_bytes > content_bytes - start)
        return frame_fault(err, ERR_FORMAT, where, "FORMAT 4.4: object %" PRIu32 " ends outside the content", number);
    return 0;
}

/* Checks the table of objects: each by itself, their order (FORMAT 4.3) and their sum (FORMAT 4.7). */
static int check_objects(const struct pack_index *index, uint64_t at, struct err *err)
{
    uint64_t left_bytes = index->starts[index->block_count];

    for (uint32_t i = 0; i < index->object_count; i++) {
        const uint8_t *record = index->frame.data + object_place(i);
        struct layout_object object = layout_object_take(record);
        struct frame_range where = {at + object_place(i), PACK_OBJECT_BYTES};
        int code = check_object(index, i, &object, where, err);

        if (code < 0)
            return code;
        if (i > 0 && memcmp(record - PACK_OBJECT_BYTES, record, DIGEST_BYTES) >= 0)
            return frame_fault(err, ERR_FORMAT, where, "FORMAT 4.3: object %" PRIu32 " does not ascend", i);
        if (object.size_bytes > left_bytes)
            return frame_fault(err, ERR_FORMAT, where, "FORMAT 4.7: more bytes in objects than in blocks");
        left_bytes -= object.size_bytes;
    }
    if (left_bytes > 0)
        return frame_fault(err, ERR_FORMAT, (struct frame_range){at, PACK_INDEX_HEAD_BYTES},
                           "FORMAT 4.7: %" PRIu64 " bytes of blocks belong to no object", left_bytes);
    return 0;
}

/* Reads the whole frame after its head has been found possible, and checks its digest. */
static int read_frame(int fd, const struct layout_place *place, struct bytes *out, struct err *err)
{
    struct digest digest;
    int code = bytes_reserve(out, (size_t)place->frame.size_bytes, FRAME_MAX_BYTES, err);

    if (code == 0)
        code = file_pread_all(fd, out->data, (size_t)place->frame.size_bytes, place->frame.at, err);
    if (code < 0)
        return err_wrap(err, "the index");
    out->size_bytes = (size_t)place->frame.size_bytes;
    digest = digest_of(out->data, out->size_bytes);
    if (!digest_equal(&digest, &place->digest))
        return frame_fault(err, ERR_FORMAT, place->frame,
                           "FORMAT 5.1: the index has not the digest that the footer tells");
    return 0;
}

int pack_index_read(int fd, enum pack_part part, const struct layout_place *place, uint64_t blocks_end,
                    struct pack_index *out, struct err *err)
{
    uint8_t head[PACK_INDEX_HEAD_BYTES];
    struct pack_index index = {0};
    int code = file_pread_all(fd, head, sizeof head, place->frame.at, err);

    if (code == 0)
        code = layout_index_head_take(head, part, place->frame, &index.object_count, &index.block_count, err);
    if (code == 0)
        code = read_frame(fd, place, &index.frame, err);
    if (code == 0)
        code = check_blocks(&index, place->frame.at, blocks_end, err);
    if (code == 0)
        code = check_objects(&index, place->frame.at, err);
    if (code < 0)
        pack_index_done(&index);
    *out = index;
    return code;
}
