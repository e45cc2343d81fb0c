/*
 * Streams through a real pack in a temporary folder.
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
        {4, 2, 32, 32, &whole, &part, ERR_MISMATCH,
         "segment 1: FORMAT 6.2: the object has 3 bytes, the stream claims 2"},
        {6, 3, 32, 32, &part, &part, ERR_MISMATCH, "has another digest than it claims"},
        {6, 3, 32, 32, &whole, &missing, ERR_MISMATCH, "segment 1: "},
        {0, 0, 32, 32, &whole, &part, ERR_FORMAT, "FORMAT 6.1: segment 1: a size of 0 bytes"},
        {6, LIMIT_SEGMENT_BYTES + 1, 32, 32, &whole, &part, ERR_FORMAT,
         "FORMAT 6.1: segment 1: a size of 1048577 bytes"},
        {6, 3, 31, 32, &whole, &part, ERR_FORMAT, "FORMAT 6.2: a stream's digest has 31 bytes"},
        {6, 3, 32, 0, &whole, &part, ERR_FORMAT, "FORMAT 6.2: segment 1: its digest has 0 bytes"},
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_PACK(streams_come_back_as_written_in_segments_of_bounded_size),
        WITH_PACK(flush_makes_a_segment_of_what_is_pending),
        WITH_PACK(stream_read_all_keeps_to_its_bound_and_a_null_stream_is_empty),
        WITH_PACK(a_writer_takes_no_more_than_the_limit_of_a_stream),
        WITH_PACK(stream_read_refuses_every_false_or_malformed_description),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
