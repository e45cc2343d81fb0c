/*
 * What the recorder's judge remembers of a recording: for each run just what some rule will ask for. Filled in by
 * judge_take, read by judge_finish. Knows the oracle, no file and no process.
 */
#pragma once

#include "base/bytes.h"
#include "formats/digest.h"
#include "formats/oracle.h"
#include "proto/exhibit.pb-c.h"
#include "record/judge.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JUDGE_ROLES 4                               /* by Exhibit__Role; 0 is none */
#define JUDGE_STREAMS 7                             /* by Exhibit__StreamName */
#define JUDGE_TARGETS 5                             /* by Exhibit__TargetName */
#define JUDGE_KEPT_BYTES LIMIT_MATCHED_STREAM_BYTES /* of a case's stream */

enum judge_told_kind { JUDGE_TOLD_OK = 1, JUDGE_TOLD_ERRNO, JUDGE_TOLD_TIMEOUT, JUDGE_TOLD_SIGNAL };

/* What one attempt of a row told, and whether the host saw it. */
struct judge_attempt {
    enum judge_told_kind told;
    uint32_t number;  /* the errno or the signal */
    bool proof_right; /* a read whose digest is that of the canary */
    bool own_evidence;
};

/* One row: all its copies. */
struct judge_row {
    Exhibit__Role role;
    uint32_t round;
    uint64_t at_ns;     /* arrival of its first copy */
    struct digest line; /* of that copy */
    bool contested;
    struct judge_attempt *attempts; /* effect_count of the run; owned */
};

/* A row or a try as bytes; of equal ones only the first is kept in the end. */
struct judge_line {
    struct digest digest;
    uint64_t at_ns;
    Exhibit__Role role;
};

/* An identity of a role, as first seen. */
struct judge_role {
    bool listed; /* in probe.roles */
    uint32_t rounds;
    char nonce[2 * NONCE_BYTES + 1]; /* empty in a run that is no trial */
    bool seen;
    bool ambiguous; /* two identities: none */
    uint32_t pid;
    uint64_t start_time;
    uint64_t first_at_ns;
    uint64_t network_namespace; /* when it was first seen */
    uint32_t network_private;   /* 1: a network namespace without any route but the loopback's */
    bool gone;
    uint64_t gone_at_ns;
    uint64_t gone_seq;
};

/* A proof as a number of 256 bits, the lowest word first. */
struct judge_proof {
    uint64_t words[4];
    uint64_t start_seq; /* of the trial run that could tell it; 0: an empty slot */
};

/* The last 64 digits of what was searched, in the same way. */
struct judge_digits {
    uint64_t words[4];
    unsigned count; /* of digits without another byte between them, up to 64 */
};

struct judge_exit {
    uint32_t pid;
    uint64_t start_time;
    uint64_t at_ns;
    uint64_t seq;
};

struct judge_alive {
    uint32_t pid;
    uint64_t start_time;
};

struct judge_step {
    uint32_t index;
    uint32_t signal;
    Exhibit__StepTarget target;
    Exhibit__Step__Trigger trigger;
    uint32_t errno_value;
    uint64_t at_ns;
    uint64_t seq;
};

/* A target's state, as far as it is compared. */
struct judge_target {
    bool known;
    bool exists;
    uint32_t mode;
    uint64_t size_bytes;
    uint64_t inode;
    int64_t mtime_ns;
    int64_t ctime_ns;
    struct digest content;
};

struct judge_written {
    Exhibit__Role role;
    uint32_t round;
};

struct judge_run {
    uint32_t number;
    Exhibit__RunKind kind;
    char *name;
    Exhibit__Mode mode;
    uint32_t repeat;
    uint64_t start_seq;

