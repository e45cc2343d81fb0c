/*
 * Checking every byte of an open pack: from the header on, group by group, against the indexes (FORMAT 5.4).
 */
#include "base/bytes.h"
#include "base/file.h"
#include "formats/pack_reader.h"

#include <assert.h>
#include <inttypes.h>

/* How far the check has come in the content of one part. */
struct part_check {
    uint32_t next_block;
    uint64_t object_start;  /* in the part's content: where the object begins that no journal has listed yet */
    uint32_t object_count;  /* listed by journals so far */
    struct digest_run *run; /* what of that object lies in the blocks before */
};

struct check {
    struct pack *pack;
    uint64_t at; /* in the file: everything before is checked */
    struct bytes journal;
    struct part_check parts[PACK_PART_COUNT];
};

/* Reads the journal at check->at and moves past it. The entries are in check->journal then. */
static int read_journal(struct check *check, enum pack_part *out_part, struct frame_range *out_where, struct err *err)
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
    check->journal.size_bytes = 0;
    code = bytes_reserve(&check->journal, size_bytes, LIMIT_JOURNAL_BYTES, err);
    if (code == 0)
        code = file_pread_all(check->pack->fd, check->journal.data, size_bytes, check->at + sizeof head, err);
    if (code < 0)
        return code;
    check->journal.size_bytes = size_bytes;
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
static int check_entry(struct check *check, enum pack_part part, uint32_t number, struct frame_range where,
                       struct layout_object *out, struct err *err)
{
    const struct pack_index *index = &check->pack->index[pack_slot(part)];
    const struct part_check *state = &check->parts[pack_slot(part)];
    uint64_t block_start = index->starts[state->next_block], block_end = index->starts[state->next_block + 1], end;
    struct digest digest;
    uint64_t size_bytes;

    where = entry_range(where, number);
    layout_journal_entry_take(check->journal.data + (size_t)number * PACK_JOURNAL_ENTRY_BYTES, &digest, &size_bytes);
    if (!pack_index_find(index, &digest, out) || out->size_bytes != size_bytes || size_bytes == 0 ||
        pack_index_start(index, out) != state->object_start)
        return frame_fault(err, ERR_FORMAT, where,
                           "FORMAT 3.3: entry %" PRIu32 " of the journal is not what the index has at its place",
                           number);
    end = state->object_start + size_bytes; /* within the content: the index was checked */
    if (end <= block_start || end > block_end)
        return frame_fault(err, ERR_FORMAT, where,
                           "FORMAT 3.3: object %" PRIu32 " of the journal does not end in its block", number);
    return 0;
}

/* The digest of an object that ends in the block whose content is given. */
static struct digest entry_digest(struct part_check *state, const uint8_t *content, uint64_t block_start,
                                  uint64_t size_bytes)
{
    struct digest digest;

    if (state->object_start >= block_start)
        return digest_of(content + (state->object_start - block_start), (size_t)size_bytes);
    digest_run_add(state->run, content, (size_t)(state->object_start + size_bytes - block_start));
    digest = digest_run_now(state->run);
    digest_run_reset(state->run);
    return digest;
}

/* Checks what the block holds: objects that end in it, then the beginning of one that does not. */
static int check_content(struct check *check, enum pack_part part, const uint8_t *content, struct frame_range journal,
                         struct err *err)
{
    const struct pack_index *index = &check->pack->index[pack_slot(part)];
    struct part_check *state = &check->parts[pack_slot(part)];
    uint64_t block_start = index->starts[state->next_block], block_end = index->starts[state->next_block + 1], from;

