/*
 * Streams, the event log, and the messages that a pack names, through a real pack in a temporary folder.
 */
#include "formats/stream.h"
#include "base/cleanup.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
/* cmocka.h wants some of the above first. */
#include <cmocka.h>

/* One pack, first written, then read. */
struct fixture {
    char folder[32];
    int folder_fd;
    struct pack_writer *writer;
    int fd;
    struct pack *pack;
};

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    struct err err;

    *state = fixture;
    (void)strcpy(fixture->folder, "/tmp/test_stream.XXXXXX");
    fixture->fd = -1;
    if (mkdtemp(fixture->folder) == NULL)
        return -1;
    fixture->folder_fd = open(fixture->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return pack_writer_new(fixture->folder_fd, "pack", &fixture->writer, &err);
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    pack_close(fixture->pack);
    pack_writer_abandon(fixture->writer);
    if (fixture->fd >= 0)
        (void)close(fixture->fd);
    (void)unlinkat(fixture->folder_fd, "pack", 0);
    (void)close(fixture->folder_fd);
    int left = rmdir(fixture->folder);
    free(fixture);
    return left;
}

static struct digest put(struct fixture *fixture, const void *from, size_t size_bytes)
{
    struct digest digest;
    struct err err;

    assert_int_equal(pack_put(fixture->writer, PACK_OBSERVATION, from, size_bytes, &digest, &err), 0);
    return digest;
}

/* Ends the writing and opens the pack. The named objects must have been put. */
static void turn(struct fixture *fixture, const struct digest *receipt, const struct digest *claim)
{
    struct digest other = receipt == NULL ? put(fixture, "some object", 11) : *receipt;
    struct err err = {0};
    struct pack_writer *writer = fixture->writer;

    fixture->writer = NULL;
    if (pack_writer_finish(writer, &other, claim, &err) < 0)
        fail_msg("%s", err.text);
    fixture->fd = openat(fixture->folder_fd, "pack", O_RDONLY | O_CLOEXEC);
    assert_true(fixture->fd >= 0);
    if (pack_open(fixture->fd, &fixture->pack, &err) < 0)
        fail_msg("%s", err.text);
}

/* Bytes that do not repeat within a segment. */
static uint8_t *some_bytes(size_t size_bytes)
{
    uint8_t *all = malloc(size_bytes + 1);
    uint32_t random = 1;

    assert_non_null(all);
    for (size_t i = 0; i < size_bytes; i++) {
        random = random * 1664525u + 1013904223u;
        all[i] = (uint8_t)(random >> 24);
    }
    return all;
}

static struct stream_writer *write_stream(struct fixture *fixture, const void *from, size_t size_bytes,
                                          const Exhibit__Stream **out)
{
    struct stream_writer *writer = stream_writer_new(fixture->writer);
    struct err err;

    assert_non_null(writer);
    assert_int_equal(stream_writer_add(writer, from, size_bytes, &err), 0);
    assert_int_equal(stream_writer_finish(writer, out, &err), 0);
    return writer;
}

/* ---- streams ---- */

static void streams_come_back_as_written_in_segments_of_bounded_size(void **state)
{
    static const size_t sizes[] = {0, 1, LIMIT_SEGMENT_BYTES - 1, LIMIT_SEGMENT_BYTES, 2 * LIMIT_SEGMENT_BYTES + 77};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    struct fixture *fixture = *state;
    struct stream_writer *writers[SIZES];
    const Exhibit__Stream *streams[SIZES];
    AUTO_FREE uint8_t *all = some_bytes(sizes[SIZES - 1]);
    struct err err;

    for (size_t i = 0; i < SIZES; i++) {
        struct digest whole = digest_of(all, sizes[i]);

        writers[i] = stream_writer_new(fixture->writer);
        for (size_t at = 0, part = 1; at < sizes[i]; at += part, part = part * 3 + 1) {
            part = part < sizes[i] - at ? part : sizes[i] - at;
            assert_int_equal(stream_writer_add(writers[i], all + at, part, &err), 0);
            assert_int_equal(stream_writer_size(writers[i]), at + part);
        }
        assert_int_equal(stream_writer_finish(writers[i], &streams[i], &err), 0);
        assert_int_equal(streams[i]->size_bytes, sizes[i]);
        assert_int_equal(streams[i]->n_segments, (sizes[i] + LIMIT_SEGMENT_BYTES - 1) / LIMIT_SEGMENT_BYTES);
        assert_memory_equal(streams[i]->sha256.data, whole.bytes, DIGEST_BYTES);
    }
    turn(fixture, NULL, NULL);
    for (size_t i = 0; i < SIZES; i++) {
        AUTO_BYTES struct bytes back = {0};

        assert_int_equal(stream_read_all(fixture->pack, streams[i], sizes[i], &back, &err), 0);
        assert_int_equal(back.size_bytes, sizes[i]);
        assert_true(sizes[i] == 0 || memcmp(back.data, all, sizes[i]) == 0);
        stream_writer_free(writers[i]);
    }
}

