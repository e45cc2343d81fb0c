/* What becomes of damaged and false objects when some are taken over from one pack into another. */
#include "pack_things.h"

#include "base/cleanup.h"
#include "test_pack_fixture.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Flips a byte of the file. */
static void flip(const char *name, uint64_t at)
{
    AUTO_FD int fd = openat(test_folder_fd, name, O_RDWR | O_CLOEXEC);
    uint8_t byte = 0;

    assert_int_equal(pread(fd, &byte, 1, (off_t)at), 1);
    byte ^= 0x10;
    assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
}

static struct thing three[3];

/* "from": three objects of 3 MiB, so that the middle one runs over the border of the two blocks and a bit. */
static struct pack *make_three(int *out_fd)
{
    for (uint32_t i = 0; i < 3; i++)
        three[i] = (struct thing){.size_bytes = 3 * MIB, .number = i + 1, .wanted = true};
    things_make("from", PACK_INPUT, three, 3);
    return things_open("from", out_fd);
}

/* Wants a copy to fail, and nothing to be left but what was there. */
static void refuse_copy(struct pack *from, enum pack_part part, int code, const char *text, struct frame_range where)
{
    struct thing_list list = {three, 3};
    struct pack_copied counts = {0};
    struct digest receipt;
    struct err err = {0};
    struct pack_writer *writer = things_begin("to", &receipt);
    unsigned before = folder_count(test_folder_fd);
    uint64_t first, last;
    int found = pack_copy(from, part, &(struct pack_wish){things_want, NULL, &list}, writer, &counts, &err);

    if (found != code || strstr(err.text, text) == NULL)
        fail_msg("wanted %d \"%s\", got %d \"%s\"", code, text, found, err.text);
    if (where.size_bytes > 0) {
        range_of(&err, &first, &last);
        assert_int_equal(first, where.at);
        assert_int_equal(last, where.at + where.size_bytes - 1);
    }
    pack_writer_abandon(writer);
    assert_int_equal(folder_count(test_folder_fd), before - 1);
}

static void a_damaged_block_is_refused_with_its_place_where_something_of_it_is_wanted(void **state)
{
    int fd = -1;
    struct pack *from = make_three(&fd);
    struct layout_block blocks[3];
    char text[128], digits[2 * DIGEST_BYTES + 1];

    (void)state;
    assert_int_equal(from->index[1].block_count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        blocks[i] = pack_index_block(&from->index[1], i);
        hex_encode(three[i].digest.bytes, DIGEST_BYTES, digits);
        (void)snprintf(text, sizeof text, "input block %u, first object %s: FORMAT 3.6", i, digits);
        for (int anew = 0; anew < 2; anew++) { /* taken as it is; compressed anew, where it holds what is not wanted */
            three[2 - i].wanted = anew == 0 || i == 1;
            pack_cache_drop(from);
            flip("from", blocks[i].frame.at + blocks[i].frame.size_bytes / 2);
            if (three[i].wanted)
                refuse_copy(from, PACK_INPUT, ERR_FORMAT, text, blocks[i].frame);
            flip("from", blocks[i].frame.at + blocks[i].frame.size_bytes / 2);
            three[2 - i].wanted = true;
        }
    }
    pack_close(from);
    (void)close(fd);
}

/* What was told of damage. */
struct told {
    struct thing_list list;
    unsigned count;
    unsigned sound_count;
    struct err err;
};

static bool told_wants(void *context, const struct digest *digest)
{
    struct told *told = context;

    return things_want(&told->list, digest);
}

static void tell(void *context, const struct err *err)
{
    struct told *told = context;

    told->err = *err;
    told->count++;
}

static void count_sound(void *context, const struct digest *digest)
{
    struct told *told = context;

    assert_true(things_want(&told->list, digest));
    told->sound_count++;
}

/* What pack_sound says of three objects of which a block is damaged: the others are sound. */
static void expect_sound(struct pack *from, uint32_t block)
{
    struct told told = {.list = {three, 3}};
    struct err err = {0};
    unsigned right = 0;

    must(pack_sound(from, PACK_INPUT, &(struct pack_wish){told_wants, tell, &told}, count_sound, &err), &err);
    for (uint32_t i = 0; i < 3; i++)
        right += !thing_is_in(from, PACK_INPUT, &three[i], block);
    assert_int_equal(told.count, 1);
    assert_int_equal(told.sound_count, right);
}

