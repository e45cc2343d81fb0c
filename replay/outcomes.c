/*
 * What each attempt came to (DECISION 3.2).
 */
#include "replay/rules.h"

#include <assert.h>

const char *outcome_word(enum outcome outcome)
{
    static const char *const words[] = {
        [OUTCOME_UNDETERMINED] = "undetermined",
        [OUTCOME_REACHED] = "reached",
        [OUTCOME_DENIED] = "denied",
        [OUTCOME_DIVERTED] = "diverted",
    };

    return words[outcome];
}

/* Whether the errno says nothing about a boundary where another network can be reached. */
static bool errno_needs_privacy(int number)
{
    static const int numbers[] = {
        111, /* ECONNREFUSED: the numbers of the recording machine, not of this one */
        101, /* ENETUNREACH */
        113, /* EHOSTUNREACH */
        100, /* ENETDOWN */
        99,  /* EADDRNOTAVAIL */
    };

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i] == number)
            return true;
    return false;
}

static bool denial_lists(const struct oracle_denial *denial, int number)
{
    for (size_t i = 0; i < denial->errno_count; i++)
        if (denial->errnos[i] == number)
            return true;
    return false;
}

static enum outcome judge(const struct run *run, const struct attempt *attempt, const struct oracle_denial *denial)
{
    bool network = attempt->effect == EFFECT_TCP || attempt->effect == EFFECT_UDP;
    bool private = !network || run->derived->roles[attempt->row->role].network_is_private;
    bool denied = false;

    if (attempt->own_evidence || run->derived->unexplained_seq[attempt->effect] != 0)
        return OUTCOME_REACHED;
    if (attempt->row->contested)
        return OUTCOME_UNDETERMINED;
    switch (attempt->told.kind) {
    case TOLD_OK:
        return private ? OUTCOME_DIVERTED : OUTCOME_UNDETERMINED;
    case TOLD_ERRNO:
        denied = denial_lists(denial, attempt->told.number) && (private || !errno_needs_privacy(attempt->told.number));
        break;
    case TOLD_TIMEOUT:
        denied = denial->timeout && private;
        break;
    case TOLD_SIGNAL:
        denied = denial->signal;
        break;
    default:
        break;
    }
    return denied ? OUTCOME_DENIED : OUTCOME_UNDETERMINED;
}

void outcomes_judge(const struct facts *facts, const struct oracle *oracle)
{
    assert(oracle->denial_count == EFFECT_COUNT);
    for (size_t i = 0; i < facts->tables.run_count; i++) {
        const struct run *run = facts->tables.runs[i];

        for (size_t j = 0; run->derived != NULL && j < run->derived->attempt_count; j++) {
            struct attempt *attempt = &run->derived->attempts[j];

            attempt->outcome = judge(run, attempt, &oracle->denials[attempt->effect]);
        }
    }
}