    for (uint32_t i = 0; i < check->journal.size_bytes / PACK_JOURNAL_ENTRY_BYTES; i++) {
        struct layout_object object;
        struct digest digest;
        int code = check_entry(check, part, i, journal, &object, err);

        if (code < 0)
            return code;
        digest = entry_digest(state, content, block_start, object.size_bytes);
        if (!digest_equal(&digest, &object.digest)) {
            char digits[2 * DIGEST_BYTES + 1];

            hex_encode(object.digest.bytes, DIGEST_BYTES, digits);
            return frame_fault(err, ERR_MISMATCH, pack_index_block(index, state->next_block).frame,
                               "FORMAT 4.8: object %s has other content", digits);
        }
        state->object_start += object.size_bytes;
        state->object_count++;
    }
    from = state->object_start > block_start ? state->object_start : block_start;
    digest_run_add(state->run, content + (from - block_start), (size_t)(block_end - from));
    return 0;
}

/*
 * What is wrong with a group whose block is: where its journal is not what the index has either, that comes first.
 * `err` says what is wrong with the block.
 */
static int first_fault(struct check *check, enum pack_part part, struct frame_range journal, struct err *err)
{
    struct part_check *state = &check->parts[pack_slot(part)];
    uint64_t before = state->object_start;
    int code = 0;

    for (uint32_t i = 0; code == 0 && i < check->journal.size_bytes / PACK_JOURNAL_ENTRY_BYTES; i++) {
        struct layout_object object = {0};
        struct err fault = {0};

        code = check_entry(check, part, i, journal, &object, &fault);
        if (code < 0)
            *err = fault;
        state->object_start += object.size_bytes;
    }
    state->object_start = before;
    return err->code;
}

/* Checks the group at check->at and moves past it. */
static int check_group(struct check *check, struct err *err)
{
    enum pack_part part;
    struct frame_range journal = {0}, head;
    struct layout_block block;
    const struct pack_index *index;
    struct part_check *state;
    const uint8_t *content;
    int code = read_journal(check, &part, &journal, err);

    if (code < 0)
        return code;
    index = &check->pack->index[pack_slot(part)];
    state = &check->parts[pack_slot(part)];
    head = (struct frame_range){journal.at, PACK_JOURNAL_HEAD_BYTES};
    if (state->next_block == index->block_count)
        return frame_fault(err, ERR_FORMAT, head, "FORMAT 1.2: a group that the index does not name");
    block = pack_index_block(index, state->next_block);
    if (block.frame.at != check->at)
        return frame_fault(err, ERR_FORMAT, head,
                           "FORMAT 3.1: after the journal no block where the index has block %" PRIu32 " of part %d",
                           state->next_block, (int)part);
    code = pack_block_load(check->pack, part, state->next_block, &content, err);
    if (code == ERR_FORMAT)
        return first_fault(check, part, journal, err);
    if (code == 0)
        code = check_content(check, part, content, journal, err);
    if (code < 0)
        return code;
    check->at += block.frame.size_bytes;
    state->next_block++;
    return 0;
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

/* The body of pack_check, once everything is there. */
static int check_all(struct check *check, struct err *err)
{
    const struct layout_footer *footer = &check->pack->footer;
    int code = 0;

    check->at = PACK_HEADER_BYTES;
    while (code == 0 && check->at < footer->index[0].frame.at)
        code = check_group(check, err);
    for (size_t i = 0; code == 0 && i < PACK_PART_COUNT; i++)
        code = check_end(&check->pack->index[i], &check->parts[i], footer->index[i].frame, err);
    return code;
}

int pack_check(struct pack *pack, struct err *err)
{
    struct check check = {.pack = pack};
    int code = 0;

    assert(!pack->inputs_skipped);
    for (size_t i = 0; i < PACK_PART_COUNT; i++) {
        pack->cache[i].filled = false; /* what is in the file now is checked, not what was */
        check.parts[i].run = digest_run_new();
        if (check.parts[i].run == NULL)
            code = err_set(err, ERR_SYSTEM, "libcrypto gives no SHA-256");
    }
    if (code == 0)
        code = check_all(&check, err);
    for (size_t i = 0; i < PACK_PART_COUNT; i++)
        digest_run_free(check.parts[i].run);
    bytes_done(&check.journal);
    return code;
}
