/* Objects that are taken over from one pack into another: which, how, and what becomes of damaged ones. */
#include "formats/pack_copy.h"

#include "base/cleanup.h"
#include "formats/pack_reader.h"
#include "test_pack_fixture.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define OBJECTS_MAX 64

static char folder[64];
static int dir_fd = -1;
static uint8_t content[10u << 20];

static int set_up(void **state)
{
    (void)state;
    dir_fd = folder_make(folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    folder_remove(dir_fd, folder);
    return 0;
}

static void must(int code, const struct err *err)
{
    if (code != 0)
        fail_msg("%s", err->text);
}

/* The content that a number stands for: of the size that is asked, never the same for two numbers. */
static const uint8_t *content_of(uint32_t number, size_t size_bytes)
{
    assert_true(size_bytes <= sizeof content);
    for (size_t at = 0; at < size_bytes; at += sizeof number)
        memcpy(content + at, &number, size_bytes - at < sizeof number ? size_bytes - at : sizeof number);
    return content;
}

/* An object of a pack. */
struct thing {
    size_t size_bytes;
    uint32_t number;
    bool wanted;
    bool there; /* in the pack that is written, before */
    struct digest digest;
};

static struct pack_writer *begin(const char *name, struct digest *out_receipt)
{
    struct pack_writer *writer = NULL;
    struct err err = {0};

    must(pack_writer_new(dir_fd, name, &writer, &err), &err);
    must(pack_put(writer, PACK_OBSERVATION, "receipt", 7, out_receipt, &err), &err);
    return writer;
}

static void put_things(struct pack_writer *writer, enum pack_part part, struct thing *things, size_t count, bool all)
{
    struct err err = {0};

    for (size_t i = 0; i < count; i++)
        if (all || things[i].there)
            must(pack_put(writer, part, content_of(things[i].number, things[i].size_bytes), things[i].size_bytes,
                          &things[i].digest, &err),
                 &err);
}

/* Makes the pack `name` of all things. */
static void make(const char *name, enum pack_part part, struct thing *things, size_t count)
{
    struct digest receipt;
    struct err err = {0};
    struct pack_writer *writer = begin(name, &receipt);

    put_things(writer, part, things, count, true);
    must(pack_writer_finish(writer, &receipt, NULL, &err), &err);
}

/* Opens a pack; *out_fd is to be closed after it. */
static struct pack *open_pack(const char *name, int *out_fd)
{
    struct pack *pack = NULL;
    struct err err = {0};

    *out_fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
    assert_true(*out_fd >= 0);
    must(pack_open(*out_fd, &pack, &err), &err);
    return pack;
}

struct list {
    const struct thing *things;
    size_t count;
};

static bool list_wants(void *context, const struct digest *digest)
{
    const struct list *list = context;

    for (size_t i = 0; i < list->count; i++)
        if (digest_equal(&list->things[i].digest, digest))
            return list->things[i].wanted;
    return false;
}

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

/* Whether a byte of the thing is in the block. */
static bool is_in(const struct pack *pack, enum pack_part part, const struct thing *thing, uint32_t block)
{
    const struct pack_index *index = &pack->index[pack_slot(part)];
    struct layout_object object;
    uint64_t start;

    if (thing->size_bytes == 0)
        return false;
    assert_true(pack_index_find(index, &thing->digest, &object));
    start = pack_index_start(index, &object);
    return start < index->starts[block + 1] && start + object.size_bytes > index->starts[block];
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
            if (is_in(from, part, &things[i], block))
                whole = whole && things[i].wanted && !things[i].there;
        whole_count += whole;
        if (whole)
            assert_true(has_frame(to, part, &record.digest));
    }
    return whole_count;
}

