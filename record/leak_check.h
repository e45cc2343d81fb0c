/*
 * Whether what an export without local contents gives away has local content in it all the same: in a stream, the event
 * log, an artifact, a member of an archive, or any other observation. docs/PLAN.md 5.2.
 */
#pragma once

#include "base/err.h"
#include "formats/pack.h"

/*
 * `observations` is a pack with its receipt, `local` the one with the contents that are to stay (both borrowed). Reads
 * all observations once for each table_blocks of 32 bytes (LEAK_CHECK_BLOCKS: 32 MiB of local contents, 36 MiB of
 * memory); memory does not grow with either. ERR_USAGE: content of an
 * input is there: says of which file, where and in which run, and that --with-local takes it along. Else errors of
 * reading.
 */
int leak_check(struct pack *observations, struct pack *local, uint32_t table_blocks, struct err *err);

#define LEAK_CHECK_BLOCKS (1u << 20)
