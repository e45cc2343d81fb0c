/*
 * Loading: what is kept of each event, and the checks of DECISION 1.1.
 */
#include "replay/tables.h"

#include "formats/message.h"
#include "replay/runs.h"

#include <inttypes.h>
#include <string.h>

/* Whether a judgement can rest on an event. Those of processes are many, and only trials are judged by them. */
static bool is_kept(const struct tables *tables, const struct run *run, const Exhibit__Event *event)
{
    const Exhibit__ProcessIdentity *identity = event->process_identity;
    bool of_trial = run != NULL && run->start->kind == EXHIBIT__RUN_KIND__RUN_TRIAL;

    switch (event->what_case) {
    case EXHIBIT__EVENT__WHAT_PHASE:
    case EXHIBIT__EVENT__WHAT_CHUNK:
    case EXHIBIT__EVENT__WHAT_PROCESS_FORK:
    case EXHIBIT__EVENT__WHAT_PROCESS_EXEC:
        return false;
    case EXHIBIT__EVENT__WHAT_PROCESS_IDENTITY:
        return of_trial && tables->probe_sha256 != NULL && identity->executable_sha256.len == DIGEST_BYTES &&
               memcmp(identity->executable_sha256.data, tables->probe_sha256, DIGEST_BYTES) == 0;
    case EXHIBIT__EVENT__WHAT_PROCESS_EXIT:
    case EXHIBIT__EVENT__WHAT_PROCESS_GONE:
        return of_trial;
    default:
        return true;
    }
}

/* Puts a copy of the event into the tables, and gives it. NULL: out of memory. */
static const Exhibit__Event *keep(struct tables *tables, const Exhibit__Event *event, struct err *err)
{
    ProtobufCMessage *message;
    const Exhibit__Event *copy;

    if (message_copy(&tables->arena, &event->base, &message, err) < 0)
        return NULL;
    copy = (const Exhibit__Event *)message;
    return table_add(&tables->by_run, &tables->kept_count, &copy, sizeof copy, err) < 0 ? NULL : copy;
}

static int take_start_of_recording(struct tables *tables, const Exhibit__RecordingStart *start)
{
    tables->recording = start;
    for (size_t i = 0; i < start->n_binaries && tables->probe_sha256 == NULL; i++)
        if (strcmp(start->binaries[i]->name, "exhibit-probe") == 0 && start->binaries[i]->sha256.len == DIGEST_BYTES)
            tables->probe_sha256 = start->binaries[i]->sha256.data;
    return 0;
}

static bool stream_is_known(Exhibit__StreamName stream)
{
    return stream > EXHIBIT__STREAM_NAME__STREAM_NONE && (int)stream < STREAM_ROOM;
}

static int take_chunk(struct tables *tables, struct run *run, const Exhibit__Event *event, struct err *err)
{
    const Exhibit__Chunk *chunk = event->chunk;
    struct chunk row = {run->number, chunk->stream, chunk->offset_bytes, chunk->size_bytes, event->seq, event->at_ns};
    uint64_t *arrived;

    if (!stream_is_known(chunk->stream))
        return err_set(err, ERR_FORMAT, "event %" PRIu64 ": an unknown stream", event->seq);
    arrived = &run->arrived_bytes[chunk->stream];
    if (run->ends[chunk->stream] != NULL || chunk->offset_bytes != *arrived ||
        __builtin_add_overflow(*arrived, chunk->size_bytes, arrived))
        return err_set(err, ERR_FORMAT, "event %" PRIu64 ": it does not continue its stream at %" PRIu64, event->seq,
                       *arrived);
    if (run->start->kind != EXHIBIT__RUN_KIND__RUN_TRIAL || chunk->stream == EXHIBIT__STREAM_NAME__STREAM_STDIN)
        return 0;
    return table_add(&tables->chunks, &tables->chunk_count, &row, sizeof row, err);
}

