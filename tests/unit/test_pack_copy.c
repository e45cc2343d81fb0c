/* Objects that are taken over from one pack into another: which, and how. */
#include "pack_things.h"

#include "base/cleanup.h"
#include "test_pack_fixture.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define OBJECTS_MAX 64

/* Whether the part has a block with this frame. */
static bool has_frame(const struct pack *pack, enum pack_part part, const struct digest *digest)
{
    const struct pack_index *index = &pack->index[pack_slot(part)];

    for (uint32_t i = 0; i < index->block_count; i++) {
        struct layout_block block = pack_index_block(index, i);

        if (digest_equal(&block.digest, digest))
            return true;
    }
    return false;
}

/* Wants each block of `from` to be in `to` as it is where all that is in it was to be taken. Gives how many are. */
static uint32_t expect_frames(const struct pack *from, const struct pack *to, enum pack_part part,
                              const struct thing *things, size_t count)
{
    const struct pack_index *index = &from->index[pack_slot(part)];
    uint32_t whole_count = 0;

    for (uint32_t block = 0; block < index->block_count; block++) {
        struct layout_block record = pack_index_block(index, block);
        bool whole = true;

        for (size_t i = 0; i < count; i++)
            if (thing_is_in(from, part, &things[i], block))
                whole = whole && things[i].wanted && !things[i].there;
        whole_count += whole;
        if (whole)
            assert_true(has_frame(to, part, &record.digest));
    }
    return whole_count;
}

/* Makes a pack of the things, one of those that are there, takes the wanted over, and looks at all. */
static void copy_things(enum pack_part part, struct thing *things, size_t count)
{
    struct thing_list list = {things, count};
    const struct pack_wish wish = {things_want, NULL, &list};
    struct pack_copied counts = {0};
    struct digest receipt;
    struct err err = {0};
    int from_fd = -1, to_fd = -1;
    struct pack *from, *to;
    struct pack_writer *writer;
    uint64_t new_count = 0, new_bytes = 0;

    things_make("from", part, things, count);
    from = things_open("from", &from_fd);
    writer = things_begin("to", &receipt);
    things_put(writer, part, things, count, false);
    must(pack_copy(from, part, &wish, writer, &counts, &err), &err);
    must(pack_writer_finish(writer, &receipt, NULL, &err), &err);
    to = things_open("to", &to_fd);
    things_expect(to, part, things, count);
    assert_int_equal(expect_frames(from, to, part, things, count), counts.frame_count);
    for (size_t i = 0; i < count; i++) {
        new_count += things[i].wanted && !things[i].there;
        new_bytes += things[i].wanted && !things[i].there ? things[i].size_bytes : 0;
    }
    assert_int_equal(counts.object_count, new_count);
    assert_int_equal(counts.content_bytes, new_bytes);
    pack_close(from);
    pack_close(to);
    (void)close(from_fd);
    (void)close(to_fd);
    assert_int_equal(unlinkat(test_folder_fd, "from", 0), 0);
    assert_int_equal(unlinkat(test_folder_fd, "to", 0), 0);
}

/* Sizes that meet a block's border in every way. */
static const size_t shapes[][8] = {
    {1},
    {0, 1, 0},
    {4 * MIB},
    {4 * MIB, 1},
    {4 * MIB - 1, 1, 1},
    {4 * MIB - 1, 2, 1},
    {4 * MIB + 1, 5},
    {9 * MIB, 3},
    {3, 9 * MIB, 0, 3 * MIB},
    {3 * MIB, 3 * MIB, 3 * MIB, 3 * MIB, 3 * MIB}, /* each border within one */
};

#define SHAPE_COUNT (sizeof shapes / sizeof *shapes)

static size_t things_of(const size_t *shape, struct thing *out)
{
    size_t count = 0;
    bool empty = false;

    for (size_t i = 0; i < 8; i++) {
        if (shape[i] == 0 && (empty || i + 1 == 8 || shape[i + 1] == 0))
            continue;
        empty = empty || shape[i] == 0;
        out[count++] = (struct thing){.size_bytes = shape[i], .number = (uint32_t)i + 1};
    }
    return count;
}

static void all_objects_come_with_all_blocks_as_they_are(void **state)
{
    struct thing things[OBJECTS_MAX];

    (void)state;
    for (size_t shape = 0; shape < SHAPE_COUNT; shape++) {
        size_t count = things_of(shapes[shape], things);

        for (size_t i = 0; i < count; i++)
            things[i].wanted = true;
        copy_things(PACK_INPUT, things, count);
    }
}

