/*
 * What all recordings agree in is said once, of everything for which it is so; what they do not agree in "varies".
 */
#include "replay/candidates_cells.h"

#include "base/cleanup.h"
#include "formats/claim.h"
#include "replay/words.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

enum {
    DIGITS_SHOWN = 12,
    LEAST_SHOWN_MS = 100, /* a process needs a moment to end, and an observer to see it */
};

const char *const cell_names[CELL_COUNT] = {"candidate", "effects", "endings", "cases", "decision"};

/* Writes what stands between two lines. */
static void line_break(bool *first, FILE *out)
{
    if (!*first)
        (void)fputc('\n', out);
    *first = false;
}

static void name_write(const char *name, FILE *out)
{
    text_print_escaped(out, name, strlen(name));
}

static void candidate_write(const struct candidate_row *row, FILE *out)
{
    name_write(row->candidate, out);
    if (row->version[0] != 0) {
        (void)fputc('\n', out);
        name_write(row->version, out);
    }
    if (row->policy[0] != 0)
        (void)fprintf(out, "\npolicy %.*s", DIGITS_SHOWN, row->policy);
    (void)fprintf(out, "\nas %s\nexperiment ", row->as_root ? "root" : "a user");
    name_write(row->experiment, out);
    (void)fprintf(out, "\noracle %.*s", DIGITS_SHOWN, row->oracle);
    if (row->recording_count > 1)
        (void)fprintf(out, "\n%zu recordings", row->recording_count);
}

void outcome_set_write(unsigned set, FILE *out)
{
    const char *between = "";

    if (set == 0)
        (void)fputs("not tried", out);
    for (int i = OUTCOME_UNDETERMINED; i <= OUTCOME_DIVERTED; i++) {
        if ((set >> i & 1) == 0)
            continue;
        (void)fprintf(out, "%s%s", between, outcome_word((enum outcome)i));
        between = "+";
    }
}

/* What came of an effect: one set of outcomes in all recordings, or each with its count. */
static void effect_write(const struct candidate_row *row, int role, int effect, FILE *out)
{
    const size_t *counts = row->outcomes[role][effect];
    const char *before = "varies: ";

    for (unsigned set = 0; set < OUTCOME_SETS; set++) {
        if (counts[set] == 0)
            continue;
        if (counts[set] == row->recording_count) {
            outcome_set_write(set, out);
            return;
        }
        (void)fputs(before, out);
        outcome_set_write(set, out);
        (void)fprintf(out, " %zu", counts[set]);
        before = ", ";
    }
}

static bool same_effect(const struct candidate_row *row, int role, int a, int b)
{
    return memcmp(row->outcomes[role][a], row->outcomes[role][b], sizeof row->outcomes[role][a]) == 0;
}

/* A line of a role for each thing that came of its effects. */
static void role_effects_write(const struct candidate_row *row, int role, bool *first, FILE *out)
{
    for (int effect = 0; effect < EFFECT_COUNT; effect++) {
        const char *between = "";
        int same = 0, before = 0;

        for (int other = 0; other < EFFECT_COUNT; other++) {
            same += same_effect(row, role, effect, other);
            before += other < effect && same_effect(row, role, effect, other);
        }
        if (before > 0 || row->outcomes[role][effect][0] == row->recording_count)
            continue;
        line_break(first, out);
        (void)fprintf(out, "%s: ", word_of_role(role));
        for (int other = effect; other < EFFECT_COUNT && same < EFFECT_COUNT; other++) {
            if (!same_effect(row, role, effect, other))
                continue;
            (void)fprintf(out, "%s%s", between, word_of_effect(other));
            between = ", ";
        }
        (void)fputs(same == EFFECT_COUNT ? "all " : " ", out);
        effect_write(row, role, effect, out);
    }
}

static void effects_write(const struct candidate_row *row, FILE *out)
{
    bool first = true;

    for (int role = 1; role < ROLE_ROOM; role++)
        role_effects_write(row, role, &first, out);
    if (first)
        (void)fputs("no attempt", out);
    for (int effect = 0; effect < EFFECT_COUNT; effect++) {
        if (row->not_measured[effect] == 0)
            continue;
        (void)fprintf(out, "\nnot measured: %s", word_of_effect(effect));
    }
}

static void end_write(const struct candidate_row *row, const struct candidate_end *end, FILE *out)
{
    bool varies = end->words[0].count < row->recording_count;

    (void)fputs(varies ? "varies: " : "", out);
    for (size_t i = 0; i < END_WORDS && end->words[i].ended_by != NULL; i++) {
        (void)fprintf(out, "%s%s", i > 0 ? ", " : "", end->words[i].ended_by);
        if (varies)
            (void)fprintf(out, " %zu", end->words[i].count);
    }
    if (end->longest_ms < LEAST_SHOWN_MS)
        return;
    if (end->longest_ms > end->shortest_ms)
        (void)fprintf(out, " +%" PRIu64 "..%" PRIu64 " ms", end->shortest_ms, end->longest_ms);
    else
        (void)fprintf(out, " +%" PRIu64 " ms", end->longest_ms);
}

