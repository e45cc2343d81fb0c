/*
 * Folder trees: copy, freeze, remove. Never follows a symbolic link and never leaves the given root, whatever a hostile
 * process does to the tree meanwhile (each step is openat with O_NOFOLLOW from its parent's descriptor). Never blocks
 * on a FIFO, opens no device.
 */
#pragma once

#include "base/bytes.h"
#include "base/err.h"
#include "formats/pack.h"
#include "record/secrets.h"

/*
 * Copies the folder `from` to `to` (which must not exist; its parent must): regular files, folders, symbolic links as
 * they are, with permission bits (no set-id bits), not owners nor times. ERR_USAGE: another type of file is in it
 * (names it).
 * ERR_LIMIT: paths too long or nested too deep. ERR_SYSTEM. What was copied before a failure stays.
 */
int tree_copy(const char *from, const char *to, struct err *err);

/*
 * Freezes a folder or a single file: gives the packed FreezeList (docs/FORMAT.md), replacing what was in out. Where
 * `retain` is not NULL (borrowed) each regular file's content is put there as PACK_INPUT. Types other than regular
 * file, folder and symbolic link are listed by mode alone. Where `retain` is NULL, what may not be opened is listed
 * without its content, and so is a file of 1 GiB or more that is almost all holes: a regular file without a digest.
 * ERR_LIMIT, ERR_SYSTEM (names the path).
 */
int tree_freeze(const char *root, struct pack_writer *retain, struct bytes *out, struct err *err);

/* How a tree is frozen. All borrowed; all zero is the usual way, with digests only. */
struct freeze_way {
    struct pack_writer *retain;    /* as above */
    const uint8_t *salt;           /* FREEZE_SALT_BYTES before what is digested and put (FORMAT 7.11); NULL: nothing */
    const struct secrets *secrets; /* that no content which is retained may have: ERR_USAGE; NULL: none */
};

#define FREEZE_SALT_BYTES 32

/* The same in a way of the caller's. */
int tree_freeze_by(const char *root, const struct freeze_way *way, struct bytes *out, struct err *err);

/*
 * Removes a tree of any depth, making folders writable to itself where needed, as much of it as can be. Stops before a
 * folder on which something is mounted. A missing tree is success. ERR_SYSTEM names the path.
 */
int tree_remove(const char *root, struct err *err);
