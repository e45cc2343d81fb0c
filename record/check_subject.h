/*
 * One thing that a check tries, with the sandbox or without: how it is run, and whether that went well.
 */
#pragma once

#include "record/check_session.h"
#include "record/expand.h"
#include "record/tryout.h"

/* One thing that is tried, without and with the sandbox. */
struct subject {
    const char *name;
    struct text_list command, environment; /* owned */
    const uint8_t *stdin_bytes;
    size_t stdin_size_bytes;
    uint32_t watchdog_ms;
    const struct oracle_case *expected; /* NULL: not a case */
    bool speaks;                        /* the probe: it has to leave a row */
};

/* Releases what is owned. */
void subject_done(struct subject *subject);

#define AUTO_SUBJECT __attribute__((cleanup(subject_done)))

/* Makes one run in fresh copies; `trace` (NULL: none) names the files in which strace tells of it. As tryout_run. */
int subject_run(struct check *check, const struct subject *subject, bool strict, const char *trace, struct tryout *out,
                struct err *err);

/* Judges the run just made; an empty `why` (room_bytes) says that all is well. ERR_SYSTEM. */
int subject_look(struct check *check, const struct subject *subject, const struct tryout *tryout, char *why,
                 size_t room_bytes, struct err *err);

/* Whether the probe left its row, on stdout or in its copy in the scratch; tells `out` (NULL: nobody) of it. */
bool subject_spoke(const struct check *check, const struct tryout *tryout, FILE *out);
