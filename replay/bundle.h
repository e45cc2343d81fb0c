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
    struct oracle oracle;
    const Exhibit__Claim *claim; /* derived; borrowed from facts and oracle */
    Exhibit__Claim *recorded;    /* NULL: the pack has none */
};

/*
 * Replays the bundle that fd reads (borrowed until bundle_free). `oracle_text` is another oracle's bytes, and
 * `oracle_file` its name for messages; NULL: the recorded one. ERR_USAGE: that oracle is wrong. ERR_FORMAT,
 * ERR_MISMATCH, ERR_LIMIT: the bundle is malformed or false. ERR_SYSTEM: could not. *out is NULL after a failure.
 */
int bundle_replay(int fd, const struct bytes *oracle_text, const char *oracle_file, struct bundle **out,
                  struct err *err);

/* Releases it; NULL is harmless. */
void bundle_free(struct bundle *bundle);
