/*
 * A small bundle that the verifier calls right, damaged in every way: each bit, each length, each group and block.
 * Each time the verifier refutes it and names a range that holds the damage, and nothing but one element.
 */
#include "base/cleanup.h"
#include "test_pack_fixture.h"
#include "verify/verdict.h"
#include "verify_place.h"

enum {
    GROUP_OBJECTS = 6,                 /* so that a small bundle has many blocks */
    STEP = EXHIBIT_SANITIZED ? 29 : 1, /* with sanitizers a sample, of bits in different places of their bytes */
};

static struct bytes whole;       /* the bundle */
static struct elements elements; /* its */
static size_t group_count;

/* Writes the objects of a pack once more, into blocks of a few objects each. */
static void write_again(struct pack *pack, int dir_fd)
{
    struct pack_writer *writer = NULL;
    struct digest receipt = pack_receipt(pack), claim, digest;
    struct err err = {0};

    assert_true(pack_claim(pack, &claim));
    scene_must(pack_writer_new(dir_fd, "b.exhibit", &writer, &err), &err);
    for (enum pack_part part = PACK_OBSERVATION; part <= PACK_INPUT; part++) {
        for (uint32_t i = 0; i < pack_object_count(pack, part); i++) {
            struct pack_object object = pack_object_at(pack, part, i);
            AUTO_BYTES struct bytes content = {0};

            scene_must(pack_read(pack, part, &object.digest, 1 << 20, &content, &err), &err);
            scene_must(pack_put(writer, part, content.data, content.size_bytes, &digest, &err), &err);
            if (i % GROUP_OBJECTS == GROUP_OBJECTS - 1)
                scene_must(pack_writer_flush(writer, &err), &err);
        }
    }
    scene_must(pack_writer_finish(writer, &receipt, &claim, &err), &err);
}

/* Where a group begins, and its block. Behind the last group is the first index. */
static size_t group_at(size_t number)
{
    return elements.at[1 + 2 * number];
}

static size_t block_at(size_t number)
{
    return elements.at[2 + 2 * number];
}

static int set_up(void **state)
{
    struct place place;
    struct pack *pack = NULL;
    struct err err = {0};
    int fd;

    (void)state;
    make(&place, NULL, NULL, NULL);
    fd = openat(place.dir_fd, "a.exhibit", O_RDONLY | O_CLOEXEC);
    scene_must(pack_open(fd, &pack, &err), &err);
    write_again(pack, place.dir_fd);
    pack_close(pack);
    (void)close(fd);
    load(place.dir_fd, "b.exhibit", &whole);
    done(&place);
    elements = elements_of(&whole);
    group_count = (elements.count - 4) / 2; /* without header, indexes and footer */
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    bytes_done(&whole);
    elements_done(&elements);
    return 0;
}

/* Lets the verifier reach its verdict on what a descriptor holds; gives whether it is refuted, and the first finding.
 */
static bool refuted(int fd, struct err *out_finding)
{
    struct verdict_request request = {.bundle_fd = fd, .source_fd = -1};
    struct verdict verdict;
    struct err err = {0};
    bool found;

    if (verdict_reach(&request, &verdict, &err) < 0)
        fail_msg("could not: %s", err.text);
    found = verdict.findings.count > 0;
    if (found)
        (void)err_set(out_finding, ERR_FORMAT, "%s", verdict.findings.texts[0]);
    verdict_done(&verdict);
    return found;
}

/* Wants the bytes refuted, with a range within an element that holds byte `at`, or the last one where it is cut off. */
static void want_refuted(int fd, size_t at, const char *what)
{
    struct err finding = {0};
    uint64_t first, last;

    if (!refuted(fd, &finding))
        fail_msg("%s at byte %zu: not refuted", what, at);
    range_of(&finding, &first, &last);
    if (first > at || at > last)
        fail_msg("%s at byte %zu is not in the range: %s", what, at, finding.text);
    if (!element_is_named(&elements, &finding, first, last))
        fail_msg("%s at byte %zu: the range is not of one element: %s", what, at, finding.text);
}

