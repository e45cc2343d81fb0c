/*
 * The lines a role leaves (docs/DECISION.md 2.2, 2.3): each is one write on stdout and one in its own scratch file.
 * Knows the form of the lines and nothing of attempts.
 */
#pragma once

#include "record/probe/attempt.h"

/* Owned by the caller; there is nothing to release before the process ends. */
struct lines {
    const struct assignment *assignment; /* borrowed */
    int file_fd;                         /* the role's own file in its scratch; -1: it could not be opened */
};

/* Opens SCRATCH/exhibit-probe-ROLE.lines. Goes on without it where that fails: stdout is left. */
struct lines lines_open(const struct assignment *assignment);

/* Says that an attempt is about to be made. A write that fails is passed over: the role has nobody to tell. */
void lines_try(const struct lines *lines, uint32_t round, enum effect effect);

/* Tells a round: told[i] is what came of assignment->effects[i]. Writes fail as in lines_try. */
void lines_row(const struct lines *lines, uint32_t round, const struct told told[EFFECT_COUNT]);
