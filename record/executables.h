/*
 * What the executables of processes are: device, inode and digest. A digest is remembered by what names its content, so
 * that a storm of one program is digested once.
 *
 * To digest a large one takes longer than many a process lives, in which nobody would look at those. One that was there
 * before waits for the end of the run, so that the command has its cores for itself; nothing is kept open for it: a
 * mount that is used cannot be removed. Any other is digested by a thread at once, before it is gone.
 */
#pragma once

#include "base/err.h"
#include "proto/exhibit.pb-c.h"

#include <stdbool.h>
#include <stdint.h>

/* Owned by the caller, free with executables_free. */
struct executables;

/* NULL: no memory. */
struct executables *executables_new(void);

/*
 * A run begins. Large ones that changed last before this second since 1970 may wait for its end. INT64_MIN, as at
 * first: all are digested at once.
 */
void executables_defer(struct executables *executables, int64_t older_than_s);

/*
 * Fills in device, inode and digest of what a process executes, by its folder in /proc and identity->executable, as far
 * as they can be read. The digest stays empty where it waits, and where too many wait. False: no memory.
 */
bool executables_identify(struct executables *executables, int folder, Exhibit__ProcessIdentity *identity);

/*
 * Takes over the identity of the last executables_identify, if its executable waits and no other identity waits with
 * it; false: it stays the caller's.
 */
bool executables_keep(struct executables *executables, Exhibit__ProcessIdentity *identity);

/*
 * Digests those that wait, and gives each identity that was taken over, with its digest; not those of files that were
 * not what they had been when they were seen to be executed. The error of `take`; ERR_SYSTEM: no memory.
 */
int executables_digest(struct executables *executables,
                       int (*take)(void *context, Exhibit__ProcessIdentity *identity, struct err *err), void *context,
                       struct err *err);

/* Releases it; NULL is harmless. */
void executables_free(struct executables *executables);
