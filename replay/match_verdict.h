/*
 * What one matcher comes to, while it is being evaluated: the walls of the matchers' own files.
 */
#pragma once

#include "replay/match.h"

#include <jansson.h>

enum { VERDICT_WORDS = 128 };

enum verdict_kind {
    VERDICT_HOLDS,
    VERDICT_FAILS,
    VERDICT_UNABLE, /* it cannot be evaluated */
};

struct verdict {
    enum verdict_kind kind;
    char wanted[VERDICT_WORDS]; /* of one that fails; empty: as match_wants has it */
    char seen[VERDICT_WORDS];   /* of one that fails; of one that cannot be evaluated: why */
    char at[VERDICT_WORDS];     /* of one that fails */
    struct match_place place;
};

/* One stream of the run, and what was made of it for the matchers so far. */
struct content {
    Exhibit__StreamName name;
    const Exhibit__StreamEnd *end; /* NULL: not seen */
    bool is_read;
    struct bytes bytes;
    bool is_parsed;
    json_t *json;        /* NULL after is_parsed: the bytes are no JSON text */
    char json_fault[80]; /* then: why */
};

/* A run of a case that is being judged. */
struct matching {
    struct facts *facts;
    const struct run *run;
    struct content streams[2]; /* stdout, stderr */
};

/* Sets the verdict, with what was seen. The words may hold anything; what is not printable ASCII becomes `?`. */
void verdict_fails(struct verdict *verdict, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void verdict_unable(struct verdict *verdict, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Says what was wanted there, and where "there" is. */
void verdict_wanted(struct verdict *verdict, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void verdict_at(struct verdict *verdict, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Says where: an event; or bytes of a stream, of which the first few are named as the place. */
void verdict_at_event(struct verdict *verdict, uint64_t seq);
void verdict_at_bytes(struct verdict *verdict, const struct content *content, uint64_t offset_bytes);

/* Bytes as a text in quotes, shortened, with a `?` for each that is not printable ASCII. Gives `out`. */
const char *match_quote(const void *from, size_t size_bytes, char *out, size_t room_bytes);

/*
 * The evaluators: each sets *out, which is VERDICT_HOLDS before, for the matchers that its file knows. Errors as
 * source->read_stream, and ERR_SYSTEM.
 */
typedef int match_evaluate(struct matching *matching, const struct oracle_matcher *matcher, struct verdict *out,
                           struct err *err);
match_evaluate match_end;     /* exit, signal, duration_ms */
match_evaluate match_stream;  /* all on a stream, read and parsed as it needs; the next two are asked by it */
match_evaluate match_file;    /* exists, sha256, absent */
match_evaluate match_json_at; /* on a stream that was read */

/* Whether the bytes have a run that the expression describes (ORACLE 4.8). Takes time in proportion to both. */
bool match_regex(const struct oracle_regex *regex, const uint8_t *bytes, size_t size_bytes);

/* Releases what was made of the streams. */
void matching_done(struct matching *matching);
