/*
 * From a range of a stream to its segments, from those to blocks, and so to bytes of the file.
 */
#include "replay/explain_build.h"

#include "base/cleanup.h"
#include "formats/pack_where.h"

/* Adds a member (stolen) to an object; false where either is NULL. */
static bool range_set(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value) == 0;
}

/* One piece as JSON, without the number of a segment. */
static json_t *piece_json(const struct digest *digest, uint64_t offset_bytes, const struct pack_where *where)
{
    char digits[2 * DIGEST_BYTES + 1];

    hex_encode(digest->bytes, DIGEST_BYTES, digits);
    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "object", digits, "object_offset",
                     (json_int_t)offset_bytes, "size", (json_int_t)where->size_bytes, "object_entry_at",
                     (json_int_t)where->object_entry_at, "block_entry_at", (json_int_t)where->block_entry_at,
                     "frame_at", (json_int_t)where->frame.at, "frame_size", (json_int_t)where->frame.size_bytes,
                     "content_offset", (json_int_t)where->content_offset_bytes);
}

/*
 * Adds the pieces of a range of an object (segment 0), or of a segment by its number from 1. False: out of memory.
 */
static bool add_pieces(json_t *pieces, const struct pack *pack, const struct digest *digest, uint64_t offset_bytes,
                       uint64_t size_bytes, size_t segment)
{
    struct pack_where where;

    while (size_bytes > 0 && json_array_size(pieces) < EXPLAIN_PIECES &&
           pack_where(pack, PACK_OBSERVATION, digest, offset_bytes, size_bytes, &where)) {
        json_t *piece = piece_json(digest, offset_bytes, &where);

        if (segment > 0 && !range_set(piece, "segment", json_integer((json_int_t)segment))) {
            json_decref(piece);
            return false;
        }
        if (json_array_append_new(pieces, piece) < 0)
            return false;
        offset_bytes += where.size_bytes;
        size_bytes -= where.size_bytes;
    }
    return true;
}

/* The head of a range; NULL: out of memory. */
static json_t *range_json(const char *key, const uint8_t *digest, uint64_t offset_bytes, uint64_t size_bytes)
{
    char digits[2 * DIGEST_BYTES + 1];

    hex_encode(digest, DIGEST_BYTES, digits);
    return json_pack("{s:s, s:o, s:o, s:[]}", key, digits, "offset", explain_number(offset_bytes), "size",
                     explain_number(size_bytes), "pieces");
}

json_t *explain_object_range(const struct pack *pack, const struct digest *digest, uint64_t offset_bytes,
                             uint64_t size_bytes)
{
    json_t *range = range_json("object", digest->bytes, offset_bytes, size_bytes);

    if (range != NULL && !add_pieces(json_object_get(range, "pieces"), pack, digest, offset_bytes, size_bytes, 0)) {
        json_decref(range);
        return NULL;
    }
    return range;
}

json_t *explain_stream_range(const struct pack *pack, const Exhibit__Stream *stream, uint64_t offset_bytes,
                             uint64_t size_bytes)
{
    json_t *range = range_json("sha256", stream->sha256.data, offset_bytes, size_bytes);
    uint64_t at = 0, end = offset_bytes + size_bytes;
    bool whole = range != NULL;

    for (size_t i = 0; i < stream->n_segments && at < end && whole; i++) {
        const Exhibit__Segment *segment = stream->segments[i];
        uint64_t first = offset_bytes > at ? offset_bytes - at : 0;
        struct digest digest;

        if (segment->size_bytes > LIMIT_SEGMENT_BYTES ||
            !digest_from(segment->sha256.data, segment->sha256.len, &digest))
            break;
        if (first < segment->size_bytes) {
            uint64_t last = end - at < segment->size_bytes ? end - at : segment->size_bytes;

            whole = add_pieces(json_object_get(range, "pieces"), pack, &digest, first, last - first, i + 1);
        }
        at += segment->size_bytes;
    }
    if (whole)
        return range;
    json_decref(range);
    return NULL;
}

int explain_read_stream(struct pack *pack, const Exhibit__Stream *stream, uint64_t offset_bytes, size_t size_bytes,
                        struct bytes *out, struct err *err)
{
    AUTO_BYTES struct bytes content = {0};
    uint64_t at = 0, end = offset_bytes + size_bytes;
    int code = 0;

    out->size_bytes = 0;
    for (size_t i = 0; i < stream->n_segments && at < end && code == 0; i++) {
        const Exhibit__Segment *segment = stream->segments[i];
        uint64_t first = offset_bytes > at ? offset_bytes - at : 0, last = end - at;
        struct digest digest;

        if (segment->size_bytes > LIMIT_SEGMENT_BYTES ||
            !digest_from(segment->sha256.data, segment->sha256.len, &digest))
            return err_set(err, ERR_FORMAT, "FORMAT 6.1: segment %zu is none", i + 1);
        if (first < segment->size_bytes) {
            code = pack_read(pack, PACK_OBSERVATION, &digest, LIMIT_SEGMENT_BYTES, &content, err);
            if (code == 0 && content.size_bytes != segment->size_bytes)
                return err_set(err, ERR_MISMATCH, "FORMAT 6.2: segment %zu has another size", i + 1);
            last = last < segment->size_bytes ? last : segment->size_bytes;
            if (code == 0)
                code = bytes_add(out, content.data + first, (size_t)(last - first), size_bytes, err);
        }
        at += segment->size_bytes;
    }
    if (code == 0 && out->size_bytes != size_bytes)
        return err_set(err, ERR_MISMATCH, "FORMAT 6.2: the segments of a stream have fewer bytes than it claims");
    return code;
}
