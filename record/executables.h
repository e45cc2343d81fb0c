/*
 * What the executables of processes are: device, inode and digest. A digest is remembered by what names its content, so
 * that a storm of one program is digested once.
 *
 * A large one that was there before waits until nobody has to be looked at: to digest it takes longer than many a
 * process lives, and takes its time from the command that is measured. Nothing is kept open for it: a mount that is
 * used cannot be removed.
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

/* From now on those may wait that changed last before this second since 1970; INT64_MIN, as at first: none. */
void executables_defer(struct executables *executables, int64_t older_than_s);

/*
 * Fills in device, inode and digest of what a process executes, by its folder in /proc and identity->executable, as far
 * as they can be read. The digest stays empty where it waits; that of a process with another root or other mounts than
 * ours does not. False: no memory.
 */
bool executables_identify(struct executables *executables, int folder, Exhibit__ProcessIdentity *identity);

/* Takes the identity over, if its executable waits and no other identity waits with it; false: it stays the caller's.
 */
bool executables_keep(struct executables *executables, Exhibit__ProcessIdentity *identity);

/*
 * Digests those that wait, and gives each identity that was taken over, with its digest; not those of files that are
 * not there any more as they were when they were seen to be executed. The error of `take`; ERR_SYSTEM: no memory.
 */
int executables_digest(struct executables *executables,
                       int (*take)(void *context, Exhibit__ProcessIdentity *identity, struct err *err), void *context,
                       struct err *err);

/* Releases it; NULL is harmless. */
void executables_free(struct executables *executables);
