/*
 * What comes and goes in scratch while the launcher runs around a command that touches nothing there (FORMAT 7.4,
 * scratch_event). Nothing outside of scratch is looked at, nothing is followed; what it saw is told, never what it
 * means.
 */
#pragma once

#include "record/journal.h"
#include "record/loop.h"

/* Owned by the caller, free with scratch_watch_free. */
struct scratch_watch;

/*
 * Watches the folder `scratch` and those in it from now on, for `run`, of which the RunStart is written. Where
 * something may go unseen (too many folders or events, a folder that cannot be opened) one Lost event says so.
 * ERR_SYSTEM.
 */
int scratch_watch_new(struct loop *loop, struct journal *journal, const char *scratch, uint32_t run,
                      struct scratch_watch **out, struct err *err);

/* Writes down what was seen until now and not yet told. Errors as journal_put. */
int scratch_watch_drain(struct scratch_watch *watch, struct err *err);

/* Releases it; NULL is harmless. */
void scratch_watch_free(struct scratch_watch *watch);
