/*
 * A hash table over the records of an index that is being written.
 */
#include "formats/pack_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_SLOT_COUNT 256u

void pack_table_done(struct pack_table *table)
{
    bytes_done(&table->records);
    bytes_done(&table->slots_room);
    *table = (struct pack_table){0};
}

uint32_t pack_table_count(const struct pack_table *table)
{
    return (uint32_t)(table->records.size_bytes / PACK_OBJECT_BYTES);
}

/* The slot that holds the digest, or the free one where it belongs. There is always a free one. */
static uint32_t slot_of(const struct pack_table *table, const uint8_t *digest)
{
    uint32_t slot;

    memcpy(&slot, digest, sizeof slot); /* a digest's bytes are as good as any hash of them */
    for (slot &= table->slot_count - 1; table->slots[slot] != 0; slot = (slot + 1) & (table->slot_count - 1)) {
        const uint8_t *record = table->records.data + (size_t)(table->slots[slot] - 1) * PACK_OBJECT_BYTES;

        if (memcmp(record, digest, DIGEST_BYTES) == 0)
            break;
    }
    return slot;
}

bool pack_table_has(const struct pack_table *table, const struct digest *digest)
{
    return table->slot_count > 0 && table->slots[slot_of(table, digest->bytes)] != 0;
}

/* Doubles the slots where half of them are taken. */
static int make_room(struct pack_table *table, struct err *err)
{
    uint32_t count = pack_table_count(table);
    struct pack_table grown = *table;

    if (count < table->slot_count / 2)
        return 0;
    grown.slot_count = table->slot_count == 0 ? FIRST_SLOT_COUNT : 2 * table->slot_count;
    grown.slots_room = (struct bytes){0};
    if (bytes_reserve(&grown.slots_room, grown.slot_count * sizeof *grown.slots, SIZE_MAX - 1, err) < 0)
        return err_wrap(err, "a table of %u objects", grown.slot_count);
    grown.slots = memset(grown.slots_room.data, 0, grown.slot_count * sizeof *grown.slots);
    for (uint32_t i = 0; i < count; i++)
        grown.slots[slot_of(&grown, grown.records.data + (size_t)i * PACK_OBJECT_BYTES)] = i + 1;
    bytes_done(&table->slots_room);
    *table = grown;
    return 0;
}

int pack_table_add(struct pack_table *table, const struct layout_object *object, struct err *err)
{
    uint8_t record[PACK_OBJECT_BYTES];
    uint32_t slot;
    int code = make_room(table, err);

    if (code < 0)
        return code;
    slot = slot_of(table, object->digest.bytes);
    assert(table->slots[slot] == 0);
    layout_object_put(record, object);
    code = bytes_add(&table->records, record, sizeof record, (size_t)LIMIT_OBJECTS * PACK_OBJECT_BYTES, err);
    if (code < 0)
        return err_wrap(err, "the table of objects");
    table->slots[slot] = pack_table_count(table);
    return 0;
}

void pack_table_sort(struct pack_table *table)
{
    bytes_done(&table->slots_room);
    table->slots = NULL;
    table->slot_count = 0;
    digest_sort(table->records.data, pack_table_count(table), PACK_OBJECT_BYTES);
}
