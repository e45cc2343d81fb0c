/*
 * All that the probe said in the runs of trials: rows with their copies, and when each distinct line first arrived
 * (DECISION 2). Reads the log once more, with the bytes that its chunks stand for. Knows no outcome.
 */
#pragma once

#include "verify/ledger.h"
#include "verify/spoken_line.h"

struct spoken_row {
    uint64_t seq; /* of the first copy; 0: no such row */
    uint64_t at_ns;
    bool contested;
    struct digest line;       /* of the first copy */
    struct spoken_told *told; /* owned; one for each of the run's effects */
};

/* A distinct line, row or try, at its first arrival. */
struct spoken_arrival {
    uint64_t seq; /* 0: an empty slot */
    uint64_t at_ns;
    Exhibit__Role role;
    struct digest line;
};

/* What one run said. Rows are indexed by round, from 1 to the role's planned rounds. */
struct spoken {
    struct spoken_row *rows[LEDGER_ROLES]; /* owned; NULL where the role has no rounds */
    uint32_t rounds[LEDGER_ROLES];
    uint32_t row_count; /* copies count once */
    uint32_t role_rows[LEDGER_ROLES];
    struct spoken_arrival *arrivals; /* a hash table of `slots` (a power of two) */
    struct bytes arrival_memory;
    size_t slots;
    size_t arrival_count;
    uint64_t right_proofs; /* in rows, as their first copies tell them */
    char first_proof[64];  /* the first of them: ROLE/ROUND */
};

/*
 * Reads what each run of the ledger said: out gets one for each run, in their order (all empty for a run of another
 * kind). ERR_FORMAT: a chunk does not continue its stream. ERR_SYSTEM. Else as the evidence's reading. Release with
 * spoken_free.
 */
int spoken_read(const struct evidence *evidence, struct ledger *ledger, struct spoken **out, struct err *err);

/* Releases them; NULL is harmless. */
void spoken_free(struct spoken *all, size_t run_count);

/* The digest that proves a read of `canary` in a round (DECISION 3.1). */
struct digest spoken_proof(const ProtobufCBinaryData *canary, const char *nonce, uint32_t round);
