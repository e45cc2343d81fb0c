/*
 * Gives up what a replay does not need before it reads hostile bytes. Knows no format.
 */
#pragma once

#include <stdbool.h>

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
