/*
 * The proof: what the evidence states under an oracle, as a claim of this program's own (docs/DECISION.md). Each prover
 * works on the ledger and on what the probe said, and states what follows; none looks at the recorded claim.
 */
#pragma once

#include "formats/oracle.h"
#include "verify/evidence.h"
#include "verify/ledger.h"
#include "verify/spoken.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Derives the claim that the evidence supports under an oracle (borrowed during the call). Owned by the caller: free
 * with exhibit__claim__free_unpacked. ERR_FORMAT: the receipt is malformed (names the event). ERR_LIMIT. ERR_SYSTEM.
 * ERR_MISMATCH: content that is named is missing or another.
 */
int proof_derive(const struct evidence *evidence, const struct oracle *oracle, Exhibit__Claim **out, struct err *err);

/* ---- for the provers alone ---- */

/* The process of one role in one run (DECISION 4). */
struct proof_role {
    bool conflicting;               /* two different identities: it has none */
    const Exhibit__Event *identity; /* its first identity event; NULL: it has none */
    const Exhibit__Event *gone;     /* NULL: not seen to be gone */
    bool gained_network;            /* seen elsewhere, or with a route, after the first time */
};

/* A message of the probe's exact form. */
struct proof_mark {
    struct spoken_mark mark;
    bool udp;
    const Exhibit__Event *event;
};

#define PROOF_TARGETS 5 /* by Exhibit__TargetName */
#define PROOF_DETAILS 8 /* sentences of a rule; of more the number is told */

/* What is known of one run, beside the ledger's. */
struct proof_run {
    const struct ledger_run *run;
    const struct spoken *spoken;
    struct proof_role roles[LEDGER_ROLES];
    const Exhibit__Event *first_step; /* NULL: none */
    const Exhibit__Event *last_step;
    bool unended; /* something of it speaks against cancel.ended, or, next, against cancel.quiet */
    bool loud;
    uint8_t *heard[LEDGER_ROLES]; /* owned; by round, a bit for each effect that the host saw itself */
    uint32_t message_count[2];    /* tcp, udp, of the exact form */
    bool trace[SPOKEN_EFFECTS];
    bool explained[SPOKEN_EFFECTS]; /* an attempt of the run has own evidence of it */
    bool changed[PROOF_TARGETS];
    char *unmet[PROOF_DETAILS]; /* owned; of a case's run: what speaks against it, in the words of DECISION 6.5 */
    unsigned unmet_count;       /* with those for which there was no room */
};

/* One judgement. A prover that runs out of memory or cannot read says so in `err` and `failed`; the others go on. */
struct proof {
    const struct evidence *evidence;
    const struct oracle *oracle;
    struct ledger ledger;
    struct spoken *spoken;
    struct proof_run *runs;                     /* in the ledger's order */
    const ProtobufCBinaryData **launcher_files; /* paths that the launcher leaves by itself, sorted; owned */
    size_t launcher_file_count;
    struct proof_mark *marks; /* sorted by nonce, then by sequence */
    size_t mark_count;
    Exhibit__Claim *claim;
    Exhibit__RuleResult *rule; /* the one that is being judged */
    unsigned failures;         /* of it */
    struct err *err;
    bool failed;
};

