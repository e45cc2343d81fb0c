/*
 * A frozen tree compared with a folder as it is now. Reads the folder alone and follows nothing in it.
 */
#pragma once

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

/*
 * Compares paths, types, permission bits, sizes and digests. Each difference is a finding. `root_fd` is borrowed.
 * ERR_SYSTEM: the folder could not be read. ERR_LIMIT: it is nested too deep.
 */
int retained_compare(const Exhibit__FreezeList *list, int root_fd, const struct retained_by *by,
                     struct findings *findings, struct err *err);
