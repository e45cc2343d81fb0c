/*
 * The container: docs/FORMAT.md sections 1 to 5. Objects go in under the SHA-256 of their content and come out
 * checked against it. This file knows bytes only: nothing of receipts, events or claims but their digests.
 */
#pragma once

#include "base/bytes.h"
#include "base/err.h"
#include "formats/digest.h"
#include "formats/limits.h"

#include <stdbool.h>
#include <stdint.h>

/* The two sorts of content; they never share a block nor an index. Values are stored. */
enum pack_part {
    PACK_OBSERVATION = 1,
    PACK_INPUT = 2,
};

/* ---- writing ---- */

/* Owned by the caller; ended by pack_writer_finish or pack_writer_abandon. */
struct pack_writer;

/*
 * Starts a pack that will be called `name` (one path part) in the folder dir_fd (borrowed until the writer has ended).
 * Written under a temporary name in the same folder. ERR_USAGE: `name` exists. ERR_SYSTEM: could not create.
 */
int pack_writer_new(int dir_fd, const char *name, struct pack_writer **out, struct err *err);

/*
 * The same for a pack whose name is not known yet: it is given by pack_writer_name, before pack_writer_finish. `stem`
 * (one path part) is only a part of the temporary name.
 */
int pack_writer_new_unnamed(int dir_fd, const char *stem, struct pack_writer **out, struct err *err);

enum pack_naming {
    PACK_NAME_FRESH = 1,   /* the name has to be free */
    PACK_NAME_REPLACE = 2, /* a file of this name is replaced, in one step */
};

/* Sets the name that the pack gets at its end. ERR_USAGE: not one path part; the name stays as it was. ERR_SYSTEM. */
int pack_writer_name(struct pack_writer *writer, const char *name, enum pack_naming naming, struct err *err);

/* Content of inputs that is kept elsewhere and need not be put. */
struct pack_elsewhere {
    /* Whether content of this digest and size is kept there, and is right: it was read. */
    bool (*holds)(void *context, const struct digest *digest, uint64_t size_bytes);
    /* Whether there may be content of this size, which is at least LIMIT_BLOCK_BYTES. False is sure. */
    bool (*may_hold)(void *context, uint64_t size_bytes);
    void *context; /* borrowed until the writer has ended */
};

/* Inputs that `elsewhere` holds are not stored from now on, but digested all the same. */
void pack_writer_elsewhere(struct pack_writer *writer, const struct pack_elsewhere *elsewhere);

/*
 * Puts an object of size_bytes (at most LIMIT_OBJECT_BYTES) and gives its digest. Content that is already in the same
 * part is not stored again. ERR_LIMIT, ERR_SYSTEM: the writer is spent and can only be abandoned.
 */
int pack_put(struct pack_writer *writer, enum pack_part part, const void *from, size_t size_bytes,
             struct digest *out_digest, struct err *err);

/*
 * Puts everything that can be read from fd from its start, in bounded memory, and gives digest and length. The content
 * is what was read: a file that changes meanwhile is stored as it was seen. Terms as pack_put.
 */
int pack_put_fd(struct pack_writer *writer, enum pack_part part, int fd, struct digest *out_digest,
                uint64_t *out_size_bytes, struct err *err);

/* The same of `before_bytes` bytes (at most 4096, borrowed) and then of fd, as one object; the length is of both. */
int pack_put_fd_after(struct pack_writer *writer, enum pack_part part, const void *before, size_t before_bytes, int fd,
                      struct digest *out_digest, uint64_t *out_size_bytes, struct err *err);

/* Whether the part has an object of this digest by now. */
bool pack_put_has(const struct pack_writer *writer, enum pack_part part, const struct digest *digest);

/*
 * Writes the open blocks to the file, inputs first, so that a crash of this process loses nothing of what was put so
 * far (a crash of the machine may). Costs a little size each time. Terms as pack_put.
 */
int pack_writer_flush(struct pack_writer *writer, struct err *err);

