/*
 * Whether a run meets a case of the oracle: docs/DECISION.md section 6, docs/ORACLE.md section 4.
 */
#pragma once

#include "record/judge_state.h"

/* Whether the run meets the case; where not, `why` (room_bytes) says what was expected and seen. `run` is not NULL. */
bool judge_case_is_met(const struct judge_run *run, const struct oracle_case *expected, char *why, size_t room_bytes);

/* Whether an artifact's path is one that the archive names. */
bool judge_archive_matches(const struct oracle_archive *archive, const Exhibit__Artifact *artifact);

/*
 * Whether the archive of the strict run equals that of the baseline, but for what differs between the baselines
 * (`again` may be NULL). Where not, `why` says in what.
 */
bool judge_archives_are_equal(const struct oracle_archive *archive, const struct judge_run *baseline,
                              const struct judge_run *again, const struct judge_run *strict, char *why,
                              size_t room_bytes);
