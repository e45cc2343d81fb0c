/*
 * Checking every byte of an open pack: from the header on, group by group, against the indexes (FORMAT 5.4).
 */
#include "base/bytes.h"
#include "base/file.h"
#include "formats/pack_check_block.h"

#include <assert.h>
#include <inttypes.h>

/* Blocks on their way, and how many bytes of journals they may hold together (one journal alone may have them all). */
#define RING (PACK_CHECK_WORKERS + 2)
#define RING_JOURNAL_BYTES LIMIT_JOURNAL_BYTES

/* How far the check has come in the content of one part. */
struct part_check {
    uint32_t next_block;
    uint64_t object_start; /* in the part's content: where the object begins that no journal has listed yet */
    uint32_t object_count; /* listed by journals so far */
};

struct check {
    struct pack *pack;
    uint64_t at; /* in the file: up to here the structure is checked */
    struct part_check parts[PACK_PART_COUNT];
    struct block_checks *blocks;
    struct block_check ring[RING]; /* `pending` of them from `oldest` on, around */
    unsigned oldest, pending;
    size_t pending_journal_bytes;
    struct err fault; /* the first of a block's content */
};

/* Reads the journal at check->at and moves past it. */
static int read_journal(struct check *check, enum pack_part *out_part, struct bytes *out_entries,
                        struct frame_range *out_where, struct err *err)
{
    uint64_t room_bytes = check->pack->footer.index[0].frame.at - check->at;
    uint8_t head[PACK_JOURNAL_HEAD_BYTES];
    uint32_t count = 0;
    size_t size_bytes;
    int code;

    if (room_bytes < sizeof head)
        return frame_fault(err, ERR_FORMAT, (struct frame_range){check->at, room_bytes},
                           "FORMAT 1.2: %" PRIu64 " bytes before the index are of no group", room_bytes);
    code = file_pread_all(check->pack->fd, head, sizeof head, check->at, err);
    if (code == 0)
        code = layout_journal_head_take(head, check->at, room_bytes, out_part, &count, err);
    if (code < 0)
        return code;
    size_bytes = (size_t)count * PACK_JOURNAL_ENTRY_BYTES;
    code = bytes_reserve(out_entries, size_bytes, LIMIT_JOURNAL_BYTES, err);
    if (code == 0)
        code = file_pread_all(check->pack->fd, out_entries->data, size_bytes, check->at + sizeof head, err);
    if (code < 0)
        return code;
    out_entries->size_bytes = size_bytes;
    *out_where = (struct frame_range){check->at, sizeof head + size_bytes};
    check->at += out_where->size_bytes;
    return 0;
}

/* Where an entry of a journal is; of the first one with the head, which is of another journal where that is. */
static struct frame_range entry_range(struct frame_range journal, uint32_t number)
{
    struct frame_range entry = {journal.at + PACK_JOURNAL_HEAD_BYTES, PACK_JOURNAL_ENTRY_BYTES};

    if (number == 0)
        return (struct frame_range){journal.at, PACK_JOURNAL_HEAD_BYTES + PACK_JOURNAL_ENTRY_BYTES};
    entry.at += (uint64_t)number * PACK_JOURNAL_ENTRY_BYTES;
    return entry;
}

/* Checks one entry of the journal at `where` against the index; the object has to end in the block. */
static int check_entry(const struct pack_index *index, const struct part_check *state, const struct bytes *entries,
                       uint32_t number, struct frame_range where, struct err *err)
{
    struct layout_object object;
    uint64_t block_start = index->starts[state->next_block], block_end = index->starts[state->next_block + 1], end;
    struct digest digest;
    uint64_t size_bytes;

    where = entry_range(where, number);
    layout_journal_entry_take(entries->data + (size_t)number * PACK_JOURNAL_ENTRY_BYTES, &digest, &size_bytes);
    if (!pack_index_find(index, &digest, &object) || object.size_bytes != size_bytes || size_bytes == 0 ||
        pack_index_start(index, &object) != state->object_start)
        return frame_fault(err, ERR_FORMAT, where,
                           "FORMAT 3.3: entry %" PRIu32 " of the journal is not what the index has at its place",
                           number);
    end = state->object_start + size_bytes; /* within the content: the index was checked */
    if (end <= block_start || end > block_end)
        return frame_fault(err, ERR_FORMAT, where,
                           "FORMAT 3.3: object %" PRIu32 " of the journal does not end in its block", number);
    return 0;
}

/* Checks what a journal lists against the index, and moves past those objects. */
static int check_journal(const struct pack_index *index, struct part_check *state, const struct bytes *entries,
                         struct frame_range where, struct err *err)
{
    for (uint32_t i = 0; i < entries->size_bytes / PACK_JOURNAL_ENTRY_BYTES; i++) {
        struct digest digest;
        uint64_t size_bytes;
        int code = check_entry(index, state, entries, i, where, err);

        if (code < 0)
            return code;
        layout_journal_entry_take(entries->data + (size_t)i * PACK_JOURNAL_ENTRY_BYTES, &digest, &size_bytes);
        state->object_start += size_bytes;
        state->object_count++;
    }
    return 0;
}

