/*
 * One line of the probe: its exact forms (DECISION 2.2, 2.3 and the forms of 3.1). Knows bytes and a run's assignment;
 * no file, no time and no outcome.
 */
#pragma once

#include "base/cursor.h"
#include "verify/ledger.h"

#include <stdbool.h>
#include <stdint.h>

enum spoken_told_kind {
    SPOKEN_OK = 1,
    SPOKEN_PROOF,
    SPOKEN_ERRNO,
    SPOKEN_TIMEOUT,
    SPOKEN_SIGNAL,
};

/* What a row tells of one effect. */
struct spoken_told {
    enum spoken_told_kind kind;
    uint32_t number;             /* the errno or signal; else 0 */
    uint8_t proof[DIGEST_BYTES]; /* of SPOKEN_PROOF */
    bool proof_right;            /* set by who knows the canaries */
};

enum spoken_line_kind {
    SPOKEN_ROW = 1,
    SPOKEN_TRY,
};

struct spoken_line {
    enum spoken_line_kind kind;
    Exhibit__Role role;
    uint32_t round;
    size_t effect;                          /* of a try: index into the run's effects */
    struct spoken_told told[LIMIT_EFFECTS]; /* of a row: one for each of the run's effects, in order */
};

/* Reads a line without its newline as the run of a trial plans it. False: not a row nor a try; out is unspecified. */
bool spoken_line_parse(const struct ledger_run *run, struct cursor line, struct spoken_line *out);

/* A text `EXHIBIT1 VERB NONCE ROLE ROUND`: of a listener's message or the write target, before its run is known. */
struct spoken_mark {
    char nonce[LEDGER_NONCE_DIGITS + 1];
    Exhibit__Role role;
    uint32_t round;
};

/* Reads such a text (no newline). False: not of this form, or its round is over LIMIT_ROUNDS; out is unspecified. */
bool spoken_mark_parse(const char *verb, struct cursor text, struct spoken_mark *out);

/* The index of an effect in effect_names, or -1. */
int spoken_effect_index(const char *effect);

#define SPOKEN_READ 0
#define SPOKEN_READ_LINK 1
#define SPOKEN_WRITE 2
#define SPOKEN_TCP 3
#define SPOKEN_UDP 4
#define SPOKEN_EFFECTS 5

/* Whether an index of effect_names is a network effect's (DECISION 8). */
static inline bool spoken_is_network(int effect)
{
    return effect == SPOKEN_TCP || effect == SPOKEN_UDP;
}
