/* Finished packs to which something was done afterwards: every change is found, and where. */
#include "base/cleanup.h"
#include "base/file.h"
#include "formats/pack_reader.h"
#include "test_pack_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct bytes whole;  /* a small pack with a claim, two blocks of each part, and empty objects */
static size_t groups_at[5]; /* where its four groups begin, and the first index */

/* Puts a text. */
static struct digest put(struct pack_writer *writer, enum pack_part part, const char *text)
{
    struct digest digest = {0};
    struct err err = {0};

    if (pack_put(writer, part, text, strlen(text), &digest, &err) < 0)
        fail_msg("%s", err.text);
    return digest;
}

/* The position of the group whose block is number `number` of a part and lists `object_count` objects. */
static size_t group_at(uint32_t part, uint32_t number, uint32_t object_count)
{
    const uint8_t *record = whole.data + forge_block_at(&whole, part, number);

    return (size_t)(record[0] | record[1] << 8) - 16 - 40 * object_count;
}

static int set_up(void **state)
{
    char path[64];
    int dir_fd = folder_make(path);
    struct pack_writer *writer = NULL;
    struct digest receipt, claim;
    struct err err = {0};

    (void)state;
    assert_int_equal(pack_writer_new(dir_fd, "p", &writer, &err), 0);
    receipt = put(writer, PACK_OBSERVATION, "the receipt, the receipt, the receipt, the receipt");
    claim = put(writer, PACK_OBSERVATION, "the claim");
    put(writer, PACK_OBSERVATION, "");
    assert_int_equal(pack_writer_flush(writer, &err), 0);
    put(writer, PACK_INPUT, "first");
    assert_int_equal(pack_writer_flush(writer, &err), 0);
    put(writer, PACK_OBSERVATION, "more");
    put(writer, PACK_INPUT, "other");
    assert_int_equal(pack_writer_finish(writer, &receipt, &claim, &err), 0);
    load(dir_fd, "p", &whole);
    folder_remove(dir_fd, path);

    groups_at[0] = group_at(1, 0, 2);
    groups_at[1] = group_at(2, 0, 1);
    groups_at[2] = group_at(1, 1, 1);
    groups_at[3] = group_at(2, 1, 1);
    groups_at[4] = forge_index_at(&whole, 1);
    return groups_at[0] == 24 ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    bytes_done(&whole);
    return 0;
}

/* Appends bytes to a file that a test makes. */
static void add(struct bytes *to, const void *from, size_t size_bytes)
{
    struct err err = {0};

    assert_int_equal(bytes_add(to, from, size_bytes, 1 << 20, &err), 0);
}

/* Appends the group of this number. */
static void add_group(struct bytes *to, unsigned number)
{
    add(to, whole.data + groups_at[number], groups_at[number + 1] - groups_at[number]);
}

static void the_pack_itself_is_right(void **state)
{
    struct err err = {0};

    (void)state;
    if (judge(whole.data, whole.size_bytes, &err) != 0)
        fail_msg("%s", err.text);
}

static void every_flip_of_a_bit_is_refused_with_a_range_that_holds_it(void **state)
{
    (void)state;
    for (size_t bit = 0; bit < 8 * whole.size_bytes; bit++) {
        struct err err = {0};
        uint64_t first, last;
        int code;

        whole.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        code = judge(whole.data, whole.size_bytes, &err);
        whole.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        if (code != ERR_FORMAT && code != ERR_LIMIT)
            fail_msg("bit %zu of byte %zu: %d %s", bit % 8, bit / 8, code, err.text);
        range_of(&err, &first, &last);
        if (bit / 8 < first || bit / 8 > last || last - first > 500)
            fail_msg("byte %zu is not in the range: %s", bit / 8, err.text);
    }
}

static void every_truncation_is_refused(void **state)
{
    (void)state;
    for (size_t kept = 0; kept < whole.size_bytes; kept++) {
        struct err err = {0};

        assert_int_equal(judge(whole.data, kept, &err), ERR_FORMAT);
        if (strstr(err.text, kept < 24 ? "cut short within its header" : "no footer at its end") == NULL)
            fail_msg("%zu bytes: %s", kept, err.text);
    }
}

