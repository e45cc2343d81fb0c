/*
 * The forms of the probe's lines and messages (DECISION 2.2, 2.3, 3.1), byte by byte. Nothing but exactly these forms
 * is taken.
 */
#pragma once

#include "replay/derive.h"

/* Borrowed bytes. */
struct text {
    const char *at;
    size_t size_bytes;
};

/* Who made an attempt: NONCE ROLE ROUND. */
struct mark {
    const char *nonce; /* NONCE_DIGITS bytes, borrowed */
    int role;
    uint32_t round; /* 1 ... LIMIT_ROUNDS */
};

/* Takes `literal` from the front. False: it is not there; unchanged. */
bool text_take(struct text *text, const char *literal);

/* Takes NONCE ROLE ROUND from the front, up to a space or the end. False: not there; what was taken is undefined. */
bool text_take_mark(struct text *text, struct mark *out);

/* Whether the mark is of a role and a planned round of this run. */
bool mark_is_of_run(const struct mark *mark, const struct run *run);

/* Reads a line (without its newline) as a row or a try of this run; where it was seen is not filled in. */
bool line_read(const struct run *run, struct text text, struct line *out);
