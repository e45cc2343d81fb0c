/*
 * What strace(1) tells of a run, as data, and what one run was refused that another was not. Everything read is hostile
 * text. Knows no sandbox, and starts nothing.
 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum trace_access {
    TRACE_READ = 1, /* of a path, as the next two */
    TRACE_WRITE,
    TRACE_EXECUTE,
    TRACE_NETWORK, /* a call about sockets */
    TRACE_CALL,    /* any other */
};

struct trace_call {
    enum trace_access access;
    char *what;          /* the path; of a network call its address; else the call's name. As strace writes it. Owned */
    char name[32];       /* of the system call */
    char errno_name[16]; /* empty: it succeeded */
};

/* All zero is the empty one. Release with trace_done. */
struct trace {
    struct trace_call *items; /* in the order in which they were added */
    size_t count;
    size_t room;
};

/* Adds the calls of one file that strace -ff -y wrote; other lines are passed over. ERR_SYSTEM. ERR_LIMIT: too many. */
int trace_add(struct trace *trace, const char *text, size_t size_bytes, struct err *err);

/* Adds all files of the folder `path` whose names begin with `prefix` and a dot. ERR_SYSTEM. ERR_LIMIT. */
int trace_read(struct trace *trace, const char *path, const char *prefix, struct err *err);

/*
 * Calls `take` for each thing that failed in `strict` because of the confinement, once, the one that failed last first:
 * it succeeded in `baseline`, or was never tried there and was forbidden (EACCES, EPERM, EROFS). What failed in
 * `harmless` too, a run that went well all the same, is passed over. Sorts `baseline` and `harmless`. ERR_SYSTEM.
 */
int trace_blame(const struct trace *strict, struct trace *baseline, struct trace *harmless,
                void (*take)(void *context, const struct trace_call *call), void *context, struct err *err);

/* Releases what is owned; the struct is then empty. */
void trace_done(struct trace *trace);

#define AUTO_TRACE __attribute__((cleanup(trace_done)))
