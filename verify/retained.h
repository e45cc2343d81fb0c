/*
 * A frozen tree compared with a folder as it is now. Reads the folder alone and follows nothing in it.
 */
#pragma once

#include "base/bytes.h"
#include "base/cursor.h"
#include "base/err.h"
#include "proto/exhibit.pb-c.h"
#include "verify/finding.h"

#include <stdbool.h>
#include <stdint.h>

/* How contents are compared. All zero: by their digests. */
struct retained_by {
    const uint8_t *salt; /* what the list's digests have before the content (FORMAT 7.11), borrowed; NULL: nothing */
    size_t salt_bytes;
    bool no_contents; /* the salt is not known: all else is compared */
};

/* The entries of a freeze, in its order. All zero is the empty one; release with retained_list_done. */
struct retained_list {
    struct bytes packed; /* FreezeEntry messages, one after the other */
    struct bytes ends;   /* a uint32_t each: where it ends in them */
};

/* Adds an entry; a freeze_take of formats/freeze.h, whose context is the list. ERR_LIMIT, ERR_SYSTEM. */
int retained_list_add(void *list, const Exhibit__FreezeEntry *entry, const struct cursor *packed, struct err *err);

void retained_list_done(struct retained_list *list);

/*
 * Compares paths, types, permission bits, sizes and digests. Each difference is a finding. `root_fd` is borrowed.
 * ERR_SYSTEM: the folder could not be read. ERR_LIMIT: it is nested too deep.
 */
int retained_compare(const struct retained_list *list, int root_fd, const struct retained_by *by,
                     struct findings *findings, struct err *err);