/* Waits for the oldest block. The first fault stays in check->fault. */
static int settle_one(struct check *check)
{
    struct block_check *block = &check->ring[check->oldest];
    struct err fault;

    if (block_check_wait(block, &fault) < 0 && check->fault.code == ERR_OK)
        check->fault = fault;
    check->pending_journal_bytes -= block->entries.size_bytes;
    bytes_done(&block->entries);
    check->oldest = (check->oldest + 1) % RING;
    check->pending--;
    return check->fault.code;
}

/* Hands a block on to be checked beside. A fault of an older block is in check->fault then. */
static int start_block(struct check *check, struct block_check *block)
{
    int code = 0;

    while (code == 0 &&
           (check->pending == RING ||
            (check->pending > 0 && check->pending_journal_bytes + block->entries.size_bytes > RING_JOURNAL_BYTES)))
        code = settle_one(check);
    if (code < 0) {
        bytes_done(&block->entries);
        return code;
    }
    check->pending_journal_bytes += block->entries.size_bytes;
    check->ring[(check->oldest + check->pending) % RING] = *block;
    block_check_start(check->blocks, &check->ring[(check->oldest + check->pending++) % RING]);
    return 0;
}

/* Checks the structure of the group at check->at and moves past it; its content is checked beside. */
static int check_group(struct check *check, struct err *err)
{
    struct block_check one = {0};
    struct frame_range journal = {0}, head;
    struct layout_block block;
    const struct pack_index *index;
    struct part_check *state;
    int code = read_journal(check, &one.part, &one.entries, &journal, err);

    if (code < 0)
        goto undo;
    index = &check->pack->index[pack_slot(one.part)];
    state = &check->parts[pack_slot(one.part)];
    head = (struct frame_range){journal.at, PACK_JOURNAL_HEAD_BYTES};
    if (state->next_block == index->block_count) {
        code = frame_fault(err, ERR_FORMAT, head, "FORMAT 1.2: a group that the index does not name");
        goto undo;
    }
    block = pack_index_block(index, state->next_block);
    if (block.frame.at != check->at) {
        code = frame_fault(err, ERR_FORMAT, head,
                           "FORMAT 3.1: after the journal no block where the index has block %" PRIu32 " of part %d",
                           state->next_block, (int)one.part);
        goto undo;
    }
    one.number = state->next_block;
    one.object_start = state->object_start;
    code = check_journal(index, state, &one.entries, journal, err);
    if (code < 0)
        goto undo;
    check->at += block.frame.size_bytes;
    state->next_block++;
    return start_block(check, &one);

undo:
    bytes_done(&one.entries);
    return code;
}

/* Checks, after the last group, that nothing is left of a part. `place` is where its index is. */
static int check_end(const struct pack_index *index, const struct part_check *state, struct frame_range place,
                     struct err *err)
{
    const struct digest nothing = digest_of("", 0);
    struct layout_object empty;
    uint32_t listed = state->object_count;
    uint64_t content_bytes = index->starts[index->block_count];

    place.size_bytes = PACK_INDEX_HEAD_BYTES;
    if (state->next_block != index->block_count)
        return frame_fault(err, ERR_FORMAT, place,
                           "FORMAT 1.2: the index names %" PRIu32 " blocks, %" PRIu32 " are there", index->block_count,
                           state->next_block);
    if (state->object_start != content_bytes)
        return frame_fault(err, ERR_FORMAT, pack_index_block(index, index->block_count - 1).frame,
                           "FORMAT 1.5: the last %" PRIu64 " bytes of the content belong to no object that is listed",
                           content_bytes - state->object_start);
    /* The journals list every object that has bytes; the empty one is in the index alone. */
    if (pack_index_find(index, &nothing, &empty) && empty.size_bytes == 0)
        listed++;
    if (listed != index->object_count)
        return frame_fault(err, ERR_MISMATCH, place, "FORMAT 4.8: an object of size 0 has another digest");
    return 0;
}

/* The body of pack_check, once everything is there. The first fault in the order of the file is the one to tell. */
static int check_all(struct check *check, struct err *err)
{
    const struct layout_footer *footer = &check->pack->footer;
    int code = 0;

    check->at = PACK_HEADER_BYTES;
    while (code == 0 && check->at < footer->index[0].frame.at)
        code = check_group(check, err);
    while (check->pending > 0)
        (void)settle_one(check);
    if (check->fault.code != ERR_OK) {
        *err = check->fault;
        return err->code;
    }
    for (size_t i = 0; code == 0 && i < PACK_PART_COUNT; i++)
        code = check_end(&check->pack->index[i], &check->parts[i], footer->index[i].frame, err);
    return code;
}

static int check_with(struct pack *pack, unsigned workers, struct err *err)
{
    struct check check = {.pack = pack};
    int code;

    assert(!pack->inputs_skipped);
    pack_cache_drop(pack); /* what is in the file now is checked, not what was */
    code = block_checks_new(pack, workers, &check.blocks, err);
    if (code == 0)
        code = check_all(&check, err);
    block_checks_free(check.blocks);
    return code;
}

int pack_check(struct pack *pack, struct err *err)
{
    return check_with(pack, PACK_CHECK_WORKERS, err);
}

int pack_check_alone(struct pack *pack, struct err *err)
{
    return check_with(pack, 1, err);
}
