/*
 * The rules of docs/DECISION.md section 5, each over what judge_settle has settled.
 */
#pragma once

#include "record/judge_settle.h"

#define JUDGE_RULES 14
#define JUDGE_TOLD_FAILURES 4 /* of one rule, in words; the count tells of the others */

/* What a rule says: holds until the first failure; the failures in words, the first few of them. */
struct judge_verdict {
    const char *rule;
    bool holds;
    unsigned failures;
    char detail[2048];
    char evidence[JUDGE_TOLD_FAILURES][160];
    size_t evidence_count;
};

/* Notes a failure: a sentence, and the raw facts on which it rests ("" for none). */
void judge_fail(struct judge_verdict *verdict, const char *evidence, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The same; the raw fact is the event of that number. */
void judge_fail_at(struct judge_verdict *verdict, uint64_t seq, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Each rule by its name: adds to the verdict (which holds before) what speaks against it. */
void judge_rule_recording(const struct judge *judge, struct judge_verdict *verdict);
void judge_rule_pins(const struct judge *judge, struct judge_verdict *verdict);
void judge_rule_observers(const struct judge *judge, struct judge_verdict *verdict);
void judge_rule_controls(const struct judge *judge, struct judge_verdict *verdict);
void judge_rule_spoke(const struct judge *judge, struct judge_verdict *verdict);
void judge_rule_outcomes(const struct judge *judge, struct judge_verdict *verdict);
void judge_rule_baseline(const struct judge *judge, struct judge_verdict *verdict);
void judge_rule_cleanup(const struct judge *judge, struct judge_verdict *verdict);
void judge_rule_attempts(const struct judge *judge, struct judge_verdict *verdict);
void judge_rule_traces(const struct judge *judge, struct judge_verdict *verdict);
void judge_rule_contract(const struct judge *judge, struct judge_verdict *verdict);
void judge_rule_archives(const struct judge *judge, struct judge_verdict *verdict);
void judge_rule_ended(const struct judge *judge, struct judge_verdict *verdict);
void judge_rule_quiet(const struct judge *judge, struct judge_verdict *verdict);

/* cancel.ended and cancel.quiet of one trial: what of it speaks against them. */
void judge_trial_ended(const struct judge *judge, const struct oracle_trial *trial, struct judge_verdict *verdict);
void judge_trial_quiet(const struct judge *judge, const struct oracle_trial *trial, struct judge_verdict *verdict);

/* The trial's strict run, or NULL where it has no step. */
const struct judge_run *judge_ended_run(const struct judge *judge, const struct oracle_trial *trial);

/* The trial's run, or NULL. */
struct judge_run *judge_trial_run(const struct judge *judge, const char *name, Exhibit__Mode mode, uint32_t repeat);

/* The case's run, or NULL. */
struct judge_run *judge_case_run(const struct judge *judge, const char *name, Exhibit__Mode mode, uint32_t repeat);

/* What a target is called in a sentence, by Exhibit__TargetName. Static. */
const char *judge_target_text(int target);

/* Whether the role left a row in the run. */
bool judge_role_spoke(const struct judge_run *run, Exhibit__Role role);
