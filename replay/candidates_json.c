/*
 * The table as JSON, row by row: the whole of it is never in memory.
 */
#include "replay/candidates.h"

#include "replay/words.h"

#include <jansson.h>
#include <string.h>

/* {"outcomes": ["denied"], "recordings": 3} */
static json_t *set_json(unsigned set, size_t count)
{
    json_t *words = json_array();

    for (int i = OUTCOME_UNDETERMINED; i <= OUTCOME_DIVERTED; i++)
        if ((set >> i & 1) != 0)
            (void)json_array_append_new(words, json_string(outcome_word((enum outcome)i)));
    return json_pack("{s:o, s:I}", "outcomes", words, "recordings", (json_int_t)count);
}

/* Whether a recording of the row tried the effect in this role; *varies is set where they do not agree. */
static bool effect_was_tried(const struct candidate_row *row, int role, int effect, bool *varies)
{
    const size_t *counts = row->outcomes[role][effect];

    for (unsigned set = 0; set < OUTCOME_SETS; set++)
        *varies = *varies || (counts[set] > 0 && counts[set] < row->recording_count);
    return counts[0] < row->recording_count;
}

static json_t *effects_json(const struct candidate_row *row, bool *varies)
{
    json_t *effects = json_array();

    for (int role = 1; role < ROLE_ROOM; role++)
        for (int effect = 0; effect < EFFECT_COUNT; effect++) {
            const size_t *counts = row->outcomes[role][effect];
            json_t *sets;

            if (!effect_was_tried(row, role, effect, varies))
                continue;
            sets = json_array();
            for (unsigned set = 0; set < OUTCOME_SETS; set++)
                if (counts[set] > 0)
                    (void)json_array_append_new(sets, set_json(set, counts[set]));
            (void)json_array_append_new(effects, json_pack("{s:s, s:s, s:o}", "role", word_of_role(role), "effect",
                                                           word_of_effect(effect), "seen", sets));
        }
    return effects;
}

static json_t *trials_json(const struct candidate_row *row, bool *varies)
{
    json_t *trials = json_array();

    for (size_t i = 0; i < row->ending_count; i++) {
        const struct candidate_ending *ending = &row->endings[i];

        *varies = *varies || (ending->ended_count > 0 && ending->ended_count < row->recording_count) ||
                  (ending->quiet_count > 0 && ending->quiet_count < row->recording_count);
        (void)json_array_append_new(
            trials, json_pack("{s:s, s:I, s:I, s:I}", "trial", ending->trial, "recordings", (json_int_t)ending->count,
                              "ended", (json_int_t)ending->ended_count, "quiet", (json_int_t)ending->quiet_count));
    }
    return trials;
}

static json_t *ends_json(const struct candidate_row *row, bool *varies)
{
    json_t *ends = json_array();

    for (size_t i = 0; i < row->end_count; i++) {
        const struct candidate_end *end = &row->ends[i];
        json_t *words = json_object();

        for (size_t j = 0; j < END_WORDS && end->words[j].ended_by != NULL; j++)
            (void)json_object_set_new(words, end->words[j].ended_by, json_integer((json_int_t)end->words[j].count));
        *varies = *varies || end->words[0].count < row->recording_count;
        (void)json_array_append_new(ends, json_pack("{s:s, s:s, s:o, s:[I,I]}", "trial", end->trial, "role",
                                                    word_of_role(end->role), "ended_by", words, "survived_ms",
                                                    (json_int_t)end->shortest_ms, (json_int_t)end->longest_ms));
    }
    return ends;
}

static json_t *cases_json(const struct candidate_row *row, bool *varies)
{
    json_t *cases = json_array();

    for (size_t i = 0; i < row->case_count; i++) {
        const struct candidate_case *one = &row->cases[i];

        *varies = *varies || one->count < row->recording_count || (one->met_count > 0 && one->met_count < one->count);
        (void)json_array_append_new(cases, json_pack("{s:s, s:I, s:I}", "name", one->name, "recordings",
                                                     (json_int_t)one->count, "met", (json_int_t)one->met_count));
    }
    return cases;
}

static json_t *decisions_json(const struct candidate_row *row, bool *varies)
{
    json_t *decisions = json_object();

    for (enum decision i = DECISION_GO; i < DECISION_ROOM; i++) {
        if (row->decisions[i] == 0)
            continue;
        *varies = *varies || row->decisions[i] < row->recording_count;
        (void)json_object_set_new(decisions, decision_word(i), json_integer((json_int_t)row->decisions[i]));
    }
    return decisions;
}

static json_t *failed_json(const struct candidate_row *row, bool *varies)
{
    json_t *failed = json_object();

    for (size_t i = 0; i < RULE_COUNT; i++) {
        if (row->failed[i] == 0)
            continue;
        *varies = *varies || row->failed[i] < row->recording_count;
        (void)json_object_set_new(failed, rules[i].name, json_integer((json_int_t)row->failed[i]));
    }
    return failed;
}

static json_t *not_measured_json(const struct candidate_row *row)
{
    json_t *effects = json_array();

    for (int effect = 0; effect < EFFECT_COUNT; effect++)
        if (row->not_measured[effect] > 0)
            (void)json_array_append_new(effects, json_string(word_of_effect(effect)));
    return effects;
}

/* NULL: out of memory. */
static json_t *row_json(const struct candidate_row *row)
{
    bool varies = false;
    json_t *effects = effects_json(row, &varies), *endings = trials_json(row, &varies);
    json_t *cases = cases_json(row, &varies), *decisions = decisions_json(row, &varies);
    json_t *failed = failed_json(row, &varies), *tree = ends_json(row, &varies);

    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "candidate",
                     row->candidate, "version", row->version, "policy", row->policy, "as",
                     row->as_root ? "root" : "user", "experiment", row->experiment, "oracle", row->oracle, "recordings",
                     (json_int_t)row->recording_count, "prospective", (json_int_t)row->prospective_count, "varies",
                     varies, "effects", effects, "not_measured", not_measured_json(row), "endings", endings, "tree",
                     tree, "cases", cases, "decisions", decisions, "rules_failed", failed);
}

bool candidates_print_json(const struct candidates *table, FILE *out)
{
    bool done = fputs("{\"schema\": \"exhibit.table/1\", \"rows\": [", out) != EOF;

    for (size_t i = 0; i < table->row_count && done; i++) {
        json_t *row = row_json(table->rows[i]);

        (void)fputs(i > 0 ? ",\n" : "\n", out);
        done = row != NULL && json_dumpf(row, out, 0) == 0;
        json_decref(row);
    }
    (void)fputs("\n]}\n", out);
    return done && !ferror(out);
}
