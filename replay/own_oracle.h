/*
 * The oracle that the caller brings. Complains on stderr by itself.
 */
#pragma once

#include "base/bytes.h"
#include "formats/oracle.h"

/* Reads its bytes, before the process is confined. `file` may be NULL: none. Returns 0 or an exit code. */
int own_oracle_read(const char *file, struct bytes *out);

/*
 * Parses them, once it is: *out is `room`, to be released with oracle_done, or NULL where there is no file. Returns 0
 * or an exit code; nothing is to be released then.
 */
int own_oracle_parse(const char *file, const struct bytes *text, struct oracle *room, const struct oracle **out);
