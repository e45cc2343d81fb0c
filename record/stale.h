/*
 * What a recording or a check that was killed has left: its work folder and its control groups. A lock tells a killed
 * recorder from one that is at work.
 */
#pragma once

#include "base/err.h"

/* The file in a work folder that its recorder keeps locked; it holds the prefix of the control groups' names. */
#define STALE_OWNER_NAME "owner"

/* Room for that prefix: "exhibit-" and 16 digits. */
#define STALE_PREFIX_BYTES 25

/*
 * Marks a work folder that was just made as in use by this process. Gives a fresh prefix for the names of its control
 * groups, and the descriptor that holds the lock: to be closed when the folder is removed. ERR_SYSTEM.
 */
int stale_mark(const char *work, char out_prefix[STALE_PREFIX_BYTES], int *out_fd, struct err *err);

/*
 * Looks through `parent` (NULL: the default) for work folders of this user whose recorder is gone. Ends what is left in
 * their control groups, by the kernel's own knowledge of who that is, and removes both. `tell` gets a line for each,
 * also where something could not be removed. Other folders are left alone.
 */
void stale_clean(const char *parent, void (*tell)(const char *text));

/*
 * Tells of files that recordings, exports and salvages to `output` have left which were killed, and what can be done
 * with them; not of `except` (a path; NULL: none), from which something is made now.
 */
void stale_partials_tell(const char *output, const char *except, void (*tell)(const char *text));
