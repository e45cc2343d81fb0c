/*
 * What is in a store, for people and programs: a line for each receipt. Reads observations and indexes; checks nothing.
 */
#pragma once

#include "formats/store.h"

#include <stdio.h>

/*
 * Writes a table, or a JSON text in each line, in the order in which the recordings were made. Packs that cannot be
 * read are told in it; *out_unread is how many. ERR_SYSTEM.
 */
int store_list(const struct store *store, bool json, FILE *out, uint32_t *out_unread, struct err *err);
