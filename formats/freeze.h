/*
 * FreezeLists (FORMAT 7.5), entry by entry: what a tree of any size takes is the memory of one of its entries. Knows
 * the message; judges no path and no digest.
 */
#pragma once

#include "base/cursor.h"
#include "formats/pack.h"
#include "proto/exhibit.pb-c.h"

#include <stdbool.h>

/* Called with each entry in the list's order, and with its packed bytes; both are valid during the call. */
typedef int freeze_take(void *context, const Exhibit__FreezeEntry *entry, const struct cursor *packed, struct err *err);

/*
 * Reads the list of a digest from the observations. What was called with entries knows only after a success that these
 * were the list. With `known` these very bytes were found plain before, and are not looked at again. ERR_FORMAT: not a
 * FreezeList, or not in its shortest form. ERR_MISMATCH: it is not there, or has another content. ERR_LIMIT: over
 * LIMIT_FREEZE_BYTES. ERR_SYSTEM. What `take` returns below 0 ends it.
 */
int freeze_read(struct pack *pack, const struct digest *list, bool known, freeze_take *take, void *context,
                struct err *err);

/* The same of a list in memory, which is none of a pack. */
int freeze_walk(const void *list, size_t size_bytes, freeze_take *take, void *context, struct err *err);
