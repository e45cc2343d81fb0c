/*
 * What a receipt needs of the inputs: the digests of the retained ones, as the freeze lists of its event log name them
 * (FORMAT 7.8, 8.3). Data alone: what is there, and where, is not known here.
 */
#pragma once

#include "base/bytes.h"
#include "base/err.h"
#include "formats/digest.h"
#include "formats/pack.h"
#include "formats/plan.h"

#include <stdbool.h>
#include <stdint.h>

/* All zero is the empty one. */
struct needs {
    struct bytes digests; /* DIGEST_BYTES each, ascending, each once */
    size_t settled_bytes; /* so many of them are in order */
    bool wants_local;     /* its plan has local inputs, whose contents have to lie beside the pack in a store */
    bool promises; /* all have to be somewhere. Not of what was salvaged: it names what may never have been kept */
};

/* Releases what is owned. Harmless on the empty one. */
void needs_done(struct needs *needs);

/*
 * Reads what the receipt of `pack` needs, replacing what was in *out. Reads observations alone; of the
 * inputs' index, where the pack was opened with it, whether loose objects are in it. At most LIMIT_OBJECTS
 * digests. ERR_FORMAT, ERR_MISMATCH: receipt, log, plan or a list is malformed or damaged. ERR_LIMIT. ERR_SYSTEM.
 * *out is unchanged then.
 */
int needs_read(struct pack *pack, struct needs *out, struct err *err);

/* Adds a digest; needs_settle is to be called after the last one, before anything is asked. ERR_LIMIT, ERR_SYSTEM. */
int needs_add(struct needs *needs, const struct digest *digest, struct err *err);

/* Adds the regular files of a packed FreezeList in the same way. ERR_FORMAT: it is none. ERR_LIMIT, ERR_SYSTEM. */
int needs_add_list(struct needs *needs, const void *packed, size_t size_bytes, struct err *err);

/* Puts the digests in order. */
void needs_settle(struct needs *needs);

/* Whether a recording of this plan (NULL: it is not known) keeps the contents of an input (FORMAT 7.8). */
bool needs_plan_keeps(const struct plan *plan, const char *input);

/* How many digests there are, and one of them by number. */
size_t needs_count(const struct needs *needs);
struct digest needs_at(const struct needs *needs, size_t number);

/* Whether a digest is among them. */
bool needs_have(const struct needs *needs, const struct digest *digest);
