/*
 * Streams: docs/FORMAT.md section 6. Long byte strings as lists of bounded segments, written as they grow and read
 * piece by piece. And the event log: a stream of length-delimited Event messages.
 */
#pragma once

#include "formats/message.h"
#include "formats/pack.h"
#include "proto/exhibit.pb-c.h"

/* ---- writing ---- */

/* Owned by the caller, free with stream_writer_free. */
struct stream_writer;

/* Starts an empty stream whose segments go to `pack` (borrowed) as observations. NULL: out of memory. */
struct stream_writer *stream_writer_new(struct pack_writer *pack);

/* Appends bytes. ERR_LIMIT over LIMIT_STREAM_BYTES, ERR_SYSTEM. */
int stream_writer_add(struct stream_writer *writer, const void *from, size_t size_bytes, struct err *err);

/* Puts what is pending as a segment of its own now, so that a salvage after a crash finds it. Errors as pack_put. */
int stream_writer_flush(struct stream_writer *writer, struct err *err);

/* How many bytes wait to be put as a segment. */
size_t stream_writer_pending(const struct stream_writer *writer);

/* The digest of the segment put last; one must have been put. */
struct digest stream_writer_last(const struct stream_writer *writer);

/* How many bytes were added so far. */
uint64_t stream_writer_size(const struct stream_writer *writer);

/* Puts the last segment and gives the description: owned by the writer, valid until stream_writer_free. Once only. */
int stream_writer_finish(struct stream_writer *writer, const Exhibit__Stream **out, struct err *err);

/* Releases it; NULL is harmless. */
void stream_writer_free(struct stream_writer *writer);

/*
 * Packs an event as a log has it, but for its length: as message_pack, of at most LIMIT_EVENT_BYTES. ERR_LIMIT, too:
 * over LIMIT_EVENTS.
 */
int events_pack(const Exhibit__Event *event, struct bytes *out, struct err *err);

/* Appends an event that was packed to a log. Errors as stream_writer_add. */
int events_append_packed(struct stream_writer *writer, const struct bytes *packed, struct err *err);

/* Both. Nothing was added where it could not be packed. */
int events_append(struct stream_writer *writer, const Exhibit__Event *event, struct err *err);

/* ---- reading ---- */

/*
 * Hands the stream on segment by segment (valid during the call only) and checks each segment's size and the length
 * and digest of the whole. ERR_FORMAT: the description is malformed. ERR_MISMATCH: length or digest differ. Else as
 * pack_read_pieces. A NULL stream is the empty one.
 */
int stream_read(struct pack *pack, const Exhibit__Stream *stream,
                int (*take)(void *context, const void *piece, size_t size_bytes, struct err *err), void *context,
                struct err *err);

/* The same into memory, replacing what was in out. ERR_LIMIT: more than max_bytes. */
int stream_read_all(struct pack *pack, const Exhibit__Stream *stream, size_t max_bytes, struct bytes *out,
                    struct err *err);

/*
 * Reads an event log: calls `take` with each event (valid during the call only), in order. Checks that the sequence
 * numbers are 1, 2, 3 ..., that times never go back, that each event has a kind, a source and a vantage that this
 * version knows, that digests have their length, that a LogLink tells the segment before, and all else of
 * message_unpack. ERR_FORMAT names the event by number.
 * ERR_LIMIT: an event over LIMIT_EVENT_BYTES, or more than LIMIT_EVENTS. Else as stream_read.
 */
int events_read(struct pack *pack, const Exhibit__Stream *stream,
                int (*take)(void *context, const Exhibit__Event *event, struct err *err), void *context,
                struct err *err);

/*
 * The same with one segment that holds whole events only, after *seen events, and moves *seen on. `before`: the digest
 * of the segment before, NULL for the first. Errors as events_read; unchanged *seen then.
 */
int events_read_segment(const void *from, size_t size_bytes, const struct digest *before, uint64_t *seen,
                        int (*take)(void *context, const Exhibit__Event *event, struct err *err), void *context,
                        struct err *err);

/*
 * Reads and unpacks the receipt that the pack names; its memory is the arena's. ERR_FORMAT: malformed, or a version
 * this program does not know. Else as pack_read.
 */
int receipt_read(struct pack *pack, struct arena *arena, const Exhibit__Receipt **out, struct err *err);

/* The same for the claim; *out is NULL where the pack has none. */
int claim_read(struct pack *pack, struct arena *arena, const Exhibit__Claim **out, struct err *err);
