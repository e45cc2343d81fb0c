/*
 * Values that plans and oracles have in common: names, and lists of effects. Knows no other part of either.
 */
#pragma once

#include "formats/limits.h"
#include "formats/yaml.h"

/* How many effects effect_names (formats/oracle.h) holds. */
#define EFFECT_COUNT 5

/*
 * A name: 1 to LIMIT_NAME_BYTES of a-z, 0-9 and '-', not '-' first. A copy, owned by the caller. Errors as yaml_text;
 * `out` is unchanged then.
 */
int plan_name_read(const struct yaml_node *node, char **out, struct err *err);

/* Checks that no earlier sibling map in the list has the same `name`. `what`: "case". ERR_USAGE. */
int plan_name_check_fresh(const struct yaml_node *map, const char *what, struct err *err);

/*
 * A list of effects, each known and there once; all of them where `node` is NULL. `out` (all zero before) is owned by
 * the caller, as far as it was filled after a failure too: free with plan_texts_free.
 */
int plan_effects_read(const struct yaml_node *node, char ***out, size_t *out_count, struct err *err);

/* Frees `count` texts and the list of them. NULL is harmless. */
void plan_texts_free(char **texts, size_t count);
