/*
 * The objects that a writer has put in one part: the index's table as it grows, and the answer to "is it there".
 * Knows no file.
 */
#pragma once

#include "base/bytes.h"
#include "base/err.h"
#include "formats/pack_layout.h"

#include <stdbool.h>

/* All zero is the empty one. */
struct pack_table {
    struct bytes records; /* PACK_OBJECT_BYTES each, in the order of adding until pack_table_sort */
    uint32_t *slots;      /* open addressing by digest: number of the record + 1, or 0 */
    struct bytes slots_room;
    uint32_t slot_count; /* a power of two, at least twice the records */
};

/* Releases what is owned. Harmless on the empty one. */
void pack_table_done(struct pack_table *table);

/* How many objects it has. */
uint32_t pack_table_count(const struct pack_table *table);

/* Whether it has an object of this digest. Not after pack_table_sort. */
bool pack_table_has(const struct pack_table *table, const struct digest *digest);

/* Adds an object that is not there. ERR_LIMIT: over LIMIT_OBJECTS. ERR_SYSTEM: out of memory. Unchanged then. */
int pack_table_add(struct pack_table *table, const struct layout_object *object, struct err *err);

/* Puts the records in ascending order of digests (FORMAT 4.3) and ends the looking up. */
void pack_table_sort(struct pack_table *table);
