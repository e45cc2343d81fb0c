/*
 * Many bundles in one call: confined, by several threads, each told in a line and counted; or summed up in a table.
 */
#pragma once

#include "replay/args.h"

/* Does what the arguments ask, and complains on stderr. Returns the exit code. */
int many_replay(const struct args *args);

/* Whether the arguments ask for more than one bundle: several paths, a folder, or a table. */
bool many_are_asked(const struct args *args);
