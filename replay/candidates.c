/*
 * Rows are found by binary search, so that many candidates are no burden.
 */
#include "replay/candidates.h"

#include "base/bytes.h"
#include "base/cleanup.h"

#include <stdlib.h>
#include <string.h>

static void row_free(struct candidate_row *row)
{
    for (size_t i = 0; i < row->end_count; i++)
        free(row->ends[i].trial);
    for (size_t i = 0; i < row->case_count; i++)
        free(row->cases[i].name);
    for (size_t i = 0; i < row->ending_count; i++)
        free(row->endings[i].trial);
    free(row->endings);
    free(row->ends);
    free(row->cases);
    free(row->candidate);
    free(row->version);
    free(row->experiment);
    free(row);
}

static int compare_rows(const struct candidate_row *a, const struct candidate_row *b)
{
    int order = strcmp(a->candidate, b->candidate);

    if (order == 0)
        order = strcmp(a->version, b->version);
    if (order == 0)
        order = strcmp(a->policy, b->policy);
    if (order == 0)
        order = (int)a->as_root - (int)b->as_root;
    if (order == 0)
        order = strcmp(a->experiment, b->experiment);
    return order == 0 ? strcmp(a->oracle, b->oracle) : order;
}

/* Finds the row that agrees with a key, or puts a new one with the key's texts. NULL: out of memory. */
static struct candidate_row *find_row(struct candidates *table, const struct candidate_row *key)
{
    size_t low = 0, high = table->row_count;
    struct candidate_row *row, **grown;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare_rows(table->rows[middle], key);

        if (order == 0)
            return table->rows[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    grown = reallocarray(table->rows, table->row_count + 1, sizeof *grown);
    if (grown == NULL)
        return NULL;
    table->rows = grown;
    row = malloc(sizeof *row);
    if (row == NULL)
        return NULL;
    *row = *key;
    row->candidate = strdup(key->candidate);
    row->version = strdup(key->version);
    row->experiment = strdup(key->experiment);
    if (row->candidate == NULL || row->version == NULL || row->experiment == NULL) {
        row_free(row);
        return NULL;
    }
    memmove(grown + low + 1, grown + low, (table->row_count - low) * sizeof *grown);
    grown[low] = row;
    table->row_count++;
    return row;
}

/* Finds what is known of a role's end in a trial. NULL: out of memory. */
static struct candidate_end *find_end(struct candidate_row *row, struct recorded_end *from)
{
    struct candidate_end *grown;

    for (size_t i = 0; i < row->end_count; i++)
        if (row->ends[i].role == from->role && strcmp(row->ends[i].trial, from->trial) == 0)
            return &row->ends[i];
    grown = reallocarray(row->ends, row->end_count + 1, sizeof *grown);
    if (grown == NULL)
        return NULL;
    row->ends = grown;
    grown[row->end_count] =
        (struct candidate_end){.trial = take_ptr(&from->trial), .role = from->role, .shortest_ms = from->survived_ms};
    return &grown[row->end_count++];
}

/* False: out of memory. */
static bool add_end(struct candidate_row *row, struct recorded_end *from)
{
    struct candidate_end *end = find_end(row, from);

    if (end == NULL)
        return false;
    if (from->survived_ms < end->shortest_ms)
        end->shortest_ms = from->survived_ms;
    if (from->survived_ms > end->longest_ms)
        end->longest_ms = from->survived_ms;
    for (size_t i = 0; i < END_WORDS; i++) {
        if (end->words[i].ended_by != NULL && strcmp(end->words[i].ended_by, from->ended_by) != 0)
            continue;
        end->words[i].ended_by = from->ended_by;
        end->words[i].count++;
        break;
    }
    return true;
}

/* False: out of memory. */
static bool add_ending(struct candidate_row *row, struct recorded_ending *from)
{
    struct candidate_ending *grown;
    size_t i = 0;

    while (i < row->ending_count && strcmp(row->endings[i].trial, from->trial) != 0)
        i++;
    if (i == row->ending_count) {
        grown = reallocarray(row->endings, i + 1, sizeof *grown);
        if (grown == NULL)
            return false;
        row->endings = grown;
        grown[i] = (struct candidate_ending){.trial = take_ptr(&from->trial)};
        row->ending_count++;
    }
    row->endings[i].count++;
    row->endings[i].ended_count += from->ended;
    row->endings[i].quiet_count += from->quiet;
    return true;
}

/* False: out of memory. */
static bool add_case(struct candidate_row *row, struct recorded_case *from)
{
    struct candidate_case *grown;
    size_t i = 0;

    while (i < row->case_count && strcmp(row->cases[i].name, from->name) != 0)
        i++;
    if (i == row->case_count) {
        grown = reallocarray(row->cases, i + 1, sizeof *grown);
        if (grown == NULL)
            return false;
        row->cases = grown;
        grown[i] = (struct candidate_case){.name = take_ptr(&from->name)};
        row->case_count++;
    }
    row->cases[i].count++;
    row->cases[i].met_count += from->met;
    return true;
}

int candidates_add(struct candidates *table, struct outline *outline, struct err *err)
{
    struct recording *recording = &outline->recording;
    struct candidate_row key = {.candidate = recording->candidate,
                                .version = recording->version,
                                .experiment = recording->experiment,
                                .as_root = recording->as_root};
    struct candidate_row *row;
    bool done = true;

    memcpy(key.policy, recording->policy, sizeof key.policy);
    hex_encode(outline->oracle.bytes, DIGEST_BYTES, key.oracle);
    row = find_row(table, &key);
    for (size_t i = 0; row != NULL && done && i < recording->end_count; i++)
        done = add_end(row, &recording->ends[i]);
    for (size_t i = 0; row != NULL && done && i < recording->ending_count; i++)
        done = add_ending(row, &recording->endings[i]);
    for (size_t i = 0; row != NULL && done && i < recording->case_count; i++)
        done = add_case(row, &recording->cases[i]);
    if (row == NULL || !done)
        return err_set(err, ERR_SYSTEM, "memory for the table");
    row->recording_count++;
    row->prospective_count += outline->prospective;
    row->decisions[outline->derived]++;
    for (size_t i = 0; i < RULE_COUNT; i++)
        row->failed[i] += (outline->holds >> i & 1) == 0;
    for (size_t effect = 0; effect < EFFECT_COUNT; effect++) {
        row->not_measured[effect] += recording->not_measured >> effect & 1;
        for (size_t role = 1; role < ROLE_ROOM; role++)
            row->outcomes[role][effect][recording->outcomes[role][effect]]++;
    }
    return 0;
}

void candidates_done(struct candidates *table)
{
    for (size_t i = 0; i < table->row_count; i++)
        row_free(table->rows[i]);
    free(table->rows);
    *table = (struct candidates){0};
}
