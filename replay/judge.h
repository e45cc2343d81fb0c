/*
 * From facts to a claim (DECISION 5 to 7).
 */
#pragma once

#include "formats/oracle.h"
#include "replay/derive.h"
#include "replay/rules.h"

struct judge_request {
    const struct oracle *oracle;
    bool partial; /* the receipt says so */
    struct digest receipt;
    struct digest recorded_oracle; /* that the receipt names: under another one the claim is prospective */
};

/*
 * What the rules are asked about: the runs that the oracle names, whether each case was met, every outcome. *out lives
 * in the arena of the facts and borrows from them and from the oracle. Errors as source->read_stream.
 */
int judge_prepare(struct facts *facts, const struct judge_request *request, struct judged *out, struct err *err);

/*
 * Judges derived facts. *out lives in the arena of the facts and borrows from them and from the oracle. ERR_MISMATCH:
 * an archive's members are not as recorded. Else as source->read_stream.
 */
int judge_facts(struct facts *facts, const struct judge_request *request, const Exhibit__Claim **out, struct err *err);
