/*
 * The event log and the two messages that a pack names. Checks what every event must have; knows no meaning of any.
 */
#include "formats/stream.h"

#include "base/cleanup.h"
#include "base/cursor.h"

#include <assert.h>
#include <inttypes.h>

enum { VARINT_BYTES = 10, RECEIPT_VERSION = 2, CLAIM_VERSION = 2 };

int events_pack(const Exhibit__Event *event, struct bytes *out, struct err *err)
{
    if (event->seq > LIMIT_EVENTS)
        return err_set(err, ERR_LIMIT, "more than %u events", LIMIT_EVENTS);
    if (message_pack(&event->base, LIMIT_EVENT_BYTES, out, err) < 0)
        return err_wrap(err, "event %" PRIu64, event->seq);
    assert(out->size_bytes > 0);
    return 0;
}

int events_append_packed(struct stream_writer *writer, const struct bytes *packed, struct err *err)
{
    uint8_t length[VARINT_BYTES];
    size_t length_bytes = 0, rest;

    for (rest = packed->size_bytes; rest >= 128; rest >>= 7)
        length[length_bytes++] = (uint8_t)(rest | 128);
    length[length_bytes++] = (uint8_t)rest;
    if (stream_writer_add(writer, length, length_bytes, err) < 0)
        return err->code;
    return stream_writer_add(writer, packed->data, packed->size_bytes, err);
}

int events_append(struct stream_writer *writer, const Exhibit__Event *event, struct err *err)
{
    AUTO_BYTES struct bytes packed = {0};

    return events_pack(event, &packed, err) < 0 ? err->code : events_append_packed(writer, &packed, err);
}

/* A log that is being read. */
struct log {
    int (*take)(void *context, const Exhibit__Event *event, struct err *err);
    void *context;
    const Exhibit__Stream *stream; /* NULL: a single segment is read */
    size_t segment;                /* how many were begun */
    const uint8_t *before;         /* the digest of the segment before; NULL: the next event does not begin one */
    bool known;                    /* all of it was found right before */
    struct arena arena;            /* for the event that is at hand */
    struct bytes pending;          /* the beginning of an event that runs over a segment's end */
    uint64_t seen;                 /* events so far */
    uint64_t at_ns;                /* of the last one */
    uint64_t stream_bytes;         /* of all streams that StreamEnds described so far */
};

/* Bounds the work that streams are: they may name the same segment over and over (FORMAT 6.2). */
static int check_streams(struct log *log, const Exhibit__Event *event, struct err *err)
{
    const Exhibit__Stream *stream;

    if (event->what_case == EXHIBIT__EVENT__WHAT_RUN_START) {
        stream = event->run_start->stdin_stream;
        if (stream != NULL && stream->size_bytes > LIMIT_STDIN_BYTES)
            return err_set(err, ERR_LIMIT, "FORMAT 6.2: %" PRIu64 " bytes on stdin", stream->size_bytes);
    }
    if (event->what_case != EXHIBIT__EVENT__WHAT_STREAM_END || event->stream_end->content == NULL)
        return 0;
    stream = event->stream_end->content;
    if (stream->size_bytes > LIMIT_STREAMS_BYTES - log->stream_bytes)
        return err_set(err, ERR_LIMIT, "FORMAT 6.2: the streams have more than %llu bytes together",
                       LIMIT_STREAMS_BYTES);
    log->stream_bytes += stream->size_bytes;
    return 0;
}

/* A link stands where a segment begins, and tells the one before (FORMAT 7.1.1). */
static int check_link(const struct log *log, const Exhibit__LogLink *link, struct err *err)
{
    if (log->before == NULL)
        return err_set(err, ERR_FORMAT, "FORMAT 7.1.1: a link that does not begin a later segment of the log");
    if (memcmp(link->before_sha256.data, log->before, DIGEST_BYTES) != 0)
        return err_set(err, ERR_FORMAT, "FORMAT 7.1.1: it does not tell the segment before");
    return 0;
}

