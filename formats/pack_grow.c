/*
 * Open blocks, their journals, and the order in which both reach the file.
 */
#include "formats/pack_grow.h"

#include "base/file.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define JOURNAL_MAX_BYTES (LIMIT_JOURNAL_BYTES - (PACK_JOURNAL_HEAD_BYTES - FRAME_HEAD_BYTES))

int pack_grow_write(struct pack_grow *grow, const void *from, size_t size_bytes, struct err *err)
{
    int code = file_write_all(grow->fd, from, size_bytes, err);

    if (code == 0)
        grow->at += size_bytes;
    return code;
}

int pack_grow_init(struct pack_grow *grow, int fd, struct err *err)
{
    uint8_t header[PACK_HEADER_BYTES];

    *grow = (struct pack_grow){.fd = fd};
    grow->compressor = frame_compressor_new();
    grow->frame = malloc(FRAME_BLOCK_MAX_BYTES);
    if (grow->compressor == NULL || grow->frame == NULL)
        return err_set(err, ERR_SYSTEM, "no memory for a compressor");
    layout_header_put(header);
    return pack_grow_write(grow, header, sizeof header, err);
}

void pack_grow_done(struct pack_grow *grow)
{
    for (size_t i = 0; i < PACK_PART_COUNT; i++) {
        free(grow->parts[i].content);
        bytes_done(&grow->parts[i].journal);
        bytes_done(&grow->parts[i].blocks);
    }
    ZSTD_freeCCtx(grow->compressor);
    free(grow->frame);
    *grow = (struct pack_grow){.fd = -1};
}

/* Writes the journal of the part's open block. */
static int write_journal(struct pack_grow *grow, enum pack_part part, struct err *err)
{
    struct bytes *journal = &grow->parts[pack_slot(part)].journal;
    uint8_t head[PACK_JOURNAL_HEAD_BYTES];
    int code;

    layout_journal_head_put(head, part, (uint32_t)(journal->size_bytes / PACK_JOURNAL_ENTRY_BYTES));
    code = pack_grow_write(grow, head, sizeof head, err);
    if (code == 0)
        code = pack_grow_write(grow, journal->data, journal->size_bytes, err);
    journal->size_bytes = 0;
    return code;
}

int pack_grow_close(struct pack_grow *grow, enum pack_part part, struct err *err)
{
    struct pack_grow_part *open = &grow->parts[pack_slot(part)];
    struct layout_block block = {.content_bytes = open->content_bytes};
    uint8_t record[PACK_BLOCK_BYTES];
    size_t frame_bytes = 0;
    int code;

    if (open->content_bytes == 0)
        return 0;
    if (grow->parts[0].blocks.size_bytes + grow->parts[1].blocks.size_bytes >= (size_t)LIMIT_BLOCKS * sizeof record)
        return err_set(err, ERR_LIMIT, "more than %u blocks", LIMIT_BLOCKS);
    code = frame_compress(grow->compressor, open->content, open->content_bytes, grow->frame, &frame_bytes, err);
    if (code == 0)
        code = write_journal(grow, part, err);
    block.frame = (struct frame_range){grow->at, frame_bytes};
    if (code == 0)
        code = pack_grow_write(grow, grow->frame, frame_bytes, err);
    if (code < 0)
        return code;
    block.digest = digest_of(grow->frame, frame_bytes);
    layout_block_put(record, &block);
    open->content_bytes = 0;
    return bytes_add(&open->blocks, record, sizeof record, (size_t)LIMIT_BLOCKS * sizeof record, err);
}

int pack_grow_begin(struct pack_grow *grow, enum pack_part part, uint32_t *out_block, uint32_t *out_offset_bytes,
                    struct err *err)
{
    struct pack_grow_part *open = &grow->parts[pack_slot(part)];

    if (open->content_bytes == LIMIT_BLOCK_BYTES ||
        open->journal.size_bytes + PACK_JOURNAL_ENTRY_BYTES > JOURNAL_MAX_BYTES) {
        int code = pack_grow_close(grow, part, err);

        if (code < 0)
            return code;
    }
    *out_block = (uint32_t)(open->blocks.size_bytes / PACK_BLOCK_BYTES);
    *out_offset_bytes = open->content_bytes;
    return 0;
}

int pack_grow_add(struct pack_grow *grow, enum pack_part part, const void *from, size_t size_bytes, struct err *err)
{
    struct pack_grow_part *open = &grow->parts[pack_slot(part)];
    const uint8_t *at = from;

    if (open->content == NULL)
        open->content = malloc(LIMIT_BLOCK_BYTES);
    if (open->content == NULL)
        return err_set_errno(err, "memory for a block");
    while (size_bytes > 0) {
        size_t room = LIMIT_BLOCK_BYTES - open->content_bytes;
        size_t taken = size_bytes < room ? size_bytes : room;

        memcpy(open->content + open->content_bytes, at, taken);
        open->content_bytes += (uint32_t)taken;
        at += taken;
        size_bytes -= taken;
        /* A full block waits while it may hold an object's last byte: its journal has to name that object. */
        if (size_bytes > 0) {
            int code = pack_grow_close(grow, part, err);

            if (code < 0)
                return code;
        }
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
    return bytes_add(&open->journal, record, sizeof record, JOURNAL_MAX_BYTES, err);
}

struct pack_grow_mark pack_grow_mark(const struct pack_grow *grow, enum pack_part part)
{
    const struct pack_grow_part *open = &grow->parts[pack_slot(part)];

    assert(open->content_bytes == 0 && open->journal.size_bytes == 0);
    return (struct pack_grow_mark){grow->at, open->blocks.size_bytes};
}

int pack_grow_rewind(struct pack_grow *grow, enum pack_part part, struct pack_grow_mark mark, struct err *err)
{
    struct pack_grow_part *open = &grow->parts[pack_slot(part)];

    assert(grow->at >= mark.at && open->blocks.size_bytes >= mark.blocks_bytes);
    if (ftruncate(grow->fd, (off_t)mark.at) < 0 || lseek(grow->fd, (off_t)mark.at, SEEK_SET) < 0)
        return err_set_errno(err, "go back to %" PRIu64, mark.at);
    grow->at = mark.at;
    open->content_bytes = 0;
    open->journal.size_bytes = 0;
    open->blocks.size_bytes = mark.blocks_bytes;
    return 0;
}
