/*
 * Whole groups without an index: what they list is handed on, what is too much for a file of its size is refused before
 * any of it is decoded.
 */
#include "formats/pack_salvage.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "formats/frame.h"
#include "formats/pack_layout.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "test_pack_fixture.h"

/* The header that a pack begins with. */
static void header_add(struct bytes *file)
{
    uint8_t header[PACK_HEADER_BYTES];
    struct err err;

    layout_header_put(header);
    must(bytes_add(file, header, sizeof header, SIZE_MAX, &err), &err);
}

/* A group whose block holds LIMIT_BLOCK_BYTES of zeros, and whose journal lists nothing. Appended `count` times. */
static void zeros_add(struct bytes *file, unsigned count)
{
    AUTO_FREE uint8_t *content = calloc(1, LIMIT_BLOCK_BYTES), *frame = malloc(FRAME_BLOCK_MAX_BYTES);
    ZSTD_CCtx *compressor = frame_compressor_new();
    uint8_t head[PACK_JOURNAL_HEAD_BYTES];
    size_t frame_bytes;
    struct err err;

    assert_true(content != NULL && frame != NULL && compressor != NULL);
    layout_journal_head_put(head, PACK_INPUT, 0);
    must(frame_compress(compressor, content, LIMIT_BLOCK_BYTES, frame, &frame_bytes, &err), &err);
    for (unsigned i = 0; i < count; i++) {
        must(bytes_add(file, head, sizeof head, SIZE_MAX, &err), &err);
        must(bytes_add(file, frame, frame_bytes, SIZE_MAX, &err), &err);
    }
    ZSTD_freeCCtx(compressor);
}

static int count_take(void *context, const struct pack_found *found, struct err *err)
{
    (void)found;
    (void)err;
    (*(unsigned *)context)++;
    return 0;
}

/* Salvages these bytes with test_folder for what is spooled. */
static int salvage(const struct bytes *file, unsigned *out_count, uint64_t *out_whole_bytes, struct err *err)
{
    AUTO_FD int fd = memory_file(file->data, file->size_bytes);

    *out_count = 0;
    return pack_salvage(fd, test_folder_fd, count_take, out_count, out_whole_bytes, err);
}

/* 32 GiB and 256 times the file: some 8,200 blocks in 1.5 MB. Decoded, they would take half a minute and as much disk.
 */
static void more_content_than_a_file_may_have_is_refused_before_it_is_decoded(void **state)
{
    enum { ALLOWED_BLOCKS = LIMIT_CONTENT_BYTES / LIMIT_BLOCK_BYTES };
    AUTO_BYTES struct bytes file = {0};
    uint64_t whole_bytes;
    unsigned count;
    struct err err;

    (void)state;
    header_add(&file);
    zeros_add(&file, ALLOWED_BLOCKS + ALLOWED_BLOCKS / 8);
    assert_int_equal(salvage(&file, &count, &whole_bytes, &err), ERR_LIMIT);
    assert_non_null(strstr(err.text, "FORMAT 1.9: "));
    assert_non_null(strstr(err.text, " bytes of content are more than a file of "));
    assert_int_equal(count, 0);
}

/* What no journal lists is read, and handed on by nobody; nothing of it stays in the folder. */
static void blocks_that_no_journal_lists_are_whole_and_hold_nothing(void **state)
{
    AUTO_BYTES struct bytes file = {0};
    uint64_t whole_bytes;
    unsigned count;
    struct err err;

    (void)state;
    header_add(&file);
    zeros_add(&file, 3);
    must(salvage(&file, &count, &whole_bytes, &err), &err);
    assert_int_equal(count, 0);
    assert_int_equal(whole_bytes, file.size_bytes);
    assert_int_equal(folder_count(test_folder_fd), 0);
    file.size_bytes--; /* the last group is not whole any more */
    must(salvage(&file, &count, &whole_bytes, &err), &err);
    assert_int_equal(whole_bytes, PACK_HEADER_BYTES + (file.size_bytes + 1 - PACK_HEADER_BYTES) / 3 * 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(more_content_than_a_file_may_have_is_refused_before_it_is_decoded,
                                        folder_set_up, folder_tear_down),
        cmocka_unit_test_setup_teardown(blocks_that_no_journal_lists_are_whole_and_hold_nothing, folder_set_up,
                                        folder_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
