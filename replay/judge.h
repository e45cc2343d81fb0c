/*
 * From facts to a claim (DECISION 5 to 7).
 */
#pragma once

#include "formats/oracle.h"
#include "replay/derive.h"

struct judge_request {
    const struct oracle *oracle;
    bool partial; /* the receipt says so */
    struct digest receipt;
    struct digest recorded_oracle; /* that the receipt names: under another one the claim is prospective */
};

/*
 * Judges derived facts. *out lives in the arena of the facts and borrows from them and from the oracle. ERR_MISMATCH:
 * an archive's members are not as recorded. Else as source->read_stream.
 */
int judge_facts(struct facts *facts, const struct judge_request *request, const Exhibit__Claim **out, struct err *err);
