/*
 * The facts of this machine that a recording is bound to. Reads; judges nothing.
 */
#pragma once

#include "base/err.h"
#include "formats/digest.h"
#include "proto/exhibit.pb-c.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Reads the host's facts. Owned by the caller: free with exhibit__host__free_unpacked. What a machine does not tell
 * stays empty or 0. ERR_SYSTEM: out of memory, or no boot id.
 */
int host_read(Exhibit__Host **out, struct err *err);

/*
 * Identifies a binary by path, following links. Owned by the caller: free with exhibit__binary__free_unpacked.
 * ERR_USAGE: missing, or not a regular file (says so). ERR_SYSTEM: cannot be read.
 */
int host_binary_read(const char *name, const char *path, Exhibit__Binary **out, struct err *err);

/*
 * The pin of one file. Owned by the caller: free with exhibit__pin__free_unpacked. ERR_USAGE: missing, or its digest
 * is not the expected one (names path, expected and seen digest).
 */
int host_pin_check(const char *path, const struct digest *expected, Exhibit__Pin **out, struct err *err);

/* The inode of this process's network namespace, or 0. */
uint64_t host_network_namespace(void);

/* Takes the effective capabilities from the text of /proc/PID/status. False: not told; out unset. */
bool host_capabilities_parse(const char *status, uint64_t *out);