static void what_a_damaged_block_holds_is_left_out_where_that_is_asked_for(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        int fd = -1, to_fd = -1;
        struct pack *from = make_three(&fd), *to;
        struct layout_block block = pack_index_block(&from->index[1], i);
        struct told told = {.list = {three, 3}};
        struct pack_copied counts = {0};
        struct digest receipt;
        struct err err = {0};
        struct pack_writer *writer = things_begin("to", &receipt);
        uint64_t first, last;

        flip("from", block.frame.at + block.frame.size_bytes / 2);
        expect_sound(from, i);
        must(pack_copy(from, PACK_INPUT, &(struct pack_wish){told_wants, tell, &told}, writer, &counts, &err), &err);
        must(pack_writer_finish(writer, &receipt, NULL, &err), &err);
        assert_int_equal(told.count, 1);
        assert_int_equal(told.err.code, ERR_FORMAT);
        range_of(&told.err, &first, &last);
        assert_int_equal(first, block.frame.at);
        assert_int_equal(last, block.frame.at + block.frame.size_bytes - 1);
        for (uint32_t j = 0; j < 3; j++)
            three[j].wanted = !thing_is_in(from, PACK_INPUT, &three[j], i);
        to = things_open("to", &to_fd);
        things_expect(to, PACK_INPUT, three, 3);
        pack_close(to);
        pack_close(from);
        (void)close(to_fd);
        (void)close(fd);
        assert_int_equal(unlinkat(test_folder_fd, "from", 0), 0);
        assert_int_equal(unlinkat(test_folder_fd, "to", 0), 0);
    }
}

static void a_damaged_block_is_not_read_where_nothing_of_it_is_wanted(void **state)
{
    int fd = -1, to_fd = -1;
    struct pack *from = make_three(&fd), *to;
    struct thing_list list = {three, 3};
    struct layout_block last = pack_index_block(&from->index[1], 2);
    struct pack_copied counts = {0};
    struct digest receipt;
    struct err err = {0};
    struct pack_writer *writer = things_begin("to", &receipt);

    (void)state;
    three[1].wanted = three[2].wanted = false;
    flip("from", last.frame.at + last.frame.size_bytes / 2);
    must(pack_copy(from, PACK_INPUT, &(struct pack_wish){things_want, NULL, &list}, writer, &counts, &err), &err);
    must(pack_writer_finish(writer, &receipt, NULL, &err), &err);
    to = things_open("to", &to_fd);
    things_expect(to, PACK_INPUT, three, 3);
    pack_close(to);
    pack_close(from);
    (void)close(to_fd);
    (void)close(fd);
}

static void a_file_that_is_cut_after_it_was_opened_is_refused(void **state)
{
    int fd = -1;
    struct pack *from = make_three(&fd);
    struct layout_block last = pack_index_block(&from->index[1], 2);
    AUTO_FD int writable = openat(test_folder_fd, "from", O_RDWR | O_CLOEXEC);

    (void)state;
    assert_int_equal(ftruncate(writable, (off_t)(last.frame.at + 5)), 0);
    refuse_copy(from, PACK_INPUT, ERR_FORMAT, "FORMAT 3.6: the file ends at", (struct frame_range){last.frame.at, 5});
    pack_close(from);
    (void)close(fd);
}

/* Makes a memory file of forged groups and opens it. */
static struct pack *open_forged(struct bytes *file, int *out_fd)
{
    struct pack *pack = NULL;
    struct err err = {0};

    forge_seal(file);
    *out_fd = memory_file(file->data, file->size_bytes);
    must(pack_open(*out_fd, &pack, &err), &err);
    return pack;
}

/* Closes it, and releases the groups that it was made of. */
static void close_forged(struct pack *from, int fd, struct forge_group *groups, size_t count)
{
    pack_close(from);
    (void)close(fd);
    for (size_t i = 0; i < count; i++)
        bytes_done(&groups[i].frame);
}

/* A well-formed pack in which an object has other content than its name says. */
static void a_false_object_is_found_where_it_is_compressed_anew_and_stays_false_where_its_block_is_taken(void **state)
{
    struct forge_group groups[3] = {forge_text(1, "receipt"), forge_text(2, "one, two"), forge_text(2, "three")};
    struct digest false_digest = digest_of("other", 5), receipt;
    struct pack_copied counts = {0};
    AUTO_BYTES struct bytes file = {0}, copied = {0};
    struct pack_writer *writer;
    struct err err = {0};
    struct pack *from;
    int fd = -1;

    (void)state;
    groups[1].count = 2;
    groups[1].entries[0] = (struct forge_entry){false_digest, 3};
    groups[1].entries[1] = (struct forge_entry){digest_of(", two", 5), 5};
    forge_file(groups, 3, &file);
    from = open_forged(&file, &fd);
    three[0] = (struct thing){.wanted = true, .digest = false_digest};
    three[1] = three[2] = (struct thing){0};
    refuse_copy(from, PACK_INPUT, ERR_MISMATCH, "has other content", pack_index_block(&from->index[1], 0).frame);

    writer = things_begin("to", &receipt);
    must(pack_copy(from, PACK_INPUT, &(struct pack_wish){0}, writer, &counts, &err), &err);
    must(pack_writer_finish(writer, &receipt, NULL, &err), &err);
    load(test_folder_fd, "to", &copied);
    refuse(&copied, ERR_MISMATCH, "has other content");
    close_forged(from, fd, groups, 3);
}

