/*
 * The verdict for people and for programs. Judges nothing.
 */
#pragma once

#include "base/err.h"
#include "verify/verdict.h"

#include <jansson.h>
#include <stdio.h>

/* Writes the verdict as text, the decision last. `named` is the reader's oracle (NULL: the recorded one is shown). */
void report_print(const struct verdict *verdict, const struct oracle *named, FILE *out);

/* The part of both that tells what the launcher does by itself. The object is a new reference; NULL: out of memory. */
void report_launcher(FILE *out, const struct surroundings *from);
json_t *report_launcher_json(const struct surroundings *from);

enum { REPORT_SECRETS = 64, REPORT_SECRET_BYTES = 128 }; /* of the names of secrets, what is told */

/* The part of both that tells what the bundle is without. The arrays are new references; NULL: out of memory. */
void report_apart(FILE *out, const struct verdict *verdict);
json_t *report_secrets_json(const struct verdict *verdict);
json_t *report_withheld_json(const struct verdict *verdict);

/* Writes the verdict as one JSON object (schema exhibit.verdict/1). `named` as above. ERR_SYSTEM: out of memory, or not
 * written. */
int report_print_json(const struct verdict *verdict, const struct oracle *named, FILE *out, struct err *err);
