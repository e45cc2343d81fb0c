/* Files that a hostile writer makes with every digest in order: refused for what is wrong with them. */
#include "base/cleanup.h"
#include "test_pack_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include <cmocka.h>

static const char text[] = "some text, some text, some text, some text";

#define TEXT_BYTES (sizeof text - 1)
#define GROUP_COUNT 3

/* Two observations in a block each, and one input. The second group's frame is the one that tests replace. */
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

/* Appends bytes to the second group's frame. */
static void frame_add(const void *from, size_t size_bytes)
{
    struct err err = {0};

    assert_int_equal(bytes_add(&groups[1].frame, from, size_bytes, 1 << 24, &err), 0);
}

/* Puts bytes in the place of `gone_bytes` bytes at `at` in the second group's frame. */
static void frame_splice(size_t at, size_t gone_bytes, const void *from, size_t size_bytes)
{
    struct bytes old = groups[1].frame;

    groups[1].frame = (struct bytes){0};
    frame_add(old.data, at);
    frame_add(from, size_bytes);
    frame_add(old.data + at + gone_bytes, old.size_bytes - at - gone_bytes);
    bytes_done(&old);
}

/* Whether zstd itself decodes the second group's frame to `wanted`: what is refused is the form, not damage. */
static void frame_decodes(const void *wanted, size_t size_bytes)
{
    AUTO_FREE uint8_t *content = malloc(LIMIT_BLOCK_BYTES);

    assert_int_equal(ZSTD_decompress(content, LIMIT_BLOCK_BYTES, groups[1].frame.data, groups[1].frame.size_bytes),
                     size_bytes);
    assert_memory_equal(content, wanted, size_bytes);
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

static void a_file_made_from_the_document_alone_is_right(void **state)
{
    AUTO_FD int fd = memory_file(file.data, file.size_bytes);
    AUTO_BYTES struct bytes content = {0};
    struct pack *pack = NULL;
    struct err err = {0};

    (void)state;
    if (pack_open(fd, &pack, &err) < 0 || pack_check(pack, &err) < 0 ||
        pack_read(pack, PACK_OBSERVATION, &groups[1].entries[0].digest, 100, &content, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal((const char *)content.data, text);
    pack_close(pack);
}

/* ---- blocks ---- */

/* Compresses `from` with one parameter of libzstd set. */
static void compress_with(ZSTD_cParameter parameter, int value, const void *from, size_t size_bytes)
{
    AUTO_FREE uint8_t *out = malloc(ZSTD_compressBound(size_bytes));
    ZSTD_CCtx *compressor = ZSTD_createCCtx();
    size_t done;

    assert_false(ZSTD_isError(ZSTD_CCtx_setParameter(compressor, ZSTD_c_checksumFlag, 1)));
    assert_false(ZSTD_isError(ZSTD_CCtx_setParameter(compressor, parameter, value)));
    done = ZSTD_compress2(compressor, out, ZSTD_compressBound(size_bytes), from, size_bytes);
    assert_false(ZSTD_isError(done));
    ZSTD_freeCCtx(compressor);
    frame_splice(0, groups[1].frame.size_bytes, out, done);
    frame_decodes(from, size_bytes);
}

static void a_block_without_checksum_is_refused(void **state)
{
    (void)state;
    compress_with(ZSTD_c_checksumFlag, 0, text, TEXT_BYTES);
    refuse_groups(ERR_FORMAT, "FORMAT 3.5: the block has no content checksum");
}

static void a_block_with_a_window_descriptor_is_refused(void **state)
{
    static uint8_t data[5000];

    (void)state;
    compress_with(ZSTD_c_windowLog, 10, data, sizeof data);
    groups[1].content_bytes = sizeof data;
    groups[1].entries[0] = (struct forge_entry){digest_of(data, sizeof data), sizeof data};
    refuse_groups(ERR_FORMAT, "FORMAT 3.5: the block has a window descriptor: not one segment");
}

static void a_block_with_a_dictionary_number_is_refused(void **state)
{
    (void)state;
    groups[1].frame.data[4] |= 1;
    frame_splice(5, 0, "\0", 1); /* number 0: none, in one byte too many */
    frame_decodes(text, TEXT_BYTES);
    refuse_groups(ERR_FORMAT, "FORMAT 3.5: the block names a dictionary");
}

static void a_block_with_an_unused_bit_is_refused(void **state)
{
    (void)state;
    groups[1].frame.data[4] |= 0x10;
    frame_decodes(text, TEXT_BYTES);
    refuse_groups(ERR_FORMAT, "FORMAT 3.5: an unused or reserved bit of the block is set");
}

static void a_block_with_a_wide_content_size_is_refused(void **state)
{
    const uint8_t wide[4] = {TEXT_BYTES};

    (void)state;
    groups[1].frame.data[4] |= 0x80;
    frame_splice(5, 1, wide, sizeof wide);
    frame_decodes(text, TEXT_BYTES);
    refuse_groups(ERR_FORMAT, "FORMAT 3.5: the block's content size is not in its shortest field");
}

static void a_content_size_that_the_index_does_not_have_is_refused(void **state)
{
    (void)state;
    groups[1].content_bytes--; /* in the index; the object too, so that sums agree */
    groups[1].entries[0].size_bytes--;
    refuse_groups(ERR_FORMAT, "FORMAT 3.6: the block's content size is not 41");
}

static void two_frames_in_a_block_are_refused(void **state)
{
    struct bytes second = {0};

    (void)state;
    forge_frame(text + 20, TEXT_BYTES - 20, &second);
    forge_frame(text, 20, &groups[1].frame);
    frame_add(second.data, second.size_bytes);
    bytes_done(&second);
    frame_decodes(text, TEXT_BYTES);
    groups[1].frame.data[5] = TEXT_BYTES; /* even where the first says that it has it all */
    refuse_groups(ERR_FORMAT, "FORMAT 3.6: ");
}

static void bytes_after_the_frame_in_a_block_are_refused(void **state)
{
    static const uint8_t skippable[] = {0x51, 0x2A, 0x4D, 0x18, 4, 0, 0, 0, 'h', 'i', 'd', 'e'};

    (void)state;
    frame_add(skippable, sizeof skippable);
    frame_decodes(text, TEXT_BYTES);
    refuse_groups(ERR_FORMAT, "FORMAT 3.6: 12 bytes follow the block's end");
}

static void a_wrong_checksum_is_refused(void **state)
{
    (void)state;
    groups[1].frame.data[groups[1].frame.size_bytes - 1] ^= 1;
    refuse_groups(ERR_FORMAT, "FORMAT 3.4: the block is damaged");
}

static void a_block_that_is_cut_short_is_refused(void **state)
{
    (void)state;
    groups[1].frame.size_bytes -= 5;
    refuse_groups(ERR_FORMAT, "FORMAT 3.4: the block is damaged");
}

static void a_skippable_frame_as_a_block_is_refused(void **state)
{
    static const uint8_t skippable[] = {0x50, 0x2A, 0x4D, 0x18, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};

    (void)state;
    frame_splice(0, groups[1].frame.size_bytes, skippable, sizeof skippable);
    refuse_groups(ERR_FORMAT, "FORMAT 3.5: no zstd frame where a block should be");
}

static void another_frame_of_the_same_content_is_refused(void **state)
{
    static const uint8_t other[] = {1, 2, 3, 4};
    size_t at = forge_block_at(&file, 1, 1) + 16;

    (void)state;
    memcpy(file.data + at, other, sizeof other); /* the index means a frame of another digest */
    refuse_patched(ERR_FORMAT, "FORMAT 3.6: the block has not the digest that the index tells");
}

/* ---- groups ---- */

static void content_with_another_digest_is_false_and_named(void **state)
{
    AUTO_BYTES struct bytes content = {0};
    struct digest wrong = digest_of("another", 7);
    char digits[2 * DIGEST_BYTES + 1];
    struct pack *pack = NULL;
    struct err err = {0};
    int fd;

    (void)state;
    groups[1].entries[0].digest = wrong;
    hex_encode(wrong.bytes, DIGEST_BYTES, digits);
    refuse_groups(ERR_MISMATCH, digits);
    fd = memory_file(file.data, file.size_bytes);
    assert_int_equal(pack_open(fd, &pack, &err), 0);
    assert_int_equal(pack_read(pack, PACK_OBSERVATION, &wrong, 100, &content, &err), ERR_MISMATCH);
    assert_non_null(strstr(err.text, digits));
    assert_null(content.data);
    pack_close(pack);
    (void)close(fd);
}

static void an_empty_object_with_another_digest_is_false(void **state)
{
    AUTO_BYTES struct bytes content = {0};
    struct digest wrong = digest_of("another", 7), right = digest_of("", 0);
    struct pack *pack = NULL;
    struct err err = {0};
    int fd;

    (void)state;
    groups[1].count = 2;
    groups[1].unlisted = 1;
    groups[1].entries[1] = (struct forge_entry){right, 0};
    forge_file(groups, GROUP_COUNT, &file);
    assert_int_equal(judge(file.data, file.size_bytes, &err), 0);
    groups[1].entries[1].digest = wrong;
    refuse_groups(ERR_MISMATCH, "FORMAT 4.8: an object of size 0 has another digest");
    fd = memory_file(file.data, file.size_bytes);
    assert_int_equal(pack_open(fd, &pack, &err), 0);
    assert_int_equal(pack_read(pack, PACK_OBSERVATION, &wrong, 100, &content, &err), ERR_MISMATCH);
    assert_non_null(strstr(err.text, "has other content"));
    pack_close(pack);
    (void)close(fd);
}

static void a_journal_that_lists_another_object_is_refused(void **state)
{
    size_t at = forge_object_at(&file, 2, 0); /* the index means another digest than the journal */

    (void)state;
    file.data[at] ^= 1;
    refuse_patched(ERR_FORMAT, "FORMAT 3.3: entry 0 of the journal is not what the index has at its place");
}

static void a_journal_that_lists_an_object_twice_is_refused(void **state)
{
    (void)state;
    forge_frame("somesome", 8, &groups[1].frame);
    groups[1].content_bytes = 8;
    groups[1].count = 2;
    groups[1].entries[0] = groups[1].entries[1] = (struct forge_entry){digest_of("some", 4), 4};
    refuse_groups(ERR_FORMAT, "does not ascend");
}

static void an_object_of_a_later_journal_is_refused_in_an_earlier_one(void **state)
{
    struct forge_group moved[2] = {groups[0], groups[1]};

    (void)state;
    moved[0].count = 2; /* the second object ends in the second block */
    moved[0].entries[1] = groups[1].entries[0];
    moved[1].count = 0;
    forge_file(moved, 2, &file);
    /* The forger takes the object to begin in block 0; the document wants block 1. */
    for (uint32_t i = 0; i < 2; i++)
        if (memcmp(file.data + forge_object_at(&file, 1, i), groups[1].entries[0].digest.bytes, DIGEST_BYTES) == 0) {
            forge_patch(&file, forge_object_at(&file, 1, i) + 40, 1, 4);
            forge_patch(&file, forge_object_at(&file, 1, i) + 44, 0, 4);
        }
    refuse_patched(ERR_FORMAT, "FORMAT 3.3: object 1 of the journal does not end in its block");
}

static void bytes_of_no_object_are_refused(void **state)
{
    (void)state;
    groups[1].entries[0] = (struct forge_entry){digest_of(text, 30), 30};
    refuse_groups(ERR_FORMAT, "FORMAT 4.7: 12 bytes of blocks belong to no object");
}

static void an_object_that_no_journal_lists_is_refused(void **state)
{
    (void)state;
    groups[2].unlisted = 1; /* its position, the part's first byte, is right */
    refuse_groups(ERR_FORMAT, "FORMAT 1.5: the last 5 bytes of the content belong to no object that is listed");
}

static void a_block_that_both_indexes_name_is_refused(void **state)
{
    size_t from = forge_index_at(&file, 1) - groups[2].frame.size_bytes - 56, gone = forge_index_at(&file, 1) - from;
    size_t footer, kept_bytes = file.size_bytes - gone;

    (void)state;
    /* The input's group goes; its index names the second observation's block and object instead. */
    memmove(file.data + from, file.data + from + gone, kept_bytes - from);
    file.size_bytes = kept_bytes;
    footer = kept_bytes - 208;
    forge_patch(&file, footer + 56, forge_index_at(&file, 2) - gone, 8);
    forge_patch(&file, footer + 8, from, 8);
    memcpy(file.data + forge_block_at(&file, 2, 0), file.data + forge_block_at(&file, 1, 1), 48);
    memcpy(file.data + forge_object_at(&file, 2, 0), groups[1].entries[0].digest.bytes, DIGEST_BYTES);
    forge_patch(&file, forge_object_at(&file, 2, 0) + 32, TEXT_BYTES, 8);
    refuse_patched(ERR_FORMAT, "FORMAT 1.2: the index names 1 blocks, 0 are there");
}

int main(void)
{
#define FORGED(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        FORGED(a_file_made_from_the_document_alone_is_right),
        FORGED(a_block_without_checksum_is_refused),
        FORGED(a_block_with_a_window_descriptor_is_refused),
        FORGED(a_block_with_a_dictionary_number_is_refused),
        FORGED(a_block_with_an_unused_bit_is_refused),
        FORGED(a_block_with_a_wide_content_size_is_refused),
        FORGED(a_content_size_that_the_index_does_not_have_is_refused),
        FORGED(two_frames_in_a_block_are_refused),
        FORGED(bytes_after_the_frame_in_a_block_are_refused),
        FORGED(a_wrong_checksum_is_refused),
        FORGED(a_block_that_is_cut_short_is_refused),
        FORGED(a_skippable_frame_as_a_block_is_refused),
        FORGED(another_frame_of_the_same_content_is_refused),
        FORGED(content_with_another_digest_is_false_and_named),
        FORGED(an_empty_object_with_another_digest_is_false),
        FORGED(a_journal_that_lists_another_object_is_refused),
        FORGED(a_journal_that_lists_an_object_twice_is_refused),
        FORGED(an_object_of_a_later_journal_is_refused_in_an_earlier_one),
        FORGED(bytes_of_no_object_are_refused),
        FORGED(an_object_that_no_journal_lists_is_refused),
        FORGED(a_block_that_both_indexes_name_is_refused),
    };
#undef FORGED

    return cmocka_run_group_tests(tests, NULL, NULL);
}
