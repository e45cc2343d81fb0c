/*
 * The command line of exhibit-record.
 */
#pragma once

#include "base/err.h"

#include <stdbool.h>

enum args_command {
    ARGS_RUN,
    ARGS_CHECK,       /* not a recording: try everything once */
    ARGS_SALVAGE,     /* make a bundle of what is left of one */
    ARGS_LIST,        /* what a store has */
    ARGS_CHECK_STORE, /* whether a store is whole */
};

struct args {
    bool help;
    bool version;
    enum args_command command;
    const char *operand; /* the plan; of salvage: the file; NULL where the command takes none */
    const char *oracle;  /* NULL: the plan's, or the shipped default */
    const char *output;  /* NULL: a store */
    const char *store;
    const char *work; /* NULL: the default */
    bool require_go;
    bool snapshots; /* do not use kernel process events */
    bool json;
};

/* Parses; all texts are borrowed from argv. ERR_USAGE says what is wrong and what to do. */
int args_parse(int argc, char **argv, struct args *out, struct err *err);

/* The help text. Static. */
extern const char args_help[];
