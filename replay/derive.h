/*
 * What follows from the raw tables under every oracle: the lines of the probe, rows, identities, attempts with their
 * own evidence, traces. Each derived thing names the event (and the place in a stream) that it rests on. Knows no
 * rule and no oracle.
 */
#pragma once

#include "formats/digest.h"
#include "replay/source.h"
#include "replay/tables.h"

enum told_kind {
    TOLD_NONE,
    TOLD_OK,
    TOLD_ERRNO,
    TOLD_TIMEOUT,
    TOLD_SIGNAL,
};

struct told {
    uint16_t kind;   /* enum told_kind */
    uint16_t number; /* of an errno or a signal; else 0 */
};

enum line_kind {
    LINE_ROW = 1,
    LINE_TRY = 2,
};

/* One distinct line of the probe in a run: where its bytes were first seen (DECISION 2). */
struct line {
    uint8_t kind; /* enum line_kind */
    uint8_t role;
    uint8_t effect; /* of a try; else 0 */
    uint8_t stream;
    uint32_t round;
    struct told told[EFFECT_COUNT];  /* of a row, by effect */
    uint8_t proofs[2][DIGEST_BYTES]; /* told for read and read-link */
    uint64_t offset_bytes;           /* of its newline in the stream */
    uint64_t seq;                    /* of the Chunk that holds its newline */
    uint64_t at_ns;
};

/* All copies of one row (DECISION 2.5). */
struct row {
    int role;
    uint32_t round;
    const struct line *first; /* the copy that arrived first */
    bool contested;
};

/* What an attempt came to (DECISION 3.2). */
enum outcome {
    OUTCOME_UNDETERMINED,
    OUTCOME_REACHED,
    OUTCOME_DENIED,
    OUTCOME_DIVERTED,
};

struct attempt {
    const struct row *row;
    enum effect effect;
    struct told told;
    bool own_evidence;     /* DECISION 3.1 */
    uint64_t evidence_seq; /* the event that this evidence rests on */
    enum outcome outcome;  /* filled in by outcomes_judge */
};

/* A role's identity (DECISION 4.1, 4.2). */
struct identity {
    bool found;     /* exactly one */
    bool contested; /* two different ones: not found */
    uint32_t pid;
    uint64_t start_time;
    uint64_t first_at_ns;
    uint64_t first_seq;
    bool gone;
    uint64_t gone_at_ns;
    uint64_t gone_seq;
    bool network_is_private; /* DECISION 3.3 */
};

/* What is derived for one trial run. */
struct derived {
    const struct line *lines; /* distinct; rows before tries, then by role and round */
    size_t line_count;
    const struct row *rows; /* by role, round */
    size_t row_count;
    struct attempt *attempts; /* by role, round, planned effect */
    size_t attempt_count;
    struct identity roles[ROLE_ROOM];
    uint64_t file_event_seq[TARGET_ROOM];   /* the run's first FileEvent on a target; 0: none */
    uint64_t changed_seq[TARGET_ROOM];      /* the state after the run where it differs (DECISION 5.2); else 0 */
    uint64_t unexplained_seq[EFFECT_COUNT]; /* the trace that no attempt explains (DECISION 3.1); else 0 */
};

/* A Message event with the form of DECISION 3.1. */
struct message {
    Exhibit__Protocol protocol;
    int role;
    uint32_t round;
    char nonce[NONCE_DIGITS];
    uint64_t seq;
    uint64_t at_ns;
};

/* All zero is the empty one. Release with facts_done. */
struct facts {
    struct tables tables;
    const struct source *source; /* borrowed */
    struct message *messages;    /* by protocol, nonce, role, round, seq */
    size_t message_count;
    const Exhibit__Event **states;     /* what state_of points into */
    struct span state_of[TARGET_ROOM]; /* TargetState events by target */
    struct span launcher_files;        /* what the launcher's own run left, by path */
};

/*
 * Derives everything for every trial run, after tables_finish. Errors as source->read_stream; ERR_FORMAT also where a
 * line lies in no piece of its stream.
 */
int facts_derive(struct facts *facts, struct err *err);

/* Releases it, the tables too. Harmless on the empty one. */
void facts_done(struct facts *facts);

/* The canary that an effect reads, or the target it writes; TARGET_NONE for the network effects. */
Exhibit__TargetName effect_target(enum effect effect);

/* The row of (role, round) in a run. NULL: none. */
const struct row *run_row(const struct run *run, int role, uint32_t round);

/* How many rows of a role a run has. */
size_t run_row_count(const struct run *run, int role);

/* The messages of a role and its planned rounds (*out_count of them). */
const struct message *facts_messages(const struct facts *facts, Exhibit__Protocol protocol, const struct run *run,
                                     int role, size_t *out_count);

/* The content of a canary or target as a Targets event set it. */
const ProtobufCBinaryData *targets_content(const Exhibit__Targets *targets, Exhibit__TargetName name);
