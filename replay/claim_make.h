/*
 * Writes a claim from what was judged (DECISION 7). Judges nothing itself but the decision that the rules make.
 */
#pragma once

#include "replay/judge.h"
#include "replay/rules.h"

/* `findings` has one for each rule. *out as judge_facts gives it. ERR_SYSTEM: out of memory. */
int claim_make(const struct judged *judged, const struct judge_request *request, const struct finding *findings,
               const Exhibit__Claim **out, struct err *err);
