/*
 * The matchers of an oracle that look into a stream's bytes (docs/ORACLE.md section 4). Knows bytes and one matcher; no
 * run and no rule.
 */
#pragma once

#include "base/bytes.h"
#include "formats/oracle.h"

#include <stdbool.h>

#define MATCHING_STREAM_BYTES 16777216u /* a longer stream is matched by nothing but its length */

/* Whether the matcher (of any kind but exit and signal) holds on these bytes. One that cannot be evaluated does not. */
bool matching_holds(const struct oracle_matcher *matcher, const struct bytes *text);

/* What it looks at, for messages: "stdout contains". Static. */
const char *matching_name(const struct oracle_matcher *matcher);
