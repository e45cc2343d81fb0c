/*
 * Where an object's bytes lie in the file, in the terms of FORMAT 4: for whoever tells a reader how to find them by
 * hand. Reads nothing but the indexes.
 */
#pragma once

#include "formats/frame.h"
#include "formats/pack.h"

/* The part of a range of an object that lies in one block. */
struct pack_where {
    uint64_t object_entry_at;      /* position of the object's 48 bytes in the index */
    uint64_t block_entry_at;       /* position of the block's 48 bytes in the index */
    struct frame_range frame;      /* the block's zstd frame in the file */
    uint32_t content_offset_bytes; /* of the part's first byte in the block's content */
    uint64_t size_bytes;           /* at least 1 */
};

/*
 * Finds the first part of the `size_bytes` (at least 1) bytes from offset_bytes on of an object. False: no such object,
 * or it has not so many bytes; out unset.
 */
bool pack_where(const struct pack *pack, enum pack_part part, const struct digest *digest, uint64_t offset_bytes,
                uint64_t size_bytes, struct pack_where *out);

/* Where the footer stands in the file: its last bytes. */
struct frame_range pack_footer_where(const struct pack *pack);
