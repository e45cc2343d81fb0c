/*
 * Taking objects over from one pack into another that is being written. A block in which every object is wanted is
 * taken as it is, compressed; of the others the wanted objects are decoded, checked and compressed anew. Knows objects
 * by their digests; not why they are wanted.
 */
#pragma once

#include "formats/pack.h"

/* Which objects are to be taken. */
struct pack_wish {
    bool (*wants)(void *context, const struct digest *digest); /* NULL: all */
    /*
     * NULL: a block that is damaged or cannot be read is a failure. Else it is told here, and what is in it is left
     * out. The blocks are read twice then.
     */
    void (*damaged)(void *context, const struct err *err);
    void *context;
};

/* What was taken, counted on. */
struct pack_copied {
    uint64_t object_count;
    uint64_t content_bytes; /* of these objects */
    uint64_t frame_count;   /* blocks that were taken as they are, all of them in both parts */
    uint64_t frame_bytes;
};

/*
 * Takes every object of `part` that `wish` wants and that `to` does not have in that part yet, in the order of their
 * content. `from` must have been opened with that part; what it was opened with is relied on, its blocks are not: the
 * digest of each frame is checked against the index, and each object of which any byte is compressed anew against its
 * own. *counts is added to, also before a failure. ERR_FORMAT, ERR_MISMATCH: `from` is damaged; with part, block and
 * range of bytes. ERR_LIMIT, ERR_SYSTEM. After any failure the writer is spent and can only be abandoned.
 */
int pack_copy(struct pack *from, enum pack_part part, const struct pack_wish *wish, struct pack_writer *to,
              struct pack_copied *counts, struct err *err);

/*
 * Calls `sound` for each object of the part that `wish` wants and whose blocks are in the file as the index says;
 * wish->damaged (which must be set) is told of the others. Nothing is decoded. ERR_FORMAT: the objects do not tile the
 * content. ERR_SYSTEM: no memory.
 */
int pack_sound(struct pack *pack, enum pack_part part, const struct pack_wish *wish,
               void (*sound)(void *context, const struct digest *digest), struct err *err);