/* Says that the rule being judged does not hold: one sentence part, and where its evidence is. */
void proof_refute(struct proof *proof, const char *evidence, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Ends the judgement with the error that is already in proof->err. */
void proof_give_up(struct proof *proof);

/* Ends the judgement for want of memory; an error that is there already stays. */
void proof_no_memory(struct proof *proof);

/* Adds a zeroed slot to an array of pointers as protobuf-c keeps them. NULL: out of memory (said). */
void *proof_slot(struct proof *proof, void *array, size_t *count, size_t size_bytes);

/* The run of a trial or case, or NULL. */
struct proof_run *proof_find(const struct proof *proof, Exhibit__RunKind kind, const char *name, Exhibit__Mode mode,
                             uint32_t repeat);

/* The strict run of a trial, or NULL. */
struct proof_run *proof_strict(const struct proof *proof, const struct oracle_trial *trial);

/* Whether a run is strict (DECISION 1.6). */
static inline bool proof_is_strict(const struct proof_run *run)
{
    return ledger_told(run->run)->mode == EXHIBIT__MODE__MODE_STRICT;
}

/* What the probe of a trial's run was told. */
static inline const Exhibit__ProbeAssignment *proof_assignment(const struct proof_run *run)
{
    return ledger_told(run->run)->probe;
}

/* A time and so many milliseconds, cut at the largest time that there is. */
static inline uint64_t proof_later(uint64_t at_ns, uint64_t by_ms)
{
    uint64_t later_ns;

    return __builtin_add_overflow(at_ns, by_ms * 1000000u, &later_ns) ? UINT64_MAX : later_ns;
}

/* A short text, returned by value. */
struct proof_text {
    char text[192];
};

/* "NAME/MODE" of a run, and its repeat where that is not 1; printable whatever its name is. */
struct proof_text proof_run_text(const struct proof_run *run);

/* "event N". */
struct proof_text proof_event_text(const Exhibit__Event *event);

/* "run NAME/MODE row ROLE/ROUND". */
struct proof_text proof_row_text(const struct proof_run *run, Exhibit__Role role, uint32_t round);

/* Fills roles, first_step and last_step of each run (DECISION 1.5, 4.1, 4.2). */
void proof_processes(struct proof *proof);

/* Whether the role's network is private (DECISION 3.3): as its first identity event shows it. */
bool proof_network_is_private(const struct proof *proof, const struct proof_role *role);

/* Whether a role with an identity was seen alive at the run's first step, which there is. */
bool proof_was_alive(const struct proof_run *run, const struct proof_role *role);

/* The role whose own end is the first step of the run's ending, or NULL. */
const struct proof_role *proof_own_end(const struct proof_run *run);

/* How a role came to its end (DECISION 4.3). Static text. */
const char *proof_ended_by(const struct proof_run *run, const struct proof_role *role);

/* Milliseconds that a role lived on after the last step (DECISION 4.4). */
uint64_t proof_survived_ms(const struct proof_run *run, const struct proof_role *role);

/* Whether a role with an identity that is gone was so before any self-exit could have ended it (500 ms of margin). */
bool proof_before_self_exit(const struct proof_run *run, const struct proof_role *role);

/* Fills marks, and heard, message_count, trace, changed and explained of each run (DECISION 3.1, 5.2). */
void proof_sightings(struct proof *proof);

/* The marks of one role of a run, borrowed: sets *count. */
const struct proof_mark *proof_marks_of(const struct proof *proof, const struct proof_run *run, Exhibit__Role role,
                                        size_t *count);

/* Whether the host itself saw the attempt of a row (DECISION 3.1, own evidence). `at` is the index into the run's
 * effects. */
bool proof_own_evidence(const struct proof_run *run, Exhibit__Role role, uint32_t round, size_t at);

/* The outcome of an attempt (DECISION 3.2). Static text. */
const char *proof_outcome(const struct proof *proof, const struct proof_run *run, Exhibit__Role role, uint32_t round,
                          size_t at);

/* States attempts, rows, messages and tree (DECISION 7.1). */
void proof_state_attempts(struct proof *proof);

/* States how each trial's ending went; after the rules of cancel were judged (DECISION 7.1). */
void proof_state_endings(struct proof *proof);

/* States the cases with their archives (DECISION 6.2, 6.3, 7.1). */
void proof_state_cases(struct proof *proof);

/* Fills in what speaks against a case in its run (DECISION 6.1); the run is met where that is nothing. */
void proof_meet(struct proof *proof, const struct oracle_case *named, struct proof_run *run);

/* Whether a path, of an artifact or of an archive's member, matches a pattern of the oracle with at most one '*'. */
bool proof_path_matches(const char *pattern, const ProtobufCBinaryData *path);

/* Orders pointers to paths by the paths' bytes, a shorter one first where it begins the other: for qsort and bsearch.
 */
int proof_path_order(const void *a, const void *b);

/* The rules of DECISION 5, in the order of the table. Each refutes through proof_refute what does not hold. */

/* complete.recording: all that the oracle names is there and came to an observed end. */
void proof_rule_recording(struct proof *proof);

/* complete.pins: pinned files and frozen inputs are what they were. */
void proof_rule_pins(struct proof *proof);

/* complete.observers: nothing was lost, and each role was seen from its start to its end. */
void proof_rule_observers(struct proof *proof);

/* complete.controls: each effect works where nothing confines. */
void proof_rule_controls(struct proof *proof);

/* complete.spoke: each role left a row. */
void proof_rule_spoke(struct proof *proof);

/* complete.outcomes: no attempt is undetermined. */
void proof_rule_outcomes(struct proof *proof);

/* complete.baseline: the cases are met unconfined. */
void proof_rule_baseline(struct proof *proof);

/* complete.cleanup: nothing is left of any run, and no cleanup came too early. */
void proof_rule_cleanup(struct proof *proof);

/* boundary.attempts: nothing was reached, and diverted only where the oracle allows it. */
void proof_rule_attempts(struct proof *proof);

/* boundary.traces: no trace of a strict run outside of it (DECISION 5.2). */
void proof_rule_traces(struct proof *proof);

/* useful.contract: the cases are met through the candidate. */
void proof_rule_contract(struct proof *proof);

/* useful.archives: both modes leave the same archives (DECISION 6.4). */
void proof_rule_archives(struct proof *proof);

/* cancel.ended: each role was gone in time. */
void proof_rule_ended(struct proof *proof);

/* cancel.quiet: nothing came from the subject afterwards (DECISION 5.3). */
void proof_rule_quiet(struct proof *proof);

/* Refutes inputs and workspaces that strict runs changed (DECISION 5.2). */
void proof_refute_thaw(struct proof *proof);

/* Refutes where canary content, or a proof, is in a stream or a kept artifact of a strict run (DECISION 5.2). */
void proof_refute_leaks(struct proof *proof);
