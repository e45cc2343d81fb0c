/*
 * The walk over a part's content, block by block. An object may begin in a block that is taken as it is and end in one
 * that is compressed anew, or the other way round: what is written stays one content, whatever its blocks are.
 */
#include "formats/pack_copy.h"

#include "formats/pack_reader.h"
#include "formats/pack_writer.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

/* An object with a byte or more, in the order of the content. */
struct copy_object {
    uint32_t number; /* in the index */
    bool taken;
};

struct copying {
    struct pack *from;
    struct pack_writer *to;
    enum pack_part part;
    const struct pack_index *index;
    struct copy_object *objects; /* object_count of them */
    struct bytes objects_room;
    uint32_t object_count;
    uint8_t *whole; /* a bit for each block: all objects in it are taken */
    uint8_t *frame; /* FRAME_BLOCK_MAX_BYTES; NULL before the first */
    struct bytes journal;
    uint32_t at;               /* the object that holds the next byte of the content */
    struct layout_object open; /* that object, once it was begun: where it is in `to` */
    bool looked_at;            /* some of its bytes are compressed anew: all are checked against its digest */
    struct digest_run *run;    /* over the object that is looked at */
    struct pack_copied *counts;
};

static int frame_make(struct copying *copying, struct err *err)
{
    if (copying->frame == NULL)
        copying->frame = frame_room_new(FRAME_BLOCK_MAX_BYTES);
    return copying->frame == NULL ? err_set_errno(err, "memory for a block") : 0;
}

/* ---- which objects and blocks ---- */

static int place_order(const void *a, const void *b, void *context)
{
    const struct pack_index *index = context;
    const struct layout_object one = pack_index_object(index, ((const struct copy_object *)a)->number);
    const struct layout_object other = pack_index_object(index, ((const struct copy_object *)b)->number);
    uint64_t first = pack_index_start(index, &one), second = pack_index_start(index, &other);

    return first < second ? -1 : first > second;
}

/* Checks that each object begins where the one before ends; sums and bounds were checked when the pack was opened. */
static int tiling_check(const struct copying *copying, struct err *err)
{
    uint64_t end = 0;

    for (uint32_t i = 0; i < copying->object_count; i++) {
        struct layout_object object = pack_index_object(copying->index, copying->objects[i].number);

        if (pack_index_start(copying->index, &object) != end)
            return frame_fault(err, ERR_FORMAT, pack_index_block(copying->index, object.block).frame,
                               "FORMAT 1.5: an object does not begin where the one before ends");
        end += object.size_bytes;
    }
    return 0;
}

static bool is_whole(const struct copying *copying, uint32_t block)
{
    return copying->whole[block / 8] >> block % 8 & 1;
}

/* Finds the blocks in which every object is taken. */
static void blocks_find(struct copying *copying)
{
    const struct pack_index *index = copying->index;

    for (uint32_t i = 0; i < copying->object_count; i++) {
        struct layout_object object = pack_index_object(index, copying->objects[i].number);
        uint64_t end = pack_index_start(index, &object) + object.size_bytes;

        if (copying->objects[i].taken)
            continue;
        for (uint32_t block = object.block; block < index->block_count && index->starts[block] < end; block++)
            copying->whole[block / 8] &= (uint8_t) ~(1u << block % 8);
    }
}

/* The first of the objects of which a byte is in the block, and one beyond the last: they are in order. */
static void block_objects(const struct copying *copying, uint32_t block, uint32_t *from, uint32_t *to)
{
    const struct pack_index *index = copying->index;

    for (; *from < copying->object_count; (*from)++) {
        struct layout_object object = pack_index_object(index, copying->objects[*from].number);

        if (pack_index_start(index, &object) + object.size_bytes > index->starts[block])
            break;
    }
    for (*to = *from; *to < copying->object_count; (*to)++) {
        struct layout_object object = pack_index_object(index, copying->objects[*to].number);

        if (pack_index_start(index, &object) >= index->starts[block + 1])
            break;
    }
}

