/*
 * The event log, and the messages that a pack names, through a real pack in a temporary folder.
 */
#include "base/cleanup.h"
#include "formats/stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants some of the above first. */
#include <cmocka.h>

#include "tests/unit/packs.h"

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

/* Changes a byte in the middle of the first block of the file. */
static void change_first_block(const struct fixture *fixture)
{
    AUTO_FD int fd = openat(fixture->folder_fd, "pack", O_RDWR | O_CLOEXEC);
    uint8_t byte;

    assert_int_equal(pread(fd, &byte, 1, 1000), 1);
    byte ^= 1;
    assert_int_equal(pwrite(fd, &byte, 1, 1000), 1);
}

static void events_come_back_in_order_over_segment_borders(void **state)
{
    enum { COUNT = 7000, PAYLOAD = LIMIT_MESSAGE_BYTES - 1 };
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
    seen = (struct seen){0};
    assert_int_equal(events_read(fixture->pack, stream, count_event, &seen, &err), 0);
    assert_int_equal(seen.count, COUNT);
    change_first_block(fixture);
    seen = (struct seen){0};
    assert_int_equal(events_read(fixture->pack, stream, count_event, &seen, &err), ERR_FORMAT);
    assert_non_null(strstr(err.text, "FORMAT 3.6"));
    assert_int_equal(seen.count, 0);
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

        set_message(&event, &message,
                    "0123456789012345678901234567890123456789012345678901234567890123456789"
                    "0123456789012345678901234567890123456789012345678901234567890123456789",
                    140);
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
    assert_string_equal(err.text, "event 1: Event: more than 1048448 bytes");
    message.payload.len = 1;
    event.source = EXHIBIT__SOURCE__SOURCE_NONE;
    assert_int_equal(events_append(writer, &event, &err), ERR_FORMAT);
    assert_string_equal(err.text, "event 1: FORMAT 6.3: Event.source is not set");
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
    {LOG("\x0b\x08\x02\x10\x09\x18\x06\x20\x01\xf2\x01\x00"), ERR_FORMAT,
     "event 1: FORMAT 7.2: it has the sequence number 2"},
    {LOG("\x0b\x08\x01\x10\x09\x18\x06\x20\x01\xf2\x01\x00\x0b\x08\x03\x10\x09\x18\x06\x20\x01\xf2\x01\x00"),
     ERR_FORMAT, "event 2: FORMAT 7.2: it has the sequence number 3"},
    {LOG("\x0b\x08\x01\x10\x09\x18\x06\x20\x01\xf2\x01\x00\x0b\x08\x02\x10\x08\x18\x06\x20\x01\xf2\x01\x00"),
     ERR_FORMAT, "event 2: FORMAT 7.2: its time 8 is before 9 of the event before"},
    {LOG("\x0b\x08\x01\x10\x09\x18\x06\x20\x01\xf2\x01\x00\x0b\x08\x02\x10\x09\x18\x06\x20\x01\xf2\x01\x00"), ERR_OK,
     ""},
    {LOG("\x08\x08\x01\x10\x09\x18\x06\x20\x01"), ERR_FORMAT, "event 1: FORMAT 7.4: it is of no kind"},
    {LOG("\x09\x08\x01\x10\x09\x20\x01\xf2\x01\x00"), ERR_FORMAT, "event 1: FORMAT 6.3: Event.source is not set"},
    {LOG("\x0b\x08\x01\x10\x09\x18\x63\x20\x01\xf2\x01\x00"), ERR_FORMAT,
     "event 1: FORMAT 6.3: Event.source is 99, which this"},
    {LOG("\x09\x08\x01\x10\x09\x18\x06\xf2\x01\x00"), ERR_FORMAT, "event 1: FORMAT 6.3: Event.vantage is not set"},
    {LOG("\x0e\x08\x01\x10\x09\x18\x06\x20\x01\xf2\x01\x00\x98\x06\x01"), ERR_FORMAT,
     "event 1: FORMAT 6.3: Event has field 99"},
    {LOG("\x0d\x08\x01\x10\x09\x18\x06\x20\x01\xf2\x01\x02\x48\x01"), ERR_FORMAT,
     "event 1: FORMAT 6.3: Accept has field 9"},
    {LOG("\x0d\x08\x01\x10\x09\x18\x06\x20\x01\xf2\x01\x02\x08\x00"), ERR_FORMAT, "not in its shortest form"},
    {LOG("\x0d\x08\x01\x08\x01\x10\x09\x18\x06\x20\x01\xf2\x01\x00"), ERR_FORMAT, "not in its shortest form"},
    {LOG("\x0c\x08\x81\x00\x10\x09\x18\x06\x20\x01\xf2\x01\x00"), ERR_FORMAT, "not in its shortest form"},
    {LOG("\x0f\x08\x01\x10\x09\x18\x01\x20\x01\x6a\x05\x0a\x01\x61\x10\x08"), ERR_OK, ""},
    {LOG("\x0f\x08\x01\x10\x09\x18\x01\x20\x01\x6a\x05\x0a\x01\xff\x10\x08"), ERR_FORMAT, "Phase.trial is not UTF-8"},
    {LOG("\x0f\x08\x01\x10\x09\x18\x01\x20\x01\x6a\x05\x0a\x01\x00\x10\x08"), ERR_FORMAT, "not in its shortest form"},
    {LOG("\x0d\x08\x01\x10\x09\x18\x01\x20\x01\x6a\x03\x0a\x01\x61"), ERR_FORMAT, "Phase.phase is not set"},
    {LOG("\x12\x08\x01\x10\x09\x18\x01\x20\x01\x62\x08\x08\x01\x12\x01\x61\x22\x01\x02"), ERR_FORMAT,
     "event 1: FORMAT 6.3: Freeze.list_sha256 has 1 bytes, not 32"},
    {LOG("\x0f\x08\x01\x10\x09\x18\x01\x20\x01\x62\x05\x08\x01\x12\x01\x61"), ERR_FORMAT,
     "event 1: FORMAT 6.3: Freeze.list_sha256 has 0 bytes, not 32"},
    {LOG("\x00"), ERR_FORMAT, "event 1: FORMAT 7.1: its length is malformed"},
    {LOG("\x8b\x00\x08\x01\x10\x09\x18\x06\x20\x01\xf2\x01\x00"), ERR_FORMAT,
     "event 1: FORMAT 7.1: its length is malformed"},
    {LOG("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), ERR_FORMAT, "event 1: FORMAT 7.1: its length is malformed"},
    {LOG("\x81\x80\x40"), ERR_LIMIT, "event 1: FORMAT 7.1: 1048577 bytes"},
    {LOG("\x80"), ERR_FORMAT, "FORMAT 7.1: the log ends within event 1"},
    {LOG("\x03\x08\x01\xf2"), ERR_FORMAT, "event 1: 3 bytes are no Event"},
};

/* Each twice: only what was found right is known. */
static void events_read_refuses_each_malformed_log_for_its_reason(void **state)
{
    enum { LOGS = sizeof logs / sizeof *logs };
    struct fixture *fixture = *state;
    struct stream_writer *writers[LOGS];
    const Exhibit__Stream *streams[LOGS];

    for (size_t i = 0; i < LOGS; i++)
        writers[i] = write_stream(fixture, logs[i].bytes, logs[i].size_bytes, &streams[i]);
    turn(fixture, NULL, NULL);
    for (size_t i = 0; i < 2 * LOGS; i++) {
        struct seen seen = {0};
        struct err err = {0};
        int code = events_read(fixture->pack, streams[i / 2], count_event, &seen, &err);

        if (code != logs[i / 2].code || strstr(err.text, logs[i / 2].text) == NULL)
            fail_msg("log %zu: %d %s", i / 2, code, err.text);
    }
    for (size_t i = 0; i < LOGS; i++)
        stream_writer_free(writers[i]);
}

static void events_read_refuses_every_truncation(void **state)
{
    static const char whole[] =
        "\x0b\x08\x01\x10\x09\x18\x06\x20\x01\xf2\x01\x00\x0b\x08\x02\x10\x09\x18\x06\x20\x01\xf2\x01\x00";
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

        assert_int_equal(events_read(fixture->pack, streams[kept], count_event, &seen, &err), between ? 0 : ERR_FORMAT);
        assert_string_equal(err.text, between     ? ""
                                      : kept < 12 ? "FORMAT 7.1: the log ends within event 1"
                                                  : "FORMAT 7.1: the log ends within event 2");
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
    AUTO_ARENA struct arena arena = {0};
    Exhibit__Receipt receipt = usual_receipt();
    const Exhibit__Receipt *receipt_back = NULL;
    Exhibit__Claim claim = EXHIBIT__CLAIM__INIT;
    const Exhibit__Claim *claim_back = NULL;
    struct digest receipt_digest = put_message(fixture, &receipt.base), claim_digest;
    struct err err = {0};

    claim.version = 1;
    claim.decision = (char *)"GO";
    claim.receipt_sha256 = claim.oracle_sha256 = (ProtobufCBinaryData){DIGEST_BYTES, receipt_digest.bytes};
    claim_digest = put_message(fixture, &claim.base);
    turn(fixture, &receipt_digest, &claim_digest);
    assert_int_equal(receipt_read(fixture->pack, &arena, &receipt_back, &err), 0);
    assert_int_equal(receipt_back->run_id.len, RUN_ID_BYTES);
    assert_int_equal(claim_read(fixture->pack, &arena, &claim_back, &err), 0);
    assert_string_equal(claim_back->decision, "GO");
}

static void a_pack_without_a_claim_gives_none_and_an_unknown_version_is_refused(void **state)
{
    struct fixture *fixture = *state;
    AUTO_ARENA struct arena arena = {0};
    Exhibit__Receipt receipt = usual_receipt();
    const Exhibit__Receipt *receipt_back = NULL;
    const Exhibit__Claim *claim_back = (const Exhibit__Claim *)&receipt;
    struct digest digest;
    struct err err = {0};

    receipt.version = 3;
    digest = put_message(fixture, &receipt.base);
    turn(fixture, &digest, NULL);
    assert_int_equal(claim_read(fixture->pack, &arena, &claim_back, &err), 0);
    assert_null(claim_back);
    assert_int_equal(receipt_read(fixture->pack, &arena, &receipt_back, &err), ERR_FORMAT);
    assert_string_equal(err.text, "FORMAT 8.2: the Receipt is of version 3; this program knows 2");
    assert_null(receipt_back);
}

static void a_later_version_is_told_as_one_whatever_else_is_in_it(void **state)
{
    struct fixture *fixture = *state;
    AUTO_ARENA struct arena arena = {0};
    const Exhibit__Receipt *receipt = NULL;
    struct digest digest = put(fixture, "\x08\x07\x50\x01", 4);
    struct err err = {0};

    turn(fixture, &digest, NULL);
    assert_int_equal(receipt_read(fixture->pack, &arena, &receipt, &err), ERR_FORMAT);
    assert_string_equal(err.text, "FORMAT 8.2: the Receipt is of version 7; this program knows 2");
}

static void a_receipt_that_is_none_is_refused_as_malformed(void **state)
{
    struct fixture *fixture = *state;
    AUTO_ARENA struct arena arena = {0};
    const Exhibit__Receipt *receipt = NULL;
    struct digest digest = put(fixture, "\x07", 1);
    struct err err = {0};

    turn(fixture, &digest, &digest);
    assert_int_equal(receipt_read(fixture->pack, &arena, &receipt, &err), ERR_FORMAT);
    assert_string_equal(err.text, "the Receipt: 1 bytes are no Receipt");
    assert_null(receipt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_PACK(events_come_back_in_order_over_segment_borders),
        WITH_PACK(events_may_be_cut_anywhere_by_segments),
        WITH_PACK(events_append_refuses_what_events_read_would),
        WITH_PACK(events_read_refuses_each_malformed_log_for_its_reason),
        WITH_PACK(events_read_refuses_every_truncation),
        WITH_PACK(receipt_and_claim_come_back),
        WITH_PACK(a_pack_without_a_claim_gives_none_and_an_unknown_version_is_refused),
        WITH_PACK(a_later_version_is_told_as_one_whatever_else_is_in_it),
        WITH_PACK(a_receipt_that_is_none_is_refused_as_malformed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
