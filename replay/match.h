/*
 * Whether a case's oracle is met in a run (DECISION 6.1, ORACLE 4).
 */
#pragma once

#include "formats/oracle.h"
#include "replay/source.h"
#include "replay/tables.h"

/* A stream of more bytes than this is not matched by its content. */
enum { MATCH_STREAM_BYTES = 16 << 20 };

struct match {
    bool met;
    char why[200]; /* a clause for a person, where it is not met */
    uint64_t seq;  /* the event that it rests on; 0: none */
};

/* Judges one run of a case. Errors as source->read_stream. */
int match_case(const struct source *source, const struct oracle_case *expected, const struct run *run,
               struct match *out, struct err *err);

/* Whether the bytes, as JSON, have at the pointer a value equal to the JSON text `wanted`. ERR_SYSTEM: no memory. */
int match_json(const struct bytes *bytes, const char *pointer, const struct bytes *wanted, bool *out, struct err *err);

/* Whether the bytes have the TAP summary counter exactly once, and it is `number`. */
bool match_tap(const struct bytes *bytes, enum oracle_tap_counter counter, int64_t number);
