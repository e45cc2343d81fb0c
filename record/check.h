/*
 * `exhibit-record check`: tries launcher, probe and cases once, outside of any recording, says what breaks, and finds
 * by tracing that one run what the sandbox refused. Keeps nothing.
 */
#pragma once

#include "formats/oracle.h"
#include "formats/plan.h"

#include <stdio.h>

struct check_request {
    const struct plan *plan;
    const struct oracle *oracle;
    const char *work_parent; /* NULL: the default */
    const char *program_dir; /* where the toolkit's own programs are */
    FILE *out;               /* where it is told what was found, as it is found */
};

/*
 * Tries everything; *out_broken tells how many things break (0: all is well). ERR_USAGE: the plan cannot be tried
 * here (a launcher, binary or pin that is not what it should be). ERR_SYSTEM: could not, or interrupted. Nothing is
 * left behind.
 */
int check_make(const struct check_request *request, size_t *out_broken, struct err *err);
