/*
 * Sorting in little of the heap: qsort() takes as much of it again as it sorts. Knows no row.
 */
#pragma once

#include <stddef.h>

/* Sorts as qsort() does; what it takes besides for many rows is had as byte strings are (bytes.h). */
void sort_rows(void *rows, size_t count, size_t row_bytes, int (*compare)(const void *left, const void *right));
