/*
 * The roles of the probe: names and nonces (docs/DECISION.md 1.2, 1.3), for those parts of the recorder that start and
 * steer it. Judges nothing.
 */
#pragma once

#include "formats/limits.h"
#include "proto/exhibit.pb-c.h"

/* "parent", "child", "grandchild"; "" for another value. Static. */
const char *role_name(Exhibit__Role role);

/* Writes the nonce of a role as 32 hexadecimal digits and a NUL, derived from the parent's NONCE_BYTES bytes. */
void role_nonce(const uint8_t *parent_nonce, Exhibit__Role role, char out[2 * NONCE_BYTES + 1]);