static void bytes_after_the_footer_are_refused(void **state)
{
    static const uint8_t skippable[] = {0x50, 0x2A, 0x4D, 0x18, 0, 0, 0, 0};
    AUTO_BYTES struct bytes file = {0};

    (void)state;
    add(&file, whole.data, whole.size_bytes);
    for (size_t i = 0; i < sizeof skippable; i++) {
        add(&file, &skippable[i], 1);
        refuse(&file, ERR_FORMAT, "no footer at its end");
    }
    add(&file, "garbage", 7);
    refuse(&file, ERR_FORMAT, "no footer at its end");
}

static void a_second_footer_is_refused(void **state)
{
    AUTO_BYTES struct bytes file = {0};

    (void)state;
    add(&file, whole.data, whole.size_bytes);
    add(&file, whole.data + whole.size_bytes - 208, 208);
    refuse(&file, ERR_FORMAT, "FORMAT 5.2: the indexes that the footer names do not end where it begins");
}

static void a_second_file_after_the_first_is_refused(void **state)
{
    AUTO_BYTES struct bytes file = {0};

    (void)state;
    add(&file, whole.data, whole.size_bytes);
    add(&file, whole.data, whole.size_bytes);
    refuse(&file, ERR_FORMAT, "FORMAT 5.2");
}

static void another_file_is_no_pack(void **state)
{
    AUTO_BYTES struct bytes file = {0};

    (void)state;
    add(&file, "#!/bin/sh\nexec something that is not a pack at all\n", 51);
    refuse(&file, ERR_FORMAT, "no header of a pack here");
}

static void an_unknown_version_is_refused(void **state)
{
    (void)state;
    whole.data[16] = 2;
    refuse(&whole, ERR_FORMAT, "FORMAT 2.2: version 2 is not known here");
}

static void swapped_blocks_are_refused(void **state)
{
    AUTO_BYTES struct bytes file = {0};

    (void)state;
    /* "first" and "other" have frames and journals of one size: every position stays right. */
    assert_int_equal(groups_at[2] - groups_at[1], groups_at[4] - groups_at[3]);
    add(&file, whole.data, groups_at[1]);
    add_group(&file, 3);
    add_group(&file, 2);
    add_group(&file, 1);
    add(&file, whole.data + groups_at[4], whole.size_bytes - groups_at[4]);
    refuse(&file, ERR_FORMAT, "FORMAT 3.3: entry 0 of the journal is not what the index has at its place");
    memcpy(file.data + groups_at[3], whole.data + groups_at[3], 56); /* the journals back in their places */
    memcpy(file.data + groups_at[1], whole.data + groups_at[1], 56);
    refuse(&file, ERR_FORMAT, "FORMAT 3.6: the block has not the digest that the index tells");
}

static void swapped_journals_are_refused(void **state)
{
    uint8_t held[56];

    (void)state;
    memcpy(held, whole.data + groups_at[1], sizeof held);
    memcpy(whole.data + groups_at[1], whole.data + groups_at[3], sizeof held);
    memcpy(whole.data + groups_at[3], held, sizeof held);
    refuse(&whole, ERR_FORMAT, "FORMAT 3.3: entry 0 of the journal is not what the index has at its place");
}

static void a_group_twice_is_refused(void **state)
{
    AUTO_BYTES struct bytes file = {0};

    (void)state;
    add(&file, whole.data, groups_at[3]);
    add_group(&file, 1); /* in the place of the other input's */
    add(&file, whole.data + groups_at[4], whole.size_bytes - groups_at[4]);
    refuse(&file, ERR_FORMAT, "FORMAT 3.3: entry 0 of the journal is not what the index has at its place");
    bytes_done(&file);
    add(&file, whole.data, groups_at[4]);
    add_group(&file, 3); /* as one more */
    add(&file, whole.data + groups_at[4], whole.size_bytes - groups_at[4]);
    refuse(&file, ERR_FORMAT, "FORMAT 5.2");
}

static void a_group_that_is_not_there_is_refused(void **state)
{
    (void)state;
    for (unsigned missing = 0; missing < 4; missing++) {
        AUTO_BYTES struct bytes file = {0};

        add(&file, whole.data, 24);
        for (unsigned i = 0; i < 4; i++)
            if (i != missing)
                add_group(&file, i);
        add(&file, whole.data + groups_at[4], whole.size_bytes - groups_at[4]);
        refuse(&file, ERR_FORMAT, "FORMAT 5.2");
    }
}

