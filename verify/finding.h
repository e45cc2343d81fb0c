/*
 * Findings: why a bundle is refuted, one sentence each. Knows no rule.
 */
#pragma once

#include "base/err.h"

#include <stddef.h>

#define FINDING_KEPT 64 /* the others are only counted */

/* Owned; release with finding_done. All zero is the empty list. */
struct findings {
    char *texts[FINDING_KEPT];
    size_t kept;
    size_t count; /* of all that were added */
};

/* Adds one; what is not printable ASCII is written as \xNN, since names of the bundle are in it. */
void finding_add(struct findings *findings, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Sorts an error in: what a bundle is to blame for becomes a finding "WHAT: text" and 0 is returned; a failure of this
 * machine (ERR_SYSTEM) is returned as it is, for it says nothing about the bundle.
 */
int finding_of_error(struct findings *findings, const char *what, const struct err *err);

/* Releases what is owned. */
void finding_done(struct findings *findings);
