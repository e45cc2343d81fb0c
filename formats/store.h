/*
 * A store: a folder of packs, each named by its receipt, that share the contents of inputs (docs/FORMAT.md section 11).
 * Knows names, the marker and the lock; what is in a pack is pack.h's, which inputs are where store_inputs.h's.
 */
#pragma once

#include "base/err.h"
#include "formats/digest.h"
#include "formats/pack.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STORE_MARKER "exhibit-store"
#define STORE_LOCK "lock"
#define STORE_PACK_SUFFIX ".pack"
#define STORE_LOCAL_SUFFIX ".local"
#define STORE_LOCAL_STEM "local" /* of the temporary name of local contents */

/* Room for a name in the store: a digest in hexadecimal, a suffix and a NUL. */
#define STORE_NAME_BYTES (2 * DIGEST_BYTES + 8)

/* The shortest beginning of a receipt's digest that names it. */
#define STORE_PREFIX_DIGITS 8

enum store_lock {
    STORE_SHARED = 1,    /* whoever reads packs or adds one */
    STORE_EXCLUSIVE = 2, /* whoever replaces or removes packs */
};

struct store_request {
    const char *path; /* borrowed until store_close */
    bool make;        /* a folder that is empty or missing becomes a store */
    enum store_lock lock;
    /* What was passed over, or is waited for: one line of printable ASCII. NULL: nobody listens. */
    void (*note)(void *context, const char *text);
    void *context;
};

/* Owned by the caller, release with store_close. Not for several threads at once. */
struct store;

/*
 * Opens a store, takes its lock (waiting for it, which is noted) and lists its packs: those that appear later are not
 * seen. ERR_USAGE: the folder is no store, cannot be opened, or is one of another version. ERR_LIMIT: over
 * LIMIT_STORE_PACKS. ERR_SYSTEM.
 */
int store_open(const struct store_request *request, struct store **out, struct err *err);

/*
 * Whether a folder is a store or may become one: it is empty or missing. Changes nothing and waits for nothing. Errors
 * as store_open.
 */
int store_may_be(const char *path, struct err *err);

/* Gives the lock back and releases everything; NULL is harmless. */
void store_close(struct store *store);

/* The path as it was given, and the folder (borrowed until store_close). */
const char *store_path(const struct store *store);
int store_folder(const struct store *store);

/* Notes something about a file of the store: text as printf has it. What is not printable ASCII becomes '?'. */
void store_note(const struct store *store, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* From now on nobody hears what is noted: the caller looks at every pack, and tells what he finds. */
void store_quiet(struct store *store);

/* How many packs there are, and the receipt that names the one at `number` (below the count), ascending. */
uint32_t store_pack_count(const struct store *store);
struct digest store_receipt(const struct store *store, uint32_t number);

/* Writes the name that the pack, or the local contents, of a receipt have in a store. */
void store_pack_name(const struct digest *receipt, char out[STORE_NAME_BYTES]);
void store_local_name(const struct digest *receipt, char out[STORE_NAME_BYTES]);

/* Whether the pack at `number` has local contents beside it. */
bool store_has_local(const struct store *store, uint32_t number);

/*
 * Finds the pack whose receipt has this digest or begins so: STORE_PREFIX_DIGITS or more hexadecimal digits.
 * ERR_USAGE: not such a text, no such pack, or several.
 */
int store_find(const struct store *store, const char *text, uint32_t *out_number, struct err *err);

/*
 * Opens the file of a pack for reading, not following a link: the caller closes it. ERR_FORMAT: not a regular file.
 * ERR_SYSTEM. The error names the file, as those of the following do.
 */
int store_pack_fd(const struct store *store, uint32_t number, int *out_fd, struct err *err);

/* An open pack of a store. */
struct store_pack {
    int fd; /* -1 where there is none */
    struct pack *pack;
};

/*
 * Opens a pack and checks that it is named by its receipt; without the inputs' index where not `with_inputs`
 * (pack_open_observations). ERR_MISMATCH: it is not. Else as pack_open. Release with store_pack_close.
 */
int store_pack_open(const struct store *store, uint32_t number, bool with_inputs, struct store_pack *out,
                    struct err *err);
void store_pack_close(struct store_pack *pack);

/* The same of the local contents beside a pack. */
int store_local_open(const struct store *store, uint32_t number, struct store_pack *out, struct err *err);

/*
 * Calls `tell` for each name in the folder that is not the store's own, in no order: strays (local contents
 * without a pack are one), and what writers left
 * (is_partial; is_left: no writer has it any more). ERR_SYSTEM, or what tell returns.
 */
struct store_stray {
    const char *name; /* any bytes */
    bool is_partial;
    bool is_left;
    bool is_copy;  /* a partial one by its name that prune makes of a pack: a recording's has not its name yet */
    bool is_local; /* local contents by its name, whole or partial: no bundle can be made of it alone */
};
int store_strays(const struct store *store,
                 int (*tell)(void *context, const struct store_stray *stray, struct err *err), void *context,
                 struct err *err);

/* Notes what a killed call has left (is_left), and what can be done with it. */
void store_stray_note(const struct store *store, const struct store_stray *stray);