/* Reads each block of which something is taken. Of those that are damaged nothing is. */
static int damage_find(struct copying *copying, const struct pack_wish *wish, struct err *err)
{
    uint32_t from = 0, to = 0;

    for (uint32_t number = 0; number < copying->index->block_count; number++) {
        struct layout_block block = pack_index_block(copying->index, number);
        bool taken = false;

        block_objects(copying, number, &from, &to);
        for (uint32_t i = from; i < to; i++)
            taken = taken || copying->objects[i].taken;
        if (!taken)
            continue;
        if (frame_make(copying, err) < 0)
            return err->code;
        if (pack_block_read(copying->from->fd, &block, copying->frame, err) == 0)
            continue;
        (void)pack_block_fault(copying->from, copying->part, number, err);
        wish->damaged(wish->context, err);
        for (uint32_t i = from; i < to; i++)
            copying->objects[i].taken = false;
    }
    return 0;
}

/* Whether an object is to be taken. */
static bool is_wanted(const struct copying *copying, const struct pack_wish *wish, const struct digest *digest)
{
    if (copying->to != NULL && pack_table_has(&copying->to->tables[pack_slot(copying->part)], digest))
        return false;
    return wish->wants == NULL || wish->wants(wish->context, digest);
}

/* Lists the objects with bytes in order, and says of each whether it is taken. */
static int objects_list(struct copying *copying, const struct pack_wish *wish, struct err *err)
{
    const struct pack_index *index = copying->index;

    if (bytes_reserve(&copying->objects_room, (size_t)index->object_count * sizeof *copying->objects, SIZE_MAX - 1,
                      err) < 0)
        return err_wrap(err, "%u objects", index->object_count);
    copying->objects = (struct copy_object *)(void *)copying->objects_room.data;
    for (uint32_t i = 0; i < index->object_count; i++) {
        struct layout_object object = pack_index_object(index, i);

        if (object.size_bytes > 0)
            copying->objects[copying->object_count++] =
                (struct copy_object){i, is_wanted(copying, wish, &object.digest)};
    }
    if (copying->object_count > 0)
        qsort_r(copying->objects, copying->object_count, sizeof *copying->objects, place_order, (void *)index);
    if (tiling_check(copying, err) < 0)
        return err->code;
    return wish->damaged == NULL ? 0 : damage_find(copying, wish, err);
}

/* Takes the empty object where it is wanted: it is in no block. */
static int empty_take(struct copying *copying, const struct pack_wish *wish, struct err *err)
{
    const struct digest nothing = digest_of("", 0);

    for (uint32_t i = 0; i < copying->index->object_count; i++) {
        struct layout_object object = pack_index_object(copying->index, i);

        if (object.size_bytes > 0 || !is_wanted(copying, wish, &object.digest))
            continue;
        if (!digest_equal(&object.digest, &nothing))
            return err_set(err, ERR_MISMATCH, "FORMAT 4.8: an object of size 0 has another digest");
        if (pack_enter(copying->to, copying->part, &object, err) < 0)
            return err->code;
        copying->counts->object_count++;
    }
    return 0;
}

/* ---- block by block ---- */

/* The part of an object that lies in the block at hand. */
struct copy_piece {
    struct layout_object object; /* as the index has it */
    uint32_t offset_bytes;       /* of the piece in the block's content */
    uint32_t size_bytes;
    bool taken;
    bool first, last; /* the object begins in this block, ends in it */
};

/* The piece of the next object that begins at the offset in the block. */
static struct copy_piece piece_at(const struct copying *copying, uint32_t block, uint32_t offset_bytes)
{
    const struct pack_index *index = copying->index;
    const struct copy_object *next = &copying->objects[copying->at];
    struct copy_piece piece = {.offset_bytes = offset_bytes, .taken = next->taken};
    uint64_t start, end, block_end = index->starts[block + 1];

