/* record/leaks: pieces of a content are found wherever they stand, from 63 bytes on. */
#include "record/leaks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { CONTENT_BYTES = 1000, AROUND_BYTES = 300 };

static uint8_t content[CONTENT_BYTES];

/* The same bytes in every run of the test. */
static void noise(uint8_t *to, size_t size_bytes, uint64_t seed)
{
    for (size_t i = 0; i < size_bytes; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        to[i] = (uint8_t)(seed >> 56);
    }
}

static struct leaks *table(uint32_t max_blocks)
{
    struct leaks *leaks = leaks_new(max_blocks);

    assert_non_null(leaks);
    noise(content, sizeof content, 7);
    return leaks;
}

/* Whether `size_bytes` of the content from `from` on are found between other bytes, read in pieces of piece_bytes. */
static bool is_found(const struct leaks *leaks, size_t from, size_t size_bytes, size_t piece_bytes)
{
    uint8_t bytes[2 * AROUND_BYTES + CONTENT_BYTES];
    size_t whole = 2 * AROUND_BYTES + size_bytes;
    struct leak_flow flow = {0};
    uint32_t number = 0;

    noise(bytes, sizeof bytes, 99);
    memcpy(bytes + AROUND_BYTES, content + from, size_bytes);
    for (size_t at = 0; at < whole; at += piece_bytes) {
        if (leak_flow_look(&flow, leaks, bytes + at, whole - at < piece_bytes ? whole - at : piece_bytes, &number)) {
            assert_int_equal(number, 5);
            return true;
        }
    }
    return false;
}

static void sixty_three_bytes_are_found_from_any_place_in_pieces_of_any_size(void **state)
{
    struct leaks *leaks = table(1000);

    (void)state;
    assert_int_equal(leaks_add(leaks, content, sizeof content, 5), CONTENT_BYTES / 32 * 32);
    for (size_t from = 0; from + 63 <= CONTENT_BYTES / 32 * 32; from++)
        for (size_t piece = 1; piece < 200; piece = piece < 70 ? piece + 1 : piece * 2)
            assert_true(is_found(leaks, from, 63, piece));
    leaks_free(leaks);
}

static void what_has_no_whole_block_is_not_found(void **state)
{
    struct leaks *leaks = table(1000);

    (void)state;
    (void)leaks_add(leaks, content, sizeof content, 5);
    assert_true(is_found(leaks, 64, 32, 1000));
    assert_false(is_found(leaks, 65, 62, 1000));
    assert_false(is_found(leaks, 64, 31, 1000));
    assert_false(is_found(leaks, 0, 0, 7));
    leaks_free(leaks);
}

static void blocks_of_few_different_bytes_are_passed_over(void **state)
{
    struct leaks *leaks = table(1000);

    (void)state;
    memset(content, ' ', 64);
    memcpy(content + 64, "abcdefgabcdefgabcdefgabcdefgabcd", 32);
    memcpy(content + 96, "abcdefghabcdefghabcdefghabcdefgh", 32);
    (void)leaks_add(leaks, content, sizeof content, 5);
    assert_false(is_found(leaks, 0, 64, 1000));
    assert_false(is_found(leaks, 64, 32, 1000));
    assert_true(is_found(leaks, 96, 32, 1000));
    leaks_free(leaks);
}

static void a_full_table_takes_no_more_and_an_emptied_one_finds_nothing(void **state)
{
    struct leaks *leaks = table(3);

    (void)state;
    assert_int_equal(leaks_add(leaks, content, sizeof content, 5), 96);
    assert_true(is_found(leaks, 64, 32, 11));
    assert_false(is_found(leaks, 96, 32, 11));
    leaks_clear(leaks);
    assert_false(is_found(leaks, 64, 32, 11));
    assert_int_equal(leaks_add(leaks, content + 96, sizeof content - 96, 5), 96);
    assert_true(is_found(leaks, 96, 32, 11));
    leaks_free(leaks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sixty_three_bytes_are_found_from_any_place_in_pieces_of_any_size),
        cmocka_unit_test(what_has_no_whole_block_is_not_found),
        cmocka_unit_test(blocks_of_few_different_bytes_are_passed_over),
        cmocka_unit_test(a_full_table_takes_no_more_and_an_emptied_one_finds_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
