#include "record/journal.h"

#include "record/loop.h"

#include <assert.h>
#include <stdlib.h>

#define SETTLE_NS 5000000000u

struct journal {
    struct pack_writer *pack;
    struct stream_writer *events;
    struct bytes packed; /* the event at hand */
    struct judge *judge;
    const struct secrets *secrets; /* NULL: none */
    uint64_t count;
    uint64_t linked; /* the count after the last link: nothing is in the open segment but it */
    uint64_t last_at_ns;
    uint64_t stream_bytes; /* of all runs */
    uint64_t flushed_at_ns;
};

struct journal *journal_new(struct pack_writer *pack, struct judge *judge)
{
    struct journal *journal = calloc(1, sizeof *journal);

    if (journal == NULL)
        return NULL;
    journal->pack = pack;
    journal->judge = judge;
    journal->events = stream_writer_new(pack);
    if (journal->events == NULL) {
        free(journal);
        return NULL;
    }
    return journal;
}

void journal_watch(struct journal *journal, const struct secrets *secrets)
{
    journal->secrets = secrets;
}

const struct secrets *journal_secrets(const struct journal *journal)
{
    return journal->secrets;
}

/* Where in an event a secret is, for people. */
static const char *event_text(const Exhibit__Event *event)
{
    static const struct {
        Exhibit__Event__WhatCase kind;
        const char *text;
    } texts[] = {
        {EXHIBIT__EVENT__WHAT_RECORDING_START, "the candidate's version, or another word of the recording's start"},
        {EXHIBIT__EVENT__WHAT_RUN_START, "the run's argv or environment"},
        {EXHIBIT__EVENT__WHAT_PROCESS_IDENTITY, "the argv or executable of a process"},
        {EXHIBIT__EVENT__WHAT_MESSAGE, "a message to a listener"},
        {EXHIBIT__EVENT__WHAT_FILE_EVENT, "the name of a file beside the targets"},
        {EXHIBIT__EVENT__WHAT_ARTIFACT, "the path of an artifact, or of a member of it"}};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (texts[i].kind == event->what_case)
            return texts[i].text;
    return "an event";
}

/* Numbers an event and packs it, so that it is the next one. */
static int event_pack(struct journal *journal, Exhibit__Event *event, struct err *err)
{
    if (journal->count >= LIMIT_EVENTS)
        return err_set(err, ERR_LIMIT, "more than %u events in one recording", LIMIT_EVENTS);
    event->seq = journal->count + 1;
    event->at_ns = clock_now_ns();
    return events_pack(event, &journal->packed, err);
}

uint64_t journal_stream_room(const struct journal *journal)
{
    return LIMIT_STREAMS_BYTES - journal->stream_bytes;
}

void journal_count_stream(struct journal *journal, size_t size_bytes)
{
    assert(size_bytes <= journal_stream_room(journal));
    journal->stream_bytes += size_bytes;
}

/* The body of journal_put, where there is room in the segment for what event_pack made of it. */
static int event_put(struct journal *journal, const Exhibit__Event *event, const void *payload, size_t payload_bytes,
                     struct err *err)
{
    /* Looked at as it is written. */
    if (journal->secrets != NULL &&
        secrets_look(journal->secrets, journal->packed.data, journal->packed.size_bytes, event_text(event), err) < 0)
        return err->code;
    if (events_append_packed(journal->events, &journal->packed, err) < 0)
        return err_wrap(err, "event %llu", (unsigned long long)event->seq);
    journal->count++;
    journal->last_at_ns = event->at_ns;
    return judge_take(journal->judge, event, payload, payload_bytes, err);
}

/* Ends the segment, and begins the next one with a link to it: whole events only, so that each can be read alone. */
static int segment_cut(struct journal *journal, struct err *err)
{
    Exhibit__Event event = journal_event(EXHIBIT__SOURCE__SOURCE_RECORDER, EXHIBIT__VANTAGE__VANTAGE_HOST, 0);
    Exhibit__LogLink link = EXHIBIT__LOG_LINK__INIT;
    struct digest before;

    if (journal->count == journal->linked)
        return 0;
    if (stream_writer_flush(journal->events, err) < 0)
        return err->code;
    before = stream_writer_last(journal->events);
    link.before_sha256 = JOURNAL_DIGEST(before);
    JOURNAL_WHAT(event, log_link, LOG_LINK, &link);
    if (event_pack(journal, &event, err) < 0 || event_put(journal, &event, NULL, 0, err) < 0)
        return err->code;
    journal->linked = journal->count;
    return 0;
}

int journal_put(struct journal *journal, Exhibit__Event *event, const void *payload, size_t payload_bytes,
                struct err *err)
{
    enum { LENGTH_BYTES = 10 }; /* the event's own length takes no more */

    assert(event->what_case != EXHIBIT__EVENT__WHAT__NOT_SET);
    assert(event->source != EXHIBIT__SOURCE__SOURCE_NONE && event->vantage != EXHIBIT__VANTAGE__VANTAGE_NONE);
    if (event_pack(journal, event, err) < 0)
        return err->code;
    if (stream_writer_pending(journal->events) + journal->packed.size_bytes + LENGTH_BYTES >= LIMIT_SEGMENT_BYTES &&
        (segment_cut(journal, err) < 0 || event_pack(journal, event, err) < 0)) /* it is after the link now */
        return err->code;
    return event_put(journal, event, payload, payload_bytes, err);
}

int journal_flush(struct journal *journal, struct err *err)
{
    if (segment_cut(journal, err) < 0)
        return err->code;
    journal->flushed_at_ns = clock_now_ns();
    return pack_writer_flush(journal->pack, err);
}

int journal_settle(struct journal *journal, struct err *err)
{
    bool waits = journal->count != journal->linked && clock_now_ns() >= journal->flushed_at_ns + SETTLE_NS;

    return waits ? journal_flush(journal, err) : 0;
}

int journal_put_late(struct journal *journal, uint32_t run, Exhibit__StreamName stream, uint64_t seq, const void *bytes,
                     size_t size_bytes, struct err *err)
{
    Exhibit__Event event = journal_event(EXHIBIT__SOURCE__SOURCE_PIPE, EXHIBIT__VANTAGE__VANTAGE_SUBJECT, run);
    Exhibit__Chunk chunk = EXHIBIT__CHUNK__INIT;

    chunk.stream = stream;
    chunk.size_bytes = size_bytes;
    event.seq = seq;
    event.at_ns = journal->last_at_ns;
    JOURNAL_WHAT(event, chunk, CHUNK, &chunk);
    return judge_take_late(journal->judge, &event, bytes, size_bytes, err);
}

uint64_t journal_last_at_ns(const struct journal *journal)
{
    return journal->last_at_ns;
}

uint64_t journal_count(const struct journal *journal)
{
    return journal->count;
}

struct pack_writer *journal_pack(const struct journal *journal)
{
    return journal->pack;
}

int journal_finish(struct journal *journal, const Exhibit__Stream **out, struct err *err)
{
    return stream_writer_finish(journal->events, out, err);
}

void journal_free(struct journal *journal)
{
    if (journal == NULL)
        return;
    stream_writer_free(journal->events);
    bytes_done(&journal->packed);
    free(journal);
}

Exhibit__Event journal_event(Exhibit__Source source, Exhibit__Vantage vantage, uint32_t run)
{
    Exhibit__Event event = EXHIBIT__EVENT__INIT;

    event.source = source;
    event.vantage = vantage;
    event.run = run;
    return event;
}
