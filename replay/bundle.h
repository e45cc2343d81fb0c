/*
 * One bundle replayed: what its receipt says under an oracle, beside what was claimed when it was recorded.
 */
#pragma once

#include "formats/oracle.h"
#include "replay/derive.h"

/* Owned by the caller, free with bundle_free. */
struct bundle {
    struct pack *pack;
    struct source source;
    struct facts facts;
    const struct oracle *oracle;    /* that judged: the next one, or the caller's */
    struct oracle recorded_oracle;  /* all zero where another one judged */
    const Exhibit__Claim *claim;    /* derived; borrowed from the facts and the oracle that judged */
    const Exhibit__Claim *recorded; /* borrowed from the facts; NULL: the pack has none */
};

/*
 * Replays the bundle that fd reads, under an oracle (both borrowed until bundle_free); NULL: the recorded one. Neither
 * the inputs nor their index are read. ERR_FORMAT, ERR_MISMATCH, ERR_LIMIT: the bundle is malformed or false.
 * ERR_SYSTEM: could not. *out is NULL after a failure.
 */
int bundle_replay(int fd, const struct oracle *oracle, struct bundle **out, struct err *err);

/* Releases it; NULL is harmless. */
void bundle_free(struct bundle *bundle);
