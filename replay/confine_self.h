/*
 * Gives up what a replay does not need before it reads hostile bytes. Knows no format.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct confinement {
    bool landlock; /* no file and no TCP port can be opened */
    bool seccomp;  /* no system call but those that reading, computing and printing need */
};

/*
 * Confines this process for good: descriptors that are open stay usable for reading, and 1 and 2 for writing. What the
 * kernel does not offer is left out, and *out says what was done. In a build with sanitizers, which need more, nothing
 * is done.
 */
void confine_self(struct confinement *out);

/*
 * The same in two steps, for a process of several threads that opens what it reads. First, while there is one thread:
 * nothing but these paths and what is beneath them can be opened, and that for reading. A path that cannot be opened
 * now is left out.
 */
void confine_files(char *const *paths, size_t path_count, struct confinement *out);

/* Then, once all threads were started: as confine_self, for all of them; opening for reading is left. */
void confine_threads(struct confinement *out);
