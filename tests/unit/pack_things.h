/*
 * What the tests of copying share: packs of objects that a number stands for, and what is wanted of them.
 */
#pragma once

#include "formats/pack_copy.h"
#include "formats/pack_reader.h"

#define MIB ((size_t)1 << 20)

/* An object of a pack. */
struct thing {
    size_t size_bytes;
    uint32_t number;
    bool wanted;
    bool there; /* in the pack that is written, before */
    struct digest digest;
};

struct thing_list {
    const struct thing *things;
    size_t count;
};

/* Begins the pack `name` in the test's folder, with a receipt. */
struct pack_writer *things_begin(const char *name, struct digest *out_receipt);

/* Puts all things, or those that are `there`, and notes their digests. */
void things_put(struct pack_writer *writer, enum pack_part part, struct thing *things, size_t count, bool all);

/* Makes the pack `name` of all things. */
void things_make(const char *name, enum pack_part part, struct thing *things, size_t count);

/* Opens a pack; *out_fd is to be closed after it. */
struct pack *things_open(const char *name, int *out_fd);

/* A pack_wish's `wants` with a struct thing_list. */
bool things_want(void *context, const struct digest *digest);

/* Whether a byte of the thing is in the block. */
bool thing_is_in(const struct pack *pack, enum pack_part part, const struct thing *thing, uint32_t block);

/* Wants `to` to have what was there and what was wanted, and nothing else; every byte checked. */
void things_expect(struct pack *to, enum pack_part part, const struct thing *things, size_t count);
