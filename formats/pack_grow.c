/*
 * Open blocks, their journals, and the order in which both reach the file.
 */
#include "formats/pack_grow.h"

#include "base/file.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A small block is compressed on the spot while there is no crew: to start one takes longer. */
#define ALONE_BYTES 262144u

int pack_grow_write(struct pack_grow *grow, const void *from, size_t size_bytes, struct err *err)
{
    int code = file_write_all(grow->fd, from, size_bytes, err);

    if (code < 0) /* not of a file that is read for it, whose name may come before this */
        return err_wrap(err, "what is being made");
    grow->at += size_bytes;
    return 0;
}

int pack_grow_init(struct pack_grow *grow, int fd, struct err *err)
{
    uint8_t header[PACK_HEADER_BYTES];

    *grow = (struct pack_grow){.fd = fd};
    layout_header_put(header);
    return pack_grow_write(grow, header, sizeof header, err);
}

void pack_grow_done(struct pack_grow *grow)
{
    crew_free(grow->crew); /* first: its jobs use the rest */
    for (size_t i = 0; i < PACK_PART_COUNT; i++) {
        free(grow->parts[i].content);
        bytes_done(&grow->parts[i].journal);
        bytes_done(&grow->parts[i].blocks);
    }
    for (size_t i = 0; i < PACK_GROW_WORKERS; i++) {
        ZSTD_freeCCtx(grow->tools[i].compressor);
        free(grow->tools[i].spare);
    }
    for (size_t i = 0; i < PACK_GROW_RING; i++) {
        free(grow->blocks[i].bytes);
        bytes_done(&grow->blocks[i].journal);
    }
    *grow = (struct pack_grow){.fd = -1};
}

struct crew *pack_grow_crew(struct pack_grow *grow, struct err *err)
{
    if (grow->crew != NULL)
        return grow->crew;
    grow->crew = crew_new(PACK_GROW_WORKERS);
    if (grow->crew == NULL)
        (void)err_set_errno(err, "memory for threads");
    return grow->crew;
}

/* Compresses a closed block, in a worker. What held the content is the worker's spare room afterwards. */
static void compress(struct crew_job *job, unsigned worker)
{
    struct pack_grow_block *block = (struct pack_grow_block *)job;
    struct pack_grow_tools *tools = &block->grow->tools[worker];
    uint8_t *frame;

    if (tools->compressor == NULL)
        tools->compressor = frame_compressor_new();
    if (tools->spare == NULL)
        tools->spare = frame_room_new(FRAME_BLOCK_MAX_BYTES);
    if (tools->compressor == NULL || tools->spare == NULL) {
        block->code = err_set(&block->err, ERR_SYSTEM, "no memory for a compressor");
        return;
    }
    frame = tools->spare;
    block->code =
        frame_compress(tools->compressor, block->bytes, block->content_bytes, frame, &block->frame_bytes, &block->err);
    if (block->code < 0)
        return;
    block->digest = digest_of(frame, block->frame_bytes);
    tools->spare = block->bytes;
    block->bytes = frame;
}

_Static_assert(offsetof(struct pack_grow_block, job) == 0, "a block is found by its job");

/* Writes a block's journal and frame, and enters it in the index's table. */
static int write_block(struct pack_grow *grow, struct pack_grow_block *block, struct err *err)
{
    struct bytes *blocks = &grow->parts[pack_slot(block->part)].blocks;
    struct layout_block place = {.content_bytes = block->content_bytes, .digest = block->digest};
    uint8_t head[PACK_JOURNAL_HEAD_BYTES], record[PACK_BLOCK_BYTES];
    int code;

    assert(blocks->size_bytes == (size_t)block->number * sizeof record);
    if (block->part == grow->mark.part && block->number == grow->mark.block) {
        grow->mark_at = grow->at;
        grow->mark_content_bytes = grow->content_bytes;
    }
    layout_journal_head_put(head, block->part, (uint32_t)(block->journal.size_bytes / PACK_JOURNAL_ENTRY_BYTES));
    code = pack_grow_write(grow, head, sizeof head, err);
    if (code == 0)
        code = pack_grow_write(grow, block->journal.data, block->journal.size_bytes, err);
    place.frame = (struct frame_range){grow->at, block->frame_bytes};
    if (code == 0)
        code = pack_grow_write(grow, block->bytes, block->frame_bytes, err);
    if (code < 0)
        return code;
    /* The disk begins now, so that the fsync at the end finds less to do. Only a wish. */
    (void)sync_file_range(grow->fd, (off_t)place.frame.at, (off_t)block->frame_bytes, SYNC_FILE_RANGE_WRITE);
    grow->content_bytes += block->content_bytes;
    if (!layout_content_fits(grow->content_bytes, grow->at)) /* no reader would take it */
        return err_set(err, ERR_LIMIT, "%" PRIu64 " bytes of content in a file of %" PRIu64, grow->content_bytes,
                       grow->at);
    layout_block_put(record, &place);
    return bytes_add(blocks, record, sizeof record, (size_t)LIMIT_BLOCKS * sizeof record, err);
}

