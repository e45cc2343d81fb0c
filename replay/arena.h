/*
 * Memory that is given back all at once, and tables that grow. Everything that one derivation keeps lives in one
 * arena, so that rows may point at each other freely. Knows no record and no rule.
 */
#pragma once

#include "base/err.h"

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>

struct arena_block;

/* All zero is the empty one. Release with arena_done. */
struct arena {
    struct arena_block *last;
    size_t used_bytes; /* of the last block */
};

/* Takes size_bytes zeroed bytes, aligned for any type; valid until arena_done. NULL: out of memory. */
void *arena_take(struct arena *arena, size_t size_bytes);

/* A copy of a text; valid until arena_done. NULL: out of memory. */
char *arena_text(struct arena *arena, const char *text);

/* An allocator for protobuf-c that takes from the arena (borrowed) and frees nothing. */
ProtobufCAllocator arena_allocator(struct arena *arena);

/* Releases everything that was taken. Harmless on the empty one. */
void arena_done(struct arena *arena);

/*
 * Appends a row of row_bytes to a heap array: *(void **)slot holds *count rows, NULL while there is none. The array
 * may move; free it with free(). ERR_SYSTEM: out of memory; nothing changed.
 */
int table_add(void *slot, size_t *count, const void *row, size_t row_bytes, struct err *err);
