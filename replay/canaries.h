/*
 * The search for the content of canaries, and for proofs of it, in what strict runs left behind (DECISION 5.2).
 */
#pragma once

#include "replay/rules.h"

/* Searches streams and kept artifacts of all strict runs. Errors as proofs_gather and source->read_stream. */
int canaries_check(const struct facts *facts, struct finding *out, struct err *err);