    assert(copying->at < copying->object_count); /* the objects tile the content */
    piece.object = pack_index_object(index, next->number);
    start = pack_index_start(index, &piece.object);
    end = start + piece.object.size_bytes;
    piece.first = start == index->starts[block] + offset_bytes;
    piece.last = end <= block_end;
    piece.size_bytes = (uint32_t)((piece.last ? end : block_end) - index->starts[block]) - offset_bytes;
    return piece;
}

/* Whether any byte of an object is compressed anew. Between its first and its last block it is alone. */
static bool is_looked_at(const struct copying *copying, const struct layout_object *object)
{
    const struct pack_index *index = copying->index;
    uint64_t end = pack_index_start(index, object) + object->size_bytes;
    uint32_t last = object->block;

    while (index->starts[last + 1] < end)
        last++;
    return !is_whole(copying, object->block) || !is_whole(copying, last);
}

/* Opens the object that begins with this piece: its first byte is the next of `to`'s content. */
static int object_begin(struct copying *copying, const struct copy_piece *piece, struct err *err)
{
    copying->open = piece->object;
    copying->looked_at = is_looked_at(copying, &piece->object);
    if (copying->looked_at)
        digest_run_reset(copying->run);
    return pack_grow_begin(&copying->to->grow, copying->part, &copying->open.block, &copying->open.offset_bytes, err);
}

/* Enters the open object, which ends in `block` of `from`. */
static int object_end(struct copying *copying, uint32_t block, struct err *err)
{
    const struct layout_object *open = &copying->open;
    struct digest seen = copying->looked_at ? digest_run_now(copying->run) : open->digest;
    char digits[2 * DIGEST_BYTES + 1];

    if (!digest_equal(&seen, &open->digest)) {
        hex_encode(open->digest.bytes, DIGEST_BYTES, digits);
        return frame_fault(err, ERR_MISMATCH, pack_index_block(copying->index, block).frame,
                           "FORMAT 4.8: object %s has other content", digits);
    }
    copying->counts->object_count++;
    copying->counts->content_bytes += open->size_bytes;
    return pack_enter(copying->to, copying->part, open, err);
}

/* Takes a piece that is compressed anew. */
static int piece_put(struct copying *copying, uint32_t block, const struct copy_piece *piece, struct err *err)
{
    struct pack_grow *grow = &copying->to->grow;
    const uint8_t *content = NULL;

    if (pack_block_load(copying->from, copying->part, block, &content, err) < 0 ||
        (piece->first && object_begin(copying, piece, err) < 0))
        return err->code;
    digest_run_add(copying->run, content + piece->offset_bytes, piece->size_bytes);
    if (pack_grow_add(grow, copying->part, content + piece->offset_bytes, piece->size_bytes, err) < 0)
        return err->code;
    if (!piece->last)
        return 0;
    if (object_end(copying, block, err) < 0)
        return err->code;
    return pack_grow_end(grow, copying->part, &piece->object.digest, piece->object.size_bytes, err);
}

/* Takes what is wanted of a block; nothing is read where nothing is. */
static int block_pick(struct copying *copying, uint32_t block, struct err *err)
{
    uint32_t content_bytes = pack_index_block(copying->index, block).content_bytes;

    for (uint32_t offset = 0; offset < content_bytes;) {
        struct copy_piece piece = piece_at(copying, block, offset);

        if (piece.taken && piece_put(copying, block, &piece, err) < 0)
            return err->code;
        offset += piece.size_bytes;
        copying->at += piece.last;
    }
    return 0;
}

