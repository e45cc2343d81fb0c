/*
 * A few slots, filled by a crew around the ring. Reading in the order of a pack decodes each block once.
 */
#include "formats/store_blocks.h"

#include "formats/pack_reader.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

void store_blocks_done(struct store_blocks *blocks)
{
    crew_free(blocks->crew); /* first: its jobs use the rest */
    for (unsigned i = 0; i < STORE_BLOCKS_SLOTS; i++) {
        free(blocks->slots[i].frame);
        free(blocks->slots[i].content);
        ZSTD_freeDCtx(blocks->slots[i].decoder);
    }
    *blocks = (struct store_blocks){.table = blocks->table};
}

/* Reads and decodes, in a worker. */
static void decode(struct crew_job *job, unsigned worker)
{
    struct store_block *block = (struct store_block *)job;

    (void)worker;
    block->code =
        pack_block_decode_fd(block->fd, &block->place, block->decoder, block->frame, block->content, &block->err);
    (void)close(block->fd);
}

_Static_assert(offsetof(struct store_block, job) == 0, "a block is found by its job");

/* The slot that has, or gets, a block. NULL: none. */
static struct store_block *slot_find(struct store_blocks *blocks, uint32_t pack, uint32_t number)
{
    for (unsigned i = 0; i < STORE_BLOCKS_SLOTS; i++) {
        struct store_block *slot = &blocks->slots[i];

        if (slot->is_filled && slot->pack == pack && slot->number == number)
            return slot;
    }
    return NULL;
}

static int slot_room(struct store_block *slot, struct err *err)
{
    if (slot->decoder == NULL)
        slot->decoder = ZSTD_createDCtx();
    if (slot->frame == NULL)
        slot->frame = malloc(FRAME_BLOCK_MAX_BYTES);
    if (slot->content == NULL)
        slot->content = malloc(LIMIT_BLOCK_BYTES);
    return slot->decoder == NULL || slot->frame == NULL || slot->content == NULL
               ? err_set(err, ERR_SYSTEM, "no memory for a block")
               : 0;
}

/* The slot whose turn it is, but for the one that is kept (or NULL). */
static struct store_block *slot_next(struct store_blocks *blocks, const struct store_block *keep)
{
    struct store_block *slot = &blocks->slots[blocks->oldest];

    blocks->oldest = (blocks->oldest + 1) % STORE_BLOCKS_SLOTS;
    return slot != keep ? slot : slot_next(blocks, NULL);
}

/* Has a block decoded in the next slot. */
static int slot_fill(struct store_blocks *blocks, uint32_t pack, uint32_t number, const struct store_block *keep,
                     struct store_block **out, struct err *err)
{
    struct store_block *slot = slot_next(blocks, keep);
    int fd;

    if (blocks->crew == NULL)
        blocks->crew = crew_new(STORE_BLOCKS_SLOTS);
    if (blocks->crew == NULL)
        return err_set(err, ERR_SYSTEM, "no memory for threads");
    if (slot->is_filled)
        crew_wait(blocks->crew, &slot->job);
    slot->is_filled = false;
    if (store_table_block(blocks->table, pack, number, &slot->place, err) < 0 || slot_room(slot, err) < 0 ||
        store_table_fd(blocks->table, pack, &fd, err) < 0)
        return err->code;
    slot->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0); /* the table may close its own meanwhile */
    if (slot->fd < 0)
        return err_set_errno(err, "a descriptor for a block");
    slot->pack = pack;
    slot->number = number;
    slot->is_filled = true;
    slot->job = (struct crew_job){.work = decode};
    crew_give(blocks->crew, &slot->job);
    *out = slot;
    return 0;
}

/* Has the blocks after this one decoded, where they are not yet. Only a wish. */
static void read_ahead(struct store_blocks *blocks, const struct store_block *slot)
{
    uint32_t count = blocks->table->sources[slot->pack].block_count;
    struct store_block *ahead;
    struct err err;

    for (uint32_t i = 1; i < STORE_BLOCKS_SLOTS && i < count - slot->number; i++)
        if (slot_find(blocks, slot->pack, slot->number + i) == NULL &&
            slot_fill(blocks, slot->pack, slot->number + i, slot, &ahead, &err) < 0)
            return;
}

/* Gives a block as it was decoded; borrowed until the next call. */
static int block_load(struct store_blocks *blocks, uint32_t pack, uint32_t number, const struct store_block **out,
                      struct err *err)
{
    struct store_block *slot = slot_find(blocks, pack, number);
    bool is_next = blocks->has_last && blocks->last_pack == pack && blocks->last_number + 1 == number;

    if (slot == NULL && slot_fill(blocks, pack, number, NULL, &slot, err) < 0)
        return err->code;
    if (is_next)
        read_ahead(blocks, slot);
    blocks->last_pack = pack;
    blocks->last_number = number;
    blocks->has_last = true;
    crew_wait(blocks->crew, &slot->job);
    if (slot->code < 0) {
        *err = slot->err;
        if (slot->code == ERR_SYSTEM)
            slot->is_filled = false; /* it may be readable later */
        return err->code;
    }
    *out = slot;
    return 0;
}

/* Digests the content that is listed. */
static int digest_listed(struct store_blocks *blocks, const struct store_listed *listed, struct digest_run *run,
                         struct err *err)
{
    uint64_t left_bytes = listed->object.size_bytes;
    uint32_t number = listed->object.block, offset_bytes = listed->object.offset_bytes;

    for (; left_bytes > 0; number++, offset_bytes = 0) {
        const struct store_block *block = NULL;
        uint32_t room;

        if (block_load(blocks, listed->pack, number, &block, err) < 0)
            return err->code;
        if (offset_bytes >= block->place.content_bytes)
            return err_set(err, ERR_FORMAT, "FORMAT 4.4: an object begins outside its block");
        room = block->place.content_bytes - offset_bytes;
        if (room > left_bytes)
            room = (uint32_t)left_bytes;
        digest_run_add(run, block->content + offset_bytes, room);
        left_bytes -= room;
    }
    return 0;
}

int store_blocks_check(struct store_blocks *blocks, const struct store_listed *listed, struct err *err)
{
    struct digest_run *run = digest_run_new();
    struct digest seen;
    int code = run == NULL ? err_set(err, ERR_SYSTEM, "libcrypto gives no SHA-256") : 0;

    if (code == 0)
        code = digest_listed(blocks, listed, run, err);
    if (code == 0) {
        seen = digest_run_now(run);
        if (!digest_equal(&seen, &listed->object.digest))
            code = err_set(err, ERR_MISMATCH, "FORMAT 4.8: an object has other content");
    }
    digest_run_free(run);
    return code;
}
