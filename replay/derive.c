/*
 * The order in which tables are derived, and the look-ups in them.
 */
#include "replay/derive.h"

#include "base/sort.h"
#include "replay/archives.h"
#include "replay/attempts.h"
#include "replay/lines.h"
#include "replay/messages.h"
#include "replay/roles.h"

#include <string.h>

/* Sorts the states of the targets by target: a pass for each keeps them in order. */
static int sort_states(struct facts *facts, struct err *err)
{
    struct span span = tables_of_kind(&facts->tables, EXHIBIT__EVENT__WHAT_TARGET_STATE);
    size_t count = 0;

    facts->states = arena_take(&facts->tables.arena, (span.count + 1) * sizeof(const Exhibit__Event *));
    if (facts->states == NULL)
        return err_set(err, ERR_SYSTEM, "memory for %zu states", span.count);
    for (int target = 1; target < TARGET_ROOM; target++) {
        facts->state_of[target].events = facts->states + count;
        for (size_t i = 0; i < span.count; i++)
            if ((int)span.events[i]->target_state->target == target)
                facts->states[count++] = span.events[i];
        facts->state_of[target].count = (size_t)(facts->states + count - facts->state_of[target].events);
    }
    return 0;
}

static int order_by_path(const void *a, const void *b)
{
    const Exhibit__Event *const *left = a, *const *right = b;

    return archive_bytes_order(&(*left)->artifact->path, &(*right)->artifact->path);
}

static int sort_launcher_files(struct facts *facts, struct err *err)
{
    const struct run *run =
        tables_run(&facts->tables, EXHIBIT__RUN_KIND__RUN_LAUNCHER, "launcher", EXHIBIT__MODE__MODE_STRICT, 1);
    struct span found = {0};
    const Exhibit__Event **sorted;

    if (run != NULL)
        found = tables_of_run(&facts->tables, EXHIBIT__EVENT__WHAT_ARTIFACT, run->number);
    if (found.count == 0)
        return 0;
    sorted = arena_take(&facts->tables.arena, found.count * sizeof *sorted);
    if (sorted == NULL)
        return err_set(err, ERR_SYSTEM, "memory for what the launcher left");
    memcpy(sorted, found.events, found.count * sizeof *sorted);
    sort_rows(sorted, found.count, sizeof *sorted, order_by_path);
    facts->launcher_files = (struct span){sorted, found.count};
    return 0;
}

int facts_derive(struct facts *facts, struct err *err)
{
    int code = sort_states(facts, err);

    if (code == 0)
        code = sort_launcher_files(facts, err);
    if (code == 0)
        code = messages_derive(facts, err);
    for (size_t i = 0; i < facts->tables.run_count && code == 0; i++) {
        struct run *run = facts->tables.runs[i];

        if (run->start->kind != EXHIBIT__RUN_KIND__RUN_TRIAL)
            continue;
        run->derived = arena_take(&facts->tables.arena, sizeof *run->derived);
        if (run->derived == NULL)
            return err_set(err, ERR_SYSTEM, "memory for a run");
        roles_derive(&facts->tables, run);
        code = lines_derive(facts, run, err);
        if (code == 0)
            code = attempts_derive(facts, run, err);
    }
    return code;
}

const struct row *run_row(const struct run *run, int role, uint32_t round)
{
    size_t low = 0, high = run->derived->row_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct row *row = &run->derived->rows[middle];

        if (row->role == role && row->round == round)
            return row;
        if (row->role < role || (row->role == role && row->round < round))
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

size_t run_row_count(const struct run *run, int role)
{
    size_t count = 0;

    for (size_t i = 0; i < run->derived->row_count; i++)
        count += run->derived->rows[i].role == role;
    return count;
}

void facts_done(struct facts *facts)
{
    table_free(facts->messages);
    tables_done(&facts->tables);
    *facts = (struct facts){0};
}