static void one_object_that_is_not_wanted_costs_the_blocks_that_it_touches_alone(void **state)
{
    struct thing things[OBJECTS_MAX];

    (void)state;
    for (size_t shape = 0; shape < SHAPE_COUNT; shape++) {
        size_t count = things_of(shapes[shape], things);

        for (size_t odd = 0; odd < count; odd++) {
            for (size_t i = 0; i < count; i++)
                things[i].wanted = i != odd;
            copy_things(PACK_INPUT, things, count);
        }
    }
}

static void one_object_alone_is_taken_without_the_others(void **state)
{
    struct thing things[OBJECTS_MAX];

    (void)state;
    for (size_t shape = 0; shape < SHAPE_COUNT; shape++) {
        size_t count = things_of(shapes[shape], things);

        for (size_t odd = 0; odd < count; odd++) {
            for (size_t i = 0; i < count; i++)
                things[i].wanted = i == odd;
            copy_things(PACK_INPUT, things, count);
        }
    }
}

static void what_is_there_already_is_not_taken_again(void **state)
{
    struct thing things[OBJECTS_MAX];

    (void)state;
    for (size_t shape = 0; shape < SHAPE_COUNT; shape++) {
        size_t count = things_of(shapes[shape], things);

        for (size_t i = 0; i < count; i++) {
            things[i].wanted = true;
            things[i].there = i % 2 == 0;
        }
        copy_things(PACK_INPUT, things, count);
    }
}

static void any_choice_of_any_objects_is_taken(void **state)
{
    static const size_t sizes[] = {0, 1, 100, 5000, MIB, 2 * MIB, 4 * MIB - 3, 4 * MIB, 5 * MIB};
    uint8_t random[3 * OBJECTS_MAX];
    struct thing things[OBJECTS_MAX];

    (void)state;
    for (uint32_t seed = 0; seed < 8; seed++) {
        size_t count = 0;

        noise(random, sizeof random, seed);
        for (size_t i = 0; i < 12; i++)
            things[count++] = (struct thing){
                .size_bytes = i == 0 ? 0 : sizes[1 + random[3 * i] % 8],
                .number = (uint32_t)i + 1,
                .wanted = random[3 * i + 1] % (seed % 3 == 0 ? 8 : 2) > 0,
                .there = random[3 * i + 2] % 8 == 0,
            };
        copy_things(seed % 2 == 0 ? PACK_INPUT : PACK_OBSERVATION, things, count);
    }
}

/* Takes all inputs and observations of several packs into one: what is in two of them comes once. */
static void several_packs_become_one(void **state)
{
    struct thing things[3][8];
    struct pack_copied counts = {0};
    struct digest receipt;
    struct err err = {0};
    struct pack_writer *writer = things_begin("to", &receipt);
    int fd = -1;
    struct pack *to;

    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        char name[2] = {(char)('a' + i), 0};
        struct pack *from;

        for (uint32_t j = 0; j < 8; j++)
            things[i][j] = (struct thing){.size_bytes = j == 7 ? 6 * MIB : 1000, .number = 4 * i + j, .wanted = true};
        things_make(name, PACK_INPUT, things[i], 8);
        from = things_open(name, &fd);
        must(pack_copy(from, PACK_OBSERVATION, &(struct pack_wish){0}, writer, &counts, &err), &err);
        must(pack_copy(from, PACK_INPUT, &(struct pack_wish){0}, writer, &counts, &err), &err);
        pack_close(from);
        (void)close(fd);
    }
    must(pack_writer_finish(writer, &receipt, NULL, &err), &err);
    to = things_open("to", &fd);
    must(pack_check(to, &err), &err);
    assert_int_equal(pack_object_count(to, PACK_OBSERVATION), 1);
    assert_int_equal(pack_object_count(to, PACK_INPUT), 15 + 3); /* small and large ones */
    pack_close(to);
    (void)close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_objects_come_with_all_blocks_as_they_are, folder_set_up, folder_tear_down),
        cmocka_unit_test_setup_teardown(one_object_that_is_not_wanted_costs_the_blocks_that_it_touches_alone,
                                        folder_set_up, folder_tear_down),
        cmocka_unit_test_setup_teardown(one_object_alone_is_taken_without_the_others, folder_set_up, folder_tear_down),
        cmocka_unit_test_setup_teardown(what_is_there_already_is_not_taken_again, folder_set_up, folder_tear_down),
        cmocka_unit_test_setup_teardown(any_choice_of_any_objects_is_taken, folder_set_up, folder_tear_down),
        cmocka_unit_test_setup_teardown(several_packs_become_one, folder_set_up, folder_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