/* Wants `to` to have what was there and what was wanted, and nothing else; every byte checked. */
static void expect_things(struct pack *to, enum pack_part part, const struct thing *things, size_t count)
{
    uint32_t right = part == PACK_OBSERVATION ? 1 : 0; /* the receipt */
    struct err err = {0};

    must(pack_check(to, &err), &err);
    for (size_t i = 0; i < count; i++) {
        AUTO_BYTES struct bytes read = {0};

        if (!things[i].there && !things[i].wanted) {
            assert_false(pack_find(to, part, &things[i].digest, NULL));
            continue;
        }
        right++;
        must(pack_read(to, part, &things[i].digest, sizeof content, &read, &err), &err);
        assert_int_equal(read.size_bytes, things[i].size_bytes);
        if (read.size_bytes > 0)
            assert_memory_equal(read.data, content_of(things[i].number, things[i].size_bytes), read.size_bytes);
    }
    assert_int_equal(pack_object_count(to, part), right);
}

/* Makes a pack of the things, one of those that are there, takes the wanted over, and looks at all. */
static void copy_things(enum pack_part part, struct thing *things, size_t count)
{
    struct list list = {things, count};
    const struct pack_wish wish = {list_wants, NULL, &list};
    struct pack_copied counts = {0};
    struct digest receipt;
    struct err err = {0};
    int from_fd = -1, to_fd = -1;
    struct pack *from, *to;
    struct pack_writer *writer;
    uint64_t new_count = 0, new_bytes = 0;

    make("from", part, things, count);
    from = open_pack("from", &from_fd);
    writer = begin("to", &receipt);
    put_things(writer, part, things, count, false);
    must(pack_copy(from, part, &wish, writer, &counts, &err), &err);
    must(pack_writer_finish(writer, &receipt, NULL, &err), &err);
    to = open_pack("to", &to_fd);
    expect_things(to, part, things, count);
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
    assert_int_equal(unlinkat(dir_fd, "from", 0), 0);
    assert_int_equal(unlinkat(dir_fd, "to", 0), 0);
}

#define MIB ((size_t)1 << 20)

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
    struct pack_writer *writer = begin("to", &receipt);
    int fd = -1;
    struct pack *to;

    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        char name[2] = {(char)('a' + i), 0};
        struct pack *from;

        for (uint32_t j = 0; j < 8; j++)
            things[i][j] = (struct thing){.size_bytes = j == 7 ? 6 * MIB : 1000, .number = 4 * i + j, .wanted = true};
        make(name, PACK_INPUT, things[i], 8);
        from = open_pack(name, &fd);
        must(pack_copy(from, PACK_OBSERVATION, &(struct pack_wish){0}, writer, &counts, &err), &err);
        must(pack_copy(from, PACK_INPUT, &(struct pack_wish){0}, writer, &counts, &err), &err);
        pack_close(from);
        (void)close(fd);
    }
    must(pack_writer_finish(writer, &receipt, NULL, &err), &err);
    to = open_pack("to", &fd);
    must(pack_check(to, &err), &err);
    assert_int_equal(pack_object_count(to, PACK_OBSERVATION), 1);
    assert_int_equal(pack_object_count(to, PACK_INPUT), 15 + 3); /* small and large ones */
    pack_close(to);
    (void)close(fd);
}

/* ---- damage ---- */

/* Flips a byte of the file. */
static void flip(const char *name, uint64_t at)
{
    AUTO_FD int fd = openat(dir_fd, name, O_RDWR | O_CLOEXEC);
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
    make("from", PACK_INPUT, three, 3);
    return open_pack("from", out_fd);
}

/* Wants a copy to fail, and nothing to be left but what was there. */
static void refuse_copy(struct pack *from, enum pack_part part, int code, const char *text, struct frame_range where)
{
    struct list list = {three, 3};
    struct pack_copied counts = {0};
    struct digest receipt;
    struct err err = {0};
    struct pack_writer *writer = begin("to", &receipt);
    unsigned before = folder_count(dir_fd);
    uint64_t first, last;
    int found = pack_copy(from, part, &(struct pack_wish){list_wants, NULL, &list}, writer, &counts, &err);

    if (found != code || strstr(err.text, text) == NULL)
        fail_msg("wanted %d \"%s\", got %d \"%s\"", code, text, found, err.text);
    if (where.size_bytes > 0) {
        range_of(&err, &first, &last);
        assert_int_equal(first, where.at);
        assert_int_equal(last, where.at + where.size_bytes - 1);
    }
    pack_writer_abandon(writer);
    assert_int_equal(folder_count(dir_fd), before - 1);
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
            from->cache[1].filled = false;
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
    struct list list;
    unsigned count;
    unsigned sound_count;
    struct err err;
};

