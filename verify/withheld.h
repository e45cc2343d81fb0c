/*
 * The contents of inputs that the plan calls local (FORMAT 7.11): which of them this bundle is without, and that those
 * which are there begin with one salt. Knows no rule.
 */
#pragma once

#include "base/bytes.h"
#include "base/err.h"
#include "formats/pack.h"
#include "proto/exhibit.pb-c.h"
#include "verify/finding.h"

#include <stdbool.h>

enum { WITHHELD_SALT_BYTES = 32 };

/* Of one input. */
struct withheld_input {
    char name[LIMIT_NAME_BYTES + 1];
    uint32_t missing; /* objects that are not in the bundle */
    uint32_t present;
};

/* All zero before the first; release with withheld_done. */
struct withheld {
    struct withheld_input inputs[LIMIT_INPUTS + 1];
    size_t count;
    bool has_salt; /* an object told it */
    uint8_t salt[WITHHELD_SALT_BYTES];
    uint8_t *checked;              /* a bit for each input object that was looked into, owned */
    struct bytes missing, present; /* digests of the files of the input at hand */
};

/*
 * Takes an entry of the first freeze of a local input: checks size and salt of its object, if that is there. Faults
 * become findings. ERR_SYSTEM: could not. After the last one, withheld_end.
 */
int withheld_follow(struct withheld *withheld, struct pack *pack, const Exhibit__FreezeEntry *entry,
                    struct findings *findings, struct err *err);

/* Counts the objects of the input whose entries were taken. */
void withheld_end(struct withheld *withheld, const char *input);

/* How many objects are missing, of all inputs. */
uint64_t withheld_missing(const struct withheld *withheld);

/* Releases what is owned; what was counted stays. */
void withheld_done(struct withheld *withheld);