    /* trials */
    char **effects; /* owned */
    size_t effect_count;
    uint32_t lifetime_ms;
    uint32_t interval_ms;
    Exhibit__StepPlan *plan_steps; /* plain copies; owned */
    size_t plan_step_count;
    struct bytes *command; /* owned */
    size_t command_count;
    struct digest_run *hash; /* for proofs; owned */
    struct judge_role roles[JUDGE_ROLES];
    struct bytes parts[JUDGE_STREAMS]; /* the line that is not whole yet */
    bool overlong[JUDGE_STREAMS];
    struct judge_row *rows;
    size_t row_count;
    size_t row_room;
    struct judge_line *lines;
    size_t line_count;
    size_t line_room;
    struct judge_exit *exits;
    size_t exit_count;
    size_t exit_room;
    struct judge_step *steps;
    size_t step_count;
    size_t step_room;
    struct judge_alive *alive; /* at the step with the lowest index; owned */
    size_t alive_count;
    uint32_t alive_index;
    struct judge_written *written;
    size_t written_count;
    size_t written_room;
    bool stale[JUDGE_TARGETS];    /* its state before the run was not looked at since the last reset */
    bool unlooked[JUDGE_TARGETS]; /* a reset came before its state after the run */
    struct judge_target before[JUDGE_TARGETS];
    struct judge_target after[JUDGE_TARGETS];
    bool targets_set;         /* before the run */
    struct bytes canary_read; /* as they were set when the run started */
    struct bytes canary_link;
    size_t canary_start; /* contents that were set before the run, and before its exit */
    size_t canary_count;
    uint64_t bound_cleanup_at_ns; /* of the first cleanup by bound */
    uint64_t bound_cleanup_seq;   /* 0: none */
    uint64_t cleanup_seq;         /* of the first cleanup; 0: none */

    /* any run */
    bool spawned;
    uint64_t spawned_seq; /* of the first such event; 0: none */
    uint64_t spawned_at_ns;
    bool spawn_failed;
    bool exited;
    Exhibit__RunExit__HowCase exit_how;
    uint32_t exit_value; /* status or signal */
    bool watchdog;
    uint64_t exit_seq;
    uint64_t exit_at_ns;
    bool all_gone;
    uint32_t remaining;
    uint64_t accepted_seq;               /* of the first connection; 0: none, as in the next three */
    uint64_t messaged_seq[3];            /* by Exhibit__Protocol */
    uint64_t touched_seq[JUDGE_TARGETS]; /* inotify told of it */
    uint64_t lost_seq;
    bool drops_seen[3]; /* by Exhibit__Protocol */
    bool leaked;        /* a canary's content in a stream or an artifact */
    uint64_t leaked_seq;
    uint64_t proof_seq; /* where a right proof came out first; 0: none did */
    struct judge_digits digits[JUDGE_STREAMS];
    struct bytes tails[JUDGE_STREAMS]; /* end of what was searched, for finds that run over chunks */
    struct digest frozen_before, frozen_after;
    bool has_frozen_before, has_frozen_after;

    /* cases */
    struct bytes kept[JUDGE_STREAMS]; /* of other strict runs too, until all is known that is looked for in them */
    uint64_t size_bytes[JUDGE_STREAMS];
    bool stream_ended[JUDGE_STREAMS];
    bool stream_cut[JUDGE_STREAMS]; /* its end says that more came than was kept */
    struct digest stream_digest[JUDGE_STREAMS];
    bool listed;                   /* what it left was listed to the end: another's event followed its last freeze */
    Exhibit__Artifact **artifacts; /* of a case, or of the launcher (at the end in order of paths): copies; owned */
    size_t artifact_count;
    size_t artifact_room;
};

struct judge_message {
    Exhibit__Protocol protocol;
    uint32_t run;
    bool truncated;
    uint64_t at_ns;
    uint64_t seq;
    struct bytes payload;
};

struct judge_input {
    char *name;
    struct digest lists[4]; /* by Exhibit__FreezeMoment */
    bool has[4];
};

struct judge {
    const struct oracle *oracle;
    struct digest recorded_oracle;
    struct digest probe;
    bool has_probe;
    uint64_t network_namespace;
    bool pins_fit;
    bool started;
    uint64_t event_count;
    bool ended;           /* the event taken last is RecordingEnd, and its count is right */
    uint64_t lost_seq;    /* of the first loss outside of runs; 0: none */
    uint64_t dropped_seq; /* of the first drop counter that is not 0; 0: none */
    uint32_t listing_run; /* frozen after its end, and nothing but its events came since; 0: none */
    bool targets_set;
    struct bytes canary_read; /* as set last */
    struct bytes canary_link;
    struct bytes *canaries; /* all contents so far */
    size_t canary_count;
    size_t canary_room;
    size_t canary_max_bytes;
    struct judge_proof *proofs; /* what strict trial runs could tell; a hash table */
    size_t proof_slots;         /* a power of two, or 0 */
    size_t proof_count;
    unsigned strict_trial_count;
    struct judge_target targets[JUDGE_TARGETS]; /* as seen last */
    bool stale[JUDGE_TARGETS];                  /* not looked at since the last reset */
    struct judge_run **runs;
    size_t run_count;
    size_t run_room;
    struct judge_message *messages;
    size_t message_count;
    size_t message_room;
    struct judge_input *inputs;
    size_t input_count;
    size_t input_room;
};

