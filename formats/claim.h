/*
 * How a claim looks to people and programs: JSON and a short table. Renders what it is given; knows no rule, outcome
 * or decision by name.
 */
#pragma once

#include "base/bytes.h"
#include "base/err.h"
#include "proto/exhibit.pb-c.h"

#include <jansson.h>
#include <stdio.h>

/* The claim as a JSON object ("schema": "exhibit.claim/1"), owned by the caller (json_decref). NULL: out of memory. */
json_t *claim_to_json(const Exhibit__Claim *claim);

/*
 * Writes the short human table to `out`: cases, rows and messages, the tree, endings, attempts summed up by trial,
 * mode, role, effect and outcome, the rules with their detail, and the decision last. Bytes that could steer a terminal
 * are escaped.
 */
void claim_print(const Exhibit__Claim *claim, FILE *out);

/*
 * Packs the claim without what the judges are free to word as they like (each rule's detail and evidence), replacing
 * what was in out: two claims say the same exactly when these bytes are equal. Errors as message_pack (at most
 * LIMIT_CLAIM_BYTES).
 */
int claim_pack_comparable(const Exhibit__Claim *claim, struct bytes *out, struct err *err);

/* Writes bytes with everything that is not printable ASCII as \xNN, and a backslash as \\. */
void text_print_escaped(FILE *out, const void *from, size_t size_bytes);
