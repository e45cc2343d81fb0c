/*
 * Byte strings that must not be anywhere: looked for as they are and in the encodings that programs print them in.
 * Knows bytes only.
 */
#pragma once

#include "base/bytes.h"
#include "base/err.h"

/* What a value looks like. */
enum needle_form {
    NEEDLE_PLAIN = 1,
    NEEDLE_HEX,
    NEEDLE_BASE64,
    NEEDLE_ESCAPED, /* as text_print_escaped writes it */
};

/* Owned by the caller, free with needles_free. */
struct needles;

/* None yet. NULL: out of memory. */
struct needles *needles_new(void);

/*
 * Adds a value (at least 3 bytes; copied) in all its forms: as it is; hexadecimal in lower and in upper case; base64
 * and base64url for each place of three in which it can begin, of each the characters that do not depend on what is
 * beside it; and escaped, where that differs. `owner` is told when it is found. ERR_SYSTEM: out of memory.
 */
int needles_add(struct needles *needles, const void *value, size_t size_bytes, unsigned owner, struct err *err);

/* What was found. */
struct needle_find {
    unsigned owner;
    enum needle_form form;
    size_t at_bytes; /* where it begins */
    size_t size_bytes;
};

/* Finds one of them. False: none is there; out unset. */
bool needles_find(const struct needles *needles, const void *from, size_t size_bytes, struct needle_find *out);

/* Wipes and releases them; NULL is harmless. */
void needles_free(struct needles *needles);

/* ---- in bytes that come piece by piece ---- */

/* What was seen last of a stream: all zero at its beginning; release with needle_flow_done. */
struct needle_flow {
    struct bytes tail;
};

/*
 * Looks at the next piece, and over the border to those before. True in *out_found: `out` says which (its place is not
 * told). ERR_SYSTEM: out of memory.
 */
int needle_flow_look(struct needle_flow *flow, const struct needles *needles, const void *from, size_t size_bytes,
                     bool *out_found, struct needle_find *out, struct err *err);

/* Wipes and releases it. Harmless on an all-zero one. */
void needle_flow_done(struct needle_flow *flow);

/* The word for a form, for messages. Static. */
const char *needle_form_text(enum needle_form form);
