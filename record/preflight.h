/*
 * What can be found wrong before anything is started or made: pins, binaries and the launcher are looked at, and words
 * are expanded.
 */
#pragma once

#include "formats/plan.h"
#include "record/secrets.h"

/*
 * Checks every pin's digest, and that each binary, each program of the candidate and the launcher is a regular file
 * that is there ({tools} stands for program_dir here, {workspace} and {candidate} for the folders that are copied); and
 * that the words and variables of each run, expanded with a work folder in `work_parent` (NULL: the default one), are
 * not more than LIMIT_WORDS_BYTES, `secrets` (NULL: none) included. ERR_USAGE: one line, file:line: what is wrong, and
 * what to do.
 */
int preflight_check(const struct plan *plan, const char *program_dir, const char *work_parent, struct secrets *secrets,
                    struct err *err);
