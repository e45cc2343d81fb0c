/*
 * What can be found wrong before anything is started or made: pins, binaries and the launcher are looked at.
 */
#pragma once

#include "formats/plan.h"

/*
 * Checks every pin's digest, and that each binary and the launcher is a regular file that is there ({tools} stands for
 * program_dir here, {workspace} for the plan's own). ERR_USAGE: one line, file:line: what is wrong, and what to do.
 */
int preflight_check(const struct plan *plan, const char *program_dir, struct err *err);
