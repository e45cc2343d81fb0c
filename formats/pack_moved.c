/*
 * Where a file that is longer or shorter than its own footer says was changed: its indexes are looked for at their
 * place and as far off as the footer is; then everything is checked at the places that they name.
 */
#include "formats/pack_reader.h"

#include "base/file.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* The part of a range that is in the file, and no more than a block of it. */
static struct frame_range clip(struct frame_range range, uint64_t file_bytes)
{
    if (range.at >= file_bytes)
        return (struct frame_range){file_bytes - 1, 1};
    if (range.size_bytes > file_bytes - range.at)
        range.size_bytes = file_bytes - range.at;
    if (range.size_bytes > LIMIT_BLOCK_BYTES)
        range.size_bytes = LIMIT_BLOCK_BYTES;
    return range;
}

/* Reads the index of a part from its place, or where it is if it moved with the footer. */
static int find_index(struct pack *pack, unsigned slot, uint64_t place, uint64_t at, bool *out_in_place,
                      struct err *err)
{
    struct layout_place there = pack->footer.index[slot];
    uint64_t blocks_end = pack->footer.index[0].frame.at;
    int code = ERR_FORMAT;

    if (there.frame.size_bytes <= at && there.frame.at <= at - there.frame.size_bytes)
        code = pack_index_read(pack->fd, (enum pack_part)(slot + 1), &there, blocks_end, &pack->index[slot], err);
    *out_in_place = code == 0;
    if (code == 0 || code == ERR_SYSTEM || (at < place && there.frame.at < place - at))
        return code;
    there.frame.at += at - place; /* either way round */
    return pack_index_read(pack->fd, (enum pack_part)(slot + 1), &there, blocks_end, &pack->index[slot], err);
}

/* Whether the same footer stands at `place`, too: what was one file goes on behind it. */
static bool footer_stands(const struct pack *pack, uint64_t place, uint64_t at)
{
    uint8_t bytes[PACK_FOOTER_BYTES];
    struct layout_footer footer;
    struct err err;

    return place < at && file_pread_all(pack->fd, bytes, sizeof bytes, place, &err) == 0 &&
           layout_footer_take(bytes, place, &footer, &err) == 0 && memcmp(&footer, &pack->footer, sizeof footer) == 0;
}

/* Looks for the first fault; it is in `err` then. Never 0. */
static int find_fault(struct pack *pack, uint64_t place, uint64_t at, struct err *err)
{
    uint64_t file_bytes = at + PACK_FOOTER_BYTES;
    struct frame_range after = {place, PACK_FOOTER_BYTES};
    bool in_place[PACK_PART_COUNT];
    int code;

    for (unsigned i = 0; i < PACK_PART_COUNT; i++) {
        code = find_index(pack, i, place, at, &in_place[i], err);
        if (code == ERR_SYSTEM)
            return code;
        if (code < 0)
            return frame_fault(err, ERR_FORMAT, clip(pack->footer.index[i].frame, file_bytes),
                               "the index of part %u is not as the footer tells", i + 1);
    }
    code = pack_check(pack, err);
    if (code < 0)
        return code;
    if (footer_stands(pack, place, at)) /* as many bytes are too many; the range names the first of them */
        return frame_fault(err, ERR_FORMAT,
                           clip((struct frame_range){place + PACK_FOOTER_BYTES, PACK_FOOTER_BYTES}, file_bytes),
                           "%" PRIu64 " bytes follow the footer", at - place);
    for (unsigned i = PACK_PART_COUNT; i > 0; i--)
        if (!in_place[i - 1])
            after = pack->footer.index[i - 1].frame;
    return frame_fault(err, ERR_FORMAT, clip(after, file_bytes), "what belongs here stands elsewhere");
}

int pack_moved_fault(struct pack *pack, uint64_t place, uint64_t at, struct err *err)
{
    int code;

    assert(place != at);
    code = find_fault(pack, place, at, err);
    return code == ERR_SYSTEM ? code : err_wrap(err, "%s", PACK_MOVED_TEXT);
}
