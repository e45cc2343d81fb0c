/*
 * A folder tree entry by entry, in the order of whole paths as byte strings ("a", "a-b", "a/c"). Each step is an
 * openat with O_NOFOLLOW from its parent's descriptor: no symbolic link is followed and the root is never left,
 * whatever a hostile process does to the tree meanwhile. What vanishes while it is walked was not there.
 */
#pragma once

#include "base/bytes.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* How deep folders may be nested. Each level costs a descriptor. */
#define WALK_DEPTH 256

/* One entry; all borrowed, valid during the call only. */
struct walk_entry {
    const char *path; /* relative to the root, NUL-terminated, at most LIMIT_PATH_BYTES */
    size_t path_bytes;
    int folder_fd;    /* of the folder that holds it */
    const char *name; /* in that folder */
    struct stat stat; /* as seen by lstat just before; all but st_mode's type is 0 where files_unseen */
};

struct walk_visitor {
    /* Called for each entry, folders before what they hold. Returns 0 or a negative err_code, which ends the walk. */
    int (*visit)(void *context, const struct walk_entry *entry, struct err *err);

    /*
     * Called where a folder cannot be opened or read (ERR_SYSTEM), or something in it is too deep, too long or too
     * much (ERR_LIMIT): `path` is the folder's, err says why. Returns 0 to go on past it, or a negative err_code.
     */
    int (*obstacle)(void *context, const char *path, struct err *err);
    void *context;
    /*
     * Whoever opens each regular file looks at it then: what the folder calls one is visited without an lstat, which
     * is half the cost of a walk. It may be something else by now, or nothing.
     */
    bool files_unseen;
};

/* Walks what is below the folder root_fd (borrowed). Errors: those of the visitor, and ERR_SYSTEM (out of memory). */
int walk_tree(int root_fd, const struct walk_visitor *visitor, struct err *err);

/* The names in a folder, sorted. Owned; release with folder_names_done. All zero is the empty one. */
struct folder_names {
    struct bytes text;
    char **items; /* into text; may be NULL where count is 0. Before each stands its d_type (readdir(3)) as a byte */
    size_t count;
};

/*
 * Reads the names in the folder fd (borrowed; it is at its end afterwards) but "." and "..". With `descents`, each that
 * may be a folder is there twice, the second time with a "/" behind it: the place in the order where its own entries
 * belong. ERR_LIMIT: more than LIMIT_FREEZE_BYTES of names. ERR_SYSTEM. `out` is empty after a failure.
 */
int folder_names_read(int fd, bool descents, struct folder_names *out, struct err *err);

/* Releases it. Harmless on the empty one. */
void folder_names_done(struct folder_names *names);

/*
 * Opens a file for reading that lstat called regular. Neither follows a link nor blocks. Gives its state once open.
 * Returns the descriptor, owned by the caller; -1 with errno: could not (ELOOP, ENOENT: it changed meanwhile).
 */
int walk_open_file(int folder_fd, const char *name, struct stat *out_stat);

/*
 * The same for a path (less than PATH_MAX bytes) below root_fd, as the walk gives it: without "..". No link in it is
 * followed and the root is never left.
 */
int walk_open_below(int root_fd, const char *path, struct stat *out_stat);

/*
 * Whether a file of at least min_bytes is almost all holes (less than a 64th allocated): reading it would take as
 * long as its size says, and that costs nobody anything to write.
 */
bool walk_file_is_hollow(int fd, const struct stat *stat, uint64_t min_bytes);
