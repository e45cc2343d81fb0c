/*
 * The table of all inputs that the packs of a store list: eight bytes for each, sorted by the beginning of the digest.
 * It is a guess where to look: what it says is compared with the index in the file, and that with the content.
 */
#pragma once

#include "formats/pack_layout.h"
#include "formats/store.h"

/* What is known of a pack. */
struct store_source {
    uint64_t index_at; /* position of its inputs' index */
    uint32_t object_count;
    uint32_t block_count;
    uint32_t base;        /* number in the table of its first object */
    bool is_readable;     /* what is above is set: the index was read and has the digest that the footer tells */
    bool is_in_table;     /* else its index is searched in the file */
    bool is_trusted;      /* every byte of it was checked */
    bool is_distrusted;   /* nothing of it is believed any more */
    uint32_t fault_count; /* objects of it that were looked for, and could not be read as they should be */
};

/* Descriptors of packs that were read last. */
#define STORE_TABLE_FDS 4u

struct store_table {
    const struct store *store;    /* borrowed */
    struct store_source *sources; /* one for each pack of the store */
    uint64_t *entries;            /* beginning of the digest << 32 | number in the table; ascending */
    struct bytes entries_room;
    uint32_t entry_count;
    uint8_t sizes[8192]; /* a bit for sizes of large objects */
    struct {
        uint32_t pack;
        int fd; /* -1: free */
    } fds[STORE_TABLE_FDS];
    unsigned next_fd;
};

/* Fills it; release with store_table_done, also after a failure. ERR_SYSTEM: no memory. */
int store_table_fill(struct store_table *table, const struct store *store, uint32_t object_max, struct err *err);
void store_table_done(struct store_table *table);

/* A descriptor of a pack, borrowed until the next call. Errors as store_pack_fd. */
int store_table_fd(struct store_table *table, uint32_t pack, int *out_fd, struct err *err);

/* Where an object is listed. */
struct store_listed {
    uint32_t pack;
    uint32_t number; /* in the table; UINT32_MAX: its pack is not in it */
    struct layout_object object;
};

/*
 * Calls `visit` with each place where the digest is listed, those in the table first, until it returns true. Packs that
 * are not in the table are searched where `search_rest`. What cannot be read is passed over. Gives whether visit did.
 */
bool store_table_visit(struct store_table *table, const struct digest *digest, bool search_rest,
                       bool (*visit)(void *context, const struct store_listed *listed), void *context);

/* Reads the record of a block of a pack, and checks that it is possible by itself. ERR_FORMAT, ERR_SYSTEM. */
int store_table_block(struct store_table *table, uint32_t pack, uint32_t number, struct layout_block *out,
                      struct err *err);

/* Whether a large object of this size may be in the table. */
bool store_table_size_may_be(const struct store_table *table, uint64_t size_bytes);
