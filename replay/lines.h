/*
 * From streams to rows (DECISION 2).
 */
#pragma once

#include "replay/derive.h"

/* Fills in lines and rows of a trial run. Errors as facts_derive. */
int lines_derive(struct facts *facts, struct run *run, struct err *err);
