/*
 * A chain of blocks, taken from the end of the newest one. Each begins with what it is released by.
 */
#include "base/arena.h"

#include "base/bytes.h"

#include <stdalign.h>
#include <stdint.h>
#include <string.h>

enum { FIRST_BLOCK_BYTES = 64 << 10, LARGEST_BLOCK_BYTES = 4 << 20, ALIGN_BYTES = alignof(max_align_t) };

struct arena_block {
    struct bytes memory; /* of which it is the beginning */
    struct arena_block *before;
};

/* The next multiple of ALIGN_BYTES. False: there is none. */
static bool align(size_t *size_bytes)
{
    if (__builtin_add_overflow(*size_bytes, ALIGN_BYTES - 1, size_bytes))
        return false;
    *size_bytes -= *size_bytes % ALIGN_BYTES;
    return true;
}

/* Adds a block for at least `wanted` bytes, and twice as large as the one before: few are large. */
static bool block_add(struct arena *arena, size_t wanted)
{
    struct arena_block *before = arena->last;
    size_t header_bytes = sizeof *before, room = FIRST_BLOCK_BYTES;
    struct bytes memory = {0};
    struct err err;

    if (!align(&header_bytes) || __builtin_add_overflow(wanted, header_bytes, &wanted))
        return false;
    if (before != NULL)
        room =
            before->memory.room_bytes >= LARGEST_BLOCK_BYTES / 2 ? LARGEST_BLOCK_BYTES : 2 * before->memory.room_bytes;
    if (wanted > room || EXHIBIT_SANITIZED)
        room = wanted;
    if (bytes_reserve(&memory, room - 1, SIZE_MAX - 1, &err) < 0)
        return false;
    arena->last = (struct arena_block *)(void *)memory.data;
    *arena->last = (struct arena_block){memory, before};
    arena->used_bytes = header_bytes;
    return true;
}

void *arena_take_unset(struct arena *arena, size_t size_bytes)
{
    uint8_t *taken;

    if (!align(&size_bytes))
        return NULL;
    if ((EXHIBIT_SANITIZED || arena->last == NULL || arena->last->memory.room_bytes - arena->used_bytes < size_bytes) &&
        !block_add(arena, size_bytes))
        return NULL;
    if (EXHIBIT_SANITIZED) /* at the end of a block of its own, where it is seen who runs over it */
        arena->used_bytes = arena->last->memory.room_bytes - size_bytes;
    taken = arena->last->memory.data + arena->used_bytes;
    arena->used_bytes += size_bytes;
    return taken;
}

void *arena_take(struct arena *arena, size_t size_bytes)
{
    void *taken = arena_take_unset(arena, size_bytes);

    return taken == NULL ? NULL : memset(taken, 0, size_bytes);
}

char *arena_text(struct arena *arena, const char *text)
{
    size_t size_bytes = strlen(text) + 1;
    char *copy = arena_take_unset(arena, size_bytes);

    return copy == NULL ? NULL : memcpy(copy, text, size_bytes);
}

/* Releases the blocks before this one. */
static void release_before(struct arena_block *block)
{
    while (block->before != NULL) {
        struct arena_block *before = block->before;
        struct bytes memory = before->memory;

        block->before = before->before;
        bytes_done(&memory);
    }
}

void arena_empty(struct arena *arena)
{
    if (arena->last == NULL)
        return;
    if (EXHIBIT_SANITIZED || arena->last->memory.room_bytes > LARGEST_BLOCK_BYTES) {
        arena_done(arena);
        return;
    }
    release_before(arena->last);
    arena->used_bytes = sizeof *arena->last;
    (void)align(&arena->used_bytes);
}

void arena_done(struct arena *arena)
{
    if (arena->last != NULL) {
        struct bytes memory = arena->last->memory;

        release_before(arena->last);
        bytes_done(&memory);
    }
    *arena = (struct arena){0};
}
