/*
 * Streams are cut into lines as they are read; the lines of a run are sorted, equal ones fall together, and what is
 * left for one role and round is a row. Memory is in proportion to the distinct lines, however often one is repeated.
 */
#include "replay/lines.h"

#include "base/cleanup.h"
#include "base/sort.h"
#include "replay/parse.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Lines of one run, in a table. */
struct pile {
    struct line *lines;
    size_t count;
    size_t distinct_count; /* as of the last time that equal lines fell together */
};

/* One stream while it is cut. */
struct cutting {
    const struct run *run;
    Exhibit__StreamName stream;
    struct pile *pile;
    const struct chunk *chunks;
    size_t chunk_count;
    size_t chunk_at;
    uint64_t offset_bytes;       /* of the piece in the stream */
    char held[LIMIT_LINE_BYTES]; /* the beginning of a line that runs over a piece's end */
    size_t held_bytes;
    bool overlong;
};

static int compare_content(const struct line *a, const struct line *b)
{
    int order;

    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->role != b->role)
        return a->role < b->role ? -1 : 1;
    if (a->round != b->round)
        return a->round < b->round ? -1 : 1;
    if (a->effect != b->effect)
        return a->effect < b->effect ? -1 : 1;
    order = memcmp(a->told, b->told, sizeof a->told);
    return order != 0 ? order : memcmp(a->proofs, b->proofs, sizeof a->proofs);
}

/* Whether a arrived before b; within one piece the place in the stream decides. */
static bool is_earlier(const struct line *a, const struct line *b)
{
    return a->seq != b->seq ? a->seq < b->seq : a->offset_bytes < b->offset_bytes;
}

static int compare_lines(const void *left, const void *right)
{
    int order = compare_content(left, right);

    if (order != 0)
        return order;
    return is_earlier(left, right) ? -1 : is_earlier(right, left);
}

/* Equal lines fall together; the earliest is left. The forms are exact, so equal content is equal bytes. */
static void pile_sort(struct pile *pile)
{
    size_t kept = 0;

    if (pile->count > 0)
        sort_rows(pile->lines, pile->count, sizeof *pile->lines, compare_lines);
    for (size_t i = 0; i < pile->count; i++)
        if (kept == 0 || compare_content(&pile->lines[kept - 1], &pile->lines[i]) != 0)
            pile->lines[kept++] = pile->lines[i];
    pile->count = pile->distinct_count = kept;
}

/* Takes a line (without its newline, which is at end_bytes in the stream). */
static int take_line(struct cutting *cutting, struct text text, uint64_t end_bytes, struct err *err)
{
    enum { MANY_LINES = 1 << 16 };
    struct pile *pile = cutting->pile;
    const struct chunk *chunk;
    struct line line;

    if (!line_read(cutting->run, text, &line))
        return 0;
    while (cutting->chunk_at < cutting->chunk_count) {
        chunk = &cutting->chunks[cutting->chunk_at];
        if (end_bytes - chunk->offset_bytes < chunk->size_bytes)
            break;
        cutting->chunk_at++;
    }
    if (cutting->chunk_at == cutting->chunk_count)
        return err_set(err, ERR_FORMAT, "DECISION 2.1: no piece of the stream holds its byte %" PRIu64, end_bytes);
    line.stream = (uint8_t)cutting->stream;
    line.offset_bytes = end_bytes;
    line.seq = cutting->chunks[cutting->chunk_at].seq;
    line.at_ns = cutting->chunks[cutting->chunk_at].at_ns;
    if (pile->count >= MANY_LINES && pile->count / 2 >= pile->distinct_count)
        pile_sort(pile);
    return table_add(&pile->lines, &pile->count, &line, sizeof line, err);
}

/* Keeps the beginning of a line; one that grows too long is no line. */
static void hold(struct cutting *cutting, const char *from, size_t size_bytes)
{
    if (cutting->overlong || size_bytes >= LIMIT_LINE_BYTES - cutting->held_bytes) {
        cutting->overlong = true;
        return;
    }
    memcpy(cutting->held + cutting->held_bytes, from, size_bytes);
    cutting->held_bytes += size_bytes;
}