/* An open pack whose file is damaged afterwards: reading says malformed, not other content. */
static void reading_a_damaged_block_names_its_range(void **state)
{
    AUTO_FD int fd = memory_file(whole.data, whole.size_bytes);
    AUTO_BYTES struct bytes content = {0};
    struct pack *pack = NULL;
    struct digest receipt;
    struct err err = {0};
    uint64_t first, last;
    size_t at = groups_at[1] - 6;
    uint8_t wrong = whole.data[at] ^ 1;

    (void)state;
    assert_int_equal(pack_open(fd, &pack, &err), 0);
    receipt = pack_receipt(pack);
    assert_int_equal(pwrite(fd, &wrong, 1, (off_t)at), 1);
    assert_int_equal(pack_read(pack, PACK_OBSERVATION, &receipt, 100, &content, &err), ERR_FORMAT);
    range_of(&err, &first, &last);
    assert_true(first <= at && at <= last);
    assert_null(content.data);
    assert_int_equal(ftruncate(fd, (off_t)at), 0);
    assert_int_equal(pack_read(pack, PACK_OBSERVATION, &receipt, 100, &content, &err), ERR_FORMAT);
    assert_non_null(strstr(err.text, "the file ends at "));
    pack_close(pack);
}

/* The bound is set by the content (FORMAT 1.9); a lower one here, so that it is reached. */
static void objects_are_not_read_over_and_over_without_end(void **state)
{
    AUTO_FD int fd = memory_file(whole.data, whole.size_bytes);
    AUTO_BYTES struct bytes content = {0};
    struct pack *pack = NULL;
    struct digest receipt;
    struct err err = {0};

    (void)state;
    assert_int_equal(pack_open(fd, &pack, &err), 0);
    receipt = pack_receipt(pack);
    assert_true(pack->read_max_bytes >= LIMIT_READ_BYTES + LIMIT_READ_RATIO * 50);
    pack->read_max_bytes = 120;
    assert_int_equal(pack_read(pack, PACK_OBSERVATION, &receipt, 100, &content, &err), 0);
    assert_int_equal(pack_read(pack, PACK_OBSERVATION, &receipt, 100, &content, &err), 0);
    assert_int_equal(pack_read(pack, PACK_OBSERVATION, &receipt, 100, &content, &err), ERR_LIMIT);
    assert_string_equal(err.text, "FORMAT 1.9: more than 120 bytes are to be read of this file's objects");
    pack_close(pack);
}

static void content_is_bounded_by_the_size_of_the_file(void **state)
{
    (void)state;
    assert_true(layout_content_fits(LIMIT_CONTENT_BYTES, 0));
    assert_false(layout_content_fits(LIMIT_CONTENT_BYTES + 1, 0));
    assert_true(layout_content_fits(LIMIT_CONTENT_BYTES + LIMIT_CONTENT_RATIO * 1001ull, 1001));
    assert_false(layout_content_fits(LIMIT_CONTENT_BYTES + LIMIT_CONTENT_RATIO * 1001ull + 1, 1001));
    assert_false(layout_content_fits(UINT64_MAX, 1ull << 40));
}

static void what_is_no_regular_file_is_not_called_malformed(void **state)
{
    int pipe_fds[2];
    struct pack *pack = NULL;
    struct err err = {0};

    (void)state;
    assert_int_equal(pipe(pipe_fds), 0);
    assert_int_equal(pack_open(pipe_fds[0], &pack, &err), ERR_USAGE);
    assert_string_equal(err.text, "not a regular file");
    (void)close(pipe_fds[0]);
    (void)close(pipe_fds[1]);
    assert_int_equal(pack_open(-1, &pack, &err), ERR_SYSTEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_pack_itself_is_right, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_flip_of_a_bit_is_refused_with_a_range_that_holds_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_truncation_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bytes_after_the_footer_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_second_footer_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_second_file_after_the_first_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_file_is_no_pack, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_unknown_version_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(swapped_blocks_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(swapped_journals_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_group_twice_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_group_that_is_not_there_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reading_a_damaged_block_names_its_range, set_up, tear_down),
        cmocka_unit_test_setup_teardown(objects_are_not_read_over_and_over_without_end, set_up, tear_down),
        cmocka_unit_test(content_is_bounded_by_the_size_of_the_file),
        cmocka_unit_test_setup_teardown(what_is_no_regular_file_is_not_called_malformed, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
