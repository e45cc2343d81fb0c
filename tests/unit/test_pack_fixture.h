/*
 * What the tests of the container share: a folder, packs made from a list of contents, and a second writer made from
 * docs/FORMAT.md alone, for files that the real one never writes.
 */
#pragma once

#include "base/bytes.h"
#include "base/err.h"
#include "formats/pack.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- a folder ---- */

/* The folder that a test has between these two, which are cmocka's set-up and tear-down, and its descriptor. */
extern char test_folder[64];
extern int test_folder_fd;
int folder_set_up(void **state);
int folder_tear_down(void **state);

/* Makes an empty folder and gives a descriptor of it; `out_path` (64 bytes) gets its path. */
int folder_make(char *out_path);

/* Removes it with the files in it, and closes the descriptor. */
void folder_remove(int dir_fd, const char *path);

/* How many files are in it. */
unsigned folder_count(int dir_fd);

/* ---- packs ---- */

/* Fails the test, with the error's text, where the code is not 0. */
void must(int code, const struct err *err);

/* Fills bytes that do not compress, the same ones for the same seed. */
void noise(uint8_t *to, size_t size_bytes, uint32_t seed);

/* Reads a whole file into `out`, replacing what was there. */
void load(int dir_fd, const char *name, struct bytes *out);

/* A descriptor of a file in memory with these bytes. */
int memory_file(const void *from, size_t size_bytes);

/* Opens and checks a file of these bytes; gives the code, 0 for a right one. */
int judge(const void *from, size_t size_bytes, struct err *err);

/* The first and last byte that a message names as "(bytes A to B)"; fails the test where it names none. */
void range_of(const struct err *err, uint64_t *out_first, uint64_t *out_last);

/* Judges and wants this code, this text in the message, and a range of at most one block. */
void refuse(const struct bytes *file, int code, const char *text);

/*
 * The elements of a whole file in their order: the header, each journal and each block, the two indexes, the footer.
 * Those of group `i` are the numbers 1 + 2 * i and 2 + 2 * i.
 */
struct elements {
    size_t *at;   /* where each begins, and then the end of the file; owned, free with elements_done */
    size_t count; /* without the end of the file */
};

/* Finds them, going through the file: a journal tells its size, a block ends where its zstd frame does. */
struct elements elements_of(const struct bytes *file);
void elements_done(struct elements *elements);

/*
 * Whether a message names a range (first to last byte) within one element of the file that was damaged. Where a footer
 * should be, or behind one, there is none: the range is no longer than a footer then.
 */
bool element_is_named(const struct elements *elements, const struct err *err, uint64_t first, uint64_t last);

/* ---- a second writer ---- */

struct forge_entry {
    struct digest digest;
    uint64_t size_bytes;
};

/* A group, as it is to stand in the file. */
struct forge_group {
    uint32_t part;
    struct bytes frame; /* owned */
    uint32_t content_bytes;
    uint32_t count;
    struct forge_entry entries[4]; /* for journal and index */
    uint32_t unlisted;             /* so many of the last are in the index alone, without a position */
};

/* A group whose block holds `text` as its only object. Free its frame with bytes_done. */
struct forge_group forge_text(uint32_t part, const char *text);

/* Compresses as FORMAT 3.5 wants it. */
void forge_frame(const void *from, size_t size_bytes, struct bytes *out);

/* Appends a little-endian number of `width` bytes. */
void forge_number(struct bytes *to, uint64_t value, size_t width);

/* Writes a whole file of the groups; the first entry of part 1 is the receipt. No claim. */
void forge_file(const struct forge_group *groups, size_t count, struct bytes *out);

/* Places in a file: the position of an index (part 1 or 2), of an object's and of a block's record in it. */
size_t forge_index_at(const struct bytes *file, uint32_t part);
size_t forge_object_at(const struct bytes *file, uint32_t part, uint32_t number);
size_t forge_block_at(const struct bytes *file, uint32_t part, uint32_t number);

/* Overwrites a number. */
void forge_patch(struct bytes *file, size_t at, uint64_t value, size_t width);

/* Makes the digests of the indexes and the footer right again. */
void forge_seal(struct bytes *file);
