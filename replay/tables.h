/*
 * The raw tables of one recording: every event that a judgement can rest on, sorted so that it can be found by kind and
 * run, and the runs. Loading them checks that the log is one that can be judged at all (DECISION 1.1); no rule is
 * known here. Each row keeps the sequence number of its event.
 */
#pragma once

#include "base/arena.h"
#include "base/table.h"
#include "formats/limits.h"
#include "proto/exhibit.pb-c.h"

#include <stdbool.h>
#include <stdint.h>

/* The place of an effect in effect_names (DECISION 8). */
enum effect {
    EFFECT_READ,
    EFFECT_READ_LINK,
    EFFECT_WRITE,
    EFFECT_TCP,
    EFFECT_UDP,
    EFFECT_COUNT,
};

enum { ROLE_ROOM = 4, STREAM_ROOM = 7, TARGET_ROOM = 5, NONCE_DIGITS = 2 * NONCE_BYTES };

/* A piece of a stream, as it arrived. */
struct chunk {
    uint32_t run;
    Exhibit__StreamName stream;
    uint64_t offset_bytes;
    uint64_t size_bytes;
    uint64_t seq;
    uint64_t at_ns;
};

struct derived; /* replay/derive.h */

struct run {
    uint32_t number;
    const Exhibit__Event *event; /* of its RunStart */
    const Exhibit__RunStart *start;
    const Exhibit__Event *exit;                  /* its first RunExit; NULL: none */
    const Exhibit__Event *first_step;            /* of the lowest index; NULL: none */
    const Exhibit__Event *last_step;             /* of the highest index */
    const Exhibit__StreamEnd *ends[STREAM_ROOM]; /* NULL: no end was seen */
    uint64_t arrived_bytes[STREAM_ROOM];

    /* Trials alone. */
    uint32_t rounds[ROLE_ROOM]; /* planned, by role */
    bool listed[ROLE_ROOM];     /* whether probe.roles has the role */
    char nonces[ROLE_ROOM][NONCE_DIGITS + 1];
    enum effect effects[EFFECT_COUNT]; /* in planned order */
    size_t effect_count;
    struct derived *derived; /* filled in by derive_all */
};

/* Events in the order of their sequence numbers; borrowed from the tables. */
struct span {
    const Exhibit__Event *const *events;
    size_t count;
};

/* All zero is the empty one. Release with tables_done. */
struct tables {
    struct arena arena;            /* the events, by_seq, the runs themselves, and what is derived */
    const Exhibit__Event **by_run; /* by kind, run, seq */
    const Exhibit__Event **by_seq; /* by kind, seq */
    size_t kept_count;
    size_t sorted_count;  /* rows of by_seq: equal to kept_count once tables_finish was called */
    struct chunk *chunks; /* by run, stream, offset */
    size_t chunk_count;
    struct run **runs; /* by number */
    size_t run_count;
    const Exhibit__RecordingStart *recording;
    const uint8_t *probe_sha256; /* of the Binary exhibit-probe; NULL: none is named */
    uint64_t event_count;
    uint32_t last_run;  /* of the last event taken */
    uint64_t last_seq;  /* the same */
    uint64_t other_seq; /* of the last event of another run than last_run; 0: there is none */
    uint64_t end_count; /* what the RecordingEnd says where that is the last event; else 0 */
};

/*
 * Takes the next event of the log (borrowed during the call); `context` is a struct tables. ERR_FORMAT: the log cannot
 * be judged: no RecordingStart first, a run without a RunStart first or with two, a trial without its assignment,
 * pieces of a stream that do not follow one another. ERR_LIMIT: too many runs or rounds. ERR_SYSTEM: out of memory.
 */
int tables_take(void *context, const Exhibit__Event *event, struct err *err);

/* Sorts, after the last event. ERR_FORMAT: no event, or two runs of the same kind, name, mode and repeat. */
int tables_finish(struct tables *tables, struct err *err);

/* The events of one kind that belong to a run. */
struct span tables_of_run(const struct tables *tables, Exhibit__Event__WhatCase kind, uint32_t run);

/* The events of one kind, whatever run they belong to. */
struct span tables_of_kind(const struct tables *tables, Exhibit__Event__WhatCase kind);

/* The run of (name, mode, repeat) among those of a kind. NULL: none. */
struct run *tables_run(const struct tables *tables, Exhibit__RunKind kind, const char *name, Exhibit__Mode mode,
                       uint32_t repeat);

/* How many events of a span (ascending) have a sequence number below seq. */
size_t span_before(struct span span, uint64_t seq);

/* The sequence number of the last event that is not of this run, kept or not; 0: there is none. */
uint64_t tables_last_of_others(const struct tables *tables, uint32_t run);

/* The pieces of a stream of a run, in order; *out_count of them. */
const struct chunk *tables_chunks(const struct tables *tables, uint32_t run, Exhibit__StreamName stream,
                                  size_t *out_count);

/* Releases everything. Harmless on the empty one. */
void tables_done(struct tables *tables);
