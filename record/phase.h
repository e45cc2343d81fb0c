/*
 * Marks where one phase of the recording ends and the next begins.
 */
#pragma once

#include "record/journal.h"

/* Writes the boundary down; `trial` is "" for phases that belong to none. */
int phase_put(struct journal *journal, const char *trial, Exhibit__PhaseName name, struct err *err);
