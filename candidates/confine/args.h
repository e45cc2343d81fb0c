/*
 * The command line of exhibit-confine. Knows no policy.
 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define SETTINGS_MAX 32

/* NAME=VALUE as given: the value of a placeholder {NAME} in the policy. */
struct setting {
    const char *name; /* name_bytes bytes, not terminated */
    size_t name_bytes;
    const char *value;
};

/* Everything is borrowed from argv. */
struct args {
    bool help;
    bool version;
    bool pid_namespace;
    bool grants; /* print them, run nothing: there is no command then */
    bool mounts; /* the same, as what a tool that mounts needs of them */
    const char *policy_file;
    struct setting settings[SETTINGS_MAX];
    size_t setting_count;
    char **command; /* NULL-terminated, at least one item; NULL with the two */
};

/* Parses. ERR_USAGE says what is wrong; out is then unset. After --help or --version nothing else is looked at. */
int args_parse(int argc, char **argv, struct args *out, struct err *err);