static void flush_makes_a_segment_of_what_is_pending(void **state)
{
    struct fixture *fixture = *state;
    struct stream_writer *writer = stream_writer_new(fixture->writer);
    AUTO_BYTES struct bytes back = {0};
    const Exhibit__Stream *stream;
    struct err err;

    assert_int_equal(stream_writer_flush(writer, &err), 0);
    assert_int_equal(stream_writer_add(writer, "abc", 3, &err), 0);
    assert_int_equal(stream_writer_flush(writer, &err), 0);
    assert_int_equal(stream_writer_add(writer, "de", 2, &err), 0);
    assert_int_equal(stream_writer_finish(writer, &stream, &err), 0);
    assert_int_equal(stream->n_segments, 2);
    turn(fixture, NULL, NULL);
    assert_int_equal(stream_read_all(fixture->pack, stream, 5, &back, &err), 0);
    assert_string_equal((char *)back.data, "abcde");
    stream_writer_free(writer);
}

static void stream_read_all_keeps_to_its_bound_and_a_null_stream_is_empty(void **state)
{
    struct fixture *fixture = *state;
    AUTO_BYTES struct bytes back = {0};
    const Exhibit__Stream *stream;
    struct stream_writer *writer = write_stream(fixture, "content", 7, &stream);
    struct err err = {0};

    turn(fixture, NULL, NULL);
    assert_int_equal(stream_read_all(fixture->pack, stream, 6, &back, &err), ERR_LIMIT);
    assert_string_equal(err.text, "a stream of 7 bytes, 6 at most");
    assert_int_equal(stream_read_all(fixture->pack, NULL, 0, &back, &err), 0);
    assert_int_equal(back.size_bytes, 0);
    stream_writer_free(writer);
}

static void a_writer_takes_no_more_than_the_limit_of_a_stream(void **state)
{
    struct fixture *fixture = *state;
    struct stream_writer *writer = stream_writer_new(fixture->writer);
    struct err err = {0};

    assert_int_equal(stream_writer_add(writer, "x", LIMIT_STREAM_BYTES + 1, &err), ERR_LIMIT);
    assert_string_equal(err.text, "a stream of more than 17179869184 bytes");
    assert_int_equal(stream_writer_size(writer), 0);
    stream_writer_free(writer);
}

