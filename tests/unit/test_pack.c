/* Packs as they are meant: what goes in comes out, once, and zstd itself reads the file. */
#include "base/cleanup.h"
#include "base/file.h"
#include "test_pack_fixture.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Starts a pack called "p". */
static struct pack_writer *begin(void)
{
    struct pack_writer *writer = NULL;
    struct err err = {0};

    if (pack_writer_new(test_folder_fd, "p", &writer, &err) < 0)
        fail_msg("%s", err.text);
    return writer;
}

/* Puts bytes and gives their digest. */
static struct digest put(struct pack_writer *writer, enum pack_part part, const void *from, size_t size_bytes)
{
    struct digest digest = {0}, right = digest_of(from, size_bytes);
    struct err err = {0};

    if (pack_put(writer, part, from, size_bytes, &digest, &err) < 0)
        fail_msg("%s", err.text);
    assert_true(digest_equal(&digest, &right));
    return digest;
}

/* Finishes the pack and opens it; the descriptor is given too. */
static struct pack *finish(struct pack_writer *writer, const struct digest *receipt, const struct digest *claim,
                           int *out_fd)
{
    struct pack *pack = NULL;
    struct err err = {0};

    if (pack_writer_finish(writer, receipt, claim, &err) < 0)
        fail_msg("%s", err.text);
    *out_fd = openat(test_folder_fd, "p", O_RDONLY | O_CLOEXEC);
    if (pack_open(*out_fd, &pack, &err) < 0 || pack_check(pack, &err) < 0)
        fail_msg("%s", err.text);
    return pack;
}

