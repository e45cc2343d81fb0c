/* Indexes, footers and the room between groups with one thing wrong and every digest in order. */
#include "base/bytes.h"
#include "test_pack_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const char text[] = "some text, some text, some text, some text";

#define GROUP_COUNT 3

/* Two observations in a block each, and one input. */
static struct forge_group groups[GROUP_COUNT];
static struct bytes file;

static int set_up(void **state)
{
    (void)state;
    groups[0] = forge_text(1, "receipt");
    groups[1] = forge_text(1, text);
    groups[2] = forge_text(2, "input");
    forge_file(groups, GROUP_COUNT, &file);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (size_t i = 0; i < GROUP_COUNT; i++)
        bytes_done(&groups[i].frame);
    bytes_done(&file);
    return 0;
}

/* Builds the file again and wants a refusal. */
static void refuse_groups(int code, const char *why)
{
    forge_file(groups, GROUP_COUNT, &file);
    refuse(&file, code, why);
}

/* Makes the digests right again and wants a refusal. */
static void refuse_patched(int code, const char *why)
{
    forge_seal(&file);
    refuse(&file, code, why);
}

/* One wrong number in an index or the footer, with the digests right. */
static void wrong_numbers_in_tables_are_refused(void **state)
{
    static const struct {
        uint32_t part;
        enum { INDEX, OBJECT, BLOCK } table;
        uint32_t number;
        size_t offset, width;
        uint64_t value;
        int code;
        const char *why;
    } cases[] = {
        {1, INDEX, 0, 8, 4, 2, ERR_FORMAT, "FORMAT 4.1: the index is of part 2"},
        {1, INDEX, 0, 12, 4, 3, ERR_FORMAT, "FORMAT 4.1: the index's counts (3, 2) do not agree with its size"},
        {1, INDEX, 0, 12, 4, 4, ERR_FORMAT, "FORMAT 4.1: the index's counts (4, 2) do not agree with its size"},
        {1, INDEX, 0, 12, 4, UINT32_MAX, ERR_LIMIT, "FORMAT 1.9: an index of 4294967295 objects"},
        {1, INDEX, 0, 16, 4, LIMIT_BLOCKS + 1, ERR_LIMIT, "FORMAT 1.9: an index of 2 objects and 4194305 blocks"},
        {1, INDEX, 0, 4, 4, 0, ERR_FORMAT, "do not agree with its size"},
        {2, INDEX, 0, 20, 4, 1, ERR_FORMAT, "FORMAT 1.7: reserved bytes of the index are not zero"},
        {2, INDEX, 0, 0, 4, 0x184D2A51, ERR_FORMAT, "FORMAT 1.3: no index here"},
        {1, OBJECT, 0, 0, 1, 0xFF, ERR_FORMAT, "FORMAT 4.3: object 1 does not ascend"},
        {2, OBJECT, 0, 32, 8, (1ull << 40) + 1, ERR_LIMIT, "FORMAT 1.9: object 0 of 1099511627777 bytes"},
        {2, OBJECT, 0, 32, 8, UINT64_MAX, ERR_LIMIT, "FORMAT 1.9: object 0 of 18446744073709551615 bytes"},
        {2, OBJECT, 0, 32, 8, 6, ERR_FORMAT, "FORMAT 4.4: object 0 ends outside the content"},
        {2, OBJECT, 0, 32, 8, 4, ERR_FORMAT, "FORMAT 4.7: 1 bytes of blocks belong to no object"},
        {2, OBJECT, 0, 32, 8, 0, ERR_FORMAT, "FORMAT 4.7: 5 bytes of blocks belong to no object"},
        {2, OBJECT, 0, 40, 4, 1, ERR_FORMAT, "FORMAT 4.4: object 0 begins outside every block"},
        {2, OBJECT, 0, 40, 4, UINT32_MAX, ERR_FORMAT, "FORMAT 4.4: object 0 begins outside every block"},
        {2, OBJECT, 0, 44, 4, 5, ERR_FORMAT, "FORMAT 4.4: object 0 begins outside every block"},
        {2, OBJECT, 0, 44, 4, 1, ERR_FORMAT, "FORMAT 4.4: object 0 ends outside the content"},
        {1, BLOCK, 0, 0, 8, 0, ERR_FORMAT, "FORMAT 4.6: block 0 at 0 is outside its room or out of order"},
        {1, BLOCK, 0, 0, 8, 39, ERR_FORMAT, "FORMAT 4.6: block 0 at 39 is outside its room"},
        {1, BLOCK, 1, 0, 8, 80, ERR_FORMAT, "FORMAT 4.6: block 1 at 80 is outside its room or out of order"},
        {2, BLOCK, 0, 0, 8, UINT64_MAX, ERR_FORMAT, "FORMAT 4.6: block 0 at 18446744073709551615 is outside"},
        {2, BLOCK, 0, 0, 8, 80, ERR_FORMAT, "FORMAT 3.1: after the journal no block where the index has block 0"},
        {2, BLOCK, 0, 8, 4, 1, ERR_LIMIT, "FORMAT 1.9: block 0 of 1 bytes"},
        {2, BLOCK, 0, 8, 4, 4210689, ERR_LIMIT, "FORMAT 1.9: block 0 of 4210689 bytes"},
        {2, BLOCK, 0, 8, 4, 4210688, ERR_FORMAT, "FORMAT 4.6: block 0 at "},
        {2, BLOCK, 0, 12, 4, 0, ERR_LIMIT, "FORMAT 1.9: block 0 of "},
        {2, BLOCK, 0, 12, 4, LIMIT_BLOCK_BYTES + 1, ERR_LIMIT, "FORMAT 1.9: block 0 of "},
        {2, BLOCK, 0, 12, 4, 4, ERR_FORMAT, "FORMAT 4.4: object 0 ends outside the content"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t at = cases[i].table == INDEX    ? forge_index_at(&file, cases[i].part)
                    : cases[i].table == OBJECT ? forge_object_at(&file, cases[i].part, cases[i].number)
                                               : forge_block_at(&file, cases[i].part, cases[i].number);

        forge_patch(&file, at + cases[i].offset, cases[i].value, cases[i].width);
        refuse_patched(cases[i].code, cases[i].why);
        forge_file(groups, GROUP_COUNT, &file);
    }
}

static void objects_that_overlap_are_refused(void **state)
{
    size_t first, second;

    (void)state;
    forge_frame("abcdef", 6, &groups[1].frame);
    groups[1].content_bytes = 6;
    groups[1].count = 2;
    groups[1].entries[0] = (struct forge_entry){digest_of("abc", 3), 3};
    groups[1].entries[1] = (struct forge_entry){digest_of("def", 3), 3};
    forge_file(groups, GROUP_COUNT, &file);
    first = forge_object_at(&file, 1, 0);
    second = forge_object_at(&file, 1, 1);
    for (uint32_t i = 0; i < 3; i++) {
        size_t at = forge_object_at(&file, 1, i);

        if (memcmp(file.data + at, groups[1].entries[0].digest.bytes, DIGEST_BYTES) == 0)
            first = at;
        if (memcmp(file.data + at, groups[1].entries[1].digest.bytes, DIGEST_BYTES) == 0)
            second = at;
    }
    forge_patch(&file, first + 32, 6, 8);
    refuse_patched(ERR_FORMAT, "FORMAT 4.7: more bytes in objects than in blocks");
    forge_patch(&file, first + 32, 3, 8);
    forge_patch(&file, second + 44, 2, 4); /* "cde", over "abc" */
    refuse_patched(ERR_FORMAT, "FORMAT 3.3: entry 1 of the journal is not what the index has at its place");
    forge_patch(&file, second + 44, 0, 4);
    forge_patch(&file, first + 44, 3, 4); /* the other way round */
    refuse_patched(ERR_FORMAT, "FORMAT 3.3: entry 0 of the journal is not what the index has at its place");
}

static void an_empty_object_with_a_position_is_refused(void **state)
{
    (void)state;
    groups[1].count = 2;
    groups[1].entries[1] = (struct forge_entry){digest_of("", 0), 0};
    refuse_groups(ERR_FORMAT, "FORMAT 4.4: the empty object has a position");
}

static void an_empty_object_in_a_journal_is_refused(void **state)
{
    (void)state;
    groups[1].count = 2;
    groups[1].entries[1] = (struct forge_entry){digest_of("", 0), 0};
    forge_file(groups, GROUP_COUNT, &file);
    for (uint32_t i = 0; i < 3; i++) {
        size_t at = forge_object_at(&file, 1, i);

        if (memcmp(file.data + at, groups[1].entries[1].digest.bytes, DIGEST_BYTES) == 0)
            forge_patch(&file, at + 40, 0, 8); /* as the index wants it: the journal alone is wrong */
    }
    refuse_patched(ERR_FORMAT, "FORMAT 3.3: entry 1 of the journal is not what the index has at its place");
}

static void a_footer_that_names_what_is_not_there_is_refused(void **state)
{
    size_t footer = file.size_bytes - 208;
    struct digest input = groups[2].entries[0].digest;

    (void)state;
    memcpy(file.data + footer + 136, input.bytes, DIGEST_BYTES);
    refuse_patched(ERR_FORMAT, "FORMAT 5.3: the claim is no observation of this pack");
    memcpy(file.data + footer + 104, input.bytes, DIGEST_BYTES);
    refuse_patched(ERR_FORMAT, "FORMAT 5.3: the receipt is no observation of this pack");
    memset(file.data + footer + 104, 0, DIGEST_BYTES);
    refuse_patched(ERR_FORMAT, "FORMAT 5.3: the receipt is no observation of this pack");
}

static void a_footer_whose_indexes_lie_elsewhere_is_refused(void **state)
{
    size_t footer = file.size_bytes - 208, at = forge_index_at(&file, 1);

    (void)state;
    forge_patch(&file, footer + 8, at - 24, 8);
    refuse_patched(ERR_FORMAT, "FORMAT 5.2");
    forge_patch(&file, footer + 8, 0, 8);
    forge_patch(&file, footer + 16, forge_index_at(&file, 2), 8); /* over the header */
    refuse_patched(ERR_FORMAT, "FORMAT 5.2");
    forge_file(groups, GROUP_COUNT, &file);
    file.data[forge_object_at(&file, 1, 0)] ^= 1; /* and no seal */
    refuse(&file, ERR_FORMAT, "FORMAT 5.1: the index has not the digest that the footer tells");
}

static void a_frame_that_hides_between_groups_is_refused(void **state)
{
    static const uint8_t hidden[] = {0x5E, 0x2A, 0x4D, 0x18, 16, 0, 0, 0, 'h', 'i', 'd', 'd',
                                     'e',  'n',  '!',  '!',  0,  0, 0, 0, 0,   0,   0,   0};
    AUTO_BYTES struct bytes forged = {0};
    size_t footer, index = forge_index_at(&file, 1);
    struct err err = {0};

    (void)state;
    assert_int_equal(bytes_add(&forged, file.data, index, 1 << 20, &err), 0);
    assert_int_equal(bytes_add(&forged, hidden, sizeof hidden, 1 << 20, &err), 0);
    assert_int_equal(bytes_add(&forged, file.data + index, file.size_bytes - index, 1 << 20, &err), 0);
    footer = forged.size_bytes - 208;
    forge_patch(&forged, footer + 8, index + sizeof hidden, 8);
    forge_patch(&forged, footer + 56, forge_index_at(&file, 2) + sizeof hidden, 8);
    forge_seal(&forged);
    refuse(&forged, ERR_FORMAT, "FORMAT 1.3: no journal here: magic number 0x184D2A5E");
    forge_patch(&forged, index, 0x184D2A51, 4);
    refuse(&forged, ERR_FORMAT, "FORMAT 3.2: a journal of 16 bytes that counts");
    forge_patch(&forged, index + 4, 8, 4); /* an empty journal with 8 bytes after it */
    forge_patch(&forged, index + 8, 1, 4);
    forge_patch(&forged, index + 12, 0, 4);
    refuse(&forged, ERR_FORMAT, "FORMAT 1.2: a group that the index does not name");
}

static void a_few_bytes_before_the_index_are_refused(void **state)
{
    AUTO_BYTES struct bytes forged = {0};
    size_t footer, index = forge_index_at(&file, 1);
    struct err err = {0};

    (void)state;
    assert_int_equal(bytes_add(&forged, file.data, index, 1 << 20, &err), 0);
    assert_int_equal(bytes_add(&forged, "\x50\x2A\x4D\x18\0\0\0\0", 8, 1 << 20, &err), 0);
    assert_int_equal(bytes_add(&forged, file.data + index, file.size_bytes - index, 1 << 20, &err), 0);
    footer = forged.size_bytes - 208;
    forge_patch(&forged, footer + 8, index + 8, 8);
    forge_patch(&forged, footer + 56, forge_index_at(&file, 2) + 8, 8);
    forge_seal(&forged);
    refuse(&forged, ERR_FORMAT, "FORMAT 1.2: 8 bytes before the index are of no group");
}

static void a_journal_over_the_limit_is_refused_before_memory_is_taken(void **state)
{
    (void)state;
    forge_patch(&file, 28, LIMIT_JOURNAL_BYTES + 8, 4);
    refuse_patched(ERR_LIMIT, "FORMAT 1.9: a journal of 16777224 bytes");
    forge_patch(&file, 28, 8 + 40 * 1000, 4);
    forge_patch(&file, 36, 1000, 4);
    refuse_patched(ERR_FORMAT, "FORMAT 1.2: the journal reaches into the index");
}

int main(void)
{
#define FORGED(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        FORGED(wrong_numbers_in_tables_are_refused),
        FORGED(objects_that_overlap_are_refused),
        FORGED(an_empty_object_with_a_position_is_refused),
        FORGED(an_empty_object_in_a_journal_is_refused),
        FORGED(a_footer_that_names_what_is_not_there_is_refused),
        FORGED(a_footer_whose_indexes_lie_elsewhere_is_refused),
        FORGED(a_frame_that_hides_between_groups_is_refused),
        FORGED(a_few_bytes_before_the_index_are_refused),
        FORGED(a_journal_over_the_limit_is_refused_before_memory_is_taken),
    };
#undef FORGED

    return cmocka_run_group_tests(tests, NULL, NULL);
}