static void the_bundle_itself_is_verified(void **state)
{
    AUTO_FD int fd = memory_file(whole.data, whole.size_bytes);
    struct err finding = {0};

    (void)state;
    if (refuted(fd, &finding))
        fail_msg("%s", finding.text);
    assert_true(group_count > 5);
}

static void every_flip_of_a_bit_is_refuted_in_its_range(void **state)
{
    AUTO_FD int fd = memory_file(whole.data, whole.size_bytes);

    (void)state;
    for (size_t bit = 0; bit < 8 * whole.size_bytes; bit += STEP) {
        uint8_t flipped = whole.data[bit / 8] ^ (uint8_t)(1u << bit % 8);

        assert_int_equal(pwrite(fd, &flipped, 1, (off_t)(bit / 8)), 1);
        want_refuted(fd, bit / 8, "a flip");
        assert_int_equal(pwrite(fd, &whole.data[bit / 8], 1, (off_t)(bit / 8)), 1);
    }
}

static void every_cut_is_refuted_at_the_end_that_is_left(void **state)
{
    AUTO_FD int fd = memory_file(whole.data, whole.size_bytes);

    (void)state;
    for (size_t kept = whole.size_bytes - 1; kept >= 24; kept = kept < 24 + STEP ? 0 : kept - STEP) {
        assert_int_equal(ftruncate(fd, (off_t)kept), 0);
        want_refuted(fd, kept - 1, "a cut");
    }
    for (size_t kept = 24; kept-- > 0;) {
        struct err finding = {0};

        assert_int_equal(ftruncate(fd, (off_t)kept), 0);
        assert_true(refuted(fd, &finding));
        assert_non_null(strstr(finding.text, "cut short within its header")); /* a range would say no more */
    }
}

/* Appends what stands in the bundle from `from` to `to`. */
static void add(struct bytes *file, size_t from, size_t to)
{
    struct err err = {0};

    assert_int_equal(bytes_add(file, whole.data + from, to - from, 1 << 24, &err), 0);
}

/* Wants a file refuted at its first byte that is another than the bundle's. */
static void want_bytes_refuted(const struct bytes *file, const char *what)
{
    AUTO_FD int fd = memory_file(file->data, file->size_bytes);
    size_t at = 0;

    while (at < file->size_bytes - 1 && at < whole.size_bytes && file->data[at] == whole.data[at])
        at++;
    want_refuted(fd, at, what);
}

/* Each of: the group, its journal alone, its block alone; taken out, and there twice. */
static void what_is_taken_out_or_there_twice_is_refuted(void **state)
{
    (void)state;
    for (size_t i = 0; i < group_count; i++) {
        const size_t ranges[3][2] = {
            {group_at(i), group_at(i + 1)}, {group_at(i), block_at(i)}, {block_at(i), group_at(i + 1)}};

        for (size_t j = 0; j < 3; j++) {
            AUTO_BYTES struct bytes without = {0};
            AUTO_BYTES struct bytes twice = {0};

            add(&without, 0, ranges[j][0]);
            add(&without, ranges[j][1], whole.size_bytes);
            want_bytes_refuted(&without, "a part less");
            add(&twice, 0, ranges[j][1]);
            add(&twice, ranges[j][0], whole.size_bytes);
            want_bytes_refuted(&twice, "a part twice");
        }
    }
}

/* Writes the bundle with two ranges, the first before the second, in each other's place. */
static void swap(size_t first, size_t first_end, size_t second, size_t second_end)
{
    AUTO_BYTES struct bytes swapped = {0};

    add(&swapped, 0, first);
    add(&swapped, second, second_end);
    add(&swapped, first_end, second);
    add(&swapped, first, first_end);
    add(&swapped, second_end, whole.size_bytes);
    want_bytes_refuted(&swapped, "a swap");
}

