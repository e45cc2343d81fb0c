/*
 * Where bytes of objects lie: what is told leads to the entries of the index and to the bytes, piece by piece.
 */
#include "formats/pack_where.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "formats/pack_layout.h"

#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "packs.h"

enum { LARGE_BYTES = 2 * LIMIT_BLOCK_BYTES + 17 };

/* The frame of a piece, decompressed; heap. */
static uint8_t *decompress(const struct fixture *fixture, const struct pack_where *where, size_t *out_bytes)
{
    AUTO_FREE uint8_t *frame = malloc((size_t)where->frame.size_bytes);
    uint8_t *content = malloc(LIMIT_BLOCK_BYTES);
    struct err err;

    assert_true(frame != NULL && content != NULL);
    assert_int_equal(file_pread_all(fixture->fd, frame, (size_t)where->frame.size_bytes, where->frame.at, &err), 0);
    *out_bytes = ZSTD_decompress(content, LIMIT_BLOCK_BYTES, frame, (size_t)where->frame.size_bytes);
    assert_false(ZSTD_isError(*out_bytes));
    return content;
}

/* One piece: its entries are those of the object and of its block, its bytes are the object's. */
static void check_piece(const struct fixture *fixture, const struct digest *digest, const struct pack_where *where,
                        const uint8_t *wanted)
{
    uint8_t object[PACK_OBJECT_BYTES], block[PACK_BLOCK_BYTES];
    struct layout_object entry;
    struct layout_block place;
    AUTO_FREE uint8_t *content = NULL;
    size_t content_bytes;
    struct err err;

    assert_int_equal(file_pread_all(fixture->fd, object, sizeof object, where->object_entry_at, &err), 0);
    assert_int_equal(file_pread_all(fixture->fd, block, sizeof block, where->block_entry_at, &err), 0);
    entry = layout_object_take(object);
    place = layout_block_take(block);
    assert_true(digest_equal(&entry.digest, digest));
    assert_int_equal(place.frame.at, where->frame.at);
    assert_int_equal(place.frame.size_bytes, where->frame.size_bytes);
    content = decompress(fixture, where, &content_bytes);
    assert_true(where->size_bytes > 0 && where->content_offset_bytes + where->size_bytes <= content_bytes);
    assert_memory_equal(content + where->content_offset_bytes, wanted, where->size_bytes);
}

static void the_pieces_of_a_range_are_its_bytes_over_blocks(void **state)
{
    static const struct {
        size_t offset_bytes, size_bytes, pieces;
    } ranges[] = {{0, 1, 1}, {0, LARGE_BYTES, 3}, {LIMIT_BLOCK_BYTES - 100, 200, 2}, {LARGE_BYTES - 1, 1, 1}};
    struct fixture *fixture = *state;
    AUTO_FREE uint8_t *data = some_bytes(LARGE_BYTES);
    struct digest small = put(fixture, "small", 5), large = put(fixture, data, LARGE_BYTES);
    struct pack_where where;

    turn(fixture, &small, NULL);
    assert_true(pack_where(fixture->pack, PACK_OBSERVATION, &small, 1, 4, &where));
    check_piece(fixture, &small, &where, (const uint8_t *)"mall");
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        size_t at = ranges[i].offset_bytes, left = ranges[i].size_bytes, pieces = 0;

        for (; left > 0; pieces++) {
            assert_true(pack_where(fixture->pack, PACK_OBSERVATION, &large, at, left, &where));
            check_piece(fixture, &large, &where, data + at);
            at += where.size_bytes;
            left -= where.size_bytes;
        }
        assert_in_range(pieces, ranges[i].pieces, ranges[i].pieces + 1);
    }
}

static void what_the_pack_does_not_have_lies_nowhere(void **state)
{
    struct fixture *fixture = *state;
    struct digest small = put(fixture, "small", 5), empty = put(fixture, "", 0), none = digest_of("none", 4);
    struct pack_where where = {.size_bytes = 77};

    turn(fixture, &small, NULL);
    assert_false(pack_where(fixture->pack, PACK_OBSERVATION, &none, 0, 1, &where));
    assert_false(pack_where(fixture->pack, PACK_INPUT, &small, 0, 1, &where));
    assert_false(pack_where(fixture->pack, PACK_OBSERVATION, &empty, 0, 1, &where));
    assert_false(pack_where(fixture->pack, PACK_OBSERVATION, &small, 0, 6, &where));
    assert_false(pack_where(fixture->pack, PACK_OBSERVATION, &small, 5, 1, &where));
    assert_false(pack_where(fixture->pack, PACK_OBSERVATION, &small, UINT64_MAX, 1, &where));
    assert_false(pack_where(fixture->pack, PACK_OBSERVATION, &small, 1, UINT64_MAX, &where));
    assert_int_equal(where.size_bytes, 77);
}

static void the_footer_is_the_end_of_the_file(void **state)
{
    struct fixture *fixture = *state;
    struct frame_range footer;
    struct stat stat;

    turn(fixture, NULL, NULL);
    footer = pack_footer_where(fixture->pack);
    assert_int_equal(fstat(fixture->fd, &stat), 0);
    assert_int_equal(footer.at + footer.size_bytes, stat.st_size);
    assert_int_equal(footer.size_bytes, PACK_FOOTER_BYTES);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_pieces_of_a_range_are_its_bytes_over_blocks, setup, teardown),
        cmocka_unit_test_setup_teardown(what_the_pack_does_not_have_lies_nowhere, setup, teardown),
        cmocka_unit_test_setup_teardown(the_footer_is_the_end_of_the_file, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
