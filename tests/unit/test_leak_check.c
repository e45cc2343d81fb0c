/* record/leak_check: local content is found wherever it would leave, however small the table, and told by its path. */
#include "base/cleanup.h"
#include "record/leak_check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
/* cmocka.h wants some of the above first. */
#include <cmocka.h>

#include "tests/unit/packs.h"

enum { SALT_BYTES = 32, FILES = 3, FILE_BYTES = 200 };

static char content[FILES][FILE_BYTES + 1]; /* printable, so that a path can have it */

/* Where the leaked bytes are put. */
enum place { NOWHERE, IN_STDOUT, IN_STDIN, IN_ARTIFACT, IN_MESSAGE, IN_TARGET, IN_PATH };

struct staged {
    struct fixture *fixture;
    struct stream_writer *log;
    uint64_t seq;
};

static void event_put(struct staged *staged, Exhibit__Event *event)
{
    struct err err = {0};

    event->seq = ++staged->seq;
    event->at_ns = staged->seq;
    event->source = EXHIBIT__SOURCE__SOURCE_RECORDER;
    event->vantage = EXHIBIT__VANTAGE__VANTAGE_HOST;
    if (events_append(staged->log, event, &err) < 0)
        fail_msg("%s", err.text);
}

#define PUT(staged, number, field, FIELD, pointer)                                                                     \
    event_put(staged, &(Exhibit__Event){PROTOBUF_C_MESSAGE_INIT(&exhibit__event__descriptor), .run = (number),         \
                                        .what_case = EXHIBIT__EVENT__WHAT_##FIELD, .field = (pointer)})

#define DATA(digest) ((ProtobufCBinaryData){DIGEST_BYTES, (digest).bytes})

/* The first freeze, of files whose salted contents are inputs of the same pack; one more has the path `path`. */
static void freeze_put(struct staged *staged, const char *path)
{
    Exhibit__FreezeEntry entries[FILES + 1], *pointers[FILES + 1];
    Exhibit__FreezeList list = EXHIBIT__FREEZE_LIST__INIT;
    Exhibit__Freeze freeze = EXHIBIT__FREEZE__INIT;
    AUTO_BYTES struct bytes packed = {0};
    struct digest digests[FILES], digest;
    static char names[FILES][8];
    struct err err = {0};

    for (int i = 0; i < FILES; i++) {
        char salted[SALT_BYTES + FILE_BYTES];

        memset(salted, 'S', SALT_BYTES);
        memcpy(salted + SALT_BYTES, content[i], FILE_BYTES);
        assert_int_equal(pack_put(staged->fixture->writer, PACK_INPUT, salted, sizeof salted, &digests[i], &err), 0);
        (void)snprintf(names[i], sizeof names[i], "file-%d", i);
        exhibit__freeze_entry__init(&entries[i]);
        entries[i].path = (ProtobufCBinaryData){strlen(names[i]), (uint8_t *)names[i]};
        entries[i].mode = S_IFREG | 0644;
        entries[i].size_bytes = FILE_BYTES;
        entries[i].sha256 = DATA(digests[i]);
        pointers[i] = &entries[i];
    }
    exhibit__freeze_entry__init(&entries[FILES]);
    entries[FILES].path = (ProtobufCBinaryData){strlen(path), (uint8_t *)(uintptr_t)path};
    entries[FILES].mode = S_IFDIR | 0755;
    pointers[FILES] = &entries[FILES];
    list.entries = pointers;
    list.n_entries = FILES + 1;
    assert_int_equal(message_pack(&list.base, LIMIT_FREEZE_BYTES, &packed, &err), 0);
    digest = put(staged->fixture, packed.data, packed.size_bytes);
    freeze.moment = EXHIBIT__FREEZE_MOMENT__FREEZE_BEFORE;
    freeze.input = (char *)(uintptr_t) "workspace";
    freeze.list_sha256 = DATA(digest);
    PUT(staged, 0, freeze, FREEZE, &freeze);
}

/* A stream that is cut in two in the middle of the leaked bytes. */
static const Exhibit__Stream *stream_put(struct stream_writer *writer, const char *leaked, size_t size_bytes)
{
    const Exhibit__Stream *stream;
    struct err err = {0};

    assert_int_equal(stream_writer_add(writer, "before ", 7, &err), 0);
    assert_int_equal(stream_writer_add(writer, leaked, size_bytes / 2, &err), 0);
    assert_int_equal(stream_writer_flush(writer, &err), 0);
    assert_int_equal(stream_writer_add(writer, leaked + size_bytes / 2, size_bytes - size_bytes / 2, &err), 0);
    assert_int_equal(stream_writer_add(writer, " after", 6, &err), 0);
    assert_int_equal(stream_writer_finish(writer, &stream, &err), 0);
    return stream;
}

static void run_put(struct staged *staged, enum place place, const char *leaked, size_t size_bytes)
{
    struct stream_writer *in = stream_writer_new(staged->fixture->writer);
    struct stream_writer *out = stream_writer_new(staged->fixture->writer);
    Exhibit__RunStart start = EXHIBIT__RUN_START__INIT;
    Exhibit__StreamEnd end = EXHIBIT__STREAM_END__INIT;
    Exhibit__Message message = EXHIBIT__MESSAGE__INIT;
    Exhibit__Artifact artifact = EXHIBIT__ARTIFACT__INIT;
    struct digest digest = put(staged->fixture, leaked, place == IN_ARTIFACT ? size_bytes : 0);

    start.kind = EXHIBIT__RUN_KIND__RUN_CASE;
    start.name = (char *)(uintptr_t) "hello";
    start.mode = EXHIBIT__MODE__MODE_STRICT;
    start.stdin_stream = (Exhibit__Stream *)(uintptr_t)stream_put(in, leaked, place == IN_STDIN ? size_bytes : 0);
    PUT(staged, 1, run_start, RUN_START, &start);
    message.protocol = EXHIBIT__PROTOCOL__PROTOCOL_UDP;
    message.payload = (ProtobufCBinaryData){place == IN_MESSAGE ? size_bytes : 0, (uint8_t *)(uintptr_t)leaked};
    PUT(staged, 1, message, MESSAGE, &message);
    end.stream = EXHIBIT__STREAM_NAME__STREAM_STDOUT;
    end.how = EXHIBIT__STREAM_END__HOW__HOW_EOF;
    end.content = (Exhibit__Stream *)(uintptr_t)stream_put(out, leaked, place == IN_STDOUT ? size_bytes : 0);
    PUT(staged, 1, stream_end, STREAM_END, &end);
    artifact.path = (ProtobufCBinaryData){5, (uint8_t *)(uintptr_t) "a.out"};
    artifact.sha256 = DATA(digest);
    artifact.kept = true;
    PUT(staged, 1, artifact, ARTIFACT, &artifact);
    stream_writer_free(in);
    stream_writer_free(out);
}

/* Checks a pack in which some bytes of a file leave in one place. Returns what leak_check does. */
static int checked(struct fixture *fixture, enum place place, int file, size_t from, size_t size_bytes,
                   uint32_t table_blocks, struct err *err)
{
    struct staged staged = {.fixture = fixture, .log = stream_writer_new(fixture->writer)};
    const char *leaked = content[file] + from;
    Exhibit__Receipt receipt = EXHIBIT__RECEIPT__INIT;
    uint8_t run_id[RUN_ID_BYTES] = {1};
    AUTO_BYTES struct bytes packed = {0};
    const Exhibit__Stream *events;
    struct digest digest;

    for (int i = 0; i < FILES; i++)
        for (int j = 0; j < FILE_BYTES; j++)
            content[i][j] = (char)('!' + (i * 17 + j * j * 7 + j / 5) % 90);
    if (place == IN_TARGET)
        (void)put(fixture, leaked, size_bytes);
    freeze_put(&staged, place == IN_PATH ? content[file] : "z");
    run_put(&staged, place, leaked, size_bytes);
    assert_int_equal(stream_writer_finish(staged.log, &events, err), 0);
    receipt.version = 2;
    receipt.run_id = (ProtobufCBinaryData){RUN_ID_BYTES, run_id};
    receipt.events = (Exhibit__Stream *)(uintptr_t)events;
    assert_int_equal(message_pack(&receipt.base, LIMIT_RECEIPT_BYTES, &packed, err), 0);
    digest = put(fixture, packed.data, packed.size_bytes);
    stream_writer_free(staged.log);
    turn(fixture, &digest, NULL);
    return leak_check(fixture->pack, fixture->pack, table_blocks, err);
}

static void expect(void **state, enum place place, int file, uint32_t table_blocks, const char *text)
{
    char wanted[200];
    struct err err = {0};

    (void)snprintf(wanted, sizeof wanted, "%s has content of the local file file-%d; nothing was written", text, file);
    assert_int_equal(checked(*state, place, file, 32, 63, table_blocks, &err), ERR_USAGE);
    if (strncmp(err.text, wanted, strlen(wanted)) != 0)
        fail_msg("%s", err.text);
}

static void in_a_stream_over_the_border_of_segments(void **state)
{
    expect(state, IN_STDOUT, 1, 100, "stdout of strict case hello");
}

static void in_what_was_offered_on_stdin(void **state)
{
    expect(state, IN_STDIN, 0, 100, "stdin of strict case hello");
}

static void in_an_artifact(void **state)
{
    expect(state, IN_ARTIFACT, 2, 100, "an artifact of strict case hello: a.out");
}

static void in_the_log_itself(void **state)
{
    expect(state, IN_MESSAGE, 1, 100, "the event log (argv, messages, paths) of the recording");
}

static void in_an_object_that_no_event_tells_the_place_of(void **state)
{
    expect(state, IN_TARGET, 1, 100, "a text or a target of the recording");
}

static void in_several_passes_where_the_table_is_small(void **state)
{
    expect(state, IN_STDOUT, 2, 1, "stdout of strict case hello");
}

static void the_second_block_of_a_file_begins_a_pass_of_its_own(void **state)
{
    expect(state, IN_STDOUT, 1, 5, "stdout of strict case hello");
}

static void nothing_is_found_where_nothing_leaves(void **state)
{
    struct err err = {0};

    if (checked(*state, NOWHERE, 0, 0, FILE_BYTES, 2, &err) < 0)
        fail_msg("%s", err.text);
}

static void less_than_a_block_is_not_found(void **state)
{
    struct err err = {0};

    assert_int_equal(checked(*state, IN_STDOUT, 1, 33, 62, 100, &err), 0);
}

static void a_path_is_no_content(void **state)
{
    struct err err = {0};

    if (checked(*state, IN_PATH, 1, 0, FILE_BYTES, 100, &err) < 0)
        fail_msg("%s", err.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_PACK(in_a_stream_over_the_border_of_segments),
        WITH_PACK(in_what_was_offered_on_stdin),
        WITH_PACK(in_an_artifact),
        WITH_PACK(in_the_log_itself),
        WITH_PACK(in_an_object_that_no_event_tells_the_place_of),
        WITH_PACK(in_several_passes_where_the_table_is_small),
        WITH_PACK(the_second_block_of_a_file_begins_a_pass_of_its_own),
        WITH_PACK(nothing_is_found_where_nothing_leaves),
        WITH_PACK(less_than_a_block_is_not_found),
        WITH_PACK(a_path_is_no_content),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