/* Each way a description can be wrong, with the kind and the words that answer it. */
static void stream_read_refuses_every_false_or_malformed_description(void **state)
{
    struct fixture *fixture = *state;
    struct digest part = put(fixture, "abc", 3), whole = digest_of("abcabc", 6), missing = digest_of("no", 2);
    Exhibit__Segment segment = EXHIBIT__SEGMENT__INIT;
    Exhibit__Segment *segments[2] = {&segment, &segment};
    const struct {
        size_t size_bytes;
        uint64_t segment_bytes;
        size_t digest_bytes, segment_digest_bytes;
        const struct digest *whole, *part;
        enum err_code code;
        const char *text;
    } cases[] = {
        {6, 3, 32, 32, &whole, &part, ERR_OK, ""},
        {7, 3, 32, 32, &whole, &part, ERR_MISMATCH, "have 6 bytes, the stream claims 7"},
        {5, 3, 32, 32, &whole, &part, ERR_MISMATCH, "have 6 bytes, the stream claims 5"},
        {4, 2, 32, 32, &whole, &part, ERR_MISMATCH, "segment 1: the object has 3 bytes, the stream claims 2"},
        {6, 3, 32, 32, &part, &part, ERR_MISMATCH, "has another digest than it claims"},
        {6, 3, 32, 32, &whole, &missing, ERR_MISMATCH, "segment 1: "},
        {0, 0, 32, 32, &whole, &part, ERR_FORMAT, "segment 1: a size of 0 bytes"},
        {6, LIMIT_SEGMENT_BYTES + 1, 32, 32, &whole, &part, ERR_FORMAT, "segment 1: a size of 1048577 bytes"},
        {6, 3, 31, 32, &whole, &part, ERR_FORMAT, "a stream's digest has 31 bytes"},
        {6, 3, 32, 0, &whole, &part, ERR_FORMAT, "segment 1: its digest has 0 bytes"},
        {LIMIT_STREAM_BYTES + 1, 3, 32, 32, &whole, &part, ERR_LIMIT, "a stream of 17179869185 bytes"},
    };

    turn(fixture, NULL, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Exhibit__Stream stream = EXHIBIT__STREAM__INIT;
        AUTO_BYTES struct bytes back = {0};
        struct err err = {0};

        segment.size_bytes = cases[i].segment_bytes;
        segment.sha256 = (ProtobufCBinaryData){cases[i].segment_digest_bytes, (uint8_t *)cases[i].part->bytes};
        stream.size_bytes = cases[i].size_bytes;
        stream.sha256 = (ProtobufCBinaryData){cases[i].digest_bytes, (uint8_t *)cases[i].whole->bytes};
        stream.n_segments = 2;
        stream.segments = segments;
        assert_int_equal(stream_read_all(fixture->pack, &stream, SIZE_MAX, &back, &err), cases[i].code);
        if (strstr(err.text, cases[i].text) == NULL)
            fail_msg("case %zu: %s", i, err.text);
        assert_int_equal(back.size_bytes, cases[i].code == ERR_OK ? 6 : 0);
    }
}

/* ---- events ---- */

static Exhibit__Event usual_event(uint64_t seq)
{
    Exhibit__Event event = EXHIBIT__EVENT__INIT;

    event.seq = seq;
    event.at_ns = 1000 + seq;
    event.source = EXHIBIT__SOURCE__SOURCE_LISTENER;
    event.vantage = EXHIBIT__VANTAGE__VANTAGE_HOST;
    return event;
}

static void set_message(Exhibit__Event *event, Exhibit__Message *message, const void *payload, size_t size_bytes)
{
    exhibit__message__init(message);
    message->protocol = EXHIBIT__PROTOCOL__PROTOCOL_UDP;
    message->payload = (ProtobufCBinaryData){size_bytes, (uint8_t *)payload};
    event->what_case = EXHIBIT__EVENT__WHAT_MESSAGE;
    event->message = message;
}

struct seen {
    uint64_t count;
    uint64_t payload_bytes;
    uint64_t stop_at;
};

static int count_event(void *context, const Exhibit__Event *event, struct err *err)
{
    struct seen *seen = context;

    assert_int_equal(event->seq, ++seen->count);
    if (event->what_case == EXHIBIT__EVENT__WHAT_MESSAGE)
        seen->payload_bytes += event->message->payload.len;
    return seen->count == seen->stop_at ? err_set(err, ERR_USAGE, "enough") : 0;
}

static void events_come_back_in_order_over_segment_borders(void **state)
{
    enum { COUNT = 300, PAYLOAD = 33333 };
    struct fixture *fixture = *state;
    struct stream_writer *writer = stream_writer_new(fixture->writer);
    AUTO_FREE uint8_t *payload = some_bytes(PAYLOAD);
    const Exhibit__Stream *stream;
    struct seen seen = {0}, stopped = {.stop_at = 7};
    struct err err = {0};

    for (uint64_t seq = 1; seq <= COUNT; seq++) {
        Exhibit__Event event = usual_event(seq);
        Exhibit__Message message;

        set_message(&event, &message, payload, seq % 7 == 0 ? 0 : PAYLOAD);
        assert_int_equal(events_append(writer, &event, &err), 0);
    }
    assert_int_equal(stream_writer_finish(writer, &stream, &err), 0);
    assert_true(stream->n_segments > 5);
    turn(fixture, NULL, NULL);
    assert_int_equal(events_read(fixture->pack, stream, count_event, &seen, &err), 0);
    assert_int_equal(seen.count, COUNT);
    assert_int_equal(seen.payload_bytes, (COUNT - COUNT / 7) * PAYLOAD);
    assert_int_equal(events_read(fixture->pack, stream, count_event, &stopped, &err), ERR_USAGE);
    assert_string_equal(err.text, "enough");
    assert_int_equal(stopped.count, 7);
    stream_writer_free(writer);
}

