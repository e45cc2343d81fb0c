/*
 * Owned, growing byte strings, and hexadecimal. All of them together take little of the heap: beyond that, large ones
 * are kept in a file (spill.h). Knows no format.
 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero is the empty one. `data` is owned; a NUL that is not counted always follows the `size_bytes` bytes. */
struct bytes {
    uint8_t *data; /* NULL while nothing was ever put in */
    size_t size_bytes;
    size_t room_bytes;
    bool is_spilled;    /* the data is spill_new's */
    bool never_spilled; /* set by the owner, before the first byte: nothing of it may reach a disk */
};

/* Releases what is owned; the struct is then the empty one. Harmless on the empty one. */
void bytes_done(struct bytes *bytes);

#define AUTO_BYTES __attribute__((cleanup(bytes_done)))

/*
 * Appends size_bytes bytes from `from`. ERR_LIMIT when the whole would be larger than max_bytes, ERR_SYSTEM when
 * memory ran out; unchanged then.
 */
int bytes_add(struct bytes *bytes, const void *from, size_t size_bytes, size_t max_bytes, struct err *err);

/* Makes room for `extra_bytes` more beyond size_bytes, under the same terms as bytes_add. Contents are unchanged. */
int bytes_reserve(struct bytes *bytes, size_t extra_bytes, size_t max_bytes, struct err *err);

/* Gives the data up as a text (or "") of its own that ends in the NUL; the bytes are empty then. Owned by the caller:
 * free. NULL: out of memory; unchanged then. */
char *bytes_to_text(struct bytes *bytes);

/* Writes 2 * size_bytes lower-case digits and a NUL to out. */
void hex_encode(const uint8_t *from, size_t size_bytes, char *out);

/* Reads exactly 2 * size_bytes lower-case digits from text (which must end there). False: not such a text; out unset.
 */
bool hex_decode(const char *text, uint8_t *out, size_t size_bytes);
