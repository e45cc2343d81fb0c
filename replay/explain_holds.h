/*
 * What each rule was asked about.
 */
#pragma once

#include "replay/explain_build.h"

/* Tells the facts that a rule (of `rules`, by its name) looks at, whether they speak for it or against it. */
void explain_holds(struct explaining *explaining, const char *rule);

/* The same for one rule of completeness each. */
void explain_recording(struct explaining *explaining);
void explain_pins(struct explaining *explaining);
void explain_observers(struct explaining *explaining);
void explain_controls(struct explaining *explaining);
void explain_spoke(struct explaining *explaining);
void explain_outcomes(struct explaining *explaining); /* boundary.attempts is asked about the same */
void explain_baseline(struct explaining *explaining);
void explain_cleanup(struct explaining *explaining);

/* The kept events of a run, of a kind. */
struct span explain_of_run(const struct explaining *explaining, Exhibit__Event__WhatCase kind, const struct run *run);
struct span explain_of_kind(const struct explaining *explaining, Exhibit__Event__WhatCase kind);

/* Begins a statement about a run. */
void explain_say_run(struct explaining *explaining, const struct run *run, const char *what);

/* Calls `tell` for the strict run of each trial that the oracle names, or for all its runs. */
void explain_each_trial(struct explaining *explaining, bool all_modes,
                        void (*tell)(struct explaining *explaining, const struct trial *trial, const struct run *run));

/* The sources as they were frozen before the first run and at another moment. */
void explain_sources(struct explaining *explaining, Exhibit__FreezeMoment moment, const char *when);

/* The targets before and after a trial run. */
void explain_states(struct explaining *explaining, const struct run *run);

/* In short, those of the oracle's cases' runs that `which` lists. */
void explain_cases(struct explaining *explaining, const int *which, size_t count);
