/*
 * Runs: the checks of their start, and the nonces of the roles (DECISION 1.3).
 */
#include "replay/runs.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "formats/digest.h"
#include "formats/oracle.h"
#include "replay/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where the run of this number stands, or would stand. */
static size_t place_of(const struct tables *tables, uint32_t number)
{
    size_t low = 0, high = tables->run_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (tables->runs[middle]->number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct run *runs_find(const struct tables *tables, uint32_t number)
{
    size_t place = place_of(tables, number);

    return place < tables->run_count && tables->runs[place]->number == number ? tables->runs[place] : NULL;
}

/* DECISION 1.3. */
static void derive_nonces(struct run *run, const uint8_t *nonce)
{
    hex_encode(nonce, NONCE_BYTES, run->nonces[EXHIBIT__ROLE__ROLE_PARENT]);
    for (int role = EXHIBIT__ROLE__ROLE_CHILD; role <= EXHIBIT__ROLE__ROLE_GRANDCHILD; role++) {
        char text[64];
        int size_bytes = snprintf(text, sizeof text, "exhibit %s %s", word_of_role(role), run->nonces[role - 1]);
        struct digest digest = digest_of(text, (size_t)size_bytes);

        hex_encode(digest.bytes, NONCE_BYTES, run->nonces[role]);
    }
}

static int take_roles(struct run *run, const Exhibit__ProbeAssignment *probe, struct err *err)
{
    int before = EXHIBIT__ROLE__ROLE_NONE;

    for (size_t i = 0; i < probe->n_roles; i++) {
        int role = (int)probe->roles[i]->role;

        if (role <= before || role >= ROLE_ROOM)
            return err_set(err, ERR_FORMAT, "run %" PRIu32 ": its roles are not in order", run->number);
        if (probe->roles[i]->rounds > LIMIT_ROUNDS)
            return err_set(err, ERR_LIMIT, "run %" PRIu32 ": %" PRIu32 " rounds", run->number, probe->roles[i]->rounds);
        if (probe->roles[i]->rounds == 0)
            return err_set(err, ERR_FORMAT, "run %" PRIu32 ": DECISION 1.1: a role of 0 rounds", run->number);
        run->listed[role] = true;
        run->rounds[role] = probe->roles[i]->rounds;
        before = role;
    }
    return 0;
}

static int take_planned_effects(struct run *run, const Exhibit__ProbeAssignment *probe, struct err *err)
{
    bool planned[EFFECT_COUNT] = {false};

    for (size_t i = 0; i < probe->n_effects; i++) {
        int effect = effect_of_word(probe->effects[i], strlen(probe->effects[i]));

        if (effect < 0 || planned[effect])
            return err_set(err, ERR_FORMAT, "run %" PRIu32 ": its effect %zu is unknown or there twice", run->number,
                           i + 1);
        planned[effect] = true;
        run->effects[run->effect_count++] = (enum effect)effect;
    }
    return 0;
}

int runs_add(struct tables *tables, const Exhibit__Event *event, struct err *err)
{
    const Exhibit__ProbeAssignment *probe = event->run_start->probe;
    bool is_trial = event->run_start->kind == EXHIBIT__RUN_KIND__RUN_TRIAL;
    struct run *run = arena_take(&tables->arena, sizeof *run);
    size_t place = place_of(tables, event->run);
    int code;

    if (tables->run_count >= LIMIT_RUNS)
        return err_set(err, ERR_LIMIT, "more than %d runs", LIMIT_RUNS);
    if (is_trial != (probe != NULL))
        return err_set(err, ERR_FORMAT, "run %" PRIu32 ": a trial, and a trial alone, has an assignment", event->run);
    if (run == NULL)
        return err_set(err, ERR_SYSTEM, "memory for a run");
    run->number = event->run;
    run->event = event;
    run->start = event->run_start;
    if (is_trial) {
        if (probe->nonce.len != NONCE_BYTES)
            return err_set(err, ERR_FORMAT, "run %" PRIu32 ": a nonce of %zu bytes", event->run, probe->nonce.len);
        derive_nonces(run, probe->nonce.data);
        if ((code = take_roles(run, probe, err)) < 0 || (code = take_planned_effects(run, probe, err)) < 0)
            return code;
    }
    code = table_add(&tables->runs, &tables->run_count, &run, sizeof run, err);
    if (code < 0)
        return code;
    memmove(tables->runs + place + 1, tables->runs + place, (tables->run_count - 1 - place) * sizeof *tables->runs);
    tables->runs[place] = run;
    return 0;
}

static int compare_run_names(const void *left, const void *right)
{
    const Exhibit__RunStart *a = (*(struct run *const *)left)->start, *b = (*(struct run *const *)right)->start;
    int order = strcmp(a->name, b->name);

    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (order != 0)
        return order;
    if (a->mode != b->mode)
        return a->mode < b->mode ? -1 : 1;
    return (a->repeat > b->repeat) - (a->repeat < b->repeat);
}

int runs_check_names(const struct tables *tables, struct err *err)
{
    AUTO_FREE struct run **runs = calloc(tables->run_count + 1, sizeof(struct run *));

    if (runs == NULL)
        return err_set_errno(err, "memory for %zu runs", tables->run_count);
    if (tables->run_count == 0)
        return 0;
    memcpy(runs, tables->runs, tables->run_count * sizeof(struct run *));
    qsort(runs, tables->run_count, sizeof(struct run *), compare_run_names);
    for (size_t i = 1; i < tables->run_count; i++)
        if (compare_run_names(&runs[i - 1], &runs[i]) == 0)
            return err_set(err, ERR_FORMAT,
                           "DECISION 1.1: runs %" PRIu32 " and %" PRIu32 " have the same name, mode and repeat",
                           runs[i - 1]->number, runs[i]->number);
    return 0;
}