static int take_stream_end(struct run *run, const Exhibit__Event *event, struct err *err)
{
    const Exhibit__StreamEnd *end = event->stream_end;
    uint64_t size_bytes = end->content == NULL ? 0 : end->content->size_bytes;

    if (!stream_is_known(end->stream) || run->ends[end->stream] != NULL)
        return err_set(err, ERR_FORMAT, "event %" PRIu64 ": an unknown stream, or its second end", event->seq);
    if (end->stream != EXHIBIT__STREAM_NAME__STREAM_STDIN && size_bytes != run->arrived_bytes[end->stream] &&
        (end->how != EXHIBIT__STREAM_END__HOW__HOW_LIMIT || size_bytes > run->arrived_bytes[end->stream]))
        return err_set(err, ERR_FORMAT,
                       "event %" PRIu64 ": a stream of %" PRIu64 " bytes, of which %" PRIu64 " arrived", event->seq,
                       size_bytes, run->arrived_bytes[end->stream]);
    run->ends[end->stream] = end;
    return 0;
}

/* Takes what the run itself must know; `kept` is the copy of the event, NULL where it is not kept. */
static int take_of_run(struct tables *tables, struct run *run, const Exhibit__Event *event, const Exhibit__Event *kept,
                       struct err *err)
{
    switch (event->what_case) {
    case EXHIBIT__EVENT__WHAT_CHUNK:
        return take_chunk(tables, run, event, err);
    case EXHIBIT__EVENT__WHAT_STREAM_END:
        return take_stream_end(run, kept, err);
    case EXHIBIT__EVENT__WHAT_RUN_EXIT:
        if (run->exit == NULL)
            run->exit = kept;
        return 0;
    case EXHIBIT__EVENT__WHAT_STEP:
        if (run->first_step == NULL || kept->step->index < run->first_step->step->index)
            run->first_step = kept;
        if (run->last_step == NULL || kept->step->index > run->last_step->step->index)
            run->last_step = kept;
        return 0;
    default:
        return 0;
    }
}

/* Whether the event may be where it is; `run` is the run it belongs to as far as that is known. */
static int check_place(const struct tables *tables, const struct run *run, const Exhibit__Event *event, struct err *err)
{
    bool starts = event->what_case == EXHIBIT__EVENT__WHAT_RUN_START;

    if ((tables->event_count == 0) != (event->what_case == EXHIBIT__EVENT__WHAT_RECORDING_START))
        return err_set(err, ERR_FORMAT, "event %" PRIu64 ": the start of the recording must be the first event",
                       event->seq);
    if (event->run == 0 && (starts || event->what_case == EXHIBIT__EVENT__WHAT_CHUNK ||
                            event->what_case == EXHIBIT__EVENT__WHAT_STREAM_END))
        return err_set(err, ERR_FORMAT, "event %" PRIu64 ": it belongs to no run", event->seq);
    if (event->run != 0 && run == NULL && !starts)
        return err_set(err, ERR_FORMAT, "DECISION 1.1: event %" PRIu64 ": run %" PRIu32 " has no RunStart before it",
                       event->seq, event->run);
    if (run != NULL && starts)
        return err_set(err, ERR_FORMAT, "DECISION 1.1: event %" PRIu64 ": a second RunStart of run %" PRIu32,
                       event->seq, event->run);
    return 0;
}

int tables_take(void *context, const Exhibit__Event *event, struct err *err)
{
    struct tables *tables = context;
    struct run *run = runs_find(tables, event->run);
    const Exhibit__Event *kept = NULL;
    int code = check_place(tables, run, event, err);

    if (code < 0)
        return code;
    if (is_kept(tables, run, event) && (kept = keep(tables, event, err)) == NULL)
        return err->code;
    tables->event_count++;
    if (event->run != tables->last_run)
        tables->other_seq = tables->last_seq;
    tables->last_run = event->run;
    tables->last_seq = event->seq;
    tables->end_count = 0;
    if (event->what_case == EXHIBIT__EVENT__WHAT_RECORDING_START)
        return take_start_of_recording(tables, kept->recording_start);
    if (event->what_case == EXHIBIT__EVENT__WHAT_RECORDING_END)
        tables->end_count = event->recording_end->event_count;
    if (event->what_case == EXHIBIT__EVENT__WHAT_RUN_START)
        return runs_add(tables, kept, err);
    return run == NULL ? 0 : take_of_run(tables, run, event, kept, err);
}

uint64_t tables_last_of_others(const struct tables *tables, uint32_t run)
{
    return run != tables->last_run ? tables->last_seq : tables->other_seq;
}

void tables_done(struct tables *tables)
{
    table_free(tables->by_run);
    table_free(tables->chunks);
    table_free(tables->runs);
    arena_done(&tables->arena);
    *tables = (struct tables){0};
}
