/*
 * What only the end of the recording can tell: evidence that came later than the row, outcomes, who was gone when.
 */
#pragma once

#include "record/judge_state.h"

/* Whether an effect of the trial is a network effect. */
bool judge_effect_is_network(const char *effect);

/* The sum of two times in nanoseconds; one that is too large to be told is UINT64_MAX. */
uint64_t judge_ns_sum(uint64_t a_ns, uint64_t b_ns);

/* Fills in own evidence of every row, and when each role was gone; puts rows in order. Once, after the last event. */
void judge_settle(struct judge *judge);

/* The outcome of an attempt of the run, in text (docs/DECISION.md 3.2). Static. */
const char *judge_outcome(const struct judge *judge, const struct judge_run *run, const struct judge_row *row,
                          size_t effect);

/* Whether a target changed over the run (docs/DECISION.md 5.2). */
bool judge_target_changed(const struct judge_run *run, Exhibit__TargetName target);

/* Whether the message has exactly the form of docs/DECISION.md 3.1 for the run; its role and round then. */
bool judge_message_is_of(const struct judge_run *run, const struct judge_message *message, Exhibit__Role *out_role,
                         uint32_t *out_round);

/* How the role's process ended, in text (docs/DECISION.md 4.3). Static. */
const char *judge_ended_by(const struct judge_run *run, Exhibit__Role role);

/* The steps with the lowest and the highest index, or NULL. */
const struct judge_step *judge_first_step(const struct judge_run *run);
const struct judge_step *judge_last_step(const struct judge_run *run);

/* Whether the role, which is known, was among those alive at the first step. */
bool judge_was_alive(const struct judge_run *run, Exhibit__Role role);

/* Whether the first step (NULL: none) is this role's own end. */
bool judge_is_own_end(const struct judge_step *first, Exhibit__Role role);

/* Whether the role has one identity. */
bool judge_role_is_known(const struct judge_run *run, Exhibit__Role role);

/* Whether a role that is gone may have ended itself: it lasted its lifetime, less the margin of 500 ms. */
bool judge_may_be_self_exit(const struct judge_run *run, Exhibit__Role role);
