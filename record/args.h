/*
 * The command line of exhibit-record.
 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum args_command {
    ARGS_RUN,
    ARGS_CHECK,       /* not a recording: try everything once */
    ARGS_SALVAGE,     /* make a bundle of what is left of one */
    ARGS_LIST,        /* what a store has */
    ARGS_CHECK_STORE, /* whether a store is whole */
    ARGS_EXPORT,      /* make a bundle of a receipt in a store */
    ARGS_PRUNE,       /* drop receipts from a store */
};

struct args {
    bool help;
    bool version;
    enum args_command command;
    const char *operand; /* the plan; of salvage the file, of export the receipt; NULL where the command takes none */
    char **operands;     /* of prune: the receipts, operand_count of them; of others the same one */
    size_t operand_count;
    const char *oracle; /* NULL: the plan's, or the shipped default */
    const char *output; /* NULL: a store */
    const char *store;
    const char *work; /* NULL: the default */
    bool require_go;
    bool snapshots; /* do not use kernel process events */
    bool json;
    bool with_local;
};

/* Parses; all texts are borrowed from argv. ERR_USAGE says what is wrong and what to do. */
int args_parse(int argc, char **argv, struct args *out, struct err *err);

/* The help text. Static. */
extern const char args_help[];
