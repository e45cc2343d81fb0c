/*
 * The log event by event: chunks tile their streams, streams end where their chunks do, messages come from connections
 * that were accepted, phases follow one another.
 */
#include "verify/binding.h"

#include <inttypes.h>
#include <stdlib.h>

struct binding_stream {
    uint64_t offset_bytes; /* where the next chunk begins */
    bool ended;
};

struct binding_flow {
    struct binding *binding;
    struct binding_stream *streams; /* LEDGER_STREAMS for each run */
    uint64_t accepted;              /* connections so far */
    uint8_t *spoken;                /* owned; by connection: its message was seen */
    struct binding_phases phases;
};

static struct binding_stream *binding_stream_of(struct binding_flow *flow, uint32_t run, unsigned name)
{
    struct ledger *ledger = &flow->binding->ledger;

    if (name >= LEDGER_STREAMS || ledger_run_numbered(ledger, run) == NULL)
        return NULL;
    return &flow->streams[ledger->last_run * LEDGER_STREAMS + name];
}

static void binding_take_chunk(struct binding_flow *flow, const Exhibit__Event *event)
{
    const Exhibit__Chunk *chunk = event->chunk;
    struct binding_stream *stream = binding_stream_of(flow, event->run, (unsigned)chunk->stream);

    if (stream == NULL || stream->ended || chunk->size_bytes == 0 || chunk->offset_bytes != stream->offset_bytes ||
        __builtin_add_overflow(stream->offset_bytes, chunk->size_bytes, &stream->offset_bytes))
        finding_add(flow->binding->findings, "event %" PRIu64 ": the chunk does not continue a stream", event->seq);
}

static void binding_take_end(struct binding_flow *flow, const Exhibit__Event *event)
{
    const Exhibit__StreamEnd *end = event->stream_end;
    struct binding_stream *stream = binding_stream_of(flow, event->run, (unsigned)end->stream);
    uint64_t size_bytes = end->content == NULL ? 0 : end->content->size_bytes;

    if (stream == NULL || stream->ended) {
        finding_add(flow->binding->findings, "event %" PRIu64 ": a stream ends that is not there or did already",
                    event->seq);
        return;
    }
    stream->ended = true;
    if (size_bytes > stream->offset_bytes ||
        (size_bytes < stream->offset_bytes && end->how != EXHIBIT__STREAM_END__HOW__HOW_LIMIT))
        finding_add(flow->binding->findings,
                    "event %" PRIu64 ": the stream has %" PRIu64 " bytes, its chunks have %" PRIu64, event->seq,
                    size_bytes, stream->offset_bytes);
}

static void binding_take_message(struct binding_flow *flow, const Exhibit__Event *event)
{
    const Exhibit__Message *message = event->message;
    const struct ledger_list *accepts = &flow->binding->ledger.by_kind[EXHIBIT__EVENT__WHAT_ACCEPT];
    const char *fault = NULL;

    if (message->protocol == EXHIBIT__PROTOCOL__PROTOCOL_UDP) {
        if (message->connection != 0)
            fault = "a datagram has a connection";
    } else if (message->connection == 0 || message->connection > flow->accepted) {
        fault = "the message is of a connection that was never accepted";
    } else if (flow->spoken[message->connection - 1]++ > 0) {
        fault = "the connection has a message already";
    } else if (!evidence_same(&accepts->items[message->connection - 1]->accept->peer, &message->peer)) {
        fault = "the message is of another peer than its connection";
    }
    if (fault != NULL)
        finding_add(flow->binding->findings, "event %" PRIu64 ": %s", event->seq, fault);
}

/* Only what came out of the subject is told by it; all else the recorder saw. */
static void binding_check_vantage(struct binding_flow *flow, const Exhibit__Event *event)
{
    bool told =
        event->what_case == EXHIBIT__EVENT__WHAT_CHUNK && event->chunk->stream != EXHIBIT__STREAM_NAME__STREAM_STDIN;

    if (told != (event->vantage == EXHIBIT__VANTAGE__VANTAGE_SUBJECT))
        finding_add(flow->binding->findings, "event %" PRIu64 ": its vantage is not that of its kind", event->seq);
}

static int binding_take_flow(void *context, const Exhibit__Event *event, struct err *err)
{
    struct binding_flow *flow = context;

    (void)err;
    binding_check_vantage(flow, event);
    binding_take_phases(flow->binding, &flow->phases, event);
    if (event->what_case == EXHIBIT__EVENT__WHAT_CHUNK)
        binding_take_chunk(flow, event);
    if (event->what_case == EXHIBIT__EVENT__WHAT_STREAM_END)
        binding_take_end(flow, event);
    if (event->what_case == EXHIBIT__EVENT__WHAT_ACCEPT && event->accept->connection != ++flow->accepted)
        finding_add(flow->binding->findings, "event %" PRIu64 ": connection %" PRIu32 " is not the next", event->seq,
                    event->accept->connection);
    if (event->what_case == EXHIBIT__EVENT__WHAT_MESSAGE)
        binding_take_message(flow, event);
    return 0;
}

int binding_check_flow(struct binding *binding, struct err *err)
{
    size_t count = binding->ledger.run_count * LEDGER_STREAMS;
    struct binding_flow flow = {.binding = binding};
    int code = 0;

    flow.streams = calloc(count + 1, sizeof *flow.streams);
    flow.spoken = calloc(binding->ledger.by_kind[EXHIBIT__EVENT__WHAT_ACCEPT].count + 1, 1);
    if (flow.streams == NULL || flow.spoken == NULL)
        code = err_set(err, ERR_SYSTEM, "out of memory");
    else
        code = binding->evidence->events(binding->evidence->source, binding_take_flow, &flow, err);
    for (size_t i = 0; code == 0 && !binding->evidence->partial && i < count; i++)
        if (flow.streams[i].offset_bytes > 0 && !flow.streams[i].ended)
            finding_add(binding->findings, "run %" PRIu32 ": stream %zu has no end",
                        binding->ledger.runs[i / LEDGER_STREAMS]->number, i % LEDGER_STREAMS);
    free(flow.streams);
    free(flow.spoken);
    return code;
}
