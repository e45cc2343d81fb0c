/*
 * Which bundles are meant by the paths on a command line. Reads names alone, no file.
 */
#pragma once

#include "base/err.h"

#include <stddef.h>

/* All zero is the empty one. Release with found_done. */
struct found {
    char **paths; /* ascending by their bytes, each once */
    size_t count;
    size_t text_bytes; /* of all of them together */
};

/*
 * Finds them: a path that is no folder is meant itself; of a folder, every file beneath it that is called *.exhibit
 * or *.pack.
 * Links beneath a folder are not followed. What cannot be looked at is put among the paths: opening it will tell why.
 * ERR_USAGE: there is nothing of that name beneath a folder. ERR_LIMIT: the paths take more than FOUND_MAX_BYTES.
 * ERR_SYSTEM: out of memory. Release *out also after a failure.
 */
int find_bundles(char *const *paths, size_t path_count, struct found *out, struct err *err);

/* For about a hundred thousand bundles in a call. */
#define FOUND_MAX_BYTES (16u << 20)

/* Releases it; the struct is then empty. */
void found_done(struct found *found);
