/*
 * The event log. The first byte of an input says into how large segments the log is cut; the rest is the log. Each
 * segment is told to have one and the same digest, which a link can name. A log that is accepted is what events_append
 * makes of its events.
 */
#include "formats/digest.h"
#include "formats/stream.h"
#include "fuzz.h"

struct log {
    const uint8_t *data;
    size_t size_bytes;
    size_t segment_bytes;
    struct bytes again;
};

static const struct log *fed;

/* What the linker calls for stream_read: the fed log, segment by segment. */
int __wrap_stream_read(struct pack *pack, const Exhibit__Stream *stream,
                       int (*take)(void *context, const void *piece, size_t size_bytes, struct err *err), void *context,
                       struct err *err);
int __wrap_stream_read(struct pack *pack, const Exhibit__Stream *stream,
                       int (*take)(void *context, const void *piece, size_t size_bytes, struct err *err), void *context,
                       struct err *err)
{
    (void)pack;
    (void)stream;
    for (size_t at = 0; at < fed->size_bytes;) {
        size_t left = fed->size_bytes - at, part = left < fed->segment_bytes ? left : fed->segment_bytes;
        int code = take(context, fed->data + at, part, err);

        if (code < 0)
            return code;
        at += part;
    }
    return 0;
}

static int take_event(void *context, const Exhibit__Event *event, struct err *err)
{
    struct log *log = context;
    struct bytes packed = {0};
    size_t rest;

    fuzz_want(message_pack(&event->base, LIMIT_EVENT_BYTES, &packed, err) == 0, "what was read can be packed");
    for (rest = packed.size_bytes; rest >= 128; rest >>= 7)
        fuzz_want(bytes_add(&log->again, &(uint8_t){(uint8_t)(rest | 128)}, 1, SIZE_MAX / 2, err) == 0, "memory");
    fuzz_want(bytes_add(&log->again, &(uint8_t){(uint8_t)rest}, 1, SIZE_MAX / 2, err) == 0, "memory");
    fuzz_want(bytes_add(&log->again, packed.data, packed.size_bytes, SIZE_MAX / 2, err) == 0, "memory");
    bytes_done(&packed);
    return 0;
}

/* The stream that tells the segments of a log; its list is the caller's to free. */
static Exhibit__Stream stream_of(const struct log *log)
{
    static uint8_t digest[] = "the digest of each segment here.";
    static Exhibit__Segment segment = EXHIBIT__SEGMENT__INIT;
    Exhibit__Stream stream = EXHIBIT__STREAM__INIT;

    segment.sha256 = (ProtobufCBinaryData){DIGEST_BYTES, digest};
    stream.n_segments = (log->size_bytes + log->segment_bytes - 1) / log->segment_bytes;
    stream.segments = calloc(stream.n_segments + 1, sizeof(*stream.segments));
    fuzz_want(stream.segments != NULL, "memory");
    for (size_t i = 0; i < stream.n_segments; i++)
        stream.segments[i] = &segment;
    return stream;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    struct log log = {0};
    struct err err = {0};
    Exhibit__Stream stream;
    int code;

    if (size_bytes == 0)
        return 0;
    log.data = data + 1;
    log.size_bytes = size_bytes - 1;
    log.segment_bytes = 1 + (size_t)data[0] * data[0];
    stream = stream_of(&log);
    fed = &log;
    code = events_read(NULL, &stream, take_event, &log, &err);
    free(stream.segments);
    fuzz_want_answer(code, &err);
    if (code == 0 && log.size_bytes > 0)
        fuzz_want(log.again.size_bytes == log.size_bytes && memcmp(log.again.data, log.data, log.size_bytes) == 0,
                  "one encoding of a log");
    bytes_done(&log.again);
    return 0;
}
