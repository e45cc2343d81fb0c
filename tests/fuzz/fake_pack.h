/*
 * A pack that is not there: what the linker puts in the place of the container (--wrap), so that what reads through it
 * is fuzzed by itself and fast.
 */
#pragma once

#include "base/bytes.h"
#include "base/err.h"
#include "formats/digest.h"

/* Answers every pack_read, under its terms. Set by the target before it reads. */
extern int (*fake_pack_object)(const struct digest *digest, size_t max_bytes, struct bytes *out, struct err *err);

/* Bytes (borrowed) that every object of the pack consists of. */
void fake_pack_of(const uint8_t *data, size_t size_bytes);
