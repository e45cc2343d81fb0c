/*
 * What a recording is bound to: machine, binaries, pins, plan, oracle, policy. Gathered before anything is started, but
 * for the candidate's own word on its version.
 */
#pragma once

#include "record/session.h"

struct bindings {
    Exhibit__RecordingStart message;
    uint8_t run_id[RUN_ID_BYTES];
    struct digest plan;
    struct digest oracle;
    struct digest policy;
    Exhibit__Binary **binaries; /* owned */
    Exhibit__Pin **pins;        /* owned */
    ProtobufCBinaryData *launcher;
    char *version; /* owned */
};

/*
 * Gathers everything and puts plan, oracle and policy bytes (NULL: none) into the journal's pack. `program_dir` is
 * where the toolkit's own programs are. Gives the probe's digest to the session. ERR_USAGE: a binary is missing or a
 * pin does not match. Release with bindings_done, also after a failure.
 */
int bindings_gather(struct session *session, const char *program_dir, const struct bytes *policy, struct bindings *out,
                    struct err *err);

/* Writes RecordingStart down. */
int bindings_put(struct session *session, struct bindings *bindings, struct err *err);

/* Releases what is owned. */
void bindings_done(struct bindings *bindings);
