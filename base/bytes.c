#include "base/bytes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void bytes_done(struct bytes *bytes)
{
    free(bytes->data);
    *bytes = (struct bytes){0};
}

int bytes_reserve(struct bytes *bytes, size_t extra_bytes, size_t max_bytes, struct err *err)
{
    size_t wanted, room;
    uint8_t *grown;

    if (__builtin_add_overflow(bytes->size_bytes, extra_bytes, &wanted) || wanted > max_bytes || wanted == SIZE_MAX)
        return err_set(err, ERR_LIMIT, "more than %zu bytes", max_bytes);
    if (wanted < bytes->room_bytes)
        return 0;
    room = bytes->room_bytes < 64 ? 64 : bytes->room_bytes;
    while (room <= wanted)
        if (__builtin_add_overflow(room, room, &room))
            room = wanted + 1;
    grown = realloc(bytes->data, room);
    if (grown == NULL)
        return err_set_errno(err, "memory for %zu bytes", room);
    bytes->data = grown;
    bytes->room_bytes = room;
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
