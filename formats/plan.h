/*
 * A plan as parsed data: docs/PLAN.md. Defaults are filled in; placeholders are not expanded yet.
 * Knows no judgement and no process.
 */
#pragma once

#include "base/bytes.h"
#include "base/err.h"
#include "formats/digest.h"
#include "formats/limits.h"
#include "proto/exhibit.pb-c.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A list of byte strings without NUL (argv, paths). */
struct text_list {
    char **items; /* each NUL-terminated; they may hold bytes that are not UTF-8 */
    size_t count;
};

struct plan_variable {
    char *name;
    char *value;  /* of a secret: empty */
    char *secret; /* the caller's variable that has the value when it is recorded; NULL: `value` is it */
};

struct plan_pin {
    unsigned line; /* where it stands in the plan, for messages */
    char *path;    /* absolute */
    struct digest expected;
};

struct plan_input {
    char *name;
    char *path;  /* absolute and resolved; as written where the plan was recorded */
    bool retain; /* keep the contents in the bundle, not only their digests */
    bool local;  /* keep them apart, with salted digests */
};

struct plan_binary {
    unsigned line;
    char *name;
    char *path; /* absolute */
    char *get;  /* how to get it where it is missing; NULL: the plan's own, of which we know nothing */
};

struct plan_case {
    char *name;
    struct text_list command;
    struct bytes stdin_bytes; /* empty: a pipe that is closed at once */
    bool stdin_from_file;     /* they stand in a file beside the plan: plan_parse_recorded leaves stdin_bytes empty */
    uint32_t watchdog_ms;
    struct plan_variable *environment; /* beside the plan's own */
    size_t environment_count;
    unsigned line; /* where it stands in the plan, for messages */
};

struct plan_trial {
    char *name;
    bool tree; /* all three roles; else the parent alone */
    char **effects;
    size_t effect_count;
    uint32_t rounds;      /* of the grandchild; parent and child make one */
    uint32_t interval_ms; /* between its rounds */
    uint32_t lifetime_ms;
    uint32_t parent_ms; /* when the parent ends itself by the plan's ending; 0: with the others */
    bool ignores_term;
    unsigned line; /* where it stands in the plan, for messages */
    struct {
        uint32_t signal; /* SIGTERM or SIGKILL; 0 with STEP_PARENT_EXIT */
        Exhibit__StepTarget target;
        uint32_t after_rounds; /* first step: rows of the grandchild */
        uint32_t after_ms;     /* later steps */
    } steps[LIMIT_STEPS];
    size_t step_count; /* 0 for a trial that is not a tree */
};

struct plan {
    struct bytes source;  /* the file's bytes as read */
    struct digest digest; /* of them */
    char *file;           /* as given, for messages */
    char *folder;         /* absolute, resolved */
    char *name;
    char *oracle_file; /* absolute; NULL: the shipped default */
    struct {
        char *name;
        char *folder;    /* absolute, resolved: of its own; NULL: it is written in the plan */
        char *argv_file; /* where argv stands, for messages: the plan, or the candidate's own file */
        unsigned argv_line;
        struct text_list argv;        /* holds "{command}" exactly once as an item of its own */
        char *policy_file;            /* absolute; NULL: none */
        struct text_list version;     /* a command that prints the version; may be empty */
        struct plan_binary *programs; /* that it cannot do without, beside the launcher */
        size_t program_count;
    } candidate;
    char *workspace; /* absolute folder; NULL: an empty one */
    bool workspace_local;
    struct plan_variable *environment;
    size_t environment_count;
    struct plan_input *inputs;
    size_t input_count;
    struct plan_pin *pins;
    size_t pin_count;
    struct plan_binary *binaries;
    size_t binary_count;
    struct plan_case *cases;
    size_t case_count;
    struct plan_trial *trials;
    size_t trial_count;
};

/*
 * Reads and checks a plan. `candidates_dir` is the folder in which `candidate: {use: NAME}` is looked up (borrowed).
 * Every complaint is ERR_USAGE (or ERR_SYSTEM where the file cannot be read) and one line: file:line: what is wrong,
 * and what to do. Release with plan_done, also after a failure.
 */
int plan_read(const char *file, const char *candidates_dir, struct plan *out, struct err *err);

/*
 * The same from bytes that were recorded: nothing outside of them is opened, so the candidate's folder, files, the
 * workspace and the oracle are not resolved (their paths stay NULL, the candidate's argv may be empty). For judges.
 */
int plan_parse_recorded(const void *from, size_t size_bytes, struct plan *out, struct err *err);

/* Whether the plan calls this input ("workspace" is one) local. */
bool plan_input_is_local(const struct plan *plan, const char *name);

/* Whether some input is local, and whether some variable is a secret. */
bool plan_has_local(const struct plan *plan);
bool plan_has_secret(const struct plan *plan);

/* From the grandchild's first round to the last step of the trial's ending, as planned; 0 for a trial without one. */
uint64_t plan_trial_ending_ms(const struct plan_trial *trial);

/* Releases what is owned; the struct is then all zero. */
void plan_done(struct plan *plan);
