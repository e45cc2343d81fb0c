/*
 * Attempts and what the host saw of them (DECISION 3.1).
 */
#pragma once

#include "replay/derive.h"

/* Fills in attempts, traces and what they leave unexplained, of a trial run with rows. Errors as facts_derive. */
int attempts_derive(struct facts *facts, struct run *run, struct err *err);
