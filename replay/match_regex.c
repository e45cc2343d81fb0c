/*
 * Runs a regular expression over bytes (ORACLE 4.8): all places at which a run of bytes may be are kept as one set, so
 * that nothing is looked at twice, whatever the expression.
 */
#include "replay/match_verdict.h"

/* The same expression, turned around for the run: of each byte, the places that take it. */
struct machine {
    const struct oracle_regex *regex;
    struct regex_set takers[256];
    size_t word_count; /* of a set, as many as its places need */
};

static void machine_make(const struct oracle_regex *regex, struct machine *out)
{
    *out = (struct machine){.regex = regex, .word_count = (regex->place_count + 63) / 64};
    for (size_t place = 0; place < regex->place_count; place++)
        for (unsigned byte = 0; byte < 256; byte++)
            if (regex_place_takes(&regex->places[place], (uint8_t)byte))
                out->takers[byte].words[place / 64] |= UINT64_C(1) << (place % 64);
}

static bool sets_meet(const struct regex_set *a, const struct regex_set *b, size_t word_count)
{
    for (size_t i = 0; i < word_count; i++)
        if ((a->words[i] & b->words[i]) != 0)
            return true;
    return false;
}

/* Where the runs that are at `now` may be after one more byte; with `begins`, one may begin with it too. */
static struct regex_set step(const struct machine *machine, const struct regex_set *now, uint8_t byte, bool begins)
{
    struct regex_set next = begins ? machine->regex->first : (struct regex_set){{0}};

    for (size_t i = 0; i < machine->word_count; i++)
        for (uint64_t left = now->words[i]; left != 0; left &= left - 1) {
            const struct regex_set *after = &machine->regex->places[i * 64 + (size_t)__builtin_ctzll(left)].after;

            for (size_t j = 0; j < machine->word_count; j++)
                next.words[j] |= after->words[j];
        }
    for (size_t i = 0; i < machine->word_count; i++)
        next.words[i] &= machine->takers[byte].words[i];
    return next;
}

bool match_regex(const struct oracle_regex *regex, const uint8_t *bytes, size_t size_bytes)
{
    struct machine machine;
    struct regex_set now = {{0}};

    machine_make(regex, &machine);
    if (size_bytes == 0)
        return regex->empty; /* which is tied at both ends: no other stream has such a run */
    for (size_t i = 0; i < size_bytes; i++) {
        now = step(&machine, &now, bytes[i], i == 0 || !regex->from_start);
        if (!regex->to_end && sets_meet(&now, &regex->last, machine.word_count))
            return true;
    }
    return regex->to_end && sets_meet(&now, &regex->last, machine.word_count);
}
