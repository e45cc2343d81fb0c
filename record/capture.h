/*
 * The bytes of one run: what is offered on its stdin, what comes from its stdout and stderr, and the copies of its
 * lines that each role of a trial leaves in the scratch. Each piece is written down as it arrives.
 */
#pragma once

#include "record/journal.h"
#include "record/loop.h"
#include "record/spawn.h"

/* Owned by the caller, free with capture_free. */
struct capture;

struct capture_request {
    uint32_t run;
    int stdin_fd, stdout_fd, stderr_fd; /* handed over */
    const uint8_t *stdin_bytes;         /* borrowed until capture_finish */
    size_t stdin_size_bytes;
    const char *scratch; /* NULL: no copies of roles are looked for. Borrowed until capture_finish */
    /*
     * NULL: all bytes are kept as they come. Else much output waits in files in this folder and is kept when it has
     * ended: the recorder's judge sees those bytes then. Borrowed until capture_finish.
     */
    const char *spool_folder;
    /* Called with each new piece after it was written down; not with what waits. */
    void (*seen)(void *context, Exhibit__StreamName stream, const uint8_t *bytes, size_t size_bytes);
    void *context;
};

/* The name of the file in which a role keeps its copy, relative to scratch. NULL for ROLE_NONE. Static. */
const char *capture_role_file(Exhibit__Role role);

/* Starts. The descriptors are the capture's from here on, also after a failure. */
int capture_new(struct loop *loop, struct journal *journal, const struct capture_request *request, struct capture **out,
                struct err *err);

/* Looks at the scratch copies, and whether what waits could be written: each 50 ms is enough. */
int capture_sample(struct capture *capture, struct err *err);

/* Whether stdout and stderr have come to their ends. */
bool capture_is_over(const struct capture *capture);

/*
 * Takes what is there, closes what is still open, and writes the end of each stream down. The caller has seen the
 * processes go, or has given up on them.
 */
int capture_finish(struct capture *capture, struct err *err);

/* Closes and releases; NULL is harmless. */
void capture_free(struct capture *capture);
