/*
 * The matchers of an oracle that look into a stream's bytes (docs/ORACLE.md 4.4 to 4.8, 4.10), and the words in which a
 * failing matcher is told (DECISION 6.5). Knows bytes and one matcher; no run and no rule.
 */
#pragma once

#include "base/bytes.h"
#include "formats/oracle.h"

#include <stdbool.h>

struct json_t;

enum matching_came {
    MATCHING_HOLDS = 1,
    MATCHING_FAILS,  /* it was evaluated */
    MATCHING_CANNOT, /* it could not be */
};

/* What came of one matcher. */
struct matching {
    enum matching_came came;
    char told[640]; /* DECISION 6.5, what follows on "MATCHER: "; printable; empty where it holds */
};

/* A whole stream, and what was found out about it so far. Released with matching_stream_done. */
struct matching_stream {
    struct bytes text;   /* owned */
    bool parsed;         /* as JSON, once for all matchers */
    struct json_t *json; /* owned; NULL: it is no JSON text, and `fault` says why */
    char fault[128];
};

/* Bytes as a text, shortened, in quotes, each that is not printable as '?'. */
struct matching_quote {
    char text[72];
};

/*
 * Evaluates a matcher of what a stream holds (not of its length or digest) on the whole of it. ERR_SYSTEM: out of
 * memory; `out` means nothing then.
 */
int matching_try(const struct oracle_matcher *matcher, struct matching_stream *stream, struct matching *out,
                 struct err *err);

/* Releases what is owned; the struct is then all zero. */
void matching_stream_done(struct matching_stream *stream);

/* What a matcher is called in messages: "stdout " and "contains". Static. */
const char *matching_part(const struct oracle_matcher *matcher);
const char *matching_key(const struct oracle_matcher *matcher);

/* The words for what came: "expected E, seen S, at W", or why it cannot be evaluated. */
void matching_fail(struct matching *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void matching_cannot(struct matching *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Replaces each byte of a text that is not printable ASCII by '?'. */
void matching_make_printable(char *text);

struct matching_quote matching_quote(const void *from, size_t size_bytes);

/* "7", "at least 7", "at most 7" or "7 to 9", of what a matcher's bounds ask for. */
struct matching_quote matching_bounds(const struct oracle_matcher *matcher);

/* ---- the parts of matching_try ---- */

/* 4.6, with type and absent. */
int matching_json(const struct oracle_matcher *matcher, struct matching_stream *stream, struct matching *out,
                  struct err *err);

/* 4.8: whether some run of these bytes is described. ERR_SYSTEM: out of memory. */
int matching_regex(const struct oracle_regex *regex, const struct bytes *text, bool *out, struct err *err);