/* Whether a role just ended by the steps, each time. */
static bool is_plain_end(const struct candidate_row *row, const struct candidate_end *end)
{
    return end->words[0].count == row->recording_count && strcmp(end->words[0].ended_by, "step") == 0 &&
           end->longest_ms < LEAST_SHOWN_MS;
}

/* "gone in time", "not gone in time", or in how many of the recordings. */
static void held_write(const struct candidate_row *row, const char *what, size_t count, FILE *out)
{
    if (count > 0 && count < row->recording_count)
        (void)fprintf(out, "varies: %s in %zu of %zu", what, count, row->recording_count);
    else
        (void)fprintf(out, "%s%s", count == 0 ? "not " : "", what);
}

/* A line for each trial, and one for each role in it that did not just end by the steps. */
static void endings_write(const struct candidate_row *row, FILE *out)
{
    bool first = true;

    for (size_t i = 0; i < row->ending_count; i++) {
        const struct candidate_ending *ending = &row->endings[i];

        line_break(&first, out);
        name_write(ending->trial, out);
        (void)fputs(": ", out);
        held_write(row, "gone in time", ending->ended_count, out);
        (void)fputs(", ", out);
        held_write(row, "quiet", ending->quiet_count, out);
    }
    for (size_t i = 0; i < row->end_count; i++) {
        if (is_plain_end(row, &row->ends[i]))
            continue;
        line_break(&first, out);
        name_write(row->ends[i].trial, out);
        (void)fprintf(out, ": %s ", word_of_role(row->ends[i].role));
        end_write(row, &row->ends[i], out);
    }
    if (first)
        (void)fputs("none", out);
}

/* The names of the cases of one sort: +1 met in all recordings, -1 in none. Nothing where there is none. */
static void cases_of_sort_write(const struct candidate_row *row, int sort, bool *first, FILE *out)
{
    const char *before = sort > 0 ? "met: " : "not met: ";

    for (size_t i = 0; i < row->case_count; i++) {
        const struct candidate_case *one = &row->cases[i];

        if (one->count != row->recording_count || one->met_count != (sort > 0 ? one->count : 0))
            continue;
        if (*before != ',')
            line_break(first, out);
        (void)fputs(before, out);
        name_write(one->name, out);
        before = ", ";
    }
}

static void cases_write(const struct candidate_row *row, FILE *out)
{
    bool first = true;
    size_t met = 0;

    for (size_t i = 0; i < row->case_count; i++)
        met += row->cases[i].met_count == row->recording_count;
    if (met == row->case_count) {
        (void)fprintf(out, met == 0 ? "none" : met == 1 ? "the one met" : "all %zu met", met);
        return;
    }
    cases_of_sort_write(row, 1, &first, out);
    cases_of_sort_write(row, -1, &first, out);
    for (size_t i = 0; i < row->case_count; i++) {
        const struct candidate_case *one = &row->cases[i];

        if (one->count == row->recording_count && (one->met_count == 0 || one->met_count == one->count))
            continue;
        line_break(&first, out);
        (void)fputs("varies: ", out);
        name_write(one->name, out);
        (void)fprintf(out, " met in %zu of %zu", one->met_count, row->recording_count);
    }
}

static void decision_write(const struct candidate_row *row, FILE *out)
{
    const char *before = "varies: ";

    for (enum decision i = DECISION_GO; i < DECISION_ROOM; i++) {
        if (row->decisions[i] == 0)
            continue;
        if (row->decisions[i] == row->recording_count)
            (void)fputs(decision_word(i), out);
        else
            (void)fprintf(out, "%s%s %zu", before, decision_word(i), row->decisions[i]);
        before = ", ";
    }
    if (row->prospective_count > 0)
        (void)fputs(" (prospective)", out);
    for (size_t i = 0; i < RULE_COUNT; i++) {
        if (row->failed[i] == 0)
            continue;
        if (row->failed[i] == row->recording_count)
            (void)fprintf(out, "\nfails: %s", rules[i].name);
        else
            (void)fprintf(out, "\nvaries: %s fails in %zu of %zu", rules[i].name, row->failed[i], row->recording_count);
    }
}

void cell_write(const struct candidate_row *row, int cell, FILE *out)
{
    static void (*const writers[CELL_COUNT])(const struct candidate_row *row, FILE *out) = {
        candidate_write, effects_write, endings_write, cases_write, decision_write};

    assert(cell >= 0 && cell < CELL_COUNT);
    writers[cell](row, out);
}
