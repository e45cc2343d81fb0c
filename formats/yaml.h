/*
 * YAML as a small tree in which each node knows its line: one document, nothing but maps, lists and scalars (no alias,
 * anchor, tag, merge key, duplicate key, directive or NUL), UTF-8, within LIMIT_YAML_BYTES, _DEPTH and _NODES.
 * Every complaint is ERR_USAGE and one line: FILE:LINE: what is wrong; what to do. (ERR_SYSTEM: out of memory.)
 *
 * Knows no plan, oracle or policy.
 */
#pragma once

#include "base/bytes.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum yaml_kind {
    YAML_MAP = 1,
    YAML_LIST,
    YAML_SCALAR,
};

/* All of it is owned by the document and read-only. Walk a map's or list's items by first and next, in file order. */
struct yaml_node {
    enum yaml_kind kind;
    bool plain;        /* a scalar that was written without quotes and not as a block */
    unsigned line;     /* 1 ...: where it begins */
    unsigned key_line; /* of an item of a map: where its key stands */
    char *text;        /* a scalar's content: UTF-8 without NUL, terminated; else NULL */
    char *key;         /* of an item of a map, likewise; else NULL */
    size_t count;      /* of items */
    const char *file;  /* for messages */
    struct yaml_node *parent, *first, *last, *next;
};

/* A parsed document. All zero is the empty one. */
struct yaml {
    char *file;
    struct yaml_node *root;
};

/*
 * Parses a document held in memory (borrowed during the call). `file` is for messages, and is copied. Release with
 * yaml_done; after a failure `out` is all zero.
 */
int yaml_parse(const char *file, const void *from, size_t size_bytes, struct yaml *out, struct err *err);

/* Releases what is owned; the struct is then all zero. */
void yaml_done(struct yaml *yaml);

#define AUTO_YAML __attribute__((cleanup(yaml_done)))

/* Fills err with "FILE:LINE: text" for a node; control characters become '?', so that it stays one line. ERR_USAGE. */
int yaml_fault(const struct yaml_node *at, struct err *err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* ---- maps and lists ---- */

/*
 * Checks that the root is a map whose first key is `version`, with the value 1, and that it has no key but those of
 * `known` (NULL-terminated, with "version"). `what` is the word for it in messages: "a plan".
 */
int yaml_check_root(const struct yaml *yaml, const char *what, const char *const *known, struct err *err);

/* Checks that a node is a map and has no key but those of `known` (NULL-terminated). `what`: "a case". */
int yaml_check_map(const struct yaml_node *node, const char *what, const char *const *known, struct err *err);

/* Checks that a node is a list of min_count to max_count items. */
int yaml_check_list(const struct yaml_node *node, size_t min_count, size_t max_count, struct err *err);

/* The value of a key of a map; NULL: it has no such key. */
const struct yaml_node *yaml_get(const struct yaml_node *map, const char *key);

/* The same; a missing key is a fault at the map. */
int yaml_need(const struct yaml_node *map, const char *what, const char *key, const struct yaml_node **out,
              struct err *err);

/* ---- values: `out` is unchanged on failure ---- */

/* Any scalar as its text: borrowed from the document, and not empty unless it was written with quotes. */
int yaml_text(const struct yaml_node *node, const char **out, struct err *err);

/* The same as a copy, owned by the caller. */
int yaml_text_copy(const struct yaml_node *node, char **out, struct err *err);

/* true or false, without quotes. */
int yaml_bool(const struct yaml_node *node, bool *out, struct err *err);

/* A decimal number from min to max, without quotes, sign or leading zero. */
int yaml_uint(const struct yaml_node *node, uint32_t min, uint32_t max, uint32_t *out, struct err *err);

/* Any scalar's bytes, or those of {base64: TEXT} (RFC 4648 section 4, canonical). Owned: replaces what was in out. */
int yaml_bytes(const struct yaml_node *node, struct bytes *out, struct err *err);