/* Even where each byte is a segment of its own, and so each length and each event is cut everywhere. */
static void events_may_be_cut_anywhere_by_segments(void **state)
{
    struct fixture *fixture = *state;
    struct stream_writer *whole = stream_writer_new(fixture->writer), *cut = stream_writer_new(fixture->writer);
    AUTO_BYTES struct bytes packed = {0}, log = {0};
    const Exhibit__Stream *stream;
    struct seen seen = {0};
    struct err err = {0};

    for (uint64_t seq = 1; seq <= 3; seq++) {
        Exhibit__Event event = usual_event(seq);
        Exhibit__Message message;
        uint8_t length[2];

        set_message(&event, &message, "0123456789012345678901234567890123456789012345678901234567890123456789"
                                      "0123456789012345678901234567890123456789012345678901234567890123456789", 140);
        assert_int_equal(message_pack(&event.base, 4096, &packed, &err), 0);
        assert_true(packed.size_bytes > 128 && packed.size_bytes < 256);
        length[0] = (uint8_t)(packed.size_bytes | 128);
        length[1] = 1;
        assert_int_equal(bytes_add(&log, length, 2, 4096, &err), 0);
        assert_int_equal(bytes_add(&log, packed.data, packed.size_bytes, 4096, &err), 0);
    }
    for (size_t i = 0; i < log.size_bytes; i++) {
        assert_int_equal(stream_writer_add(cut, log.data + i, 1, &err), 0);
        assert_int_equal(stream_writer_flush(cut, &err), 0);
    }
    assert_int_equal(stream_writer_finish(cut, &stream, &err), 0);
    assert_int_equal(stream->n_segments, log.size_bytes);
    turn(fixture, NULL, NULL);
    assert_int_equal(events_read(fixture->pack, stream, count_event, &seen, &err), 0);
    assert_int_equal(seen.count, 3);
    stream_writer_free(whole);
    stream_writer_free(cut);
}

static void events_append_refuses_what_events_read_would(void **state)
{
    struct fixture *fixture = *state;
    struct stream_writer *writer = stream_writer_new(fixture->writer);
    Exhibit__Event event = usual_event(1);
    Exhibit__Message message;
    AUTO_FREE uint8_t *payload = some_bytes(LIMIT_EVENT_BYTES);
    struct err err = {0};

    set_message(&event, &message, payload, LIMIT_EVENT_BYTES);
    assert_int_equal(events_append(writer, &event, &err), ERR_LIMIT);
    assert_string_equal(err.text, "event 1: Event: more than 1048576 bytes");
    message.payload.len = 1;
    event.source = EXHIBIT__SOURCE__SOURCE_NONE;
    assert_int_equal(events_append(writer, &event, &err), ERR_FORMAT);
    assert_string_equal(err.text, "event 1: Event.source is not set");
    event = usual_event(LIMIT_EVENTS + 1ull);
    set_message(&event, &message, payload, 1);
    assert_int_equal(events_append(writer, &event, &err), ERR_LIMIT);
    assert_string_equal(err.text, "more than 16777216 events");
    assert_int_equal(stream_writer_size(writer), 0);
    stream_writer_free(writer);
}

/*
 * Logs by their bytes: a length, then 08 seq, 10 at_ns, 18 source, 20 vantage, and f2 01 an Accept (6a a Phase, 62 a
 * Freeze) with its own length.
 */
#define LOG(text) text, sizeof text - 1

