/*
 * Where two claims say different things. Knows the fields of a claim and no rule.
 */
#pragma once

#include "base/err.h"
#include "proto/exhibit.pb-c.h"

#include <stddef.h>

/*
 * Compares everything but the free texts, and calls `tell` (may be NULL) with a line for each statement that differs
 * (text borrowed during the call; printable). *out_count is how many there are. ERR_SYSTEM: out of memory.
 */
int claims_differ(const Exhibit__Claim *recorded, const Exhibit__Claim *derived,
                  void (*tell)(void *context, const char *text), void *context, size_t *out_count, struct err *err);
