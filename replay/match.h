/*
 * Whether a case's oracle is met in a run (DECISION 6.1, ORACLE 4), and what is told where it is not (DECISION 6.5).
 */
#pragma once

#include "formats/oracle.h"
#include "replay/derive.h"

/* Where in the evidence something was seen; what is not set is zero. */
struct match_place {
    uint64_t seq;               /* of an event */
    Exhibit__StreamName stream; /* or bytes of a stream of the run, which has an end */
    uint64_t offset_bytes;
    uint64_t size_bytes;
};

/* One thing because of which a run does not meet its case. */
struct mismatch {
    const struct oracle_matcher *matcher; /* borrowed; NULL: the run itself, and not what it showed */
    const char *text;                     /* what follows "CASE MODE REPEAT: "; printable ASCII */
    struct match_place place;
    const struct mismatch *next; /* in the oracle's order; NULL: the last one */
};

struct match {
    bool met;
    const struct mismatch *first; /* lives as long as the tables; NULL where it is met */
};

/* Judges one run of a case: every matcher, whatever came of those before. Errors as source->read_stream. */
int match_case(struct facts *facts, const struct oracle_case *expected, const struct run *run, struct match *out,
               struct err *err);

/* What of a case a matcher is about, as "stdout json". */
void match_name(const struct oracle_matcher *matcher, char *out, size_t room_bytes);

/* What a matcher wants to see, in short, as `type array`. What is not printable ASCII in it is to be made so. */
void match_wants(const struct oracle_matcher *matcher, char *out, size_t room_bytes);
