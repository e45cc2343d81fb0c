/*
 * Arrays that grow, of which the owner has the pointer and the count alone. Their memory is had as that of byte strings
 * is (bytes.h): beyond a little of the heap it lies in a file. Knows no row.
 */
#pragma once

#include "base/err.h"

#include <stddef.h>

/*
 * Appends a row of row_bytes: *(void **)slot holds *count rows, NULL while there was none. The array may move; release
 * it with table_free. A smaller count than there was leaves the room to be used again. ERR_SYSTEM: out of memory;
 * nothing changed.
 */
int table_add(void *slot, size_t *count, const void *row, size_t row_bytes, struct err *err);

/* Releases the rows; NULL is harmless. */
void table_free(void *rows);

static inline void cleanup_table(void *slot)
{
    table_free(*(void **)slot);
}

/* A local that is released with table_free when its scope ends. */
#define AUTO_TABLE __attribute__((cleanup(cleanup_table)))
