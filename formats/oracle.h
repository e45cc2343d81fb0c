/*
 * An oracle as parsed data: docs/ORACLE.md. Defaults are filled in. Says what must be there and what it must show;
 * judges nothing.
 */
#pragma once

#include "base/bytes.h"
#include "base/err.h"
#include "formats/digest.h"
#include "formats/limits.h"
#include "formats/oracle_regex.h"
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
    ORACLE_MATCHES,     /* the stream has a run of bytes that `regex` describes; `bytes` is the expression as written */
    ORACLE_SHA256,      /* the stream's digest is `digest` */
    ORACLE_LINES,       /* the stream has at_least to at_most lines */
    ORACLE_JSON_TYPE,   /* the stream is one JSON text; the value at `pointer` is of `json_type` */
    ORACLE_JSON_ABSENT, /* the stream is one JSON text; what `pointer` leads to is not there, all before it is */
    ORACLE_DURATION,    /* from Spawned to RunExit it took at_least to at_most milliseconds */
    ORACLE_FILE_EXISTS, /* a regular file of a path that `path` names was left */
    ORACLE_FILE_ABSENT, /* nothing of such a path was left, and the listing is whole */
    ORACLE_FILE_SHA256, /* exactly one such file was left, is kept, and its digest is `digest` */
};

enum oracle_tap_counter {
    ORACLE_TAP_TESTS = 1, /* "# tests N" of the summary */
    ORACLE_TAP_PASS,
    ORACLE_TAP_FAIL,
};

enum oracle_json_type {
    ORACLE_JSON_OBJECT = 1,
    ORACLE_JSON_ARRAY,
    ORACLE_JSON_STRING,
    ORACLE_JSON_NUMBER, /* an integer or a real */
    ORACLE_JSON_INTEGER,
    ORACLE_JSON_REAL,
    ORACLE_JSON_BOOLEAN,
    ORACLE_JSON_NULL,
};

/* What is not told of a kind above is zero, and owned by the oracle. */
struct oracle_matcher {
    enum oracle_matcher_kind kind;
    bool on_stderr; /* else stdout; of a matcher on a stream alone */
    int64_t number;
    uint64_t at_least; /* both included */
    uint64_t at_most;  /* UINT64_MAX: no bound */
    enum oracle_tap_counter counter;
    enum oracle_json_type json_type;
    char *pointer;
    char *path; /* as of an archive, below */
    struct bytes bytes;
    struct digest digest;
    struct oracle_regex *regex;
    unsigned line; /* where it stands in the file, for messages */
};

struct oracle_archive {
    char *path;          /* relative to scratch; a last part with one '*' names exactly one file */
    bool bytes;          /* also byte by byte; then nothing is excepted */
    bool except_mtime;   /* not compared */
    bool except_owner;   /* likewise */
    char **except_paths; /* members of a path that one of these names are left out; each has at most one '*' */
    size_t except_count;
    unsigned line; /* where it stands in the file, for messages */
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

/*
 * Checks that each tree of the plan has something left to say when the oracle's grace after its ending is over: the
 * silence of another would prove nothing. ERR_USAGE names it.
 */
int oracle_hears_silence(const struct oracle *oracle, const struct plan *plan, struct err *err);

/* The denial entry of an effect, or NULL for an effect that this version does not know. Borrowed from the oracle. */
const struct oracle_denial *oracle_denial_of(const struct oracle *oracle, const char *effect);

/*
 * Gives a line for each denial list, bound, permission and exception of an archive, and for the effects and roles that
 * are required, through `line` (text borrowed during the call); `wider` is whether it is wider than the shipped
 * default.
 */
void oracle_describe(const struct oracle *oracle, void (*line)(void *context, const char *text, bool wider),
                     void *context);

/* Releases what is owned; the struct is then all zero. */
void oracle_done(struct oracle *oracle);