/*
 * Writes what is left, indexes and footer, then fsync, rename to the name, fsync of the folder. `receipt` must have
 * been put as an observation; so must `claim`, NULL for a pack without one. Frees the writer, also on failure; then
 * no file is left, but where the name exists by now: the message says what the whole file is called.
 */
int pack_writer_finish(struct pack_writer *writer, const struct digest *receipt, const struct digest *claim,
                       struct err *err);

/* Removes the temporary file and frees the writer. NULL is harmless. */
void pack_writer_abandon(struct pack_writer *writer);

/* ---- reading ---- */

/* Owned by the caller, free with pack_close. */
struct pack;

struct pack_object {
    struct digest digest;
    enum pack_part part;
    uint64_t size_bytes;
};

/*
 * Opens a pack by reading header, footer and indexes from fd (borrowed until pack_close; read with pread).
 * ERR_FORMAT: not a pack, cut, or partial (says so, with the range of bytes). ERR_LIMIT. ERR_SYSTEM: a read error.
 * ERR_USAGE: not a regular file.
 */
int pack_open(int fd, struct pack **out, struct err *err);

/*
 * The same without reading the inputs' index: the cost does not grow with the inputs. The pack then seems to have
 * none, and pack_check must not be called.
 */
int pack_open_observations(int fd, struct pack **out, struct err *err);

/* Releases it; NULL is harmless. */
void pack_close(struct pack *pack);

/* The receipt's digest. */
struct digest pack_receipt(const struct pack *pack);

/* The claim's digest. False: the pack has no claim; out unset. */
bool pack_claim(const struct pack *pack, struct digest *out);

/* How many blocks of a part were asked for so far, one that was at hand included: whether anything of it was read. */
uint64_t pack_blocks_read(const struct pack *pack, enum pack_part part);

/*
 * Whether an event log of this digest was read from the pack before and found right in each of its messages, and that
 * it was. What is read again is checked against its digests again, not for more.
 */
bool pack_log_is_known(const struct pack *pack, const struct digest *log);
void pack_know_log(struct pack *pack, const struct digest *log);

/* How many objects a part has. */
uint32_t pack_object_count(const struct pack *pack, enum pack_part part);

/* The object at `index` (below pack_object_count), in ascending order of digests. */
struct pack_object pack_object_at(const struct pack *pack, enum pack_part part, uint32_t index);

/* The place of a digest among a part's objects, as pack_object_at counts. False: not there; out unset. */
bool pack_number(const struct pack *pack, enum pack_part part, const struct digest *digest, uint32_t *out);

/* Looks a digest up in a part. False: not there; out unset. out may be NULL. */
bool pack_find(const struct pack *pack, enum pack_part part, const struct digest *digest, struct pack_object *out);

/*
 * Reads a whole object, checked against its digest, replacing what was in out. ERR_LIMIT: larger than max_bytes.
 * ERR_MISMATCH: no such object in the part, or its content has another digest. ERR_FORMAT: the block is malformed
 * (names the range). ERR_SYSTEM.
 */
int pack_read(struct pack *pack, enum pack_part part, const struct digest *digest, size_t max_bytes, struct bytes *out,
              struct err *err);

/*
 * Hands an object on in pieces of at most LIMIT_BLOCK_BYTES (valid during the call only), and checks its digest after
 * the last. `take` returns 0 or a negative err_code with err filled, which ends the reading. Errors as pack_read.
 */
int pack_read_pieces(struct pack *pack, enum pack_part part, const struct digest *digest,
                     int (*take)(void *context, const void *piece, size_t size_bytes, struct err *err), void *context,
                     struct err *err);

/*
 * Checks every byte: tiling, canonical frame headers, journals, checksums, each object's digest, reserved bytes.
 * The first fault found is told with the range of bytes (at most one block) that holds it. ERR_FORMAT, ERR_MISMATCH,
 * ERR_LIMIT, ERR_SYSTEM. Memory does not grow with the contents.
 */
int pack_check(struct pack *pack, struct err *err);

/* The same without threads of its own: for who checks several packs side by side. */
int pack_check_alone(struct pack *pack, struct err *err);
