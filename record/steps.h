/*
 * The parts of a recording, in the order in which they are made: what is around a run (copies, freezes, artifacts,
 * targets), cases, and trials with their controls. Each returns 0 early when the session was interrupted.
 */
#pragma once

#include "record/session.h"

/* The candidate around a command that does nothing: what the launcher leaves by itself. */
int steps_launcher(struct session *session, struct err *err);

/* All cases of one mode; baseline runs twice where the oracle compares archives. */
int steps_cases(struct session *session, Exhibit__Mode mode, struct err *err);

/* The baseline run of each trial. */
int steps_trials_baseline(struct session *session, struct err *err);

/* Each trial: control, reset, state, strict, drain, state, reset, control. */
int steps_trials_strict(struct session *session, struct err *err);

/* Freezes every source: the workspace's and the plan's inputs. `retain`: keep contents as the plan says (once). */
int steps_freeze(struct session *session, Exhibit__FreezeMoment moment, bool retain, struct err *err);
