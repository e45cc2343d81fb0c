/*
 * What the probe tries to read and to write: two canaries and a target in a folder outside of everything that the
 * policy grants. Set, looked at, and watched with inotify. Knows no rule.
 */
#pragma once

#include "record/journal.h"
#include "record/loop.h"

/* Owned by the caller, free with targets_free. */
struct targets;

/* Makes the folder `path` (absolute, must not exist) with its files and watches them. Borrows all. ERR_SYSTEM. */
int targets_new(struct loop *loop, struct journal *journal, const char *path, struct targets **out, struct err *err);

/* The absolute path of a target, valid until targets_free. */
const char *targets_path(const struct targets *targets, Exhibit__TargetName name);

/* Gives the canaries new secret contents and the write target its first content, and writes down what they are. */
int targets_reset(struct targets *targets, struct err *err);

/* Writes the state of each target down, as of now, with its content. */
int targets_state(struct targets *targets, uint32_t run, struct err *err);

/* What inotify tells from now on belongs to this run (0: none, the recorder's own doing: it is passed over). */
int targets_set_run(struct targets *targets, uint32_t run, struct err *err);

/* Releases; the folder is left to whoever removes the work folder. NULL is harmless. */
void targets_free(struct targets *targets);
