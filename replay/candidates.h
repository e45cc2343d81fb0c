/*
 * The table of candidates: recordings summed up in rows, one for each candidate as it was measured. Counts; words what
 * it counted nowhere.
 */
#pragma once

#include "replay/outline.h"
#include "replay/rules.h"

#include <stdio.h>

enum { OUTCOME_SETS = 1 << (OUTCOME_DIVERTED + 1), END_WORDS = 8 };

/* How one role of a trial ended, over the recordings of a row. */
struct candidate_end {
    char *trial;
    uint8_t role;
    struct {
        const char *ended_by; /* NULL: free from here */
        size_t count;
    } words[END_WORDS];
    uint64_t shortest_ms, longest_ms; /* lived on after the last step */
};

/* How a trial took its ending, over the recordings of a row. */
struct candidate_ending {
    char *trial;
    size_t count, ended_count, quiet_count;
};

struct candidate_case {
    char *name;
    size_t count, met_count;
};

/* Recordings that agree in all of the first part. */
struct candidate_row {
    char *candidate, *version, *experiment;
    char policy[2 * DIGEST_BYTES + 1]; /* empty: none */
    char oracle[2 * DIGEST_BYTES + 1]; /* that judged */
    bool as_root;

    size_t recording_count, prospective_count;
    size_t outcomes[ROLE_ROOM][EFFECT_COUNT][OUTCOME_SETS]; /* recordings by set of outcomes; set 0: not tried */
    size_t not_measured[EFFECT_COUNT];
    struct candidate_end *ends; /* in the order of the first recording, as the cases are */
    size_t end_count;
    struct candidate_ending *endings;
    size_t ending_count;
    struct candidate_case *cases;
    size_t case_count;
    size_t decisions[DECISION_ROOM];
    size_t failed[RULE_COUNT];
};

/* All zero is the empty one. Release with candidates_done. */
struct candidates {
    struct candidate_row **rows; /* by the first part of a row */
    size_t row_count;
};

/* Adds a recording, and takes what it owns. ERR_SYSTEM: out of memory; the outline is the caller's all the same. */
int candidates_add(struct candidates *table, struct outline *outline, struct err *err);

/* Releases it. Harmless on the empty one. */
void candidates_done(struct candidates *table);

/* Each writes the whole table. False: not all of it could be written. */
bool candidates_print_text(const struct candidates *table, FILE *out);
bool candidates_print_markdown(const struct candidates *table, FILE *out);
bool candidates_print_json(const struct candidates *table, FILE *out);
