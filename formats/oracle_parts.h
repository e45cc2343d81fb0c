/*
 * The parts of an oracle that are parsed in files of their own. Each fills its part of `out`, which oracle_done
 * releases whatever happened. ERR_USAGE: file:line: what is wrong; what to do. ERR_SYSTEM: out of memory.
 */
#pragma once

#include "formats/oracle.h"
#include "formats/yaml.h"

/* The denials, with the shipped defaults for what is not given. `node` may be NULL: nothing is given. */
int oracle_denials_read(const struct yaml_node *node, struct oracle *out, struct err *err);

/* One case: its name, what it must show and the archives it must leave. */
int oracle_case_read(const struct yaml_node *node, struct oracle_case *out, struct err *err);

/* What one stream must show, appended to the case's matchers. */
int oracle_stream_read(const struct yaml_node *node, bool on_stderr, struct oracle_case *out, struct err *err);

/* Appends an empty matcher of a kind to the case, at the node's line. ERR_USAGE over LIMIT_MATCHERS. */
int oracle_matcher_add(struct oracle_case *one, enum oracle_matcher_kind kind, const struct yaml_node *at,
                       struct oracle_matcher **out, struct err *err);

/*
 * A YAML value as compact JSON with sorted keys, replacing what was in out: a plain scalar that JSON reads as a number,
 * true, false or null is that; any other scalar is a string.
 */
int oracle_json_read(const struct yaml_node *node, struct bytes *out, struct err *err);
