/*
 * Indexes are read piece by piece: memory does not grow with a pack. Positions come from a footer that nobody vouches
 * for; a record is used after its bounds were checked, and believed when its content had the right digest.
 */
#include "formats/store_table.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "formats/pack_reader.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_RECORDS 1024u

/* So many entries whose digests begin alike are looked at: more do not happen by chance. */
#define ALIKE_MAX 64u

void store_table_done(struct store_table *table)
{
    for (unsigned i = 0; i < STORE_TABLE_FDS; i++)
        if (table->sources != NULL && table->fds[i].fd >= 0)
            (void)close(table->fds[i].fd);
    free(table->sources);
    bytes_done(&table->entries_room);
    *table = (struct store_table){0};
}

int store_table_fd(struct store_table *table, uint32_t pack, int *out_fd, struct err *err)
{
    unsigned slot;

    for (slot = 0; slot < STORE_TABLE_FDS; slot++)
        if (table->fds[slot].fd >= 0 && table->fds[slot].pack == pack) {
            *out_fd = table->fds[slot].fd;
            return 0;
        }
    slot = table->next_fd++ % STORE_TABLE_FDS;
    if (table->fds[slot].fd >= 0)
        (void)close(table->fds[slot].fd);
    table->fds[slot].fd = -1;
    if (store_pack_fd(table->store, pack, &table->fds[slot].fd, err) < 0)
        return err->code;
    table->fds[slot].pack = pack;
    *out_fd = table->fds[slot].fd;
    return 0;
}

static uint32_t beginning_of(const uint8_t *digest)
{
    return (uint32_t)digest[0] << 24 | (uint32_t)digest[1] << 16 | (uint32_t)digest[2] << 8 | digest[3];
}

/* The bit that stands for a size. */
static unsigned size_bit(uint64_t size_bytes)
{
    return (unsigned)(size_bytes * 0x9E3779B97F4A7C15u >> 48) % (8 * sizeof((struct store_table *)0)->sizes);
}

bool store_table_size_may_be(const struct store_table *table, uint64_t size_bytes)
{
    unsigned bit = size_bit(size_bytes);

    return (table->sizes[bit / 8] >> bit % 8) & 1;
}

/* ---- filling ---- */

/* Entries as they are collected. */
struct filling {
    struct store_table *table;
    uint32_t room;  /* how many entries there may be */
    uint8_t *piece; /* PIECE_RECORDS of them */
};

/* Enters the objects of a piece, `first` being the number in the table of the first. */
static int enter(struct filling *filling, uint32_t first, uint32_t count, struct err *err)
{
    struct store_table *table = filling->table;

    table->entries_room.size_bytes = table->entry_count * sizeof *table->entries;
    if (bytes_reserve(&table->entries_room, count * sizeof *table->entries, SIZE_MAX - 1, err) < 0)
        return err_wrap(err, "a table of inputs");
    table->entries = (uint64_t *)(void *)table->entries_room.data;
    for (uint32_t i = 0; i < count; i++) {
        struct layout_object object = layout_object_take(filling->piece + (size_t)i * PACK_OBJECT_BYTES);

        table->entries[table->entry_count++] = (uint64_t)beginning_of(object.digest.bytes) << 32 | (first + i);
        if (object.size_bytes >= LIMIT_BLOCK_BYTES)
            table->sizes[size_bit(object.size_bytes) / 8] |= (uint8_t)(1u << size_bit(object.size_bytes) % 8);
    }
    return 0;
}

/* Reads the whole index, whose head was found possible, and checks its digest. Where `enters`, its objects are entered.
 */
static int index_scan(struct filling *filling, int fd, const struct layout_place *place, struct store_source *source,
                      struct err *err)
{
    struct digest_run *run = digest_run_new();
    uint8_t head[PACK_INDEX_HEAD_BYTES];
    uint32_t records = source->object_count + source->block_count;
    uint64_t at = place->frame.at + sizeof head;
    struct digest digest;
    int code = run == NULL ? err_set(err, ERR_SYSTEM, "libcrypto gives no SHA-256") : 0;

