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

/* What must be left in scratch (`files`), appended to the case's matchers. */
int oracle_files_read(const struct yaml_node *node, struct oracle_case *out, struct err *err);

/* The archives that a case must leave. */
int oracle_archives_read(const struct yaml_node *node, struct oracle_case *out, struct err *err);

/* What one stream must show, appended to the case's matchers. */
int oracle_stream_read(const struct yaml_node *node, bool on_stderr, struct oracle_case *out, struct err *err);

/* Appends an empty matcher of a kind to the case, at the node's line. ERR_USAGE over LIMIT_MATCHERS. */
int oracle_matcher_add(struct oracle_case *one, enum oracle_matcher_kind kind, const struct yaml_node *at,
                       struct oracle_matcher **out, struct err *err);

/* A list of what the values of a JSON text must be, appended to the case's matchers. */
int oracle_json_read(const struct yaml_node *node, struct oracle_case *out, struct err *err);

/* A map of `at_least`, `at_most` or both to numbers from 0 to `most`, into the matcher. */
int oracle_range_read(const struct yaml_node *node, uint32_t most, struct oracle_matcher *out, struct err *err);

/* A SHA-256 in 64 hexadecimal digits, in lower case. `out` is unchanged on failure. */
int oracle_digest_read(const struct yaml_node *node, struct digest *out, struct err *err);
