/*
 * Which inputs the packs of a store hold: a table of all of them by digest, as the packs' indexes say, and the look-up
 * that believes none of it before it has read the content. Knows bytes and digests; not what an input is for.
 */
#pragma once

#include "formats/store.h"

/* Owned by the caller, free with store_inputs_free. Not for several threads at once. */
struct store_inputs;

/*
 * Reads the inputs' index of every pack, in bounded memory: at most object_max objects (LIMIT_STORE_OBJECTS) are kept
 * in the table. A pack that has more than there is room for is left out of it: with `search_rest` its index is searched
 * in the file at each look-up, which is slow; without, what only it has is not found. A pack that cannot be read, or is
 * not well formed, is noted and has nothing. Borrows the store until store_inputs_free. ERR_SYSTEM: no memory.
 */
int store_inputs_new(const struct store *store, uint32_t object_max, bool search_rest, struct store_inputs **out,
                     struct err *err);

/* NULL is harmless. */
void store_inputs_free(struct store_inputs *inputs);

/* How many packs were left out because the table was full. */
uint32_t store_inputs_left_out(const struct store_inputs *inputs);

/*
 * The packs whose index lists this digest, ascending, at most `most` of them: their numbers in the store. Gives how
 * many there are in out. The content was not looked at.
 */
size_t store_inputs_find(struct store_inputs *inputs, const struct digest *digest, uint32_t *out, size_t most);

/* The first of these packs, and the size that it lists. False: none; out unset. */
bool store_inputs_listed(struct store_inputs *inputs, const struct digest *digest, uint32_t *out_pack,
                         uint64_t *out_size_bytes);

/* Any size, for store_inputs_holds. */
#define STORE_ANY_SIZE UINT64_MAX

/*
 * Whether a pack holds the content of this digest and size: it was read, and digested, in this call or an earlier one.
 * What is listed and damaged, or cannot be read, is noted once for each pack. Takes no longer than reading the blocks
 * in which it lies; in the order in which a pack was written, each block is read about once.
 */
bool store_inputs_holds(struct store_inputs *inputs, const struct digest *digest, uint64_t size_bytes);

/* Whether an object of this size, which is at least LIMIT_BLOCK_BYTES, may be listed. False is sure. */
bool store_inputs_may_hold(const struct store_inputs *inputs, uint64_t size_bytes);

/*
 * From now on every object that a pack lists is taken to be there: who calls it has just checked every byte of it
 * (pack_check).
 */
void store_inputs_trust(struct store_inputs *inputs, uint32_t pack);
