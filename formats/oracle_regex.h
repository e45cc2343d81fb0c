/*
 * The regular expressions of docs/ORACLE.md 4.8 as data: each place for a byte, which bytes it takes, and which places
 * may come next. Knows the language; looks at no stream.
 */
#pragma once

#include "formats/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REGEX_SET_WORDS (LIMIT_REGEX_PLACES / 64)

/* A set of places: place p is bit p % 64 of word p / 64. */
struct regex_set {
    uint64_t words[REGEX_SET_WORDS];
};

/* One place for a byte. */
struct regex_place {
    uint8_t takes[32];      /* the bytes that may stand here: byte b is bit b % 8 of takes[b / 8] */
    struct regex_set after; /* the places that may come next */
};

/*
 * A parsed expression. A run of bytes is described where each of its bytes can be given a place that takes it, the
 * first one in `first`, each other one in `after` of the one before, the last one in `last`; or where it is empty and
 * `empty` is set.
 */
struct oracle_regex {
    bool from_start; /* the run begins where the stream does */
    bool to_end;     /* it ends where the stream does */
    bool empty;      /* no byte at all is described too; set only where both of the above are */
    size_t place_count;
    struct regex_place *places;
    struct regex_set first;
    struct regex_set last;
};

/* Whether a place is in a set. */
static inline bool regex_set_has(const struct regex_set *set, size_t place)
{
    return ((set->words[place / 64] >> (place % 64)) & 1) != 0;
}

/* Whether a place takes a byte. */
static inline bool regex_place_takes(const struct regex_place *place, uint8_t byte)
{
    return ((place->takes[byte / 8] >> (byte % 8)) & 1) != 0;
}

/*
 * Parses an expression, NUL-terminated. NULL: it went well, and `out` is to be released with oracle_regex_done. Else
 * what is wrong with it and what to do, as a static text, with `out` all zero; *out_at (0 ...) is the character at
 * which it shows. An errno of ENOMEM with the text "" means that memory ran out.
 */
const char *oracle_regex_parse(const char *text, struct oracle_regex *out, size_t *out_at);

/* Releases what is owned; the struct is then all zero. */
void oracle_regex_done(struct oracle_regex *regex);
