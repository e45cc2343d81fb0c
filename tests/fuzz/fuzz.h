/*
 * What the fuzz targets share: the entry point that libFuzzer (or replay_main.c) calls, and what must hold whatever
 * the bytes are. A target aborts where something does not.
 */
#pragma once

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Gives a target one input (borrowed). Always 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);

/* Aborts with a text where something of ours is not so. */
static inline void fuzz_want(int holds, const char *what)
{
    if (holds)
        return;
    (void)fprintf(stderr, "fuzz: not so: %s\n", what);
    abort();
}

/* What every answer must be: 0, or a kind of error that the same code stands in, with one line of text. */
static inline void fuzz_want_answer(int code, const struct err *err)
{
    if (code == 0)
        return;
    fuzz_want(code < 0 && err->code == code, "a failure has its code in the error");
    fuzz_want(err->text[0] != '\0' && strchr(err->text, '\n') == NULL, "an error is one line");
    fuzz_want(code != ERR_SYSTEM || strstr(err->text, "emory") != NULL, "only memory can be lacking here");
}
