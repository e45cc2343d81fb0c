/*
 * The recording's event log: gives each fact its number and its time, writes it down and shows it to the recorder's
 * judge. Knows no rule.
 */
#pragma once

#include "formats/stream.h"
#include "record/judge.h"
#include "record/secrets.h"

/* Owned by the caller, free with journal_free. */
struct journal;

/* Starts an empty log that goes to `pack`; every event is shown to `judge` too (both borrowed). NULL: out of memory. */
struct journal *journal_new(struct pack_writer *pack, struct judge *judge);

/* From here on nothing goes into the log that has one of these (borrowed; NULL: none). */
void journal_watch(struct journal *journal, const struct secrets *secrets);

/* What may not be written down. Borrowed; NULL: nothing. For those who put bytes beside the events. */
const struct secrets *journal_secrets(const struct journal *journal);

/*
 * Writes the next event. The caller has set source, vantage, run and what; seq and at_ns are given here. `payload` are
 * the bytes that the event stands for (record/judge.h), borrowed during the call. ERR_LIMIT: too many events.
 * ERR_MISMATCH: a secret is in it. Else as stream_writer_add.
 */
int journal_put(struct journal *journal, Exhibit__Event *event, const void *payload, size_t payload_bytes,
                struct err *err);

/* How many more bytes the streams of all runs may have together. */
uint64_t journal_stream_room(const struct journal *journal);

/* Counts bytes of a run's stream, which there is room for. */
void journal_count_stream(struct journal *journal, size_t size_bytes);

/*
 * Writes everything that was put so far to the file, so that a salvage after a crash of this process finds it. Errors
 * as journal_put.
 */
int journal_flush(struct journal *journal, struct err *err);

/* The same where an event waits for it and the last time is five seconds ago or more: each time costs some size. */
int journal_settle(struct journal *journal, struct err *err);

/*
 * Shows the judge bytes of a stream whose Chunks were put without them: in the stream's order and before its StreamEnd.
 * `seq` is of the first such Chunk. Errors as judge_take.
 */
int journal_put_late(struct journal *journal, uint32_t run, Exhibit__StreamName stream, uint64_t seq, const void *bytes,
                     size_t size_bytes, struct err *err);

/* The at_ns of the event put last, or 0. */
uint64_t journal_last_at_ns(const struct journal *journal);

/* How many events were put. */
uint64_t journal_count(const struct journal *journal);

/* Where bytes beside the events go. Borrowed. */
struct pack_writer *journal_pack(const struct journal *journal);

/* Ends the log and gives its description, valid until journal_free. */
int journal_finish(struct journal *journal, const Exhibit__Stream **out, struct err *err);

/* Releases it; NULL is harmless. */
void journal_free(struct journal *journal);

/* An event with source, vantage and run set, to be completed with JOURNAL_WHAT. */
Exhibit__Event journal_event(Exhibit__Source source, Exhibit__Vantage vantage, uint32_t run);

/* Sets the event's one kind: JOURNAL_WHAT(event, chunk, CHUNK, &chunk). */
#define JOURNAL_WHAT(event, field, FIELD, pointer)                                                                     \
    do {                                                                                                               \
        (event).what_case = EXHIBIT__EVENT__WHAT_##FIELD;                                                              \
        (event).field = (pointer);                                                                                     \
    } while (0)

/* A protobuf bytes field over a digest, borrowed. */
#define JOURNAL_DIGEST(digest) ((ProtobufCBinaryData){.len = DIGEST_BYTES, .data = (digest).bytes})