/* Waits for the oldest closed block and writes it. */
static int settle_one(struct pack_grow *grow, struct err *err)
{
    struct pack_grow_block *block = &grow->blocks[grow->oldest];

    crew_wait(grow->crew, &block->job);
    grow->oldest = (grow->oldest + 1) % PACK_GROW_RING;
    grow->pending--;
    if (block->code < 0) {
        *err = block->err;
        return block->code;
    }
    return write_block(grow, block, err);
}

int pack_grow_settle(struct pack_grow *grow, struct err *err)
{
    int code = 0;

    while (code == 0 && grow->pending > 0)
        code = settle_one(grow, err);
    return code;
}

/* Moves what is open to a free place of the ring, and gives the part the memory that was there. */
static struct pack_grow_block *take_open(struct pack_grow *grow, enum pack_part part)
{
    struct pack_grow_part *open = &grow->parts[pack_slot(part)];
    struct pack_grow_block *block = &grow->blocks[(grow->oldest + grow->pending) % PACK_GROW_RING];
    struct pack_grow_block taken = {.job.work = compress,
                                    .grow = grow,
                                    .part = part,
                                    .number = open->closed_count++,
                                    .bytes = open->content,
                                    .content_bytes = open->content_bytes,
                                    .journal = open->journal};

    open->content = block->bytes;
    open->content_bytes = 0;
    open->journal = block->journal;
    open->journal.size_bytes = 0;
    *block = taken;
    return block;
}

/* Closes it without a crew: nothing is on its way. */
static int close_alone(struct pack_grow *grow, enum pack_part part, struct err *err)
{
    struct pack_grow_block *block = take_open(grow, part);

    compress(&block->job, 0);
    if (block->code < 0) {
        *err = block->err;
        return block->code;
    }
    return write_block(grow, block, err);
}

/* Whether another block may be closed. */
static int check_count(const struct pack_grow *grow, struct err *err)
{
    if (grow->parts[0].closed_count + grow->parts[1].closed_count >= LIMIT_BLOCKS)
        return err_set(err, ERR_LIMIT, "more than %u blocks", LIMIT_BLOCKS);
    return 0;
}

int pack_grow_close(struct pack_grow *grow, enum pack_part part, struct err *err)
{
    struct pack_grow_part *open = &grow->parts[pack_slot(part)];
    int code = 0;

    if (open->content_bytes == 0)
        return 0;
    if (check_count(grow, err) < 0)
        return err->code;
    if (grow->crew == NULL && open->content_bytes <= ALONE_BYTES)
        return close_alone(grow, part, err);
    if (pack_grow_crew(grow, err) == NULL)
        return err->code;
    if (grow->pending == PACK_GROW_RING)
        code = settle_one(grow, err);
    if (code < 0)
        return code;
    crew_give(grow->crew, &take_open(grow, part)->job);
    grow->pending++;
    while (code == 0 && grow->pending > 0 && crew_is_done(grow->crew, &grow->blocks[grow->oldest].job))
        code = settle_one(grow, err);
    return code;
}

int pack_grow_copy(struct pack_grow *grow, enum pack_part part, const struct layout_block *block, uint8_t *frame,
                   const struct bytes *journal, struct err *err)
{
    struct pack_grow_block copied = {.part = part,
                                     .bytes = frame,
                                     .content_bytes = block->content_bytes,
                                     .frame_bytes = block->frame.size_bytes,
                                     .digest = block->digest,
                                     .journal = *journal};

    assert(journal->size_bytes <= PACK_GROW_JOURNAL_BYTES);
    if (pack_grow_close(grow, part, err) < 0 || pack_grow_settle(grow, err) < 0 || check_count(grow, err) < 0)
        return err->code;
    copied.number = grow->parts[pack_slot(part)].closed_count++;
    return write_block(grow, &copied, err);
}

