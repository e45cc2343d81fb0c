/*
 * What a table needs of one recording: who was measured, and what it came to in strict mode. Owns its texts.
 */
#pragma once

#include "formats/digest.h"
#include "replay/derive.h"

/* How one role of a trial ended. */
struct recorded_end {
    char *trial;
    uint8_t role;
    const char *ended_by; /* a word of DECISION 4.3; static */
    uint64_t survived_ms;
};

/* How a whole trial took its ending. */
struct recorded_ending {
    char *trial;
    bool ended, quiet;
};

struct recorded_case {
    char *name;
    bool met;
};

/* All zero is the empty one. Release with recording_done. */
struct recording {
    char *experiment, *candidate, *version;
    char policy[2 * DIGEST_BYTES + 1]; /* its digest; empty: the candidate has none */
    bool as_root;
    uint8_t outcomes[ROLE_ROOM][EFFECT_COUNT]; /* bit i: an attempt had outcome i, in any trial and round */
    uint8_t not_measured;                      /* bit i: effect i */
    struct recorded_end *ends;                 /* of the trials that have an ending or more than one role */
    size_t end_count;
    struct recorded_ending *endings;
    size_t ending_count;
    struct recorded_case *cases;
    size_t case_count;
};

/* Takes it from derived facts and their claim (both borrowed). ERR_SYSTEM: out of memory; *out is empty then. */
int recording_take(const struct facts *facts, const Exhibit__Claim *claim, struct recording *out, struct err *err);

/* Releases it. Harmless on the empty one. */
void recording_done(struct recording *recording);