static void groups_and_blocks_in_each_others_place_are_refuted(void **state)
{
    (void)state;
    for (size_t i = 0; i < group_count; i++) {
        for (size_t j = i + 1; j < group_count; j++) {
            swap(group_at(i), group_at(i + 1), group_at(j), group_at(j + 1));
            swap(group_at(i), block_at(i), group_at(j), block_at(j));
            swap(block_at(i), group_at(i + 1), block_at(j), group_at(j + 1));
        }
    }
}

static void the_indexes_taken_out_swapped_or_twice_are_refuted(void **state)
{
    const size_t *at = elements.at + elements.count - 3; /* of the two, and the footer behind */

    (void)state;
    swap(at[0], at[1], at[1], at[2]);
    for (size_t i = 0; i < 2; i++) {
        AUTO_BYTES struct bytes without = {0};
        AUTO_BYTES struct bytes twice = {0};

        add(&without, 0, at[i]);
        add(&without, at[i + 1], whole.size_bytes);
        want_bytes_refuted(&without, "an index less");
        add(&twice, 0, at[i + 1]);
        add(&twice, at[i], whole.size_bytes);
        want_bytes_refuted(&twice, "an index twice");
    }
}

/* Bytes before and between: zeros, an empty skippable frame, a footer, the bundle once more. */
static void whatever_is_put_in_is_refuted(void **state)
{
    static const uint8_t zeros[300], skippable[8] = {0x5f, 0x2a, 0x4d, 0x18};
    const struct {
        const uint8_t *data;
        size_t size_bytes;
    } more[] = {{zeros, 1},
                {zeros, 8},
                {zeros, 300},
                {skippable, 8},
                {whole.data + whole.size_bytes - 208, 208},
                {whole.data, whole.size_bytes}};

    (void)state;
    for (size_t i = 0; i < elements.count; i++) {
        for (size_t j = 0; j < sizeof more / sizeof *more; j++) {
            AUTO_BYTES struct bytes file = {0};
            struct err err = {0};

            add(&file, 0, elements.at[i]);
            assert_int_equal(bytes_add(&file, more[j].data, more[j].size_bytes, 1 << 24, &err), 0);
            add(&file, elements.at[i], whole.size_bytes);
            want_bytes_refuted(&file, "something more");
        }
    }
}

/* A file without a footer at its end is one that was cut: its end is told, however far behind the bundle's it is. */
static void garbage_behind_it_is_refuted(void **state)
{
    AUTO_FD int fd = memory_file(whole.data, whole.size_bytes);

    (void)state;
    for (size_t more = 1; more <= 3000; more += more < 250 ? 1 : 97) {
        uint8_t byte = (uint8_t)more;

        assert_int_equal(pwrite(fd, &byte, 1, (off_t)(whole.size_bytes + more - 1)), 1);
        want_refuted(fd, more <= 208 ? whole.size_bytes : whole.size_bytes + more - 1, "garbage");
    }
}

static void a_second_bundle_behind_it_is_refuted(void **state)
{
    AUTO_BYTES struct bytes file = {0};

    (void)state;
    add(&file, 0, whole.size_bytes);
    add(&file, whole.size_bytes - 208, whole.size_bytes);
    want_bytes_refuted(&file, "a second footer");
    file.size_bytes = whole.size_bytes;
    add(&file, 0, whole.size_bytes);
    want_bytes_refuted(&file, "a second bundle");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bundle_itself_is_verified),
        cmocka_unit_test(every_flip_of_a_bit_is_refuted_in_its_range),
        cmocka_unit_test(every_cut_is_refuted_at_the_end_that_is_left),
        cmocka_unit_test(what_is_taken_out_or_there_twice_is_refuted),
        cmocka_unit_test(groups_and_blocks_in_each_others_place_are_refuted),
        cmocka_unit_test(the_indexes_taken_out_swapped_or_twice_are_refuted),
        cmocka_unit_test(whatever_is_put_in_is_refuted),
        cmocka_unit_test(garbage_behind_it_is_refuted),
        cmocka_unit_test(a_second_bundle_behind_it_is_refuted),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
