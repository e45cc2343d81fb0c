/*
 * An oracle as parsed data: docs/ORACLE.md. Defaults are filled in. Says what must be there and what it must show;
 * judges nothing.
 */
#pragma once

#include "base/bytes.h"
#include "base/err.h"
#include "formats/digest.h"
#include "formats/limits.h"
#include "formats/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bounds of the shipped default. */
#define ORACLE_ENDED_MS 2000u
#define ORACLE_GRACE_MS 1000u

enum oracle_matcher_kind {
    ORACLE_EXIT = 1,    /* number: the exit status */
    ORACLE_SIGNAL,      /* number: the signal that ended it */
    ORACLE_EMPTY,       /* the stream has no byte */
    ORACLE_EQUALS,      /* the stream's bytes are `bytes` */
    ORACLE_CONTAINS,    /* the stream's bytes hold `bytes` */
    ORACLE_JSON_EQUALS, /* the stream is one JSON text; the value at `pointer` (RFC 6901) equals the JSON text `bytes`
                         */
    ORACLE_TAP,         /* the stream is TAP; counter `counter` is `number` */
};

enum oracle_tap_counter {
    ORACLE_TAP_TESTS = 1, /* "# tests N" of the summary */
    ORACLE_TAP_PASS,
    ORACLE_TAP_FAIL,
};

struct oracle_matcher {
    enum oracle_matcher_kind kind;
    bool on_stderr; /* else stdout; not for exit and signal */
    int64_t number;
    enum oracle_tap_counter counter;
    char *pointer;
    struct bytes bytes;
    unsigned line; /* where it stands in the file, for messages */
};

struct oracle_archive {
    char *path; /* relative to scratch; a last part with one '*' names exactly one file */
    bool bytes; /* also byte by byte */
};

struct oracle_case {
    char *name;
    unsigned line; /* where it stands in the file, for messages */
    struct oracle_matcher *matchers;
    size_t matcher_count;
    struct oracle_archive *archives;
    size_t archive_count;
};

struct oracle_trial {
    char *name;
    unsigned line; /* where it stands in the file; 1 for the trials that are there by default */
    bool roles[4]; /* by Exhibit__Role: which must exist */
    char **effects;
    size_t effect_count;
};

/* What counts as a denial of one effect. */
struct oracle_denial {
    char *effect;
    int *errnos;
    size_t errno_count;
    bool timeout;
    bool signal;
    bool diverted_allowed;
};

struct oracle {
    struct bytes source;
    struct digest digest;
    uint32_t ended_ms; /* cancel.ended's bound */
    uint32_t grace_ms; /* cancel.quiet's */
    bool identities_required;
    struct oracle_denial *denials; /* one for each known effect, in the order of effect_names */
    size_t denial_count;
    struct oracle_case *cases;
    size_t case_count;
    struct oracle_trial *trials;
    size_t trial_count;
};

/* The effects that this version knows, in their order: read, read-link, write, tcp, udp. NULL-terminated, static. */
extern const char *const effect_names[];

/*
 * Parses an oracle held in memory (borrowed during the call). `file` is for messages. ERR_USAGE, one line: file:line:
 * what is wrong, and what to do. ERR_SYSTEM: out of memory. Release with oracle_done, also after a failure.
 */
int oracle_parse(const char *file, const void *from, size_t size_bytes, struct oracle *out, struct err *err);

/* Checks that the plan has every case, trial, role and effect that the oracle names. ERR_USAGE names what is missing.
 */
int oracle_fits_plan(const char *oracle_file, const struct oracle *oracle, const struct plan *plan, struct err *err);

/* Checks that the oracle names every case of the plan: another would be run and never judged. ERR_USAGE names it. */
int oracle_names_cases(const char *oracle_file, const struct oracle *oracle, const struct plan *plan, struct err *err);

/* The denial entry of an effect, or NULL for an effect that this version does not know. Borrowed from the oracle. */
const struct oracle_denial *oracle_denial_of(const struct oracle *oracle, const char *effect);

/*
 * Writes a line for each denial list, bound and permission to `out`, through `line` (text borrowed during the call);
 * `wider` is whether it is wider than the shipped default.
 */
void oracle_describe(const struct oracle *oracle, void (*line)(void *context, const char *text, bool wider),
                     void *context);

/* Releases what is owned; the struct is then all zero. */
void oracle_done(struct oracle *oracle);
