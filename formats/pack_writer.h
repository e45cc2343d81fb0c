/*
 * A pack that is being written, from inside, for the files that write it.
 */
#pragma once

#include "formats/pack.h"
#include "formats/pack_grow.h"
#include "formats/pack_table.h"

/* Bits that tell which sizes objects of more than a block have: one that is not there has no equal. */
#define PACK_SIZE_BITS 65536u

struct pack_writer {
    int dir_fd; /* borrowed */
    int fd;
    char *name;      /* NULL while it is not known */
    char *temp_name; /* NULL while there is no file of that name */
    enum pack_naming naming;
    struct pack_elsewhere elsewhere; /* of inputs; `holds` NULL: there is none */
    bool spent;                      /* a put failed: the file is not whole any more */
    uint8_t *piece;                  /* LIMIT_BLOCK_BYTES read from a descriptor; NULL before the first */
    struct pack_grow grow;
    struct pack_table tables[PACK_PART_COUNT];
    uint8_t sizes[PACK_PART_COUNT][PACK_SIZE_BITS / 8];
};

/* As pack_put, of content whose digest is known already. */
int pack_put_digested(struct pack_writer *writer, enum pack_part part, const void *from, size_t size_bytes,
                      const struct digest *digest, struct err *err);

/*
 * Enters an object whose bytes are, or will be, in the part's content at object->block and offset_bytes, in the part's
 * table, where it must not be yet. The journal of the block in which it ends is the caller's. ERR_LIMIT, ERR_SYSTEM.
 */
int pack_enter(struct pack_writer *writer, enum pack_part part, const struct layout_object *object, struct err *err);
