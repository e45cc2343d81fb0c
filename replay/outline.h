/*
 * What is kept of a bundle that was replayed among many: its decisions and which rules changed. Small, whatever the
 * bundle holds.
 */
#pragma once

#include "formats/oracle.h"
#include "replay/recording.h"

/* What a claim says in the end. */
enum decision {
    DECISION_NONE, /* there is no claim */
    DECISION_GO,
    DECISION_NO_GO,
    DECISION_INCOMPLETE,
    DECISION_OTHER, /* a recorded claim may say anything */
    DECISION_ROOM,
};

/* Release with outline_done. */
struct outline {
    struct err err;   /* not ERR_OK: it could not be replayed, and the rest is zero but for the path */
    const char *path; /* borrowed */
    struct digest receipt;
    struct digest oracle; /* that judged */
    bool prospective;
    enum decision old;          /* as recorded */
    enum decision derived;      /* GO, NO_GO or INCOMPLETE */
    uint32_t changed;           /* bit i: the recorded claim does not say of rule i what was derived */
    uint32_t holds;             /* bit i: rule i holds */
    size_t differing;           /* statements of the recorded claim that do not follow; 0 where prospective */
    struct recording recording; /* empty unless it was asked for */
};

/*
 * Opens and replays one, under an oracle (borrowed) or, NULL, the recorded one. A failure of any kind is told in
 * out->err. `path` is borrowed. Threads may do so at the same time.
 */
void outline_make(const char *path, const struct oracle *oracle, bool with_recording, struct outline *out);

/* Releases what is owned. Harmless twice. */
void outline_done(struct outline *outline);

/* "GO", "NO-GO", "INCOMPLETE"; "no claim"; "unknown". Static. */
const char *decision_word(enum decision decision);

/*
 * Opens a bundle for reading; a FIFO or device must not make us wait. ERR_SYSTEM: cannot be opened, or is no regular
 * file.
 */
int bundle_open(const char *path, int *out_fd, struct err *err);