    if (code == 0)
        code = file_pread_all(fd, head, sizeof head, place->frame.at, err);
    if (code == 0)
        digest_run_add(run, head, sizeof head);
    for (uint32_t done = 0; code == 0 && done < records;) {
        uint32_t left = done < source->object_count ? source->object_count - done : records - done;
        uint32_t count = left < PIECE_RECORDS ? left : PIECE_RECORDS;

        code = file_pread_all(fd, filling->piece, (size_t)count * PACK_OBJECT_BYTES, at, err);
        if (code < 0)
            break;
        digest_run_add(run, filling->piece, (size_t)count * PACK_OBJECT_BYTES);
        if (source->is_in_table && done < source->object_count)
            code = enter(filling, source->base + done, count, err);
        at += (uint64_t)count * PACK_OBJECT_BYTES;
        done += count;
    }
    if (code == 0)
        digest = digest_run_now(run);
    digest_run_free(run);
    if (code < 0)
        return code;
    return digest_equal(&digest, &place->digest)
               ? 0
               : frame_fault(err, ERR_FORMAT, place->frame,
                             "FORMAT 5.1: the index has not the digest that the footer "
                             "tells");
}

_Static_assert(PACK_OBJECT_BYTES == PACK_BLOCK_BYTES, "a piece holds as many records of either kind");

/* Reads what a pack says of its inputs. */
static int source_read(struct filling *filling, uint32_t number, struct err *err)
{
    struct store_table *table = filling->table;
    const struct digest receipt = store_receipt(table->store, number);
    struct store_source *source = &table->sources[number];
    uint8_t head[PACK_INDEX_HEAD_BYTES];
    struct layout_footer footer;
    struct layout_place place;
    uint64_t at, footer_at;
    AUTO_FD int fd = -1;

    if (store_pack_fd(table->store, number, &fd, err) < 0 || pack_ends_read(fd, &footer, &footer_at, err) < 0)
        return err->code;
    if (!digest_equal(&footer.receipt, &receipt))
        return err_set(err, ERR_MISMATCH, "FORMAT 11.3: the pack of another receipt");
    if (!layout_footer_place(&footer, &at) || at != footer_at)
        return err_set(err, ERR_FORMAT, PACK_MOVED_TEXT);
    place = footer.index[pack_slot(PACK_INPUT)];
    if (file_pread_all(fd, head, sizeof head, place.frame.at, err) < 0 ||
        layout_index_head_take(head, PACK_INPUT, place.frame, &source->object_count, &source->block_count, err) < 0)
        return err->code;
    source->index_at = place.frame.at;
    source->is_in_table = source->object_count <= filling->room - table->entry_count;
    if (index_scan(filling, fd, &place, source, err) < 0)
        return err->code;
    source->is_readable = true;
    return 0;
}

static int entry_order(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

    return (left > right) - (left < right);
}

int store_table_fill(struct store_table *table, const struct store *store, uint32_t object_max, struct err *err)
{
    AUTO_FREE uint8_t *piece = malloc((size_t)PIECE_RECORDS * PACK_OBJECT_BYTES);
    struct filling filling = {.table = table, .room = object_max, .piece = piece};
    uint32_t count = store_pack_count(store);

    *table = (struct store_table){.store = store, .sources = calloc((size_t)count + 1, sizeof *table->sources)};
    for (unsigned i = 0; i < STORE_TABLE_FDS; i++)
        table->fds[i].fd = -1;
    if (piece == NULL || table->sources == NULL)
        return err_set_errno(err, "memory for a table of %u packs", count);
    for (uint32_t i = 0; i < count; i++) {
        struct store_source *source = &table->sources[i];
        uint32_t before = table->entry_count;

        const struct digest receipt = store_receipt(store, i);
        char name[STORE_NAME_BYTES];

        source->base = before;
        if (source_read(&filling, i, err) == 0)
            continue;
        store_pack_name(&receipt, name);
        store_note(store, "%s is passed over: %s", name, err->text);
        *source = (struct store_source){.base = before};
        table->entry_count = before;
    }
    if (table->entry_count > 0)
        qsort(table->entries, table->entry_count, sizeof *table->entries, entry_order);
    return 0;
}

/* ---- looking up ---- */

