/*
 * The command line of exhibit-replay.
 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum { ARGS_JOBS_MAX = 64 };

/* How a table is written. */
enum args_table {
    ARGS_TABLE_NONE,
    ARGS_TABLE_TEXT,
    ARGS_TABLE_MARKDOWN,
    ARGS_TABLE_JSON,
};

struct args {
    char *const *paths; /* bundles and folders, at least one; borrowed from argv, as all texts here */
    size_t path_count;
    const char *oracle;  /* NULL: the recorded one */
    const char *explain; /* NULL: print the claim; else there is one path, and no table */
    unsigned jobs;       /* 1 ... ARGS_JOBS_MAX; 0: as many as there are cores */
    enum args_table table;
    bool json;
    bool require_go;
    bool help; /* nothing else matters then */
    bool version;
};

/* Reads the arguments; argv is put in another order. ERR_USAGE: wrong ones. */
int replay_args_parse(int argc, char **argv, struct args *out, struct err *err);

/* What --help prints. Static. */
const char *replay_args_help(void);
