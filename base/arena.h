/*
 * Memory that is given back all at once: whatever lives in one arena may point at each other freely. It is had as that
 * of byte strings is (bytes.h): beyond a little of the heap it lies in a file. Knows no record.
 */
#pragma once

#include <stddef.h>

struct arena_block;

/* All zero is the empty one. Release with arena_done. */
struct arena {
    struct arena_block *last;
    size_t used_bytes; /* of the last block */
};

/* Takes size_bytes, aligned for any type, with any contents; valid until arena_empty or arena_done. NULL: no memory. */
void *arena_take_unset(struct arena *arena, size_t size_bytes);

/* The same, all zero. */
void *arena_take(struct arena *arena, size_t size_bytes);

/* A copy of a text; valid as long. NULL: no memory. */
char *arena_text(struct arena *arena, const char *text);

/* Releases everything that was taken, but for memory to take again. */
void arena_empty(struct arena *arena);

/* Releases everything. Harmless on the empty one. */
void arena_done(struct arena *arena);

#define AUTO_ARENA __attribute__((cleanup(arena_done)))
