/*
 * What a store would lose with some of its packs: inputs that these hold, that a receipt which is kept needs, and that
 * no other pack holds as well. Reads; changes nothing.
 */
#pragma once

#include "formats/store.h"
#include "record/needs.h"

/* Owned by the caller, free with prune_risks_free. */
struct prune_risks;

/*
 * Reads the indexes of all packs and the logs of those that are kept (`dropped`, by number, says which are not); what a
 * kept pack holds, too, is looked at whether its block is whole. Borrows both. ERR_FORMAT, ERR_MISMATCH: a kept receipt
 * cannot be read, so that it is not known what it needs; or a dropped pack cannot, and may hold what nothing else does.
 * ERR_LIMIT: more than LIMIT_OBJECTS inputs are at risk. ERR_SYSTEM.
 */
int prune_risks_new(const struct store *store, const bool *dropped, struct prune_risks **out, struct err *err);

/* NULL is harmless. */
void prune_risks_free(struct prune_risks *risks);

/* Adds to `out` what the kept pack at `number` is to get: each input goes to the first pack that needs it. */
int prune_risks_moves(const struct prune_risks *risks, uint32_t number, struct needs *out, struct err *err);
