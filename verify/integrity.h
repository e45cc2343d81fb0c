/*
 * Integrity: every byte is what the container says, every object that a record names is there, and no object is there
 * that none names. Knows which records name objects; judges nothing.
 */
#pragma once

#include "base/err.h"
#include "formats/pack.h"
#include "formats/plan.h"
#include "proto/exhibit.pb-c.h"
#include "verify/finding.h"
#include "verify/withheld.h"

/*
 * Follows every digest from the receipt on. `plan` (NULL: it cannot be read) tells which inputs are kept whole, and of
 * which the contents may be withheld: `withheld` (all zero before; not touched without a plan) gets those. Faults
 * become findings; ERR_SYSTEM says that this machine could not.
 */
int integrity_of_objects(struct pack *pack, const Exhibit__Receipt *receipt, const struct plan *plan,
                         struct withheld *withheld, struct findings *findings, struct err *err);
