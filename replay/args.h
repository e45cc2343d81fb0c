/*
 * The command line of exhibit-replay.
 */
#pragma once

#include "base/err.h"

#include <stdbool.h>

struct args {
    const char *bundle;  /* borrowed from argv, as all texts here */
    const char *oracle;  /* NULL: the recorded one */
    const char *explain; /* NULL: print the claim */
    bool json;
    bool require_go;
    bool help; /* nothing else matters then */
};

/* Reads the arguments. ERR_USAGE: wrong ones. */
int replay_args_parse(int argc, char *const *argv, struct args *out, struct err *err);

/* What --help prints. Static. */
const char *replay_args_help(void);
