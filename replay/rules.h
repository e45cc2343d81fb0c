/*
 * The rules of the decision (DECISION 5), each over finished tables. A rule tells what speaks against it; it holds
 * where nothing does.
 */
#pragma once

#include "formats/oracle.h"
#include "replay/derive.h"
#include "replay/match.h"

enum { FINDING_TEXTS = 3, FINDING_EVIDENCE = 8 };

/* What one statement of a finding rests on; what is not set is zero. */
struct ground {
    uint64_t seq;          /* of an event */
    const struct run *run; /* or a row of it, or the run itself */
    int role;
    uint32_t round;
    Exhibit__StreamName stream; /* or bytes of a stream of it; none: of the artifact that the event tells of */
    uint64_t offset_bytes;
    uint64_t size_bytes;
};

/* Hears every statement and ground, beyond what a finding keeps. `text` is printable ASCII. */
struct finding_ear {
    void (*statement)(void *context, const char *text);
    void (*ground)(void *context, const struct ground *ground);
    void *context;
};

/* What speaks against a rule: the first few for a person, and how many there are. All zero: nothing. */
struct finding {
    const struct finding_ear *ear; /* borrowed; NULL: nobody hears */
    size_t count;
    char texts[FINDING_TEXTS][560];
    char evidence[FINDING_EVIDENCE][160]; /* each once */
    size_t evidence_count;
};

/* Adds one; text that could steer a terminal is made harmless. */
void finding_tell(struct finding *finding, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Names the event that the last one rests on; 0 names none. */
void finding_event(struct finding *finding, uint64_t seq);

/* Names the row that the last one rests on; a role of 0 names the run alone. */
void finding_row(struct finding *finding, const struct run *run, int role, uint32_t round);

/* Tells that the last one rests on bytes of a stream of a run; the evidence names the run. */
void finding_bytes(struct finding *finding, const struct run *run, Exhibit__StreamName stream, uint64_t offset_bytes,
                   uint64_t size_bytes);

/* Names the Artifact event that the last one rests on, and the bytes of its content. */
void finding_content(struct finding *finding, uint64_t seq, uint64_t offset_bytes, uint64_t size_bytes);

/* The runs of one trial that the oracle names; NULL where there is none. */
struct trial {
    const struct oracle_trial *expected;
    struct run *baseline, *strict;
    struct run *controls[2]; /* before and after the strict run */
};

enum { CASE_BASELINE, CASE_BASELINE_AGAIN, CASE_STRICT, CASE_RUNS };

/* The runs of one case that the oracle names, and whether each met it. */
struct judged_case {
    const struct oracle_case *expected;
    struct run *runs[CASE_RUNS];
    struct match matches[CASE_RUNS];
};

/* What the rules are asked about. Borrowed while they are. */
struct judged {
    struct facts *facts;
    const struct oracle *oracle;
    bool partial;
    struct trial *trials; /* as many as the oracle has */
    struct judged_case *cases;
};

struct rule {
    const char *name;
    /* Adds what speaks against the rule. Errors as source->read_stream; most rules read nothing and cannot fail. */
    int (*check)(const struct judged *judged, struct finding *out, struct err *err);
};

enum { RULE_COUNT = 14 };

/* In the order of DECISION 5. */
extern const struct rule rules[RULE_COUNT];

/* The rules themselves, by the last part of their names: each as `check` of struct rule. */
int rule_recording(const struct judged *judged, struct finding *out, struct err *err);
int rule_pins(const struct judged *judged, struct finding *out, struct err *err);
int rule_observers(const struct judged *judged, struct finding *out, struct err *err);
int rule_controls(const struct judged *judged, struct finding *out, struct err *err);
int rule_spoke(const struct judged *judged, struct finding *out, struct err *err);
int rule_outcomes(const struct judged *judged, struct finding *out, struct err *err);
int rule_baseline(const struct judged *judged, struct finding *out, struct err *err);
int rule_cleanup(const struct judged *judged, struct finding *out, struct err *err);
int rule_attempts(const struct judged *judged, struct finding *out, struct err *err);
int rule_traces(const struct judged *judged, struct finding *out, struct err *err);
int rule_contract(const struct judged *judged, struct finding *out, struct err *err);
int rule_archives(const struct judged *judged, struct finding *out, struct err *err);
int rule_ended(const struct judged *judged, struct finding *out, struct err *err);
int rule_quiet(const struct judged *judged, struct finding *out, struct err *err);

/* Whether the trial's strict run has a step. */
bool trial_has_ending(const struct trial *trial);

/* cancel.ended and cancel.quiet of one trial: adds what of it speaks against them. Nothing where it has no ending. */
void ending_check_ended(const struct judged *judged, const struct trial *trial, struct finding *out);
void ending_check_quiet(const struct judged *judged, const struct trial *trial, struct finding *out);

/* Fills in the outcome of every attempt under the oracle (DECISION 3.2). */
void outcomes_judge(const struct facts *facts, const struct oracle *oracle);

/* "reached", "denied", "diverted" or "undetermined". Static. */
const char *outcome_word(enum outcome outcome);

/* The first Freeze of this moment and input. NULL: none. */
const Exhibit__Event *freeze_find(const struct facts *facts, Exhibit__FreezeMoment moment, const char *input);

/* Whether two Freeze events have the same list. */
bool freeze_same(const Exhibit__Event *a, const Exhibit__Event *b);
