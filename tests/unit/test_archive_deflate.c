/*
 * Archives that unpack to more than they may: nothing but unpacking it all shows it. The bound is a 16th here, for to
 * inflate all of it takes 12 s.
 */
#include "formats/limits.h"

#undef LIMIT_ARCHIVE_CONTENT_BYTES
#define LIMIT_ARCHIVE_CONTENT_BYTES (256ull << 20)

#include "formats/archive.c" /* with that bound */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <zstd.h>
/* cmocka.h wants some of the above first. */
#include <cmocka.h>

/* Appends bits, given as text, to a deflate stream; *at counts bits. */
static void put_bits(uint8_t *to, size_t *at, const char *bits)
{
    for (; *bits != 0; bits++, (*at)++)
        if (*bits == '1')
            to[*at / 8] = (uint8_t)(to[*at / 8] | 1u << *at % 8);
}

/*
 * Deflated zeros by hand: after a block's head and one literal, 8 matches of 258 bytes are 13 bytes, over and over. The
 * zip has one member, which tells no true size.
 */
static void list_refuses_a_deflate_bomb_by_what_it_unpacks_to(void **state)
{
    static const uint8_t head[] = "PK\3\4\x14\0\0\0\x08\0\0\0\x21\0" /* method 8 */
                                  "\0\0\0\0\xff\xff\xff\x7f\1\0\0\0\1\0\0\0z";
    enum { HEAD_BYTES = sizeof head - 1, PERIOD_BYTES = 13 };
    size_t size_bytes = HEAD_BYTES + LIMIT_ARCHIVE_CONTENT_BYTES / 158, at = 8 * HEAD_BYTES;
    uint8_t *zip = calloc(1, size_bytes);
    struct archive_list list;
    struct err err = {0};

    (void)state;
    assert_non_null(zip);
    memcpy(zip, head, HEAD_BYTES);
    put_bits(zip, &at, "110" /* the last block, fixed codes */ "00110000" /* zero */);
    for (int i = 0; i < 16; i++)
        put_bits(zip, &at, "11000101" /* 258 bytes */ "00000" /* from 1 back */);
    for (size_t i = HEAD_BYTES + 2 + PERIOD_BYTES; i < size_bytes; i++)
        zip[i] = zip[i - PERIOD_BYTES];
    assert_true(size_bytes < LIMIT_ARTIFACT_BYTES);
    assert_int_equal(archive_list_read(zip, size_bytes, &list, &err), ERR_LIMIT);
    assert_string_equal(err.text, "the archive unpacks to more than 268435456 bytes");
    assert_in_range(list.unpacked_bytes, LIMIT_ARCHIVE_CONTENT_BYTES - (1 << 20), LIMIT_ARCHIVE_CONTENT_BYTES);
    assert_int_equal(list.count, 0);
    free(zip);
}

/* A tar of one member of zeros, compressed by zstd: some 20 KB. */
static void list_refuses_a_zstd_bomb_by_what_it_unpacks_to(void **state)
{
    enum { HEAD_BYTES = 512, PIECE_BYTES = 1 << 20, PIECES = (int)(LIMIT_ARCHIVE_CONTENT_BYTES >> 20) + 8 };
    uint8_t *piece = calloc(1, PIECE_BYTES);
    size_t room = ZSTD_compressBound(PIECE_BYTES) + PIECES * 1024, used = 0;
    uint8_t *packed = malloc(room);
    ZSTD_CStream *stream = ZSTD_createCStream();
    struct archive_list list;
    struct err err = {0};
    unsigned sum = 0;

    (void)state;
    assert_true(piece != NULL && packed != NULL && stream != NULL);
    (void)snprintf((char *)piece, HEAD_BYTES, "z");
    (void)snprintf((char *)piece + 100, 8, "0000644");
    (void)snprintf((char *)piece + 124, 12, "%011o", (unsigned)PIECES * PIECE_BYTES);
    memcpy(piece + 148, "        0", 9); /* of the checksum, and an ordinary file */
    memcpy(piece + 257,
           "ustar\0"
           "00",
           8);
    for (size_t i = 0; i < HEAD_BYTES; i++)
        sum += piece[i];
    (void)snprintf((char *)piece + 148, 7, "%06o", sum);
    for (int i = 0; i < PIECES; i++) {
        ZSTD_inBuffer in = {piece, PIECE_BYTES, 0};
        ZSTD_outBuffer out = {packed, room, used};

        assert_false(ZSTD_isError(ZSTD_compressStream2(stream, &out, &in, ZSTD_e_flush)));
        assert_int_equal(in.pos, in.size);
        used = out.pos;
        if (i == 0)
            memset(piece, 0, HEAD_BYTES);
    }
    assert_in_range(used, 1, 1 << 20);
    assert_int_equal(archive_list_read(packed, used, &list, &err), ERR_LIMIT);
    assert_string_equal(err.text, "the archive unpacks to more than 268435456 bytes");
    free(piece);
    free(packed);
    (void)ZSTD_freeCStream(stream);
}

/* Whatever it unpacks to, it is never held: the bound on memory is a quarter of that on what is unpacked. */
static void bound_memory(void)
{
#if !EXHIBIT_SANITIZED
    const struct rlimit most = {128 << 20, 128 << 20};

    assert_int_equal(setrlimit(RLIMIT_AS, &most), 0);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(list_refuses_a_deflate_bomb_by_what_it_unpacks_to),
        cmocka_unit_test(list_refuses_a_zstd_bomb_by_what_it_unpacks_to),
    };

    bound_memory();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