/* Makes room for one more item of `size` bytes in a growing array (a pointer to its pointer). ERR_SYSTEM. */
int judge_grow(void *array, size_t *room, size_t count, size_t size, struct err *err);

/* Orders two byte strings as memcmp does, a shorter one first where it begins the other. */
int judge_bytes_order(const ProtobufCBinaryData *a, const ProtobufCBinaryData *b);

/* The run with this number, or NULL. */
struct judge_run *judge_run_find(const struct judge *judge, uint32_t number);

/* The run of (kind, name, mode, repeat), or NULL. */
struct judge_run *judge_run_of(const struct judge *judge, Exhibit__RunKind kind, const char *name, Exhibit__Mode mode,
                               uint32_t repeat);

/* Starts a run. ERR_SYSTEM. ERR_LIMIT: more than LIMIT_RUNS. */
int judge_run_start(struct judge *judge, const Exhibit__Event *event, struct err *err);

/* Takes an event of a process or of a step. ERR_SYSTEM. ERR_LIMIT: more than LIMIT_PROCESSES ends in one run. */
int judge_process_take(struct judge *judge, struct judge_run *run, const Exhibit__Event *event, struct err *err);

/* Takes bytes of a stream: cuts them into lines, looks for canaries, keeps what matchers will want. ERR_SYSTEM. */
int judge_bytes_take(struct judge *judge, struct judge_run *run, const Exhibit__Event *event, const uint8_t *bytes,
                     size_t size_bytes, struct err *err);

/* Takes what is told about targets, listeners, inputs and artifacts; `run` may be NULL. ERR_SYSTEM. */
int judge_evidence_take(struct judge *judge, struct judge_run *run, const Exhibit__Event *event, const uint8_t *payload,
                        size_t payload_bytes, struct err *err);

/* Takes one line without its newline; one that is neither a row nor a try counts for nothing. ERR_SYSTEM. */
int judge_line_take(struct judge_run *run, const char *line, size_t size_bytes, uint64_t at_ns, struct err *err);

/* Lets go of a run's bytes at its exit where nothing will ask for them any more. */
void judge_bytes_release(struct judge_run *run);

/* Adds what the roles of a strict trial run could prove. ERR_LIMIT: too many such runs or rounds. ERR_SYSTEM. */
int judge_proofs_add(struct judge *judge, const struct judge_run *run, struct err *err);

/* Looks for proofs in bytes that a strict run put out, with what `digits` remembers of those before them. */
void judge_proofs_search(const struct judge *judge, struct judge_run *run, struct judge_digits *digits,
                         const uint8_t *bytes, size_t size_bytes, uint64_t seq);

/* Looks once more for canaries that were set while a strict run was under way, in the bytes that are kept of it. */
void judge_leaks_settle(const struct judge *judge, struct judge_run *run);

/* Leaves the first one of equal lines. */
void judge_lines_unite(struct judge_run *run);

/* Parses "EXHIBIT1 WORD NONCE ROLE ROUND" of a role of the run and nothing more. False: not that. */
bool judge_mark_parse(const struct judge_run *run, const char *word, const char *text, size_t size_bytes,
                      Exhibit__Role *out_role, uint32_t *out_round);

/* "parent", "child", "grandchild"; "" for another value. */
const char *judge_role_text(Exhibit__Role role);

/* "baseline", "strict", "control". */
const char *judge_mode_text(Exhibit__Mode mode);

/* The place of an effect in the run's plan, or -1. */
int judge_effect_find(const struct judge_run *run, const char *effect);

/* Releases a run. NULL is harmless. */
void judge_run_free(struct judge_run *run);