/* Wants exactly these bytes under this digest. */
static void expect(struct pack *pack, enum pack_part part, const struct digest *digest, const void *from,
                   size_t size_bytes)
{
    AUTO_BYTES struct bytes content = {0};
    struct err err = {0};

    if (pack_read(pack, part, digest, size_bytes, &content, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(content.size_bytes, size_bytes);
    assert_true(size_bytes == 0 || memcmp(content.data, from, size_bytes) == 0);
}

static void objects_of_every_size_come_out_as_they_went_in(void **state)
{
    static const size_t sizes[] = {
        0, 1, 255, 256, 65791, 65792, LIMIT_BLOCK_BYTES - 1, LIMIT_BLOCK_BYTES, 3 * LIMIT_BLOCK_BYTES + 17, 5};
    enum { COUNT = sizeof sizes / sizeof *sizes };
    AUTO_FREE uint8_t *data = malloc(3 * LIMIT_BLOCK_BYTES + 17);
    struct digest digests[COUNT];
    struct pack_writer *writer = begin();
    AUTO_FD int fd = -1;
    struct pack *pack;

    (void)state;
    noise(data, 3 * LIMIT_BLOCK_BYTES + 17, 1);
    memset(data + 100, 'x', LIMIT_BLOCK_BYTES); /* some of it compresses */
    for (size_t i = 0; i < COUNT; i++)
        digests[i] = put(writer, i % 2 == 0 ? PACK_OBSERVATION : PACK_INPUT, data, sizes[i]);
    pack = finish(writer, &digests[2], &digests[4], &fd);
    for (size_t i = COUNT; i > 0; i--)
        expect(pack, i % 2 == 1 ? PACK_OBSERVATION : PACK_INPUT, &digests[i - 1], data, sizes[i - 1]);
    pack_close(pack);
}

/* One block for each size of the content size field, so that each width is written and read. */
static void blocks_of_every_content_size_field_are_read(void **state)
{
    static const size_t sizes[] = {1, 255, 256, 65791, 65792, LIMIT_BLOCK_BYTES};
    AUTO_FREE uint8_t *data = malloc(LIMIT_BLOCK_BYTES);
    struct digest digests[6];
    struct pack_writer *writer = begin();
    struct err err = {0};
    AUTO_FD int fd = -1;
    struct pack *pack;

    (void)state;
    noise(data, LIMIT_BLOCK_BYTES, 2);
    for (size_t i = 0; i < 6; i++) {
        digests[i] = put(writer, PACK_OBSERVATION, data, sizes[i]);
        assert_int_equal(pack_writer_flush(writer, &err), 0);
    }
    pack = finish(writer, &digests[0], NULL, &fd);
    for (size_t i = 0; i < 6; i++)
        expect(pack, PACK_OBSERVATION, &digests[i], data, sizes[i]);
    pack_close(pack);
}

static void equal_content_is_stored_once_in_each_part(void **state)
{
    static uint8_t data[100000];
    struct pack_writer *writer = begin();
    AUTO_BYTES struct bytes file = {0};
    struct digest digest = {0};
    struct pack_object object;
    AUTO_FD int fd = -1;
    struct pack *pack;

    (void)state;
    noise(data, sizeof data, 3);
    for (unsigned i = 0; i < 10; i++) {
        digest = put(writer, PACK_OBSERVATION, data, sizeof data);
        put(writer, PACK_INPUT, data, sizeof data);
        put(writer, PACK_OBSERVATION, "", 0);
    }
    pack = finish(writer, &digest, NULL, &fd);
    assert_int_equal(pack_object_count(pack, PACK_OBSERVATION), 2);
    assert_int_equal(pack_object_count(pack, PACK_INPUT), 1);
    expect(pack, PACK_OBSERVATION, &digest, data, sizeof data);
    expect(pack, PACK_INPUT, &digest, data, sizeof data);
    assert_true(pack_find(pack, PACK_INPUT, &digest, &object));
    assert_int_equal(object.size_bytes, sizeof data);
    assert_int_equal(object.part, PACK_INPUT);
    pack_close(pack);
    load(test_folder_fd, "p", &file);
    assert_true(file.size_bytes > 2 * sizeof data && file.size_bytes < 2 * sizeof data + 2000);
}

static void many_small_objects_are_found_in_ascending_order(void **state)
{
    enum { COUNT = 20000 };
    struct pack_writer *writer = begin();
    struct digest receipt = put(writer, PACK_OBSERVATION, "r", 1);
    struct digest before = {0};
    AUTO_FD int fd = -1;
    struct pack *pack;

    (void)state;
    for (uint32_t i = 0; i < COUNT; i++)
        put(writer, PACK_INPUT, &i, sizeof i);
    pack = finish(writer, &receipt, NULL, &fd);
    assert_int_equal(pack_object_count(pack, PACK_INPUT), COUNT);
    for (uint32_t i = 0; i < COUNT; i++) {
        struct pack_object object = pack_object_at(pack, PACK_INPUT, i);

        assert_true(memcmp(before.bytes, object.digest.bytes, DIGEST_BYTES) < 0);
        before = object.digest;
    }
    for (uint32_t i = 0; i < COUNT; i += 7) {
        struct digest digest = digest_of(&i, sizeof i);

        expect(pack, PACK_INPUT, &digest, &i, sizeof i);
    }
    pack_close(pack);
}

static void a_descriptor_is_read_from_its_start_and_stored_once(void **state)
{
    static const size_t sizes[] = {0, 10, LIMIT_BLOCK_BYTES - 1, LIMIT_BLOCK_BYTES, 2 * LIMIT_BLOCK_BYTES + 5};
    AUTO_FREE uint8_t *data = malloc(2 * LIMIT_BLOCK_BYTES + 5);
    struct pack_writer *writer = begin();
    struct digest receipt = put(writer, PACK_OBSERVATION, "r", 1);
    struct err err = {0};
    AUTO_FD int fd = -1;
    struct pack *pack;

    (void)state;
    noise(data, 2 * LIMIT_BLOCK_BYTES + 5, 4);
    for (unsigned i = 0; i < 10; i++) {
        AUTO_FD int from = memory_file(data, sizes[i % 5]); /* its offset is at its end now */
        struct digest digest = {0};
        uint64_t size_bytes = 99;

        assert_int_equal(pack_put_fd(writer, PACK_INPUT, from, &digest, &size_bytes, &err), 0);
        assert_int_equal(size_bytes, sizes[i % 5]);
        put(writer, PACK_INPUT, data, sizes[i % 5]);
    }
    pack = finish(writer, &receipt, NULL, &fd);
    assert_int_equal(pack_object_count(pack, PACK_INPUT), 5);
    for (unsigned i = 0; i < 5; i++) {
        struct digest digest = digest_of(data, sizes[i]);

        expect(pack, PACK_INPUT, &digest, data, sizes[i]);
    }
    pack_close(pack);
}

static void zstd_itself_tests_and_decodes_a_finished_pack(void **state)
{
    AUTO_FREE uint8_t *data = malloc(LIMIT_BLOCK_BYTES + 1000);
    struct pack_writer *writer = begin();
    AUTO_BYTES struct bytes decoded = {0};
    struct digest digest;
    char command[256];
    AUTO_FD int fd = -1;

    (void)state;
    noise(data, LIMIT_BLOCK_BYTES + 1000, 5);
    digest = put(writer, PACK_OBSERVATION, data, LIMIT_BLOCK_BYTES + 1000);
    put(writer, PACK_INPUT, "input", 5);
    pack_close(finish(writer, &digest, NULL, &fd));
    (void)snprintf(command, sizeof command, "cd %s && zstd -tq p && zstd -dc p > out", test_folder);
    assert_int_equal(system(command), 0);
    load(test_folder_fd, "out", &decoded);
    assert_int_equal(decoded.size_bytes, LIMIT_BLOCK_BYTES + 1000 + 5);
    assert_memory_equal(decoded.data, data, LIMIT_BLOCK_BYTES + 1000);
    assert_memory_equal(decoded.data + LIMIT_BLOCK_BYTES + 1000, "input", 5);
}

static void receipt_and_claim_are_told(void **state)
{
    struct pack_writer *writer = begin();
    struct digest receipt = put(writer, PACK_OBSERVATION, "receipt", 7);
    struct digest claim = put(writer, PACK_OBSERVATION, "claim", 5), seen;
    AUTO_FD int fd = -1;
    struct pack *pack = finish(writer, &receipt, &claim, &fd);

    (void)state;
    seen = pack_receipt(pack);
    assert_true(digest_equal(&seen, &receipt));
    assert_true(pack_claim(pack, &seen));
    assert_true(digest_equal(&seen, &claim));
    pack_close(pack);
    (void)close(take_fd(&fd));
    assert_int_equal(unlinkat(test_folder_fd, "p", 0), 0);

    writer = begin();
    receipt = put(writer, PACK_OBSERVATION, "receipt", 7);
    pack = finish(writer, &receipt, NULL, &fd);
    assert_false(pack_claim(pack, &seen));
    pack_close(pack);
}

static void what_is_not_there_or_too_large_is_refused(void **state)
{
    struct pack_writer *writer = begin();
    struct digest receipt = put(writer, PACK_OBSERVATION, "receipt", 7), input = put(writer, PACK_INPUT, "input", 5);
    AUTO_BYTES struct bytes content = {0};
    struct err err = {0};
    AUTO_FD int fd = -1;
    struct pack *pack = finish(writer, &receipt, NULL, &fd);

    (void)state;
    assert_int_equal(pack_read(pack, PACK_INPUT, &receipt, 100, &content, &err), ERR_MISMATCH);
    assert_non_null(strstr(err.text, "no input "));
    assert_int_equal(pack_read(pack, PACK_OBSERVATION, &input, 100, &content, &err), ERR_MISMATCH);
    assert_non_null(strstr(err.text, "no observation "));
    assert_false(pack_find(pack, PACK_OBSERVATION, &input, NULL));
    assert_int_equal(pack_read(pack, PACK_INPUT, &input, 4, &content, &err), ERR_LIMIT);
    assert_non_null(strstr(err.text, "an object of 5 bytes where at most 4 are taken"));
    assert_null(content.data);
    pack_close(pack);
}

static void observations_alone_open_without_the_inputs(void **state)
{
    struct pack_writer *writer = begin();
    struct digest receipt = put(writer, PACK_OBSERVATION, "receipt", 7), input = put(writer, PACK_INPUT, "input", 5);
    AUTO_BYTES struct bytes file = {0};
    struct err err = {0};
    AUTO_FD int fd = -1, broken = -1;
    struct pack *pack = finish(writer, &receipt, NULL, &fd);

    (void)state;
    pack_close(pack);
    load(test_folder_fd, "p", &file);
    file.data[forge_object_at(&file, 2, 0)] ^= 1; /* the inputs' index is not even looked at */
    broken = memory_file(file.data, file.size_bytes);
    assert_int_equal(pack_open(broken, &pack, &err), ERR_FORMAT);
    assert_int_equal(pack_open_observations(broken, &pack, &err), 0);
    expect(pack, PACK_OBSERVATION, &receipt, "receipt", 7);
    assert_false(pack_find(pack, PACK_INPUT, &input, NULL));
    assert_int_equal(pack_object_count(pack, PACK_INPUT), 0);
    pack_close(pack);
}

/* Counts pieces and stops at the third. */
static int take_two(void *context, const void *piece, size_t size_bytes, struct err *err)
{
    (void)piece;
    assert_true(size_bytes > 0 && size_bytes <= LIMIT_BLOCK_BYTES);
    if (++*(unsigned *)context == 3)
        return err_set(err, ERR_USAGE, "enough");
    return 0;
}

static void reading_in_pieces_ends_where_the_taker_says(void **state)
{
    AUTO_FREE uint8_t *data = calloc(4, LIMIT_BLOCK_BYTES);
    struct pack_writer *writer = begin();
    struct digest digest = put(writer, PACK_OBSERVATION, data, 4 * (size_t)LIMIT_BLOCK_BYTES);
    struct err err = {0};
    AUTO_FD int fd = -1;
    struct pack *pack = finish(writer, &digest, NULL, &fd);
    unsigned count = 0;

    (void)state;
    assert_int_equal(pack_read_pieces(pack, PACK_OBSERVATION, &digest, take_two, &count, &err), ERR_USAGE);
    assert_string_equal(err.text, "enough");
    assert_int_equal(count, 3);
    pack_close(pack);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(objects_of_every_size_come_out_as_they_went_in, folder_set_up,
                                        folder_tear_down),
        cmocka_unit_test_setup_teardown(blocks_of_every_content_size_field_are_read, folder_set_up, folder_tear_down),
        cmocka_unit_test_setup_teardown(equal_content_is_stored_once_in_each_part, folder_set_up, folder_tear_down),
        cmocka_unit_test_setup_teardown(many_small_objects_are_found_in_ascending_order, folder_set_up,
                                        folder_tear_down),
        cmocka_unit_test_setup_teardown(a_descriptor_is_read_from_its_start_and_stored_once, folder_set_up,
                                        folder_tear_down),
        cmocka_unit_test_setup_teardown(zstd_itself_tests_and_decodes_a_finished_pack, folder_set_up, folder_tear_down),
        cmocka_unit_test_setup_teardown(receipt_and_claim_are_told, folder_set_up, folder_tear_down),
        cmocka_unit_test_setup_teardown(what_is_not_there_or_too_large_is_refused, folder_set_up, folder_tear_down),
        cmocka_unit_test_setup_teardown(observations_alone_open_without_the_inputs, folder_set_up, folder_tear_down),
        cmocka_unit_test_setup_teardown(reading_in_pieces_ends_where_the_taker_says, folder_set_up, folder_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
