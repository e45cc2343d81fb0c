/*
 * What the launcher does by itself, so that it is not taken for the command's doing: the folder and the variables in
 * which it runs a command, and what is made in scratch, removed
 * and left there where the command leaves nothing. Facts for the reader; no rule
 * rests on them, for the first half is told by the subject.
 */
#pragma once

#include "verify/evidence.h"
#include "verify/finding.h"
#include "verify/ledger.h"

#define SURROUNDINGS_KEPT 64 /* names of each list; more are counted */

/* Names; bytes that cannot be printed have become '?'. */
struct surroundings_list {
    char *names[SURROUNDINGS_KEPT]; /* owned */
    size_t count;                   /* of all, also of those that are not kept */
};

struct surroundings {
    bool ran;     /* there was a run of the launcher alone, around a command that tells */
    bool told;    /* and it told: a launcher that swallows output does not */
    char *folder; /* owned; the folder in which the command found itself, where it is another; else NULL */
    struct surroundings_list set, changed, removed; /* variables */
    struct surroundings_list left;                  /* in scratch: "PATH", "PATH/" for a folder; with "RUN: " before it
                                                       where a trial left it */
    struct surroundings_list
        passed;  /* what it made in scratch and removed again, in its own run; "PATH/" for a folder */
    bool unseen; /* there may be more of these: events were lost */
};

/*
 * Gathers them. Release with surroundings_done, also after a failure. ERR_SYSTEM, or what reading the evidence gives.
 */
int surroundings_gather(const struct evidence *evidence, const struct ledger *ledger, struct surroundings *out,
                        struct err *err);

/* Releases what is owned. Harmless on an all-zero one. */
void surroundings_done(struct surroundings *surroundings);
