/*
 * A row of the table in words: for each column the lines of its cell.
 */
#pragma once

#include "replay/candidates.h"

enum { CELL_CANDIDATE, CELL_EFFECTS, CELL_ENDINGS, CELL_CASES, CELL_DECISION, CELL_COUNT };

/* The names of the columns. Static. */
extern const char *const cell_names[CELL_COUNT];

/*
 * Writes the lines of a cell to `out`, each but the last ended by a newline: printable ASCII, whatever the names hold.
 */
void cell_write(const struct candidate_row *row, int cell, FILE *out);

/* The set of outcomes of this number in words: "denied+reached". Written to `out`. */
void outcome_set_write(unsigned set, FILE *out);
