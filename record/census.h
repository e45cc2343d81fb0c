/*
 * Who is whose child, over the whole machine, at one moment. Nothing of it is kept: it only serves to find the members
 * of a run where there are no process events.
 */
#pragma once

#include "base/err.h"

#include <stddef.h>
#include <sys/types.h>

struct census {
    struct {
        pid_t pid;
        pid_t parent;
    } * items; /* living processes, in no order; owned */
    size_t count;
    size_t room;
};

/* Takes one pass over /proc; `census` is all zero before. ERR_SYSTEM: unreadable, or no memory. Release with
 * census_done. */
int census_take(struct census *census, struct err *err);

/* Releases what is owned; all zero then. */
void census_done(struct census *census);
