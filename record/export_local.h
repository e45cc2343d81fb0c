/*
 * The local contents of a receipt that is exported: taken along, or looked for in all that leaves without them.
 */
#pragma once

#include "formats/pack_copy.h"
#include "formats/store.h"

/* A receipt's container of local contents. All zero but open.fd -1 is none; release with export_local_close. */
struct export_local {
    struct store_pack open; /* without a pack: the receipt has no local inputs */
    char name[STORE_NAME_BYTES];
};

/*
 * Opens what belongs to the receipt at `number`, whose own pack is `own` (borrowed). ERR_MISMATCH: its plan has local
 * inputs and there is no such container, or it is of another receipt. Else as store_local_open.
 */
int export_local_open(const struct store *store, uint32_t number, struct pack *own, struct export_local *out,
                      struct err *err);

/* Refuses to let the observations of `own` go without the local contents that are in them: as leak_check. */
int export_local_look(const struct export_local *local, struct pack *own, struct err *err);

/* Takes the contents along. As pack_copy. */
int export_local_take(const struct export_local *local, struct pack_writer *to, struct pack_copied *counts,
                      struct err *err);

/* Releases it. */
void export_local_close(struct export_local *local);
