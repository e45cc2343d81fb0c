#include "base/bytes.h"

#include "base/spill.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define COUNTED_BYTES (64u << 10)  /* smaller strings are the heap's, and not counted */
#define HEAP_MOST_BYTES (8u << 20) /* of all that are counted */

static atomic_size_t heap_bytes; /* of the strings that are counted */

/* What a string has of heap_bytes. */
static size_t counted_bytes(const struct bytes *bytes)
{
    return bytes->is_spilled || bytes->room_bytes < COUNTED_BYTES ? 0 : bytes->room_bytes;
}

/* Gives memory back that was had for a string. */
static void room_free(const struct bytes *bytes)
{
    atomic_fetch_sub(&heap_bytes, counted_bytes(bytes));
    if (bytes->is_spilled)
        spill_free(bytes->data, bytes->room_bytes);
    else
        free(bytes->data);
}

void bytes_done(struct bytes *bytes)
{
    room_free(bytes);
    *bytes = (struct bytes){0};
}

/* Moves a string to a larger room in the file. False: none is to be had. */
static bool move_to_file(struct bytes *bytes, size_t room)
{
    struct bytes moved = {
        .data = spill_new(room), .size_bytes = bytes->size_bytes, .room_bytes = room, .is_spilled = true};

    if (moved.data == NULL)
        return false;
    if (bytes->size_bytes > 0)
        memcpy(moved.data, bytes->data, bytes->size_bytes);
    room_free(bytes);
    *bytes = moved;
    return true;
}

/* Makes a string's room in the heap larger, or takes one there for it. False: out of memory. */
static bool grow_in_heap(struct bytes *bytes, size_t room)
{
    struct bytes grown = {.data = realloc(bytes->is_spilled ? NULL : bytes->data, room),
                          .size_bytes = bytes->size_bytes,
                          .room_bytes = room,
                          .never_spilled = bytes->never_spilled};

    if (grown.data == NULL)
        return false;
    atomic_fetch_add(&heap_bytes, counted_bytes(&grown) - counted_bytes(bytes));
    if (bytes->is_spilled) {
        memcpy(grown.data, bytes->data, bytes->size_bytes);
        spill_free(bytes->data, bytes->room_bytes);
    }
    *bytes = grown;
    return true;
}

int bytes_reserve(struct bytes *bytes, size_t extra_bytes, size_t max_bytes, struct err *err)
{
    size_t wanted, room;
    bool in_file;

    if (__builtin_add_overflow(bytes->size_bytes, extra_bytes, &wanted) || wanted > max_bytes || wanted == SIZE_MAX)
        return err_set(err, ERR_LIMIT, "more than %zu bytes", max_bytes);
    if (wanted < bytes->room_bytes)
        return 0;
    room = bytes->room_bytes < 64 ? 64 : bytes->room_bytes;
    while (room <= wanted)
        if (__builtin_add_overflow(room, room, &room))
            room = wanted + 1;
    in_file = bytes->is_spilled || (!bytes->never_spilled && room >= COUNTED_BYTES &&
                                    atomic_load(&heap_bytes) - counted_bytes(bytes) + room > HEAP_MOST_BYTES);
    if (!(in_file && move_to_file(bytes, room)) && !grow_in_heap(bytes, room))
        return err_set_errno(err, "memory for %zu bytes", room);
    bytes->data[bytes->size_bytes] = 0;
    return 0;
}

int bytes_add(struct bytes *bytes, const void *from, size_t size_bytes, size_t max_bytes, struct err *err)
{
    int code = bytes_reserve(bytes, size_bytes, max_bytes, err);

    if (code < 0)
        return code;
    assert(bytes->room_bytes > bytes->size_bytes + size_bytes);
    if (size_bytes > 0)
        memcpy(bytes->data + bytes->size_bytes, from, size_bytes);
    bytes->size_bytes += size_bytes;
    bytes->data[bytes->size_bytes] = 0;
    return 0;
}

char *bytes_to_text(struct bytes *bytes)
{
    char *text = (char *)bytes->data;

    if (text == NULL)
        return calloc(1, 1);
    if (!bytes->is_spilled) {
        atomic_fetch_sub(&heap_bytes, counted_bytes(bytes));
        *bytes = (struct bytes){0};
        return text;
    }
    text = malloc(bytes->size_bytes + 1);
    if (text == NULL)
        return NULL;
    memcpy(text, bytes->data, bytes->size_bytes + 1);
    bytes_done(bytes);
    return text;
}

void hex_encode(const uint8_t *from, size_t size_bytes, char *out)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < size_bytes; i++) {
        out[2 * i] = digits[from[i] >> 4];
        out[2 * i + 1] = digits[from[i] & 15];
    }
    out[2 * size_bytes] = 0;
}

/* The value of a lower-case digit, or -1. */
static int digit_value(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    if (digit >= 'a' && digit <= 'f')
        return digit - 'a' + 10;
    return -1;
}

bool hex_decode(const char *text, uint8_t *out, size_t size_bytes)
{
    if (strlen(text) != 2 * size_bytes)
        return false;
    for (size_t i = 0; i < 2 * size_bytes; i++)
        if (digit_value(text[i]) < 0)
            return false;
    for (size_t i = 0; i < size_bytes; i++)
        out[i] = (uint8_t)(digit_value(text[2 * i]) << 4 | digit_value(text[2 * i + 1]));
    return true;
}
