/*
 * The event log. The first byte of an input says into how large segments the log is cut; the rest is the log. Each
 * segment is told to have one and the same digest, which a link can name. A log that is accepted is what events_append
 * makes of its events. Each log is read twice: the second time one that was accepted is known, and not looked at again.
 */
#include "formats/digest.h"
#include "formats/pack.h"
#include "formats/stream.h"
#include "fuzz.h"

struct log {
    const uint8_t *data;
    size_t size_bytes;
    size_t segment_bytes;
    struct bytes again;
};

static const struct log *fed;
static struct digest known_log; /* what the pack was told of the fed log */
static bool has_known_log;

/* What the linker calls for the pack's memory of a log: there is no pack here. */
bool __wrap_pack_log_is_known(const struct pack *pack, const struct digest *log);
void __wrap_pack_know_log(struct pack *pack, const struct digest *log);

bool __wrap_pack_log_is_known(const struct pack *pack, const struct digest *log)
{
    (void)pack;
    return has_known_log && digest_equal(&known_log, log);
}

void __wrap_pack_know_log(struct pack *pack, const struct digest *log)
{
    (void)pack;
    known_log = *log;
    has_known_log = true;
}

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

/* The stream that tells the segments of a log, and the log's digest; its list is the caller's to free. */
static Exhibit__Stream stream_of(const struct log *log, struct digest *whole)
{
    static uint8_t digest[] = "the digest of each segment here.";
    static Exhibit__Segment segment = EXHIBIT__SEGMENT__INIT;
    Exhibit__Stream stream = EXHIBIT__STREAM__INIT;

    *whole = digest_of(log->data, log->size_bytes);
    stream.sha256 = (ProtobufCBinaryData){DIGEST_BYTES, whole->bytes};
    segment.sha256 = (ProtobufCBinaryData){DIGEST_BYTES, digest};
    stream.n_segments = (log->size_bytes + log->segment_bytes - 1) / log->segment_bytes;
    stream.segments = calloc(stream.n_segments + 1, sizeof(*stream.segments));
    fuzz_want(stream.segments != NULL, "memory");
    for (size_t i = 0; i < stream.n_segments; i++)
        stream.segments[i] = &segment;
    return stream;
}

/* Reads the log once; gives the code. */
static int read_log(const Exhibit__Stream *stream, struct log *log, struct err *err)
{
    int code;

    log->again.size_bytes = 0;
    code = events_read(NULL, stream, take_event, log, err);
    fuzz_want_answer(code, err);
    if (code == 0 && log->size_bytes > 0)
        fuzz_want(log->again.size_bytes == log->size_bytes && memcmp(log->again.data, log->data, log->size_bytes) == 0,
                  "one encoding of a log");
    fuzz_want((code == 0) == has_known_log, "a log is known where all of it was found right");
    return code;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    struct log log = {0};
    struct err first = {0}, second = {0};
    struct digest whole;
    Exhibit__Stream stream;
    size_t taken_bytes;
    int code;

    if (size_bytes == 0)
        return 0;
    log.data = data + 1;
    log.size_bytes = size_bytes - 1;
    log.segment_bytes = 1 + (size_t)data[0] * data[0];
    stream = stream_of(&log, &whole);
    fed = &log;
    has_known_log = false;
    code = read_log(&stream, &log, &first);
    taken_bytes = log.again.size_bytes;
    fuzz_want(read_log(&stream, &log, &second) == code && strcmp(first.text, second.text) == 0 &&
                  log.again.size_bytes == taken_bytes,
              "the second reading tells what the first one told");
    free(stream.segments);
    bytes_done(&log.again);
    return 0;
}
