/*
 * Long byte strings as lists of bounded segments. Knows the container and the Stream message; not what the bytes mean.
 */
#include "formats/stream.h"

#include "base/cleanup.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

/* A segment's message and the digest that it points at. */
struct kept_segment {
    Exhibit__Segment message;
    struct digest digest;
};

struct stream_writer {
    struct pack_writer *pack; /* borrowed */
    struct digest_run *whole;
    struct bytes pending;   /* less than a segment */
    Exhibit__Stream stream; /* its segments are each a kept_segment */
    size_t segment_room;
    struct digest whole_digest;
    bool finished;
};

struct stream_writer *stream_writer_new(struct pack_writer *pack)
{
    struct stream_writer *writer = calloc(1, sizeof *writer);

    if (writer == NULL)
        return NULL;
    exhibit__stream__init(&writer->stream);
    writer->pack = pack;
    writer->whole = digest_run_new();
    if (writer->whole == NULL) {
        stream_writer_free(writer);
        return NULL;
    }
    return writer;
}

/* Appends a segment to the description. */
static int describe_segment(struct stream_writer *writer, const struct digest *digest, size_t size_bytes,
                            struct err *err)
{
    Exhibit__Stream *stream = &writer->stream;
    struct kept_segment *kept;

    if (stream->n_segments == writer->segment_room) {
        size_t room = writer->segment_room == 0 ? 4 : writer->segment_room * 2;
        Exhibit__Segment **grown = reallocarray(stream->segments, room, sizeof(Exhibit__Segment *));

        if (grown == NULL)
            return err_set_errno(err, "memory for %zu segments", room);
        stream->segments = grown;
        writer->segment_room = room;
    }
    kept = calloc(1, sizeof *kept);
    if (kept == NULL)
        return err_set_errno(err, "memory for a segment");
    kept->digest = *digest;
    exhibit__segment__init(&kept->message);
    kept->message.sha256 = (ProtobufCBinaryData){DIGEST_BYTES, kept->digest.bytes};
    kept->message.size_bytes = size_bytes;
    stream->segments[stream->n_segments++] = &kept->message;
    return 0;
}

/* Puts the pending bytes as a segment. */
static int put_pending(struct stream_writer *writer, struct err *err)
{
    struct digest digest;
    int code;

    assert(writer->pending.size_bytes > 0 && writer->pending.size_bytes <= LIMIT_SEGMENT_BYTES);
    code = pack_put(writer->pack, PACK_OBSERVATION, writer->pending.data, writer->pending.size_bytes, &digest, err);
    if (code < 0)
        return code;
    code = describe_segment(writer, &digest, writer->pending.size_bytes, err);
    if (code == 0)
        writer->pending.size_bytes = 0;
    return code;
}

int stream_writer_add(struct stream_writer *writer, const void *from, size_t size_bytes, struct err *err)
{
    const uint8_t *at = from;

    assert(!writer->finished);
    if (size_bytes > LIMIT_STREAM_BYTES - writer->stream.size_bytes)
        return err_set(err, ERR_LIMIT, "a stream of more than %llu bytes", LIMIT_STREAM_BYTES);
    while (size_bytes > 0) {
        size_t room = LIMIT_SEGMENT_BYTES - writer->pending.size_bytes;
        size_t part = size_bytes < room ? size_bytes : room;
        int code = bytes_add(&writer->pending, at, part, LIMIT_SEGMENT_BYTES, err);

        if (code < 0)
            return code;
        digest_run_add(writer->whole, at, part);
        writer->stream.size_bytes += part;
        at += part;
        size_bytes -= part;
        if (writer->pending.size_bytes == LIMIT_SEGMENT_BYTES && (code = put_pending(writer, err)) < 0)
            return code;
    }
    return 0;
}

int stream_writer_flush(struct stream_writer *writer, struct err *err)
{
    assert(!writer->finished);
    return writer->pending.size_bytes == 0 ? 0 : put_pending(writer, err);
}

size_t stream_writer_pending(const struct stream_writer *writer)
{
    return writer->pending.size_bytes;
}

struct digest stream_writer_last(const struct stream_writer *writer)
{
    const Exhibit__Stream *stream = &writer->stream;

    assert(stream->n_segments > 0);
    return ((const struct kept_segment *)stream->segments[stream->n_segments - 1])->digest;
}

uint64_t stream_writer_size(const struct stream_writer *writer)
{
    return writer->stream.size_bytes;
}

int stream_writer_finish(struct stream_writer *writer, const Exhibit__Stream **out, struct err *err)
{
    int code = stream_writer_flush(writer, err);

    if (code < 0)
        return code;
    writer->whole_digest = digest_run_now(writer->whole);
    writer->stream.sha256 = (ProtobufCBinaryData){DIGEST_BYTES, writer->whole_digest.bytes};
    writer->finished = true;
    *out = &writer->stream;
    return 0;
}

void stream_writer_free(struct stream_writer *writer)
{
    if (writer == NULL)
        return;
    for (size_t i = 0; i < writer->stream.n_segments; i++)
        free(writer->stream.segments[i]); /* the message is the first member of its kept_segment */
    free(writer->stream.segments);
    bytes_done(&writer->pending);
    digest_run_free(writer->whole);
    free(writer);
}