static bool told_wants(void *context, const struct digest *digest)
{
    struct told *told = context;

    return list_wants(&told->list, digest);
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

    assert_true(list_wants(&told->list, digest));
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
        right += !is_in(from, PACK_INPUT, &three[i], block);
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
        struct pack_writer *writer = begin("to", &receipt);
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
            three[j].wanted = !is_in(from, PACK_INPUT, &three[j], i);
        to = open_pack("to", &to_fd);
        expect_things(to, PACK_INPUT, three, 3);
        pack_close(to);
        pack_close(from);
        (void)close(to_fd);
        (void)close(fd);
        assert_int_equal(unlinkat(dir_fd, "from", 0), 0);
        assert_int_equal(unlinkat(dir_fd, "to", 0), 0);
    }
}

static void a_damaged_block_is_not_read_where_nothing_of_it_is_wanted(void **state)
{
    int fd = -1, to_fd = -1;
    struct pack *from = make_three(&fd), *to;
    struct list list = {three, 3};
    struct layout_block last = pack_index_block(&from->index[1], 2);
    struct pack_copied counts = {0};
    struct digest receipt;
    struct err err = {0};
    struct pack_writer *writer = begin("to", &receipt);

    (void)state;
    three[1].wanted = three[2].wanted = false;
    flip("from", last.frame.at + last.frame.size_bytes / 2);
    must(pack_copy(from, PACK_INPUT, &(struct pack_wish){list_wants, NULL, &list}, writer, &counts, &err), &err);
    must(pack_writer_finish(writer, &receipt, NULL, &err), &err);
    to = open_pack("to", &to_fd);
    expect_things(to, PACK_INPUT, three, 3);
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
    AUTO_FD int writable = openat(dir_fd, "from", O_RDWR | O_CLOEXEC);

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

    writer = begin("to", &receipt);
    must(pack_copy(from, PACK_INPUT, &(struct pack_wish){0}, writer, &counts, &err), &err);
    must(pack_writer_finish(writer, &receipt, NULL, &err), &err);
    load(dir_fd, "to", &copied);
    refuse(&copied, ERR_MISMATCH, "has other content");
    pack_close(from);
    (void)close(fd);
    for (size_t i = 0; i < 3; i++)
        bytes_done(&groups[i].frame);
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
    pack_close(from);
    (void)close(fd);
    for (size_t i = 0; i < 2; i++)
        bytes_done(&groups[i].frame);
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
    pack_close(from);
    (void)close(fd);
    for (size_t i = 0; i < 2; i++)
        bytes_done(&groups[i].frame);
}

/* Writes a pack in which a large object has another name, and its frames and indexes are right: by a patched index. */
static void a_false_object_that_is_half_in_blocks_taken_as_they_are_is_found(void **state)
{
    struct thing things[3] = {{.size_bytes = 100, .number = 1}, {.size_bytes = 9 * MIB, .number = 2, .wanted = true}};
    AUTO_BYTES struct bytes file = {0};
    struct pack *from;
    int fd = -1;

    (void)state;
    make("from", PACK_INPUT, things, 2);
    load(dir_fd, "from", &file);
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
        cmocka_unit_test_setup_teardown(all_objects_come_with_all_blocks_as_they_are, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_object_that_is_not_wanted_costs_the_blocks_that_it_touches_alone, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(one_object_alone_is_taken_without_the_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_there_already_is_not_taken_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(any_choice_of_any_objects_is_taken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(several_packs_become_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_damaged_block_is_refused_with_its_place_where_something_of_it_is_wanted,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_a_damaged_block_holds_is_left_out_where_that_is_asked_for, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_damaged_block_is_not_read_where_nothing_of_it_is_wanted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_is_cut_after_it_was_opened_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_false_object_is_found_where_it_is_compressed_anew_and_stays_false_where_its_block_is_taken, set_up,
            tear_down),
        cmocka_unit_test_setup_teardown(objects_that_do_not_tile_the_content_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_empty_object_of_another_name_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_false_object_that_is_half_in_blocks_taken_as_they_are_is_found, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
