/*
 * Whether a run meets a case of the oracle: docs/DECISION.md section 6, docs/ORACLE.md section 4. What fails is told as
 * DECISION 6.5 has it.
 */
#pragma once

#include "record/judge_state.h"

#include <jansson.h>

/* What one matcher came to. */
struct judge_finding {
    bool holds;
    char text[400]; /* where not: "expected E, seen S, at W", or "cannot be evaluated: WHY" */
};

/* Bytes in a sentence, shortened. */
struct judge_quote {
    char text[64];
};

/* One stream of a run, for all matchers on it. */
struct judge_shown {
    const char *name; /* "stdout" */
    bool whole;
    uint64_t size_bytes;
    struct bytes kept; /* borrowed; all of it where size_bytes is at most LIMIT_MATCHED_STREAM_BYTES */
    struct digest digest;
    bool parsed;  /* json and json_fault are set */
    json_t *json; /* owned; NULL: it is not one JSON text */
    char json_fault[160];
};

/* Tells a failing matcher to whoever wants to know: "oracle line N: MATCHER: ...". `seq` is an event of it. */
struct judge_listener {
    void (*take)(void *context, const char *sentence, uint64_t seq);
    void *context;
};

/* Whether the run meets the case. `listener` hears of each failing matcher, or why there is none; it may be NULL. */
bool judge_case_is_met(const struct judge *judge, const struct judge_run *run, const struct oracle_case *expected,
                       const struct judge_listener *listener);

/* Notes that the matcher does not hold: all of "expected E, seen S, at W". */
void judge_finding_differs(struct judge_finding *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Notes that it cannot be evaluated, and why. */
void judge_finding_cannot(struct judge_finding *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Quotes bytes (may be NULL where there are none): printable ASCII as it is, else '?'. */
struct judge_quote judge_quote_of(const void *from, size_t size_bytes);

/* Matches a stream: every kind of matcher on one but those of JSON. Sets out->holds, or a text. */
void judge_stream_match(const struct judge_shown *shown, const struct oracle_matcher *matcher,
                        struct judge_finding *out);

/* The same for those of JSON; parses the stream at the first. */
void judge_json_match(struct judge_shown *shown, const struct oracle_matcher *matcher, struct judge_finding *out);

/* Whether bytes hold a run that the expression describes, in time proportional to bytes times places. */
bool judge_regex_is_found(const struct oracle_regex *regex, const struct bytes *bytes);

/* Matches what a run left in its scratch, but for what the launcher leaves there by itself. After judge_settle. */
void judge_files_match(const struct judge *judge, const struct judge_run *run, const struct oracle_matcher *matcher,
                       struct judge_finding *out);

/* Whether a path is one that a pattern with at most one '*' names. */
bool judge_path_matches(const char *pattern, const ProtobufCBinaryData *path);

/*
 * Whether the archive of the strict run equals that of the baseline, but for what differs between the baselines
 * (`again` may be NULL) and what the oracle excepts. Where not, `why` says in what.
 */
bool judge_archives_are_equal(const struct oracle_archive *archive, const struct judge_run *baseline,
                              const struct judge_run *again, const struct judge_run *strict, char *why,
                              size_t room_bytes);
