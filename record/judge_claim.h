/*
 * From settled facts to the claim: docs/DECISION.md sections 5 and 7.
 */
#pragma once

#include "record/judge_state.h"

/* States the claim. Owned by the caller: free with exhibit__claim__free_unpacked. ERR_SYSTEM: out of memory. */
int judge_claim_make(const struct judge *judge, const struct digest *receipt, Exhibit__Claim **out, struct err *err);
