/*
 * The contents of inputs that the plan calls local (FORMAT 7.11): which of them this bundle is without, and that those
 * which are there begin with one salt. Knows no rule.
 */
#pragma once

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
    uint8_t *checked; /* a bit for each input object that was looked into, owned */
};

/*
 * Goes through the first freeze of a local input: counts the objects that are missing, and checks of the others size
 * and salt. Faults become findings. ERR_SYSTEM: could not.
 */
int withheld_follow(struct withheld *withheld, struct pack *pack, const Exhibit__FreezeList *list, const char *input,
                    struct findings *findings, struct err *err);

/* How many objects are missing, of all inputs. */
uint64_t withheld_missing(const struct withheld *withheld);

/* Releases what is owned; what was counted stays. */
void withheld_done(struct withheld *withheld);
