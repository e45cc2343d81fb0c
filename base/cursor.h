/*
 * A checked reader over borrowed bytes: nothing is read outside them. Little-endian, explicit widths.
 * Each function returns false and moves nothing where too few bytes are left.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cursor {
    const uint8_t *at; /* borrowed */
    size_t left_bytes;
};

/* Takes size_bytes bytes as a cursor of their own. */
static inline bool cursor_take_bytes(struct cursor *from, size_t size_bytes, struct cursor *out)
{
    if (from->left_bytes < size_bytes)
        return false;
    *out = (struct cursor){from->at, size_bytes};
    from->at += size_bytes;
    from->left_bytes -= size_bytes;
    return true;
}

/* Copies size_bytes bytes to out. */
static inline bool cursor_copy(struct cursor *from, void *out, size_t size_bytes)
{
    struct cursor part;

    if (!cursor_take_bytes(from, size_bytes, &part))
        return false;
    if (size_bytes > 0)
        memcpy(out, part.at, size_bytes);
    return true;
}

/* Takes a 32-bit number, least significant byte first. */
static inline bool cursor_take_u32le(struct cursor *from, uint32_t *out)
{
    struct cursor part;

    if (!cursor_take_bytes(from, 4, &part))
        return false;
    *out = (uint32_t)part.at[0] | (uint32_t)part.at[1] << 8 | (uint32_t)part.at[2] << 16 | (uint32_t)part.at[3] << 24;
    return true;
}

/* Takes a 64-bit number, least significant byte first. */
static inline bool cursor_take_u64le(struct cursor *from, uint64_t *out)
{
    uint32_t low, high;
    struct cursor rest = *from;

    if (!cursor_take_u32le(&rest, &low) || !cursor_take_u32le(&rest, &high))
        return false;
    *from = rest;
    *out = (uint64_t)low | (uint64_t)high << 32;
    return true;
}

/* Takes a protobuf base-128 number of at most ten bytes in its shortest form; a longer form is refused. */
static inline bool cursor_take_varint(struct cursor *from, uint64_t *out)
{
    uint64_t value = 0;

    for (size_t i = 0; i < 10 && i < from->left_bytes; i++) {
        uint8_t byte = from->at[i];

        if (i == 9 && byte > 1)
            return false;
        value |= (uint64_t)(byte & 127) << (7 * i);
        if (byte < 128) {
            if (byte == 0 && i > 0)
                return false;
            *out = value;
            from->at += i + 1;
            from->left_bytes -= i + 1;
            return true;
        }
    }
    return false;
}