_Static_assert(offsetof(struct kept_segment, message) == 0, "segments are freed through their message");

/* ---- reading ---- */

/* Checks all that the description says of itself, before any of it is read. */
static int check_description(const Exhibit__Stream *stream, struct err *err)
{
    uint64_t sum = 0;

    if (stream->sha256.len != DIGEST_BYTES)
        return err_set(err, ERR_FORMAT, "FORMAT 6.2: a stream's digest has %zu bytes", stream->sha256.len);
    if (stream->size_bytes > LIMIT_STREAM_BYTES)
        return err_set(err, ERR_LIMIT, "FORMAT 6.2: a stream of %" PRIu64 " bytes", stream->size_bytes);
    for (size_t i = 0; i < stream->n_segments; i++) {
        const Exhibit__Segment *segment = stream->segments[i];

        if (segment->sha256.len != DIGEST_BYTES)
            return err_set(err, ERR_FORMAT, "FORMAT 6.2: segment %zu: its digest has %zu bytes", i + 1,
                           segment->sha256.len);
        if (segment->size_bytes == 0 || segment->size_bytes > LIMIT_SEGMENT_BYTES)
            return err_set(err, ERR_FORMAT, "FORMAT 6.1: segment %zu: a size of %" PRIu64 " bytes", i + 1,
                           segment->size_bytes);
        sum += segment->size_bytes; /* at most a segment for two bytes of message: cannot overflow */
    }
    if (sum != stream->size_bytes)
        return err_set(err, ERR_MISMATCH,
                       "FORMAT 6.2: the segments of a stream have %" PRIu64 " bytes, the stream claims %" PRIu64, sum,
                       stream->size_bytes);
    return 0;
}

static int read_segment(struct pack *pack, const Exhibit__Segment *segment, struct bytes *out, struct err *err)
{
    struct digest digest;
    int code;

    memcpy(digest.bytes, segment->sha256.data, DIGEST_BYTES);
    code = pack_read(pack, PACK_OBSERVATION, &digest, LIMIT_SEGMENT_BYTES, out, err);
    if (code < 0)
        return code;
    if (out->size_bytes != segment->size_bytes)
        return err_set(err, ERR_MISMATCH, "FORMAT 6.2: the object has %zu bytes, the stream claims %" PRIu64,
                       out->size_bytes, segment->size_bytes);
    return 0;
}

static void auto_digest_run_free(struct digest_run **run)
{
    digest_run_free(*run);
}

int stream_read(struct pack *pack, const Exhibit__Stream *stream,
                int (*take)(void *context, const void *piece, size_t size_bytes, struct err *err), void *context,
                struct err *err)
{
    __attribute__((cleanup(auto_digest_run_free))) struct digest_run *run = NULL;
    AUTO_BYTES struct bytes segment = {0};
    struct digest seen;
    bool single;
    int code;

    if (stream == NULL)
        return 0;
    code = check_description(stream, err);
    if (code < 0)
        return code;
    single = stream->n_segments == 1;
    run = single ? NULL : digest_run_new();
    if (!single && run == NULL)
        return err_set(err, ERR_SYSTEM, "libcrypto gives no SHA-256");
    for (size_t i = 0; i < stream->n_segments; i++) {
        code = read_segment(pack, stream->segments[i], &segment, err);
        if (code < 0)
            return err_wrap(err, "segment %zu", i + 1);
        if (!single)
            digest_run_add(run, segment.data, segment.size_bytes);
        code = take(context, segment.data, segment.size_bytes, err);
        if (code < 0)
            return code;
    }
    if (single) /* the segment is the stream, and pack_read has compared its digest */
        memcpy(seen.bytes, stream->segments[0]->sha256.data, DIGEST_BYTES);
    else
        seen = digest_run_now(run);
    if (memcmp(seen.bytes, stream->sha256.data, DIGEST_BYTES) != 0)
        return err_set(err, ERR_MISMATCH, "FORMAT 6.2: a stream of %" PRIu64 " bytes has another digest than it claims",
                       stream->size_bytes);
    return 0;
}

struct gathering {
    struct bytes all;
    size_t max_bytes;
};

static int gather(void *context, const void *piece, size_t size_bytes, struct err *err)
{
    struct gathering *gathering = context;

    return bytes_add(&gathering->all, piece, size_bytes, gathering->max_bytes, err);
}

int stream_read_all(struct pack *pack, const Exhibit__Stream *stream, size_t max_bytes, struct bytes *out,
                    struct err *err)
{
    struct gathering gathering = {.max_bytes = max_bytes};
    int code;

    if (stream != NULL && stream->size_bytes > max_bytes)
        return err_set(err, ERR_LIMIT, "a stream of %" PRIu64 " bytes, %zu at most", stream->size_bytes, max_bytes);
    code = stream_read(pack, stream, gather, &gathering, err);
    if (code < 0) {
        bytes_done(&gathering.all);
        return code;
    }
    bytes_done(out);
    *out = gathering.all;
    return 0;
}
