/*
 * Whether bytes have some of another content in them: the 32-byte blocks of that content which stand at multiples of 32
 * are looked for at every place. So a content of 32 bytes or more is found where it stands whole, and any 63 bytes in a
 * row of it; shorter pieces are not. Blocks with less than 8 different bytes say nothing, and are passed over.
 * Knows bytes only.
 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEAKS_BLOCK_BYTES 32u
#define LEAKS_LEAST_BYTES 8u /* different ones in a block that is looked for */

/* A table of blocks; owned by the caller, free with leaks_free. */
struct leaks;

/* A table for up to max_blocks (at most 2^20: that takes 34 MiB). NULL: out of memory. */
struct leaks *leaks_new(uint32_t max_blocks);

/* Empties it. */
void leaks_clear(struct leaks *leaks);

/*
 * Adds the blocks of the next bytes of content number `content`, which stand at a multiple of 32 in it; what is left at
 * their end and is no whole block is passed over. Gives how many bytes were taken, a multiple of 32: less than there
 * are whole blocks where the table is full.
 */
size_t leaks_add(struct leaks *leaks, const void *from, size_t size_bytes, uint32_t content);

/* Releases it; NULL is harmless. */
void leaks_free(struct leaks *leaks);

/* Bytes that come piece by piece; all zero at their beginning. */
struct leak_flow {
    uint8_t tail[LEAKS_BLOCK_BYTES]; /* the last bytes, in order, where there were so many */
    uint64_t hash;
    uint32_t have; /* bytes in the tail */
};

/* Looks at the next piece. True: a block is in it, or over the border to those before; *out_content says of which. */
bool leak_flow_look(struct leak_flow *flow, const struct leaks *leaks, const void *from, size_t size_bytes,
                    uint32_t *out_content);
