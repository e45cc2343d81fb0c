/*
 * One more reading of the log, in which the events that an explanation names are told whole and found in the file.
 * Where each stands in the log follows from the sizes alone: each is written in its shortest form (FORMAT 6.3, 7.1).
 */
#include "replay/explain_build.h"

#include <stdlib.h>
#include <string.h>

struct log_reading {
    struct explaining *explaining;
    const struct explain_want *chunks; /* wants by their place in a stream; all others come before */
    size_t chunk_count;
    size_t seq_count;
    uint64_t offset_bytes; /* in the log */
};

/* Those with a sequence number first, in its order. */
static int compare_wants(const void *left, const void *right)
{
    const struct explain_want *a = left, *b = right;

    if ((a->seq == 0) != (b->seq == 0))
        return a->seq == 0 ? 1 : -1;
    return (a->seq > b->seq) - (a->seq < b->seq);
}

/* How many bytes a length takes before its event. */
static size_t length_bytes(size_t size_bytes)
{
    size_t count = 1;

    for (; size_bytes >= 128; size_bytes >>= 7)
        count++;
    return count;
}

/* The one message that an event holds. */
static const ProtobufCMessage *content_of(const Exhibit__Event *event, const char **out_name)
{
    for (unsigned i = 0; i < event->base.descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &event->base.descriptor->fields[i];

        if ((field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) == 0 || field->id != (uint32_t)event->what_case)
            continue;
        *out_name = field->name;
        return *(const ProtobufCMessage *const *)((const char *)event + field->offset);
    }
    return NULL;
}

static void tell_event(struct log_reading *reading, json_t *into, const Exhibit__Event *event, uint64_t offset_bytes,
                       size_t size_bytes)
{
    struct explaining *explaining = reading->explaining;
    const char *name = "";
    const ProtobufCMessage *content = content_of(event, &name);

    explain_set(explaining, into, "seq", explain_number(event->seq));
    explain_set(explaining, into, "kind", json_string(name));
    explain_set(explaining, into, "at_ns", explain_number(event->at_ns));
    explain_set(explaining, into, "since_start_ns", explain_number(event->at_ns - explaining->start_ns));
    explain_set(explaining, into, "source",
                json_string(explain_enum_name(&exhibit__source__descriptor, (int)event->source)));
    explain_set(explaining, into, "vantage",
                json_string(explain_enum_name(&exhibit__vantage__descriptor, (int)event->vantage)));
    explain_set(explaining, into, "run", json_integer((json_int_t)event->run));
    if (content != NULL)
        explain_set(explaining, into, "fields", explain_fields(content));
    explain_set(explaining, into, "place",
                explain_stream_range(explaining->pack, explaining->receipt->events, offset_bytes, size_bytes));
}

/* Whether the event brought the byte that is wanted. */
static bool brings(const Exhibit__Event *event, const struct explain_want *want)
{
    const Exhibit__Chunk *chunk = event->chunk;

    return event->run == want->run && chunk->stream == want->stream && want->offset_bytes >= chunk->offset_bytes &&
           want->offset_bytes - chunk->offset_bytes < chunk->size_bytes;
}

/* The place of the first want of this sequence number or a later one. */
static size_t first_want(const struct log_reading *reading, uint64_t seq)
{
    size_t low = 0, high = reading->seq_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (reading->explaining->wants[middle].seq < seq)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int take_logged(void *context, const Exhibit__Event *event, struct err *err)
{
    struct log_reading *reading = context;
    const struct explaining *explaining = reading->explaining;
    size_t size_bytes = exhibit__event__get_packed_size(event);
    uint64_t at = reading->offset_bytes + length_bytes(size_bytes);

    (void)err;
    reading->offset_bytes = at + size_bytes;
    for (size_t i = first_want(reading, event->seq); i < reading->seq_count; i++) {
        if (explaining->wants[i].seq != event->seq)
            break;
        tell_event(reading, explaining->wants[i].into, event, at, size_bytes);
    }
    for (size_t i = 0; event->what_case == EXHIBIT__EVENT__WHAT_CHUNK && i < reading->chunk_count; i++)
        if (brings(event, &reading->chunks[i]))
            tell_event(reading, reading->chunks[i].into, event, at, size_bytes);
    return explaining->code;
}

void explain_resolve(struct explaining *explaining)
{
    struct log_reading reading = {.explaining = explaining};

    if (explaining->code < 0 || explaining->want_count == 0)
        return;
    qsort(explaining->wants, explaining->want_count, sizeof *explaining->wants, compare_wants);
    while (reading.seq_count < explaining->want_count && explaining->wants[reading.seq_count].seq != 0)
        reading.seq_count++;
    reading.chunks = explaining->wants + reading.seq_count;
    reading.chunk_count = explaining->want_count - reading.seq_count;
    explaining->code =
        events_read(explaining->pack, explaining->receipt->events, take_logged, &reading, explaining->err);
    if (explaining->code == 0 && reading.offset_bytes != explaining->receipt->events->size_bytes)
        explaining->code = err_set(explaining->err, ERR_FORMAT, "FORMAT 7.1: an event is not in its shortest form");
}
