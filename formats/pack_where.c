/*
 * From an object and an offset to a frame and an offset in what it decompresses to. Knows how the tables lie in the
 * indexes, and no block's bytes.
 */
#include "formats/pack_where.h"

#include "formats/pack_reader.h"

#include <assert.h>

/* The number of the block that holds byte `start` of the part's content, which has one. */
static uint32_t block_number(const struct pack_index *index, uint64_t start)
{
    uint32_t low = 0, high = index->block_count;

    assert(start < index->starts[index->block_count]);
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;

        if (index->starts[middle] <= start)
            low = middle;
        else
            high = middle;
    }
    return low;
}

bool pack_where(const struct pack *pack, enum pack_part part, const struct digest *digest, uint64_t offset_bytes,
                uint64_t size_bytes, struct pack_where *out)
{
    const struct pack_index *index = &pack->index[pack_slot(part)];
    uint64_t tables_at = pack->footer.index[pack_slot(part)].frame.at + PACK_INDEX_HEAD_BYTES;
    uint32_t number, block;
    struct layout_object object;
    uint64_t start, left;

    assert(size_bytes > 0);
    if (!pack_index_number(index, digest, &number))
        return false;
    object = pack_index_object(index, number);
    if (offset_bytes > object.size_bytes || size_bytes > object.size_bytes - offset_bytes)
        return false;
    start = pack_index_start(index, &object) + offset_bytes;
    block = block_number(index, start);
    left = index->starts[block + 1] - start;
    *out = (struct pack_where){
        .object_entry_at = tables_at + (uint64_t)number * PACK_OBJECT_BYTES,
        .block_entry_at =
            tables_at + (uint64_t)index->object_count * PACK_OBJECT_BYTES + (uint64_t)block * PACK_BLOCK_BYTES,
        .frame = pack_index_block(index, block).frame,
        .content_offset_bytes = (uint32_t)(start - index->starts[block]),
        .size_bytes = size_bytes < left ? size_bytes : left,
    };
    return true;
}

struct frame_range pack_footer_where(const struct pack *pack)
{
    const struct frame_range *last = &pack->footer.index[PACK_PART_COUNT - 1].frame;

    return (struct frame_range){last->at + last->size_bytes, PACK_FOOTER_BYTES};
}