static void objects_that_do_not_tile_the_content_are_refused(void **state)
{
    struct forge_group groups[2] = {forge_text(1, "receipt"), forge_text(2, "one, two")};
    AUTO_BYTES struct bytes file = {0};
    struct pack *from;
    int fd = -1;

    (void)state;
    groups[1].count = 2;
    groups[1].entries[0] = (struct forge_entry){digest_of("one", 3), 3};
    groups[1].entries[1] = (struct forge_entry){digest_of(", two", 5), 5};
    forge_file(groups, 2, &file);
    for (uint32_t i = 0; i < 2; i++) /* the later one begins where the first does */
        if (memcmp(file.data + forge_object_at(&file, 2, i), groups[1].entries[1].digest.bytes, DIGEST_BYTES) == 0)
            forge_patch(&file, forge_object_at(&file, 2, i) + 44, 2, 4);
    from = open_forged(&file, &fd);
    refuse_copy(from, PACK_INPUT, ERR_FORMAT, "FORMAT 1.5: an object does not begin where the one before ends",
                pack_index_block(&from->index[1], 0).frame);
    close_forged(from, fd, groups, 2);
}

static void an_empty_object_of_another_name_is_refused(void **state)
{
    struct forge_group groups[2] = {forge_text(1, "receipt"), forge_text(2, "one")};
    AUTO_BYTES struct bytes file = {0};
    struct pack *from;
    int fd = -1;

    (void)state;
    groups[1].count = 2;
    groups[1].unlisted = 1;
    groups[1].entries[1] = (struct forge_entry){digest_of("something", 9), 0};
    forge_file(groups, 2, &file);
    from = open_forged(&file, &fd);
    three[0] = (struct thing){.wanted = true, .digest = groups[1].entries[1].digest};
    refuse_copy(from, PACK_INPUT, ERR_MISMATCH, "FORMAT 4.8: an object of size 0 has another digest",
                (struct frame_range){0});
    close_forged(from, fd, groups, 2);
}

/* Writes a pack in which a large object has another name, and its frames and indexes are right: by a patched index. */
static void a_false_object_that_is_half_in_blocks_taken_as_they_are_is_found(void **state)
{
    struct thing things[3] = {{.size_bytes = 100, .number = 1}, {.size_bytes = 9 * MIB, .number = 2, .wanted = true}};
    AUTO_BYTES struct bytes file = {0};
    struct pack *from;
    int fd = -1;

    (void)state;
    things_make("from", PACK_INPUT, things, 2);
    load(test_folder_fd, "from", &file);
    for (uint32_t i = 0; i < 2; i++) {
        uint8_t *record = file.data + forge_object_at(&file, 2, i);

        if (memcmp(record, things[1].digest.bytes, DIGEST_BYTES) == 0) {
            record[DIGEST_BYTES - 1] ^= 1; /* the order stays */
            memcpy(things[1].digest.bytes, record, DIGEST_BYTES);
        }
    }
    from = open_forged(&file, &fd);
    memcpy(three, things, sizeof three);
    refuse_copy(from, PACK_INPUT, ERR_MISMATCH, "has other content", pack_index_block(&from->index[1], 2).frame);
    pack_close(from);
    (void)close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_damaged_block_is_refused_with_its_place_where_something_of_it_is_wanted,
                                        folder_set_up, folder_tear_down),
        cmocka_unit_test_setup_teardown(what_a_damaged_block_holds_is_left_out_where_that_is_asked_for, folder_set_up,
                                        folder_tear_down),
        cmocka_unit_test_setup_teardown(a_damaged_block_is_not_read_where_nothing_of_it_is_wanted, folder_set_up,
                                        folder_tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_is_cut_after_it_was_opened_is_refused, folder_set_up,
                                        folder_tear_down),
        cmocka_unit_test_setup_teardown(
            a_false_object_is_found_where_it_is_compressed_anew_and_stays_false_where_its_block_is_taken, folder_set_up,
            folder_tear_down),
        cmocka_unit_test_setup_teardown(objects_that_do_not_tile_the_content_are_refused, folder_set_up,
                                        folder_tear_down),
        cmocka_unit_test_setup_teardown(an_empty_object_of_another_name_is_refused, folder_set_up, folder_tear_down),
        cmocka_unit_test_setup_teardown(a_false_object_that_is_half_in_blocks_taken_as_they_are_is_found, folder_set_up,
                                        folder_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
