/*
 * What one role of the probe is told to do, from its command line. Knows no system call and no outcome.
 */
#pragma once

#include "base/err.h"
#include "formats/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NONCE_DIGITS (2 * NONCE_BYTES)

/* Places in the probe's argv; docs/DECISION.md 1.4 counts items from one: its third is [2], its fourth [3]. */
enum {
    ARG_VERB = 1,
    ARG_ROLE = 2,
    ARG_NONCE = 3,
    ARG_KEYS = 4,
};

enum role {
    ROLE_IS_PARENT,
    ROLE_IS_CHILD,
    ROLE_IS_GRANDCHILD,
    ROLE_COUNT,
};

enum effect {
    EFFECT_READ,
    EFFECT_READ_LINK,
    EFFECT_WRITE,
    EFFECT_TCP,
    EFFECT_UDP,
    EFFECT_COUNT,
};

/* All texts are borrowed from the argv that was parsed. */
struct assignment {
    enum role role;
    const char *nonce; /* NONCE_DIGITS lower-case hexadecimal digits */
    bool tree;         /* start the next role */
    const char *read_path;
    const char *read_link_path;
    const char *write_path;
    const char *scratch;
    uint16_t tcp_port;
    uint16_t udp_port;
    enum effect effects[EFFECT_COUNT]; /* in the order in which they are tried */
    size_t effect_count;
    uint32_t rounds; /* of the grandchild; the others make one */
    uint32_t interval_ms;
    uint32_t lifetime_ms;
    uint32_t parent_ms; /* of the parent alone, in its place; 0: the same */
    bool ignores_term;
};

/* The names as they stand in lines and on the command line. Static. */
const char *role_name(enum role role);
const char *effect_name(enum effect effect);

/*
 * Parses `run ROLE NONCE KEY=VALUE...`, with every key once (parent_ms and ignore_term at most), in any order.
 * ERR_USAGE says what is wrong; out is then unset.
 */
int assignment_parse(int argc, char *const *argv, struct assignment *out, struct err *err);
