/*
 * The ledger: what a judgement needs of the event log, kept in order and sorted by run (DECISION 1). Bulk facts
 * (chunks, forks) are left out. Refuses a log whose runs do not hang together; knows no rule, no outcome and no oracle.
 */
#pragma once

#include "base/arena.h"
#include "verify/evidence.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEDGER_STREAMS 7 /* by Exhibit__StreamName */
#define LEDGER_ROLES 4   /* by Exhibit__Role */
#define LEDGER_KINDS 40  /* by Exhibit__Event__WhatCase */
#define LEDGER_NONCE_DIGITS 32

/* Events in the log's order, in a table; they are the ledger's. */
struct ledger_list {
    Exhibit__Event **items;
    size_t count;
};

struct ledger_run {
    uint32_t number;
    const Exhibit__Event *start;   /* its RunStart */
    const Exhibit__Event *spawned; /* the first Spawned; NULL: none, and so below */
    const Exhibit__Event *spawn_failed;
    const Exhibit__Event *exit; /* the first RunExit */
    const Exhibit__StreamEnd *ends[LEDGER_STREAMS];
    struct ledger_list events;                          /* of this run, RunStart included */
    char nonces[LEDGER_ROLES][LEDGER_NONCE_DIGITS + 1]; /* of a trial's roles (DECISION 1.3); else empty */
};

struct ledger {
    struct arena arena;                       /* the events */
    struct ledger_list all;                   /* borrowed */
    struct ledger_list by_kind[LEDGER_KINDS]; /* borrowed */
    struct ledger_run **runs;                 /* owned, in the order of their starts */
    size_t run_count;
    const Exhibit__Event *recording_start;
    struct digest probe; /* of the Binary named exhibit-probe */
    bool has_probe;
    uint64_t event_count; /* of the log */
    bool ended;           /* the last event is a RecordingEnd with the right count */
    size_t last_run;      /* where the search for a run begins */
    uint32_t newest_run;  /* the run of the last event; 0: of none */
    uint64_t newest_seq;
    uint64_t elsewhere_seq; /* of the last event that does not belong to newest_run; 0: there is none */
};

/*
 * Reads the log. ERR_FORMAT: DECISION 1.1 does not hold, no RecordingStart first, or a trial's assignment is not usable
 * (names the event). ERR_LIMIT: more than LIMIT_RUNS runs. ERR_SYSTEM: out of memory. Else as the evidence's reading.
 * Release with ledger_done, also after a failure.
 */
int ledger_read(const struct evidence *evidence, struct ledger *out, struct err *err);

/* Releases what is owned. Harmless on an all-zero one. */
void ledger_done(struct ledger *ledger);

/* The run of (kind, name, mode, repeat), or NULL. */
struct ledger_run *ledger_find(const struct ledger *ledger, Exhibit__RunKind kind, const char *name, Exhibit__Mode mode,
                               uint32_t repeat);

/* The run with this number, or NULL. */
struct ledger_run *ledger_run_numbered(struct ledger *ledger, uint32_t number);

/*
 * The last event of a kind with a sequence number below `seq`, or NULL. `target` selects among TargetStates; for all
 * else it is 0.
 */
const Exhibit__Event *ledger_before(const struct ledger *ledger, Exhibit__Event__WhatCase kind, int target,
                                    uint64_t seq);

/* The first one above `seq`, in the same way. */
const Exhibit__Event *ledger_after(const struct ledger *ledger, Exhibit__Event__WhatCase kind, int target,
                                   uint64_t seq);

/* The next event of a kind in a run, from *position on (which is moved past it), or NULL at the end. */
const Exhibit__Event *ledger_next(const struct ledger_run *run, Exhibit__Event__WhatCase kind, size_t *position);

/* The sequence number of the last event that belongs to another run, or to none; 0: there is no such event. */
static inline uint64_t ledger_last_elsewhere(const struct ledger *ledger, uint32_t run)
{
    return ledger->newest_run == run ? ledger->elsewhere_seq : ledger->newest_seq;
}

/* What the run's RunStart says. */
static inline const Exhibit__RunStart *ledger_told(const struct ledger_run *run)
{
    return run->start->run_start;
}

/* Whether the run is one of the probe. */
static inline bool ledger_is_trial(const struct ledger_run *run)
{
    return ledger_told(run)->kind == EXHIBIT__RUN_KIND__RUN_TRIAL;
}

/* The text of a mode (DECISION 1.2); "?" for a value that this version does not know. Static. */
const char *ledger_mode_text(Exhibit__Mode mode);

/* The same of a role. */
const char *ledger_role_text(Exhibit__Role role);

/* The planned rounds of a role in a trial's run; 0 where its assignment does not list the role. */
uint32_t ledger_rounds(const struct ledger_run *run, Exhibit__Role role);
