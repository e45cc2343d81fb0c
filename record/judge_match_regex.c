/*
 * Regular expressions (docs/ORACLE.md 4.8): all ways through an expression are gone at once, byte by byte, so that
 * neither the expression nor the stream can make it slow.
 */
#include "record/judge_match.h"

#include <stdlib.h>
#include <string.h>

/* For each byte, the places that take it. */
struct columns {
    struct regex_set of[256];
};

static void columns_make(const struct oracle_regex *regex, struct columns *out)
{
    memset(out, 0, sizeof *out);
    for (unsigned byte = 0; byte < 256; byte++)
        for (size_t place = 0; place < regex->place_count; place++)
            if (regex_place_takes(&regex->places[place], (uint8_t)byte))
                out->of[byte].words[place / 64] |= UINT64_C(1) << (place % 64);
}

/* Adds to `next` whatever may follow one of the places in `now`. */
static void follow(const struct oracle_regex *regex, const struct regex_set *now, struct regex_set *next)
{
    for (size_t word = 0; word < REGEX_SET_WORDS; word++)
        for (uint64_t left = now->words[word]; left != 0; left &= left - 1) {
            const struct regex_set *after = &regex->places[word * 64 + (size_t)__builtin_ctzll(left)].after;

            for (size_t i = 0; i < REGEX_SET_WORDS; i++)
                next->words[i] |= after->words[i];
        }
}

/* Leaves the places that are in both. Returns whether there is one. */
static bool set_meet(struct regex_set *set, const struct regex_set *other)
{
    uint64_t any = 0;

    for (size_t i = 0; i < REGEX_SET_WORDS; i++) {
        set->words[i] &= other->words[i];
        any |= set->words[i];
    }
    return any != 0;
}

bool judge_regex_is_found(const struct oracle_regex *regex, const struct bytes *bytes)
{
    struct regex_set now = {{0}};
    struct columns columns;

    if (regex->empty && bytes->size_bytes == 0)
        return true;
    columns_make(regex, &columns);
    for (size_t i = 0; i < bytes->size_bytes; i++) {
        struct regex_set next = {{0}}, end;

        if (i == 0 || !regex->from_start)
            next = regex->first;
        follow(regex, &now, &next);
        if (!set_meet(&next, &columns.of[bytes->data[i]]) && regex->from_start)
            return false;
        now = next;
        end = now;
        if ((!regex->to_end || i + 1 == bytes->size_bytes) && set_meet(&end, &regex->last))
            return true;
    }
    return false;
}
