/*
 * The verdict on one bundle: integrity, bindings, proof, in this order. Reads what it is given; prints nothing.
 */
#pragma once

#include "base/err.h"
#include "formats/oracle.h"
#include "formats/pack.h"
#include "formats/plan.h"
#include "verify/finding.h"
#include "verify/ledger.h"
#include "verify/surroundings.h"
#include "verify/withheld.h"

#include <stdbool.h>

/* What a bundle is checked against, beside itself. All borrowed. */
struct verdict_request {
    int bundle_fd;
    const struct oracle *oracle; /* the reader's own; NULL: the recorded one */
    const struct digest *sha256; /* of the whole file; NULL: any, and so below */
    const struct digest *policy;
    int source_fd; /* -1: not compared */
};

/* Whether the reader's folder was compared with the workspace. */
enum verdict_source {
    VERDICT_SOURCE_NONE,    /* none was named */
    VERDICT_SOURCE_WHOLE,   /* it was */
    VERDICT_SOURCE_IN_PART, /* all but contents: those are local, and no object here tells the salt */
};

/* What came of it. Release with verdict_done. */
struct verdict {
    struct findings findings; /* none: verified */
    bool has_claim;           /* the bundle has a recorded claim */
    struct ledger ledger;     /* recording_start is NULL where the log could not be read */
    struct surroundings surroundings;
    struct plan plan;
    struct oracle oracle; /* the recorded one, where has_oracle */
    bool has_oracle;
    struct withheld withheld;
    enum verdict_source source;
    uint64_t proof_input_blocks; /* of inputs that the proof of `claim` read: it is what the proof really did */
    Exhibit__Claim *claim;       /* this program's own, under the reader's oracle; NULL: none could be made */
};

/*
 * Reaches a verdict. 0: it is in `out`, whatever it says. ERR_SYSTEM: could not read, so there is none.
 * Release with verdict_done in either case.
 */
int verdict_reach(const struct verdict_request *request, struct verdict *out, struct err *err);

/* Releases what is owned. Harmless on an all-zero one. */
void verdict_done(struct verdict *verdict);
