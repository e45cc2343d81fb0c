/*
 * The effects themselves: one system call sequence each, tried once. Knows no process and no time limit: who calls
 * this bounds it from outside.
 */
#pragma once

#include "record/probe/proof.h"

enum told_kind {
    TOLD_OK = 1,
    TOLD_ERRNO,
    TOLD_TIMEOUT,
    TOLD_SIGNAL,
};

/* What came of one attempt: docs/DECISION.md 2.2. */
struct told {
    enum told_kind kind;
    int number;                   /* TOLD_ERRNO, TOLD_SIGNAL */
    char proof[PROOF_DIGITS + 1]; /* TOLD_OK of a read; else empty */
};

/* Tries an effect for a round. Gives TOLD_OK, or TOLD_ERRNO with the errno of the first call that failed. */
struct told attempt_make(const struct assignment *assignment, enum effect effect, uint32_t round);
