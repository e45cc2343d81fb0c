#include "record/journal.h"

#include "record/loop.h"

#include <assert.h>
#include <stdlib.h>

struct journal {
    struct pack_writer *pack;
    struct stream_writer *events;
    struct judge *judge;
    uint64_t count;
    uint64_t last_at_ns;
    uint64_t stream_bytes; /* of all runs */
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

bool journal_takes_stream(struct journal *journal, size_t size_bytes)
{
    if (size_bytes > LIMIT_STREAMS_BYTES - journal->stream_bytes)
        return false;
    journal->stream_bytes += size_bytes;
    return true;
}

int journal_put(struct journal *journal, Exhibit__Event *event, const void *payload, size_t payload_bytes,
                struct err *err)
{
    assert(event->what_case != EXHIBIT__EVENT__WHAT__NOT_SET);
    assert(event->source != EXHIBIT__SOURCE__SOURCE_NONE && event->vantage != EXHIBIT__VANTAGE__VANTAGE_NONE);

    if (journal->count >= LIMIT_EVENTS)
        return err_set(err, ERR_LIMIT, "more than %u events in one recording", LIMIT_EVENTS);
    event->seq = journal->count + 1;
    event->at_ns = clock_now_ns();
    if (events_append(journal->events, event, err) < 0)
        return err_wrap(err, "event %llu", (unsigned long long)event->seq);
    journal->count++;
    journal->last_at_ns = event->at_ns;
    return judge_take(journal->judge, event, payload, payload_bytes, err);
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