static int check_event(struct log *log, const Exhibit__Event *event, struct err *err)
{
    if (event->what_case == EXHIBIT__EVENT__WHAT_MESSAGE && event->message->payload.len > LIMIT_MESSAGE_BYTES)
        return err_set(err, ERR_FORMAT, "FORMAT 6.3.1: a payload of %zu bytes", event->message->payload.len);
    if (event->seq != log->seen + 1)
        return err_set(err, ERR_FORMAT, "FORMAT 7.2: it has the sequence number %" PRIu64, event->seq);
    if (event->at_ns < log->at_ns)
        return err_set(err, ERR_FORMAT, "FORMAT 7.2: its time %" PRIu64 " is before %" PRIu64 " of the event before",
                       event->at_ns, log->at_ns);
    if (event->what_case == EXHIBIT__EVENT__WHAT__NOT_SET)
        return err_set(err, ERR_FORMAT, "FORMAT 7.4: it is of no kind");
    if (event->what_case == EXHIBIT__EVENT__WHAT_LOG_LINK)
        return check_link(log, event->log_link, err);
    return check_streams(log, event, err);
}

/* Unpacks, checks and hands on one event. */
static int take_event(struct log *log, const struct cursor *packed, struct err *err)
{
    ProtobufCMessage *message = NULL;
    const Exhibit__Event *event;
    int code;

    arena_empty(&log->arena);
    code = message_unpack_in(&log->arena, log->known, &exhibit__event__descriptor, packed->at, packed->left_bytes,
                             &message, err);

    if (code < 0)
        return err_wrap(err, "event %" PRIu64, log->seen + 1);
    event = (const Exhibit__Event *)message;
    code = check_event(log, event, err);
    if (code < 0) {
        err_wrap(err, "event %" PRIu64, log->seen + 1);
    } else {
        log->seen++;
        log->at_ns = event->at_ns;
        log->before = NULL;
        code = log->take(log->context, event, err);
    }
    return code;
}

/* Whether these bytes may be the beginning of a number that goes on in the next segment. */
static bool number_is_cut(const struct cursor *from)
{
    for (size_t i = 0; i < from->left_bytes; i++)
        if (from->at[i] < 128)
            return false;
    return from->left_bytes < VARINT_BYTES;
}

/* Takes every whole event from `from`; what is left there is the beginning of one. */
static int take_events(struct log *log, struct cursor *from, struct err *err)
{
    while (from->left_bytes > 0) {
        struct cursor rest = *from, packed;
        uint64_t size_bytes;
        int code;

        if (number_is_cut(from))
            return 0;
        if (log->seen == LIMIT_EVENTS)
            return err_set(err, ERR_LIMIT, "more than %u events", LIMIT_EVENTS);
        if (!cursor_take_varint(&rest, &size_bytes) || size_bytes == 0)
            return err_set(err, ERR_FORMAT, "event %" PRIu64 ": FORMAT 7.1: its length is malformed", log->seen + 1);
        if (size_bytes > LIMIT_EVENT_BYTES)
            return err_set(err, ERR_LIMIT, "event %" PRIu64 ": FORMAT 7.1: %" PRIu64 " bytes", log->seen + 1,
                           size_bytes);
        if (!cursor_take_bytes(&rest, (size_t)size_bytes, &packed))
            return 0;
        code = take_event(log, &packed, err);
        if (code < 0)
            return code;
        *from = rest;
    }
    return 0;
}

/* Takes from the pending bytes where there are any: copying is in proportion to the piece, however small it is. */
static int take_piece(void *context, const void *piece, size_t size_bytes, struct err *err)
{
    enum { PENDING_BYTES = LIMIT_EVENT_BYTES + VARINT_BYTES + LIMIT_SEGMENT_BYTES };
    struct log *log = context;
    struct bytes *pending = &log->pending;
    struct cursor from = {piece, size_bytes};
    bool joined = pending->size_bytes > 0;
    int code = joined ? bytes_add(pending, piece, size_bytes, PENDING_BYTES, err) : 0;

    log->before = joined || log->segment == 0 ? NULL : log->stream->segments[log->segment - 1]->sha256.data;
    log->segment++;
    if (code < 0)
        return code;
    if (joined)
        from = (struct cursor){pending->data, pending->size_bytes};
    code = take_events(log, &from, err);
    if (code < 0)
        return code;
    if (!joined)
        return bytes_add(pending, from.at, from.left_bytes, PENDING_BYTES, err);
    if (from.at != pending->data)
        memmove(pending->data, from.at, from.left_bytes);
    pending->size_bytes = from.left_bytes;
    return 0;
}

