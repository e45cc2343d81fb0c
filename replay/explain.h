/*
 * The chain from a rule, an attempt or a case to the raw bytes in the file, and how a reader follows it by hand.
 */
#pragma once

#include "replay/bundle.h"

#include <jansson.h>
#include <stdio.h>

/*
 * Explains what `name` names: RULE, TRIAL/ROLE/ROUND/EFFECT, TRIAL/MODE/ROLE/ROUND/EFFECT, CASE/MODE or
 * CASE/MODE/REPEAT, under the oracle that the bundle was replayed with. *out is a JSON object ("schema":
 * "exhibit.explanation/1"), owned by the caller, of bounded size. All texts in it are printable ASCII, what is not
 * being escaped. ERR_USAGE: there is no such thing; explain_list tells what there is. Else as bundle_replay.
 */
int explain(struct bundle *bundle, const char *name, json_t **out, struct err *err);

/* Writes the names that explain takes of this bundle. */
void explain_list(const struct bundle *bundle, FILE *out);

/* Writes an explanation for a person, with commands that read from `file`. */
void explain_print(const json_t *explanation, const char *file, FILE *out);
