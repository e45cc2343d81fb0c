/*
 * Errors by kind. "Could not", "is malformed" and "is false" are three different answers everywhere.
 *
 * This file knows no file, no format and no judgement.
 */
#pragma once

enum err_code {
    ERR_OK = 0,
    ERR_SYSTEM = -1,   /* a system call failed: sys_errno says which way; says nothing about the data */
    ERR_FORMAT = -2,   /* the bytes do not follow docs/FORMAT.md */
    ERR_MISMATCH = -3, /* the bytes follow the format, but what they claim is not so */
    ERR_LIMIT = -4,    /* more than formats/limits.h allows */
    ERR_USAGE = -5,    /* a bad argument, plan, oracle or policy: the caller can fix it */
};

struct err {
    enum err_code code;
    int sys_errno;
    char text[1024]; /* no heap: reporting "out of memory" must not need memory */
};

/* Fills err (cut at its size, always terminated) and returns code, so that a failing function ends in one line. */
int err_set(struct err *err, enum err_code code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Like err_set with ERR_SYSTEM; keeps errno in sys_errno and appends ": " and its text. Returns ERR_SYSTEM. */
int err_set_errno(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Puts "context: " before the text already there. Returns the code already there, which must not be ERR_OK. */
int err_wrap(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The word for a kind, for messages: "could not", "malformed", "false", "over a limit", "wrong usage". Static. */
const char *err_kind_text(enum err_code code);
