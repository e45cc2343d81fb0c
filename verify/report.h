/*
 * The verdict for people and for programs. Judges nothing.
 */
#pragma once

#include "base/err.h"
#include "verify/verdict.h"

#include <stdio.h>

/* Writes the verdict as text, the decision last. `named` is the reader's oracle (NULL: the recorded one is shown). */
void report_print(const struct verdict *verdict, const struct oracle *named, FILE *out);

/* Writes the verdict as one JSON object (schema exhibit.verdict/1). ERR_SYSTEM: out of memory, or not written. */
int report_print_json(const struct verdict *verdict, FILE *out, struct err *err);
