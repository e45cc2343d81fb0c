/*
 * A chain of blocks, taken from the end of the last one.
 */
#include "replay/arena.h"

#include <assert.h>
#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 64 * 1024 };

struct arena_block {
    struct arena_block *before;
    size_t room_bytes;
    alignas(max_align_t) uint8_t bytes[];
};

void *arena_take(struct arena *arena, size_t size_bytes)
{
    size_t wanted;
    void *taken;

    if (__builtin_add_overflow(size_bytes, alignof(max_align_t) - 1, &wanted))
        return NULL;
    wanted &= ~(alignof(max_align_t) - 1);
    if (arena->last == NULL || arena->last->room_bytes - arena->used_bytes < wanted) {
        size_t room = wanted > BLOCK_BYTES ? wanted : BLOCK_BYTES, whole;
        struct arena_block *block;

        if (__builtin_add_overflow(sizeof *block, room, &whole) || (block = calloc(1, whole)) == NULL)
            return NULL;
        block->before = arena->last;
        block->room_bytes = room;
        arena->last = block;
        arena->used_bytes = 0;
    }
    taken = arena->last->bytes + arena->used_bytes;
    arena->used_bytes += wanted;
    return taken;
}

char *arena_text(struct arena *arena, const char *text)
{
    size_t size_bytes = strlen(text) + 1;
    char *copy = arena_take(arena, size_bytes);

    return copy == NULL ? NULL : memcpy(copy, text, size_bytes);
}

static void *allocator_take(void *context, size_t size_bytes)
{
    return arena_take(context, size_bytes);
}

static void allocator_free(void *context, void *taken)
{
    (void)context;
    (void)taken;
}

ProtobufCAllocator arena_allocator(struct arena *arena)
{
    return (ProtobufCAllocator){.alloc = allocator_take, .free = allocator_free, .allocator_data = arena};
}

void arena_done(struct arena *arena)
{
    while (arena->last != NULL) {
        struct arena_block *block = arena->last;

        arena->last = block->before;
        free(block);
    }
    *arena = (struct arena){0};
}

int table_add(void *slot, size_t *count, const void *row, size_t row_bytes, struct err *err)
{
    enum { FIRST_ROWS = 16 };
    char *rows;

    assert(row_bytes > 0);
    memcpy(&rows, slot, sizeof rows);
    if (*count == 0 || (*count >= FIRST_ROWS && (*count & (*count - 1)) == 0)) {
        size_t room = *count == 0 ? FIRST_ROWS : 2 * *count;

        rows = reallocarray(rows, room, row_bytes);
        if (rows == NULL)
            return err_set_errno(err, "memory for a table of %zu rows", room);
        memcpy(slot, &rows, sizeof rows);
    }
    memcpy(rows + *count * row_bytes, row, row_bytes);
    (*count)++;
    return 0;
}
