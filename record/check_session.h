/*
 * What a check stands on: the folders, targets and listeners of a recording, without a recording, and strace. Knows how
 * it is made and removed, not what is tried in it.
 */
#pragma once

#include "record/check.h"
#include "record/session.h"
#include "record/trace.h"

#define CHECK_TOLD_CALLS 12 /* of one thing that breaks */

struct check {
    struct session session;
    const struct oracle *oracle; /* borrowed, as the next */
    FILE *out;                   /* what people read: no secret comes through */
    FILE *hiding;                /* the same, where there are secrets, owned; NULL: there are none */
    FILE *behind;                /* what it leads to */
    struct judge *judge;         /* the journal wants one; nobody asks it */
    struct pack_writer *pack;    /* never finished */
    int work_fd;
    char traces[PATH_MAX]; /* the folder for what strace writes */
    char *strace;          /* its path; NULL: there is none */
    struct trace harmless; /* what fails in runs that go well */
};

/*
 * Makes everything; `check` is all zero before. ERR_USAGE, ERR_SYSTEM. Follow with check_close, also after a failure.
 */
int check_open(struct check *check, const struct check_request *request, struct err *err);

/* Removes everything. Returns `code`, or the failure to remove. */
int check_close(struct check *check, struct err *err, int code);

/* Empties the folder of traces. ERR_SYSTEM. */
int check_trace_clear(struct check *check, struct err *err);

/* Appends the words that stand before a command that is to be traced, into files whose names begin with `name`. */
int check_trace_words(const struct check *check, const char *name, struct text_list *argv, struct err *err);

/* Whether a signal asked for the end. */
const volatile bool *check_interrupted(void);