static int cut_piece(void *context, const void *piece, size_t size_bytes, struct err *err)
{
    struct cutting *cutting = context;
    const char *from = piece, *at = from, *newline;

    while ((newline = memchr(at, '\n', size_bytes - (size_t)(at - from))) != NULL) {
        int code = 0;

        hold(cutting, at, (size_t)(newline - at));
        if (!cutting->overlong)
            code = take_line(cutting, (struct text){cutting->held, cutting->held_bytes},
                             cutting->offset_bytes + (uint64_t)(newline - from), err);
        if (code < 0)
            return code;
        cutting->held_bytes = 0;
        cutting->overlong = false;
        at = newline + 1;
    }
    hold(cutting, at, size_bytes - (size_t)(at - from));
    cutting->offset_bytes += size_bytes;
    return 0;
}

static int cut_stream(const struct facts *facts, const struct run *run, Exhibit__StreamName stream, struct pile *pile,
                      struct err *err)
{
    AUTO_FREE struct cutting *cutting = calloc(1, sizeof *cutting);

    if (run->ends[stream] == NULL)
        return 0;
    if (cutting == NULL)
        return err_set_errno(err, "memory for a stream");
    cutting->run = run;
    cutting->stream = stream;
    cutting->pile = pile;
    cutting->chunks = tables_chunks(&facts->tables, run->number, stream, &cutting->chunk_count);
    return facts->source->read_stream(facts->source->self, run->ends[stream]->content, cut_piece, cutting, err);
}

/* Makes the rows from the sorted lines. */
static int make_rows(struct arena *arena, struct derived *derived, struct err *err)
{
    struct row *rows = arena_take(arena, (derived->line_count + 1) * sizeof *rows);

    if (rows == NULL)
        return err_set(err, ERR_SYSTEM, "memory for %zu rows", derived->line_count);
    for (size_t i = 0; i < derived->line_count && derived->lines[i].kind == LINE_ROW; i++) {
        const struct line *line = &derived->lines[i];
        struct row *last = derived->row_count == 0 ? NULL : &rows[derived->row_count - 1];

        if (last == NULL || last->role != line->role || last->round != line->round) {
            rows[derived->row_count++] = (struct row){line->role, line->round, line, false};
            continue;
        }
        last->contested = true;
        if (is_earlier(line, last->first))
            last->first = line;
    }
    derived->rows = rows;
    return 0;
}

int lines_derive(struct facts *facts, struct run *run, struct err *err)
{
    static const Exhibit__StreamName streams[] = {
        EXHIBIT__STREAM_NAME__STREAM_STDOUT,
        EXHIBIT__STREAM_NAME__STREAM_SCRATCH_PARENT,
        EXHIBIT__STREAM_NAME__STREAM_SCRATCH_CHILD,
        EXHIBIT__STREAM_NAME__STREAM_SCRATCH_GRANDCHILD,
    };
    struct pile pile = {0};
    struct line *lines = NULL;
    int code = 0;

    for (size_t i = 0; i < sizeof streams / sizeof *streams && code == 0; i++)
        code = cut_stream(facts, run, streams[i], &pile, err);
    if (code == 0) {
        pile_sort(&pile);
        lines = arena_take(&facts->tables.arena, (pile.count + 1) * sizeof *lines);
        if (lines == NULL)
            code = err_set(err, ERR_SYSTEM, "memory for %zu lines", pile.count);
    }
    if (code == 0 && pile.count > 0)
        memcpy(lines, pile.lines, pile.count * sizeof *lines);
    table_free(pile.lines);
    if (code < 0)
        return err_wrap(err, "run %" PRIu32, run->number);
    run->derived->lines = lines;
    run->derived->line_count = pile.count;
    return make_rows(&facts->tables.arena, run->derived, err);
}