/* The pack that has an object, by its number in the table: the last one that begins there or before. */
static uint32_t pack_of(const struct store_table *table, uint32_t number)
{
    uint32_t low = 0, high = store_pack_count(table->store);

    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;

        if (table->sources[middle].base <= number)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Reads the record of an object of a pack. */
static int record_read(struct store_table *table, uint32_t pack, uint32_t number, struct layout_object *out,
                       struct err *err)
{
    uint64_t at = table->sources[pack].index_at + PACK_INDEX_HEAD_BYTES + (uint64_t)number * PACK_OBJECT_BYTES;
    uint8_t record[PACK_OBJECT_BYTES];
    int fd;

    if (store_table_fd(table, pack, &fd, err) < 0 || file_pread_all(fd, record, sizeof record, at, err) < 0)
        return err->code;
    *out = layout_object_take(record);
    return 0;
}

/* Searches the index of a pack in its file. False: not there, or it could not be read. */
static bool record_search(struct store_table *table, uint32_t pack, const struct digest *digest,
                          struct layout_object *out)
{
    uint32_t low = 0, high = table->sources[pack].object_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        struct err err;
        int order;

        if (record_read(table, pack, middle, out, &err) < 0)
            return false;
        order = memcmp(out->digest.bytes, digest->bytes, DIGEST_BYTES);
        if (order == 0)
            return true;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

/* The first entry whose digest begins so, or the one after where it would be. */
static uint32_t first_entry(const struct store_table *table, uint32_t beginning)
{
    uint32_t low = 0, high = table->entry_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (table->entries[middle] >> 32 < beginning)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool store_table_visit(struct store_table *table, const struct digest *digest, bool search_rest,
                       bool (*visit)(void *context, const struct store_listed *listed), void *context)
{
    uint32_t beginning = beginning_of(digest->bytes), first = first_entry(table, beginning);
    struct store_listed listed;
    struct err err;

    for (uint32_t i = first; i < table->entry_count && i - first < ALIKE_MAX; i++) {
        if (table->entries[i] >> 32 != beginning)
            break;
        listed.number = (uint32_t)table->entries[i];
        listed.pack = pack_of(table, listed.number);
        if (record_read(table, listed.pack, listed.number - table->sources[listed.pack].base, &listed.object, &err) ==
                0 &&
            digest_equal(&listed.object.digest, digest) && visit(context, &listed))
            return true;
    }
    listed.number = UINT32_MAX;
    for (listed.pack = 0; search_rest && listed.pack < store_pack_count(table->store); listed.pack++)
        if (table->sources[listed.pack].is_readable && !table->sources[listed.pack].is_in_table &&
            record_search(table, listed.pack, digest, &listed.object) && visit(context, &listed))
            return true;
    return false;
}

int store_table_block(struct store_table *table, uint32_t pack, uint32_t number, struct layout_block *out,
                      struct err *err)
{
    const struct store_source *source = &table->sources[pack];
    uint64_t at;
    uint8_t record[PACK_BLOCK_BYTES];
    int fd;

    if (number >= source->block_count)
        return err_set(err, ERR_FORMAT, "FORMAT 4.4: an object goes on in block %u of %u", number, source->block_count);
    at = source->index_at + PACK_INDEX_HEAD_BYTES + (uint64_t)source->object_count * PACK_OBJECT_BYTES +
         (uint64_t)number * PACK_BLOCK_BYTES;
    if (store_table_fd(table, pack, &fd, err) < 0 || file_pread_all(fd, record, sizeof record, at, err) < 0)
        return err->code;
    *out = layout_block_take(record);
    if (out->content_bytes < 1 || out->content_bytes > LIMIT_BLOCK_BYTES ||
        out->frame.size_bytes < FRAME_BLOCK_MIN_BYTES || out->frame.size_bytes > FRAME_BLOCK_MAX_BYTES ||
        out->frame.at > source->index_at || out->frame.size_bytes > source->index_at - out->frame.at)
        return frame_fault(err, ERR_FORMAT, (struct frame_range){at, sizeof record},
                           "FORMAT 1.9: a block of impossible size or place");
    return 0;
}
