/*
 * A policy as parsed data: which paths are granted for what. Knows YAML and placeholders, and nothing of the kernel.
 *
 *     version: 1
 *     read: [PATH, ...]        read files and list folders, there and below
 *     execute: [PATH, ...]     the same and execute files
 *     write: [PATH, ...]       read, and write, make, remove, link and rename below
 *     network: none
 *     pid_namespace: BOOL      may be left out: false
 *
 * PATH is an absolute path, in which {NAME} stands for a setting, or `optional: PATH` for one that may be missing.
 */
#pragma once

#include "base/err.h"
#include "candidates/confine/args.h"

#include <stdbool.h>
#include <stddef.h>

enum grant_kind {
    GRANT_READ,
    GRANT_EXECUTE,
    GRANT_WRITE,
};

struct grant {
    enum grant_kind kind;
    char *path;    /* absolute, placeholders filled in */
    bool optional; /* nothing is granted where it does not exist */
    unsigned line; /* where it stands in the file, for messages */
};

struct policy {
    const char *file; /* borrowed, for messages */
    struct grant *grants;
    size_t grant_count;
    bool pid_namespace;
};

/*
 * Reads a policy and fills its placeholders in from settings. ERR_USAGE: file:line: what is wrong with it. ERR_SYSTEM:
 * it cannot be read. Release with policy_done, also after a failure.
 */
int policy_read(const char *file, const struct setting *settings, size_t setting_count, struct policy *out,
                struct err *err);

/* `read`, `execute` or `write`. */
const char *grant_kind_name(enum grant_kind kind);

/*
 * Puts the grants in order, each before those below its path, and drops what is optional and not there. ERR_USAGE: one
 * that is not optional is not there, or its path holds a newline.
 */
int policy_sort(struct policy *policy, struct err *err);

/*
 * How a tool that can only mount grants the grant at `place`: `link`, `read` or `write`; NULL: it lies in a granted
 * folder, which shows it already.
 */
const char *policy_mount_kind(const struct policy *policy, size_t place);

/* Releases what is owned; the struct is then all zero. */
void policy_done(struct policy *policy);
