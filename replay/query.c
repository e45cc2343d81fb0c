/*
 * Sorting the loaded tables, and finding in them.
 */
#include "replay/runs.h"

#include "base/sort.h"
#include "replay/tables.h"

#include <assert.h>
#include <string.h>

/* The key of a kept event; a run of 0 sorts all runs of a kind together in by_seq. */
struct key {
    uint32_t kind;
    uint32_t run;
    uint64_t seq;
};

static int compare_keys(struct key a, struct key b)
{
    if (a.kind != b.kind)
        return a.kind < b.kind ? -1 : 1;
    if (a.run != b.run)
        return a.run < b.run ? -1 : 1;
    return (a.seq > b.seq) - (a.seq < b.seq);
}

static struct key key_of(const Exhibit__Event *event, bool with_run)
{
    return (struct key){(uint32_t)event->what_case, with_run ? event->run : 0, event->seq};
}

static int compare_by_run(const void *left, const void *right)
{
    return compare_keys(key_of(*(Exhibit__Event *const *)left, true), key_of(*(Exhibit__Event *const *)right, true));
}

static int compare_by_seq(const void *left, const void *right)
{
    return compare_keys(key_of(*(Exhibit__Event *const *)left, false), key_of(*(Exhibit__Event *const *)right, false));
}

/* Pieces of one stream follow one another in the log (tables_take checked it), so seq is the order of offsets too. */
static int compare_chunks(const void *left, const void *right)
{
    const struct chunk *a = left, *b = right;

    return compare_keys((struct key){a->run, (uint32_t)a->stream, a->seq},
                        (struct key){b->run, (uint32_t)b->stream, b->seq});
}

int tables_finish(struct tables *tables, struct err *err)
{
    if (tables->event_count == 0)
        return err_set(err, ERR_FORMAT, "the log has no event");
    assert(tables->kept_count > 0 && tables->by_seq == NULL);
    tables->by_seq = arena_take_unset(&tables->arena, tables->kept_count * sizeof *tables->by_seq);
    if (tables->by_seq == NULL)
        return err_set(err, ERR_SYSTEM, "memory for %zu events", tables->kept_count);
    memcpy(tables->by_seq, tables->by_run, tables->kept_count * sizeof *tables->by_seq);
    tables->sorted_count = tables->kept_count;
    sort_rows(tables->by_run, tables->kept_count, sizeof *tables->by_run, compare_by_run);
    sort_rows(tables->by_seq, tables->kept_count, sizeof *tables->by_seq, compare_by_seq);
    if (tables->chunk_count > 0)
        sort_rows(tables->chunks, tables->chunk_count, sizeof *tables->chunks, compare_chunks);
    return runs_check_names(tables, err);
}

/* How many events of a sorted array come before the key. */
static size_t count_before(const Exhibit__Event *const *events, size_t count, struct key key, bool with_run)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare_keys(key_of(events[middle], with_run), key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct span span_of(const struct tables *tables, Exhibit__Event__WhatCase kind, uint32_t run, bool with_run)
{
    const Exhibit__Event *const *events = with_run ? tables->by_run : tables->by_seq;
    size_t first, end;

    assert(tables->sorted_count == tables->kept_count);
    first = count_before(events, tables->kept_count, (struct key){(uint32_t)kind, run, 0}, with_run);
    end = count_before(events, tables->kept_count, (struct key){(uint32_t)kind, run, UINT64_MAX}, with_run);
    return (struct span){events + first, end - first};
}

struct span tables_of_run(const struct tables *tables, Exhibit__Event__WhatCase kind, uint32_t run)
{
    return span_of(tables, kind, run, true);
}

struct span tables_of_kind(const struct tables *tables, Exhibit__Event__WhatCase kind)
{
    return span_of(tables, kind, 0, false);
}

struct run *tables_run(const struct tables *tables, Exhibit__RunKind kind, const char *name, Exhibit__Mode mode,
                       uint32_t repeat)
{
    for (size_t i = 0; i < tables->run_count; i++) {
        const Exhibit__RunStart *start = tables->runs[i]->start;

        if (start->kind == kind && start->mode == mode && start->repeat == repeat && strcmp(start->name, name) == 0)
            return tables->runs[i];
    }
    return NULL;
}

size_t span_before(struct span span, uint64_t seq)
{
    size_t low = 0, high = span.count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (span.events[middle]->seq < seq)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct chunk *tables_chunks(const struct tables *tables, uint32_t run, Exhibit__StreamName stream,
                                  size_t *out_count)
{
    struct key first = {run, (uint32_t)stream, 0};
    size_t low = 0, high = tables->chunk_count, end;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct chunk *row = &tables->chunks[middle];

        if (compare_keys((struct key){row->run, (uint32_t)row->stream, row->seq}, first) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (end = low; end < tables->chunk_count && tables->chunks[end].run == run; end++)
        if (tables->chunks[end].stream != stream)
            break;
    *out_count = end - low;
    return tables->chunks + low;
}
