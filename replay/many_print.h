/*
 * What is told of each of many bundles, and of all of them. Prints; reads nothing.
 */
#pragma once

#include "replay/outline.h"
#include "replay/rules.h"

#include <stdio.h>

/* All zero at the start. */
struct summary {
    size_t bundles;
    size_t malformed, unread;                   /* malformed or false; could not be read */
    size_t differing;                           /* recorded claims that do not follow */
    size_t pairs[DECISION_ROOM][DECISION_ROOM]; /* by recorded and derived decision */
    size_t changed[RULE_COUNT];
};

/* Counts one. */
void summary_add(struct summary *summary, const struct outline *outline);

/* Each writes a line, as text or as a JSON text. False: it could not be written. */
bool outline_print(const struct outline *outline, bool as_json, FILE *out);
bool summary_print(const struct summary *summary, bool as_json, FILE *out);