/* Notes a piece of a block that is taken as it is: where its object is, and what the journal says of it. */
static int piece_note(struct copying *copying, uint32_t block, const struct copy_piece *piece, struct err *err)
{
    uint8_t record[PACK_JOURNAL_ENTRY_BYTES];
    const uint8_t *content = NULL;

    if (piece->first) {
        if (object_begin(copying, piece, err) < 0)
            return err->code;
        assert(copying->open.offset_bytes == 0); /* what was open is closed */
        copying->open.offset_bytes = piece->offset_bytes;
    }
    if (copying->looked_at) {
        if (pack_block_load(copying->from, copying->part, block, &content, err) < 0)
            return err->code;
        digest_run_add(copying->run, content + piece->offset_bytes, piece->size_bytes);
    }
    if (!piece->last)
        return 0;
    layout_journal_entry_put(record, &piece->object.digest, piece->object.size_bytes);
    if (bytes_add(&copying->journal, record, sizeof record, PACK_GROW_JOURNAL_BYTES, err) < 0)
        return err_wrap(err, "the journal of a block");
    return object_end(copying, block, err);
}

/* Takes a block as it is. */
static int block_copy(struct copying *copying, uint32_t number, struct err *err)
{
    struct layout_block block = pack_index_block(copying->index, number);

    if (frame_make(copying, err) < 0)
        return err->code;
    if (pack_block_read(copying->from->fd, &block, copying->frame, err) < 0)
        return pack_block_fault(copying->from, copying->part, number, err);
    if (pack_grow_close(&copying->to->grow, copying->part, err) < 0)
        return err->code;
    copying->journal.size_bytes = 0;
    for (uint32_t offset = 0; offset < block.content_bytes;) {
        struct copy_piece piece = piece_at(copying, number, offset);

        if (piece_note(copying, number, &piece, err) < 0)
            return err->code;
        offset += piece.size_bytes;
        copying->at += piece.last;
    }
    copying->counts->frame_count++;
    copying->counts->frame_bytes += block.frame.size_bytes;
    return pack_grow_copy(&copying->to->grow, copying->part, &block, copying->frame, &copying->journal, err);
}

/* The body of pack_copy. */
static int part_copy(struct copying *copying, const struct pack_wish *wish, struct err *err)
{
    size_t map_bytes = copying->index->block_count / 8 + 1;
    int code = 0;

    copying->run = digest_run_new();
    copying->whole = malloc(map_bytes);
    if (copying->whole == NULL || copying->run == NULL)
        return err_set(err, ERR_SYSTEM, "no memory to copy objects");
    memset(copying->whole, 0xFF, map_bytes);
    if (objects_list(copying, wish, err) < 0 || empty_take(copying, wish, err) < 0)
        return err->code;
    blocks_find(copying);
    for (uint32_t block = 0; code == 0 && block < copying->index->block_count; block++)
        code = is_whole(copying, block) ? block_copy(copying, block, err) : block_pick(copying, block, err);
    return code;
}

static void copying_done(struct copying *copying)
{
    bytes_done(&copying->objects_room);
    free(copying->whole);
    free(copying->frame);
    bytes_done(&copying->journal);
    digest_run_free(copying->run);
}

int pack_copy(struct pack *from, enum pack_part part, const struct pack_wish *wish, struct pack_writer *to,
              struct pack_copied *counts, struct err *err)
{
    struct copying copying = {
        .from = from, .to = to, .part = part, .index = &from->index[pack_slot(part)], .counts = counts};

    assert(!to->spent && (part == PACK_OBSERVATION || !from->inputs_skipped));
    to->spent = part_copy(&copying, wish, err) < 0;
    copying_done(&copying);
    return to->spent ? err->code : 0;
}

int pack_sound(struct pack *pack, enum pack_part part, const struct pack_wish *wish,
               void (*sound)(void *context, const struct digest *digest), struct err *err)
{
    const struct pack_index *index = &pack->index[pack_slot(part)];
    struct copying copying = {.from = pack, .part = part, .index = index};
    int code;

    assert(wish->damaged != NULL && (part == PACK_OBSERVATION || !pack->inputs_skipped));
    code = objects_list(&copying, wish, err);
    for (uint32_t i = 0; code == 0 && i < copying.object_count; i++) {
        struct layout_object object = pack_index_object(index, copying.objects[i].number);

        if (copying.objects[i].taken)
            sound(wish->context, &object.digest);
    }
    copying_done(&copying);
    return code;
}
