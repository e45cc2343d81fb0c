/*
 * Running a regular expression: the set of places at which a run of bytes may stand goes from byte to byte, eight
 * places in one step. The time is that of bytes times places, whatever the expression is.
 */
#include "verify/matching.h"

#include "base/cleanup.h"

#include <assert.h>
#include <stdlib.h>

#define MATCHING_GROUP 8 /* places whose successors are looked up together: a byte of a set's word */
#define MATCHING_GROUPS (LIMIT_REGEX_PLACES / MATCHING_GROUP)
#define MATCHING_SUBSETS (1u << MATCHING_GROUP)

struct matching_table {
    struct regex_set takes[256];                               /* by byte: the places that take it */
    struct regex_set after[MATCHING_GROUPS][MATCHING_SUBSETS]; /* by subset of a group: what may come next */
};

static void matching_unite(struct regex_set *set, const struct regex_set *more)
{
    for (size_t w = 0; w < REGEX_SET_WORDS; w++)
        set->words[w] |= more->words[w];
}

static bool matching_meet(const struct regex_set *a, const struct regex_set *b)
{
    uint64_t common = 0;

    for (size_t w = 0; w < REGEX_SET_WORDS; w++)
        common |= a->words[w] & b->words[w];
    return common != 0;
}

static void matching_fill(struct matching_table *table, const struct oracle_regex *regex)
{
    assert(regex->place_count <= LIMIT_REGEX_PLACES);
    for (size_t place = 0; place < regex->place_count; place++)
        for (unsigned byte = 0; byte < 256; byte++)
            if (regex_place_takes(&regex->places[place], (uint8_t)byte))
                table->takes[byte].words[place / 64] |= (uint64_t)1 << (place % 64);
    for (size_t group = 0; group * MATCHING_GROUP < regex->place_count; group++) {
        for (unsigned subset = 1; subset < MATCHING_SUBSETS; subset++) {
            struct regex_set *after = &table->after[group][subset];
            size_t lowest = group * MATCHING_GROUP + (size_t)__builtin_ctz(subset);

            *after = table->after[group][subset & (subset - 1)];
            if (lowest < regex->place_count)
                matching_unite(after, &regex->places[lowest].after);
        }
    }
}

/* All that may come after any of these places. */
static void matching_follow(const struct matching_table *table, const struct regex_set *now, struct regex_set *next)
{
    for (size_t w = 0; w < REGEX_SET_WORDS; w++) {
        uint64_t left = now->words[w];

        while (left != 0) {
            unsigned shift = (unsigned)__builtin_ctzll(left) / MATCHING_GROUP * MATCHING_GROUP;

            matching_unite(next, &table->after[(w * 64 + shift) / MATCHING_GROUP][(left >> shift) & 255]);
            left &= ~((uint64_t)255 << shift);
        }
    }
}

static bool matching_run(const struct matching_table *table, const struct oracle_regex *regex, const struct bytes *text)
{
    struct regex_set now = {0};

    for (size_t i = 0; i < text->size_bytes; i++) {
        struct regex_set next = {0};

        if (i == 0 || !regex->from_start)
            next = regex->first;
        matching_follow(table, &now, &next);
        for (size_t w = 0; w < REGEX_SET_WORDS; w++)
            now.words[w] = next.words[w] & table->takes[text->data[i]].words[w];
        if ((!regex->to_end || i + 1 == text->size_bytes) && matching_meet(&now, &regex->last))
            return true;
    }
    return text->size_bytes == 0 && regex->empty;
}

int matching_regex(const struct oracle_regex *regex, const struct bytes *text, bool *out, struct err *err)
{
    AUTO_FREE struct matching_table *table = calloc(1, sizeof *table);

    if (table == NULL)
        return err_set(err, ERR_SYSTEM, "out of memory");
    matching_fill(table, regex);
    *out = matching_run(table, regex, text);
    return 0;
}