int pack_grow_begin(struct pack_grow *grow, enum pack_part part, uint32_t *out_block, uint32_t *out_offset_bytes,
                    struct err *err)
{
    struct pack_grow_part *open = &grow->parts[pack_slot(part)];

    if (open->content_bytes == LIMIT_BLOCK_BYTES ||
        open->journal.size_bytes + PACK_JOURNAL_ENTRY_BYTES > PACK_GROW_JOURNAL_BYTES) {
        int code = pack_grow_close(grow, part, err);

        if (code < 0)
            return code;
    }
    *out_block = open->closed_count;
    *out_offset_bytes = open->content_bytes;
    return 0;
}

int pack_grow_room(struct pack_grow *grow, enum pack_part part, uint8_t **out, size_t *out_bytes, struct err *err)
{
    struct pack_grow_part *open = &grow->parts[pack_slot(part)];

    /* A full block waits while it may hold an object's last byte: its journal has to name that object. */
    if (open->content_bytes == LIMIT_BLOCK_BYTES && pack_grow_close(grow, part, err) < 0)
        return err->code;
    if (open->content == NULL)
        open->content = frame_room_new(FRAME_BLOCK_MAX_BYTES);
    if (open->content == NULL)
        return err_set_errno(err, "memory for a block");
    *out = open->content + open->content_bytes;
    *out_bytes = LIMIT_BLOCK_BYTES - open->content_bytes;
    return 0;
}

void pack_grow_fill(struct pack_grow *grow, enum pack_part part, size_t size_bytes)
{
    struct pack_grow_part *open = &grow->parts[pack_slot(part)];

    assert(size_bytes <= LIMIT_BLOCK_BYTES - open->content_bytes);
    open->content_bytes += (uint32_t)size_bytes;
}

int pack_grow_add(struct pack_grow *grow, enum pack_part part, const void *from, size_t size_bytes, struct err *err)
{
    const uint8_t *at = from;

    while (size_bytes > 0) {
        uint8_t *to = NULL;
        size_t room = 0, taken;
        int code = pack_grow_room(grow, part, &to, &room, err);

        if (code < 0)
            return code;
        taken = size_bytes < room ? size_bytes : room;
        memcpy(to, at, taken);
        pack_grow_fill(grow, part, taken);
        at += taken;
        size_bytes -= taken;
    }
    return 0;
}

int pack_grow_end(struct pack_grow *grow, enum pack_part part, const struct digest *digest, uint64_t size_bytes,
                  struct err *err)
{
    struct pack_grow_part *open = &grow->parts[pack_slot(part)];
    uint8_t record[PACK_JOURNAL_ENTRY_BYTES];

    assert(open->content_bytes > 0);
    layout_journal_entry_put(record, digest, size_bytes);
    return bytes_add(&open->journal, record, sizeof record, PACK_GROW_JOURNAL_BYTES, err);
}

void pack_grow_mark(struct pack_grow *grow, enum pack_part part)
{
    const struct pack_grow_part *open = &grow->parts[pack_slot(part)];

    assert(open->content_bytes == 0 && open->journal.size_bytes == 0);
    grow->mark = (struct pack_grow_mark){part, open->closed_count};
    grow->mark_at = 0;
}

int pack_grow_rewind(struct pack_grow *grow, struct err *err)
{
    struct pack_grow_part *open = &grow->parts[pack_slot(grow->mark.part)];
    int code = pack_grow_settle(grow, err);

    if (code < 0)
        return code;
    assert(open->closed_count >= grow->mark.block);
    if (grow->mark_at != 0) {
        if (ftruncate(grow->fd, (off_t)grow->mark_at) < 0 || lseek(grow->fd, (off_t)grow->mark_at, SEEK_SET) < 0)
            return err_set_errno(err, "go back to %" PRIu64, grow->mark_at);
        grow->at = grow->mark_at;
        grow->content_bytes = grow->mark_content_bytes;
    }
    open->content_bytes = 0;
    open->journal.size_bytes = 0;
    open->closed_count = grow->mark.block;
    open->blocks.size_bytes = (size_t)grow->mark.block * PACK_BLOCK_BYTES;
    return 0;
}
