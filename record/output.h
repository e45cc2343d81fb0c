/*
 * Where a recording goes: a file of its own, or a store (docs/FORMAT.md section 11). Knows names and the store's table;
 * not what is recorded.
 */
#pragma once

#include "formats/store_inputs.h"

#include <limits.h>

struct output_request {
    const char *file;               /* must not exist; NULL: a store */
    const char *store;              /* the store's folder; NULL: a file */
    void (*note)(const char *text); /* what a store has to say; NULL: nobody listens */
};

/* All zero but dir_fd -1 is one that was not opened. Must not be moved while a writer of it is there. */
struct output {
    struct output_request request;
    int dir_fd; /* of the file; -1 with a store */
    char name[NAME_MAX + 1];
    struct store *store;
    struct store_inputs *inputs;
};

/* Looks whether it can be used, and changes nothing. ERR_USAGE says what to do. ERR_SYSTEM. */
int output_check(struct output *output, const struct output_request *request, struct err *err);

/*
 * Takes a store's lock, which may take as long as a prune, and reads what it has; a folder that is empty or missing
 * becomes a store. Partial files that no writer has any more are noted. Nothing to do for a file. ERR_USAGE,
 * ERR_SYSTEM.
 */
int output_open(struct output *output, struct err *err);

/* Starts the pack. Errors as pack_writer_new. */
int output_start(struct output *output, struct pack_writer **out, struct err *err);

/* Names the pack by its receipt, in a store, before pack_writer_finish. ERR_SYSTEM. */
int output_name(struct output *output, struct pack_writer *pack, const struct digest *receipt, struct err *err);

/*
 * Starts the pack for the contents of local inputs, in a store. It is named by output_name_local, and finished before
 * the recording's own: a receipt in a store is never without its local contents. Errors as pack_writer_new.
 */
int output_start_local(struct output *output, struct pack_writer **out, struct err *err);
int output_name_local(struct pack_writer *local, const struct digest *receipt, struct err *err);

/* Removes the finished local contents of a receipt whose pack could not be finished. */
void output_forget_local(struct output *output, const struct digest *receipt);

/* Releases everything; the writer must have ended. */
void output_done(struct output *output);
