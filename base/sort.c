/*
 * Runs that are sorted by qsort(), and merged in pairs, from here to there and back.
 */
#include "base/sort.h"

#include "base/bytes.h"

#include <stdlib.h>
#include <string.h>

enum { RUN_BYTES = 1 << 20 };

/* Merges the rows before `middle` with those from there to `end`, both sorted. */
static void merge(const uint8_t *at, const uint8_t *middle, const uint8_t *end, uint8_t *to, size_t row_bytes,
                  int (*compare)(const void *left, const void *right))
{
    const uint8_t *other = middle;

    while (at < middle && other < end) {
        const uint8_t **from = compare(at, other) <= 0 ? &at : &other;

        memcpy(to, *from, row_bytes);
        *from += row_bytes;
        to += row_bytes;
    }
    memcpy(to, at, (size_t)(middle - at));
    memcpy(to + (middle - at), other, (size_t)(end - other));
}

void sort_rows(void *rows, size_t count, size_t row_bytes, int (*compare)(const void *left, const void *right))
{
    AUTO_BYTES struct bytes room = {0};
    size_t all_bytes = count * row_bytes, run_bytes = RUN_BYTES / row_bytes * row_bytes; /* rows are in memory */
    uint8_t *from = rows, *to;
    struct err err;

    if (all_bytes <= RUN_BYTES || run_bytes == 0 || bytes_reserve(&room, all_bytes, SIZE_MAX - 1, &err) < 0) {
        if (count > 0)
            qsort(rows, count, row_bytes, compare);
        return;
    }
    to = room.data;
    for (size_t at = 0; at < all_bytes; at += run_bytes)
        qsort(from + at, (run_bytes < all_bytes - at ? run_bytes : all_bytes - at) / row_bytes, row_bytes, compare);
    for (; run_bytes < all_bytes; run_bytes *= 2) {
        uint8_t *merged = to;

        for (size_t at = 0; at < all_bytes; at += 2 * run_bytes) {
            size_t left_bytes = all_bytes - at, first_bytes = run_bytes < left_bytes ? run_bytes : left_bytes;
            size_t both_bytes = 2 * run_bytes < left_bytes ? 2 * run_bytes : left_bytes;

            merge(from + at, from + at + first_bytes, from + at + both_bytes, to + at, row_bytes, compare);
        }
        to = from;
        from = merged;
    }
    if (from != rows)
        memcpy(rows, from, all_bytes);
}
