/*
 * The system call filter: what Landlock does not cover. The same for every policy. Knows no path.
 */
#pragma once

#include "base/err.h"

/*
 * Filters the calling process' system calls for good. Needs no_new_privs to be set. ERR_SYSTEM: could not; the process
 * must then not go on.
 */
int filter_enter(struct err *err);