static const struct {
    const char *bytes;
    size_t size_bytes;
    enum err_code code;
    const char *text;
} logs[] = {
    {LOG(""), ERR_OK, ""},
    {LOG("\x0b\x08\x01\x10\x09\x18\x06\x20\x01\xf2\x01\x00"), ERR_OK, ""},
    {LOG("\x0b\x08\x02\x10\x09\x18\x06\x20\x01\xf2\x01\x00"), ERR_FORMAT, "event 1: it has the sequence number 2"},
    {LOG("\x0b\x08\x01\x10\x09\x18\x06\x20\x01\xf2\x01\x00\x0b\x08\x03\x10\x09\x18\x06\x20\x01\xf2\x01\x00"), ERR_FORMAT,
     "event 2: it has the sequence number 3"},
    {LOG("\x0b\x08\x01\x10\x09\x18\x06\x20\x01\xf2\x01\x00\x0b\x08\x02\x10\x08\x18\x06\x20\x01\xf2\x01\x00"), ERR_FORMAT,
     "event 2: its time 8 is before 9 of the event before"},
    {LOG("\x0b\x08\x01\x10\x09\x18\x06\x20\x01\xf2\x01\x00\x0b\x08\x02\x10\x09\x18\x06\x20\x01\xf2\x01\x00"), ERR_OK, ""},
    {LOG("\x08\x08\x01\x10\x09\x18\x06\x20\x01"), ERR_FORMAT, "event 1: it is of no kind"},
    {LOG("\x09\x08\x01\x10\x09\x20\x01\xf2\x01\x00"), ERR_FORMAT, "event 1: Event.source is not set"},
    {LOG("\x0b\x08\x01\x10\x09\x18\x63\x20\x01\xf2\x01\x00"), ERR_FORMAT, "event 1: Event.source is 99, which this"},
    {LOG("\x09\x08\x01\x10\x09\x18\x06\xf2\x01\x00"), ERR_FORMAT, "event 1: Event.vantage is not set"},
    {LOG("\x0e\x08\x01\x10\x09\x18\x06\x20\x01\xf2\x01\x00\x98\x06\x01"), ERR_FORMAT, "event 1: Event has field 99"},
    {LOG("\x0d\x08\x01\x10\x09\x18\x06\x20\x01\xf2\x01\x02\x48\x01"), ERR_FORMAT, "event 1: Accept has field 9"},
    {LOG("\x0d\x08\x01\x10\x09\x18\x06\x20\x01\xf2\x01\x02\x08\x00"), ERR_FORMAT, "not in its shortest form"},
    {LOG("\x0d\x08\x01\x08\x01\x10\x09\x18\x06\x20\x01\xf2\x01\x00"), ERR_FORMAT, "not in its shortest form"},
    {LOG("\x0c\x08\x81\x00\x10\x09\x18\x06\x20\x01\xf2\x01\x00"), ERR_FORMAT, "not in its shortest form"},
    {LOG("\x0f\x08\x01\x10\x09\x18\x01\x20\x01\x6a\x05\x0a\x01\x61\x10\x08"), ERR_OK, ""},
    {LOG("\x0f\x08\x01\x10\x09\x18\x01\x20\x01\x6a\x05\x0a\x01\xff\x10\x08"), ERR_FORMAT, "Phase.trial is not UTF-8"},
    {LOG("\x0f\x08\x01\x10\x09\x18\x01\x20\x01\x6a\x05\x0a\x01\x00\x10\x08"), ERR_FORMAT, "not in its shortest form"},
    {LOG("\x0d\x08\x01\x10\x09\x18\x01\x20\x01\x6a\x03\x0a\x01\x61"), ERR_FORMAT, "Phase.phase is not set"},
    {LOG("\x12\x08\x01\x10\x09\x18\x01\x20\x01\x62\x08\x08\x01\x12\x01\x61\x22\x01\x02"), ERR_FORMAT,
     "event 1: Freeze.list_sha256 has 1 bytes, not 32"},
    {LOG("\x0f\x08\x01\x10\x09\x18\x01\x20\x01\x62\x05\x08\x01\x12\x01\x61"), ERR_FORMAT,
     "event 1: Freeze.list_sha256 has 0 bytes, not 32"},
    {LOG("\x00"), ERR_FORMAT, "event 1: its length is malformed"},
    {LOG("\x8b\x00\x08\x01\x10\x09\x18\x06\x20\x01\xf2\x01\x00"), ERR_FORMAT, "event 1: its length is malformed"},
    {LOG("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), ERR_FORMAT, "event 1: its length is malformed"},
    {LOG("\x81\x80\x40"), ERR_LIMIT, "event 1: 1048577 bytes"},
    {LOG("\x80"), ERR_FORMAT, "the log ends within event 1"},
    {LOG("\x03\x08\x01\xf2"), ERR_FORMAT, "event 1: 3 bytes are no Event"},
};

static void events_read_refuses_each_malformed_log_for_its_reason(void **state)
{
    enum { LOGS = sizeof logs / sizeof *logs };
    struct fixture *fixture = *state;
    struct stream_writer *writers[LOGS];
    const Exhibit__Stream *streams[LOGS];

    for (size_t i = 0; i < LOGS; i++)
        writers[i] = write_stream(fixture, logs[i].bytes, logs[i].size_bytes, &streams[i]);
    turn(fixture, NULL, NULL);
    for (size_t i = 0; i < LOGS; i++) {
        struct seen seen = {0};
        struct err err = {0};
        int code = events_read(fixture->pack, streams[i], count_event, &seen, &err);

        if (code != logs[i].code || strstr(err.text, logs[i].text) == NULL)
            fail_msg("log %zu: %d %s", i, code, err.text);
        stream_writer_free(writers[i]);
    }
}

static void events_read_refuses_every_truncation(void **state)
{
    static const char whole[] = "\x0b\x08\x01\x10\x09\x18\x06\x20\x01\xf2\x01\x00\x0b\x08\x02\x10\x09\x18\x06\x20\x01\xf2\x01\x00";
    enum { WHOLE = sizeof whole - 1 };
    struct fixture *fixture = *state;
    struct stream_writer *writers[WHOLE];
    const Exhibit__Stream *streams[WHOLE];

    for (size_t kept = 0; kept < WHOLE; kept++)
        writers[kept] = write_stream(fixture, whole, kept, &streams[kept]);
    turn(fixture, NULL, NULL);
    for (size_t kept = 0; kept < WHOLE; kept++) {
        struct seen seen = {0};
        struct err err = {0};
        bool between = kept % 12 == 0;

        assert_int_equal(events_read(fixture->pack, streams[kept], count_event, &seen, &err),
                         between ? 0 : ERR_FORMAT);
        assert_string_equal(err.text, between     ? ""
                                      : kept < 12 ? "the log ends within event 1"
                                                  : "the log ends within event 2");
        stream_writer_free(writers[kept]);
    }
}

/* ---- receipt and claim ---- */

static struct digest put_message(struct fixture *fixture, const ProtobufCMessage *message)
{
    AUTO_BYTES struct bytes packed = {0};
    struct err err = {0};

    assert_int_equal(message_pack(message, LIMIT_CLAIM_BYTES, &packed, &err), 0);
    return put(fixture, packed.data, packed.size_bytes);
}

static Exhibit__Receipt usual_receipt(void)
{
    static uint8_t run_id[RUN_ID_BYTES];
    Exhibit__Receipt receipt = EXHIBIT__RECEIPT__INIT;

    receipt.version = 1;
    receipt.run_id = (ProtobufCBinaryData){sizeof run_id, run_id};
    return receipt;
}

static void receipt_and_claim_come_back(void **state)
{
    struct fixture *fixture = *state;
    Exhibit__Receipt receipt = usual_receipt(), *receipt_back = NULL;
    Exhibit__Claim claim = EXHIBIT__CLAIM__INIT, *claim_back = NULL;
    struct digest receipt_digest = put_message(fixture, &receipt.base), claim_digest;
    struct err err = {0};

    claim.version = 1;
    claim.decision = (char *)"GO";
    claim.receipt_sha256 = claim.oracle_sha256 = (ProtobufCBinaryData){DIGEST_BYTES, receipt_digest.bytes};
    claim_digest = put_message(fixture, &claim.base);
    turn(fixture, &receipt_digest, &claim_digest);
    assert_int_equal(receipt_read(fixture->pack, &receipt_back, &err), 0);
    assert_int_equal(receipt_back->run_id.len, RUN_ID_BYTES);
    assert_int_equal(claim_read(fixture->pack, &claim_back, &err), 0);
    assert_string_equal(claim_back->decision, "GO");
    exhibit__receipt__free_unpacked(receipt_back, NULL);
    exhibit__claim__free_unpacked(claim_back, NULL);
}

static void a_pack_without_a_claim_gives_none_and_an_unknown_version_is_refused(void **state)
{
    struct fixture *fixture = *state;
    Exhibit__Receipt receipt = usual_receipt(), *receipt_back = NULL;
    Exhibit__Claim *claim_back = (Exhibit__Claim *)&receipt;
    struct digest digest;
    struct err err = {0};

    receipt.version = 2;
    digest = put_message(fixture, &receipt.base);
    turn(fixture, &digest, NULL);
    assert_int_equal(claim_read(fixture->pack, &claim_back, &err), 0);
    assert_null(claim_back);
    assert_int_equal(receipt_read(fixture->pack, &receipt_back, &err), ERR_FORMAT);
    assert_string_equal(err.text, "the Receipt is of version 2; this program knows 1");
    assert_null(receipt_back);
}

static void a_receipt_that_is_none_is_refused_as_malformed(void **state)
{
    struct fixture *fixture = *state;
    Exhibit__Receipt *receipt = NULL;
    struct digest digest = put(fixture, "\x07", 1);
    struct err err = {0};

    turn(fixture, &digest, &digest);
    assert_int_equal(receipt_read(fixture->pack, &receipt, &err), ERR_FORMAT);
    assert_string_equal(err.text, "the Receipt: 1 bytes are no Receipt");
    assert_null(receipt);
}

/* ---- messages ---- */

/* Two bytes of input each ask for a message of their own: that must not become a multiple of the input in memory. */
static void unpacking_is_bounded_by_the_size_of_the_input(void **state)
{
    enum { SEGMENTS = 1 << 20 };
    AUTO_BYTES struct bytes packed = {0};
    ProtobufCMessage *message = NULL;
    struct err err = {0};

    (void)state;
    for (int i = 0; i < SEGMENTS; i++)
        assert_int_equal(bytes_add(&packed, "\x0a\x00", 2, SIZE_MAX, &err), 0);
    assert_int_equal(message_unpack(&exhibit__stream__descriptor, packed.data, packed.size_bytes, &message, &err),
                     ERR_LIMIT);
    assert_string_equal(err.text, "Stream of 2097152 bytes takes more memory than its size explains");
    assert_null(message);
}

static void an_enum_that_may_stay_unset_may(void **state)
{
    Exhibit__StepPlan plan = EXHIBIT__STEP_PLAN__INIT;
    struct err err = {0};

    (void)state;
    plan.target = EXHIBIT__STEP_TARGET__STEP_GROUP;
    assert_int_equal(message_check(&plan.base, &err), 0);
    plan.after_role = (Exhibit__Role)4;
    assert_int_equal(message_check(&plan.base, &err), ERR_FORMAT);
    assert_string_equal(err.text, "StepPlan.after_role is 4, which this version does not know");
    plan.after_role = EXHIBIT__ROLE__ROLE_PARENT;
    plan.target = EXHIBIT__STEP_TARGET__STEP_TARGET_NONE;
    assert_int_equal(message_check(&plan.base, &err), ERR_FORMAT);
    assert_string_equal(err.text, "StepPlan.target is not set");
}

static void utf8_is_told_from_all_else(void **state)
{
    static const char *const good[] = {"", "a", "\xc3\xbc", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                                       "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"};
    static const char *const bad[] = {"\x80", "\xc0\x80", "\xc1\xbf", "\xc3", "\xc3\x41", "\xe0\x9f\xbf", "\xe2\x82",
                                      "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"};

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(text_is_utf8(good[i], strlen(good[i])));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(text_is_utf8(bad[i], strlen(bad[i])));
}

#define WITH_PACK(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_PACK(streams_come_back_as_written_in_segments_of_bounded_size),
        WITH_PACK(flush_makes_a_segment_of_what_is_pending),
        WITH_PACK(stream_read_all_keeps_to_its_bound_and_a_null_stream_is_empty),
        WITH_PACK(a_writer_takes_no_more_than_the_limit_of_a_stream),
        WITH_PACK(stream_read_refuses_every_false_or_malformed_description),
        WITH_PACK(events_come_back_in_order_over_segment_borders),
        WITH_PACK(events_may_be_cut_anywhere_by_segments),
        WITH_PACK(events_append_refuses_what_events_read_would),
        WITH_PACK(events_read_refuses_each_malformed_log_for_its_reason),
        WITH_PACK(events_read_refuses_every_truncation),
        WITH_PACK(receipt_and_claim_come_back),
        WITH_PACK(a_pack_without_a_claim_gives_none_and_an_unknown_version_is_refused),
        WITH_PACK(a_receipt_that_is_none_is_refused_as_malformed),
        cmocka_unit_test(unpacking_is_bounded_by_the_size_of_the_input),
        cmocka_unit_test(an_enum_that_may_stay_unset_may),
        cmocka_unit_test(utf8_is_told_from_all_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