int events_read(struct pack *pack, const Exhibit__Stream *stream,
                int (*take)(void *context, const Exhibit__Event *event, struct err *err), void *context,
                struct err *err)
{
    struct log log = {.take = take, .context = context, .stream = stream};
    struct digest digest;
    bool has_digest = stream != NULL && digest_from(stream->sha256.data, stream->sha256.len, &digest);
    size_t cut_bytes;
    int code;

    log.known = has_digest && pack_log_is_known(pack, &digest);
    code = stream_read(pack, stream, take_piece, &log, err);
    cut_bytes = log.pending.size_bytes;
    bytes_done(&log.pending);
    arena_done(&log.arena);
    if (code == 0 && cut_bytes > 0)
        return err_set(err, ERR_FORMAT, "FORMAT 7.1: the log ends within event %" PRIu64, log.seen + 1);
    if (code == 0 && has_digest)
        pack_know_log(pack, &digest);
    return code;
}

int events_read_segment(const void *from, size_t size_bytes, const struct digest *before, uint64_t *seen,
                        int (*take)(void *context, const Exhibit__Event *event, struct err *err), void *context,
                        struct err *err)
{
    struct log log = {.take = take, .context = context, .seen = *seen, .before = before == NULL ? NULL : before->bytes};
    struct cursor rest = {from, size_bytes};
    int code = take_events(&log, &rest, err);

    arena_done(&log.arena);
    if (code < 0)
        return code;
    if (rest.left_bytes > 0)
        return err_set(err, ERR_FORMAT, "FORMAT 7.1: the segment ends within event %" PRIu64, log.seen + 1);
    *seen = log.seen;
    return 0;
}

/* Every version up to the newest that is known can be read. */
static int check_version(uint64_t version, const char *what, struct err *err)
{
    int newest = strcmp(what, "Claim") == 0 ? CLAIM_VERSION : RECEIPT_VERSION;

    if (version < 1 || version > (uint64_t)newest)
        return err_set(err, ERR_FORMAT, "FORMAT 8.2: the %s is of version %" PRIu64 "; this program knows %d", what,
                       version, newest);
    return 0;
}

/* A later version is told as one before anything in it can be called malformed: its number is the first field. */
static int check_leading_version(const struct bytes *packed, const char *what, struct err *err)
{
    struct cursor at = {packed->data, packed->size_bytes};
    uint64_t tag, version;

    if (!cursor_take_varint(&at, &tag) || tag != 8 || !cursor_take_varint(&at, &version))
        return 0;
    return check_version(version, what, err);
}

/* Reads and unpacks one of the messages that a pack names. */
static int read_named(struct pack *pack, const struct digest *digest, size_t max_bytes, struct arena *arena,
                      const ProtobufCMessageDescriptor *descriptor, ProtobufCMessage **out, struct err *err)
{
    AUTO_BYTES struct bytes packed = {0};
    int code = pack_read(pack, PACK_OBSERVATION, digest, max_bytes, &packed, err);

    if (code < 0)
        return err_wrap(err, "the %s", descriptor->short_name);
    code = check_leading_version(&packed, descriptor->short_name, err);
    if (code < 0)
        return code;
    code = message_unpack_in(arena, false, descriptor, packed.data, packed.size_bytes, out, err);
    return code < 0 ? err_wrap(err, "the %s", descriptor->short_name) : 0;
}

int receipt_read(struct pack *pack, struct arena *arena, const Exhibit__Receipt **out, struct err *err)
{
    struct digest digest = pack_receipt(pack);
    ProtobufCMessage *message = NULL;
    const Exhibit__Receipt *receipt;

    if (read_named(pack, &digest, LIMIT_RECEIPT_BYTES, arena, &exhibit__receipt__descriptor, &message, err) < 0)
        return err->code;
    receipt = (const Exhibit__Receipt *)message;
    if (check_version(receipt->version, "Receipt", err) < 0)
        return err->code;
    *out = receipt;
    return 0;
}

int claim_read(struct pack *pack, struct arena *arena, const Exhibit__Claim **out, struct err *err)
{
    struct digest digest;
    ProtobufCMessage *message = NULL;
    const Exhibit__Claim *claim;

    *out = NULL;
    if (!pack_claim(pack, &digest))
        return 0;
    if (read_named(pack, &digest, LIMIT_CLAIM_BYTES, arena, &exhibit__claim__descriptor, &message, err) < 0)
        return err->code;
    claim = (const Exhibit__Claim *)message;
    if (check_version(claim->version, "Claim", err) < 0)
        return err->code;
    *out = claim;
    return 0;
}
