/*
 * The command line. Knows options, opens nothing.
 */
#pragma once

#include "base/err.h"
#include "formats/digest.h"

#include <stdbool.h>

/* What was asked for; texts are borrowed from argv. */
struct verify_args {
    const char *bundle;
    const char *oracle; /* NULL: the recorded one */
    const char *source; /* NULL: not compared */
    bool has_sha256;
    struct digest sha256;
    bool has_policy;
    struct digest policy;
    bool require_go;
    bool json;
    bool help; /* nothing else matters then */
    bool version;
};

/* Reads the command line. ERR_USAGE: says what is wrong and what to do. */
int verify_args_parse(int argc, char *const argv[], struct verify_args *out, struct err *err);

/* The text of --help. Static. */
const char *verify_args_help(void);
