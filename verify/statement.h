/*
 * A claim as a set of statements, each of one subject, and the comparison of two such sets in both directions. Knows
 * how a claim is built; no rule.
 */
#pragma once

#include "base/err.h"
#include "proto/exhibit.pb-c.h"
#include "verify/finding.h"

/*
 * Compares what is claimed with what the evidence states: a finding for each statement without evidence, for each piece
 * of evidence without its statement, and for each statement that says another thing than its evidence; or one where
 * only order or form differ. What judges are free to word (detail, evidence) is no part of it. ERR_SYSTEM: out of
 * memory. ERR_FORMAT: the claim cannot be packed.
 */
int statement_compare(const Exhibit__Claim *claimed, const Exhibit__Claim *proven, struct findings *findings,
                      struct err *err);
