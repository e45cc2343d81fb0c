/*
 * Gives up what a replay does not need before it reads hostile bytes. Knows no format.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct confinement {
    bool landlock; /* no file but those that are named and no TCP port can be opened */
    bool seccomp;  /* no system call but those that reading, computing and printing need */
};

/*
 * Confines this process for good, in steps: descriptors that are open stay usable for reading, and 1 and 2 for writing.
 * What the kernel does not offer is left out, and *out says what was done. In a build with sanitizers, which need more,
 * nothing is done.
 *
 * First, while there is one thread: nothing but these paths and what is beneath them can be opened, and that for
 * reading. A path that cannot be opened now is left out.
 */
void confine_files(char *const *paths, size_t path_count, struct confinement *out);

/* Then, once all threads were started, and for all of them: the system calls. Opening for reading is left. */
void confine_calls(struct confinement *out);

/* Last, where a single thread has opened all that it reads: nothing can be opened any more. */
void confine_opening(struct confinement *out);
