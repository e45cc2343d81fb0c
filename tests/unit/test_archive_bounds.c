/*
 * Archives that are more than they seem: bounds, bombs and holes.
 */
#include "base/bytes.h"
#include "formats/archive.h"
#include "formats/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants some of the above first. */
#include <cmocka.h>

#include "tests/unit/archives.h"

static void list_refuses_a_path_over_its_limit(void **state)
{
    struct maker maker;
    struct archive_list list;
    struct err err = {0};
    char path[LIMIT_PATH_BYTES + 2];

    (void)state;
    memset(path, 'p', sizeof path - 1);
    path[sizeof path - 1] = 0;
    maker_begin(&maker, archive_write_set_format_gnutar, NULL);
    maker_add(&maker, path + 1, S_IFREG, NULL, NULL, 0);
    maker_end(&maker);
    assert_int_equal(archive_list_read(maker.bytes, maker.size_bytes, &list, &err), 0);
    archive_list_done(&list);
    free(maker.bytes);
    maker_begin(&maker, archive_write_set_format_gnutar, NULL);
    maker_add(&maker, path, S_IFREG, NULL, NULL, 0);
    maker_end(&maker);
    assert_int_equal(archive_list_read(maker.bytes, maker.size_bytes, &list, &err), ERR_LIMIT);
    assert_string_equal(err.text, "a member has a path of 4097 bytes");
    assert_int_equal(list.count, 0);
    free(maker.bytes);
}

static void list_refuses_names_that_no_event_could_hold(void **state)
{
    struct maker maker;
    struct archive_list list;
    struct err err = {0};
    char path[4001];

    (void)state;
    memset(path, 'p', sizeof path - 1);
    path[sizeof path - 1] = 0;
    maker_begin(&maker, archive_write_set_format_gnutar, archive_write_add_filter_gzip);
    for (unsigned i = 0; i <= LIMIT_EVENT_BYTES / 4000; i++)
        maker_add(&maker, path, S_IFREG, NULL, NULL, 0);
    maker_end(&maker);
    assert_int_equal(archive_list_read(maker.bytes, maker.size_bytes, &list, &err), ERR_LIMIT);
    assert_string_equal(err.text, "the members' paths have more than 1048448 bytes");
    free(maker.bytes);
}

/* A sparse member is a few bytes that claim to be many: the claim is counted before anything is digested. */
static void list_refuses_a_sparse_bomb_at_once(void **state)
{
    uint8_t tar[PAX_BYTES];
    struct archive_list list;
    struct err err = {0};

    (void)state;
    make_pax(tar, "33 GNU.sparse.size=4398046511104\n34 GNU.sparse.map=4398046511103,1\n");
    assert_int_equal(archive_list_read(tar, sizeof tar, &list, &err), ERR_LIMIT);
    assert_string_equal(err.text, "the archive unpacks to more than 4294967296 bytes");
    make_pax(tar, "33 GNU.sparse.size=4398046511104\n22 GNU.sparse.map=0,1\n");
    assert_int_equal(archive_list_read(tar, sizeof tar, &list, &err), ERR_LIMIT);
    assert_string_equal(err.text, "the archive unpacks to more than 4294967296 bytes");
}

/* What the filters give is bounded too, where no member accounts for it: zeros behind the archive's end. */
static void list_refuses_a_bomb_behind_the_last_member(void **state)
{
    static uint8_t zeros[1 << 20];
    struct maker maker;
    struct archive_list list;
    struct err err = {0};
    struct archive_entry *entry = archive_entry_new();
    uint64_t left = 2 * LIMIT_ARCHIVE_CONTENT_BYTES;

    (void)state;
    maker_begin(&maker, archive_write_set_format_raw, archive_write_add_filter_zstd);
    archive_entry_set_filetype(entry, S_IFREG);
    assert_int_equal(archive_write_header(maker.archive, entry), ARCHIVE_OK);
    make_pax(zeros, "16 path=abcdefg\n");
    assert_int_equal(archive_write_data(maker.archive, zeros, PAX_BYTES), PAX_BYTES);
    memset(zeros, 0, PAX_BYTES);
    for (; left > 0; left -= sizeof zeros)
        assert_int_equal(archive_write_data(maker.archive, zeros, sizeof zeros), sizeof zeros);
    archive_entry_free(entry);
    maker_end(&maker);
    assert_int_equal(archive_list_read(maker.bytes, maker.size_bytes, &list, &err), ERR_LIMIT);
    assert_string_equal(err.text, "the archive unpacks to more than 4294967296 bytes");
    free(maker.bytes);
}

/* Makes a tar of so many empty files, all of one short name, and lists it. */
static int list_many(unsigned count, struct archive_list *list, struct err *err)
{
    struct maker maker;
    int code;

    maker_begin(&maker, archive_write_set_format_gnutar, archive_write_add_filter_zstd);
    for (unsigned i = 0; i < count; i++)
        maker_add(&maker, "m", S_IFREG, NULL, NULL, 0);
    maker_end(&maker);
    code = archive_list_read(maker.bytes, maker.size_bytes, list, err);
    free(maker.bytes);
    return code;
}

static void list_refuses_one_member_more_than_its_limit(void **state)
{
    struct archive_list list;
    struct err err = {0};

    (void)state;
    assert_int_equal(list_many(LIMIT_ARCHIVE_MEMBERS, &list, &err), 0);
    assert_int_equal(list.count, LIMIT_ARCHIVE_MEMBERS);
    archive_list_done(&list);
    assert_int_equal(list_many(LIMIT_ARCHIVE_MEMBERS + 1, &list, &err), ERR_LIMIT);
    assert_string_equal(err.text, "an archive of more than 100000 members");
    assert_int_equal(list.count, 0);
}

/* LZMA's dictionary is as large as the member's head says: here 4 GiB, in 63 bytes. */
static void list_refuses_a_zip_whose_method_takes_memory_at_will(void **state)
{
    static const uint8_t zip[] = "PK\3\4\x3f\0\2\0\x0e\0\0\0\x21\0" /* method 14 */
                                 "\xd1\x65\x58\x7c\x18\0\0\0\x96\0\0\0\4\0\0\0lzma"
                                 "\x09\4\5\0\x5d\xff\xff\xff\xff" /* LZMA's own head: properties, dictionary */
                                 "\0\x30\x98\x88\xac\x1c\x69\xfd\x1e\xff\xff\xfd\xac\x10\0";
    struct archive_list list;
    struct err err = {0};

    (void)state;
    assert_int_equal(archive_list_read(zip, sizeof zip - 1, &list, &err), ERR_LIMIT);
    assert_string_equal(err.text, "a member of the zip is compressed in a way that is not read here: lzma");
    assert_int_equal(list.count, 0);
}

/* An xz of one block whose dictionary is 4 GiB less one byte: its fault, and no lack of memory of this machine. */
static void list_refuses_an_xz_whose_dictionary_no_one_has_room_for(void **state)
{
    static const uint8_t xz[] = "\xfd"
                                "7zXZ\0\0\1\x69\x22\xde\x36"            /* the stream's header: CRC32 as its check */
                                "\2\0\x21\1\x28\0\0\0\xe6\xa0\x11\xb3"; /* the block's: LZMA2, dictionary 40 */
    struct archive_list list;
    struct err err = {0};

    (void)state;
    assert_int_equal(archive_list_read(xz, sizeof xz - 1, &list, &err), ERR_LIMIT);
    assert_string_equal(err.text, "the xz takes more than 83886080 bytes of memory to be undone");
}

static void list_refuses_layers_of_compression_and_tells_its_work(void **state)
{
    static uint8_t content[100000];
    struct maker once, twice;
    struct archive_list list;
    struct err err = {0};
    struct archive_entry *entry = archive_entry_new();

    (void)state;
    maker_begin(&once, archive_write_set_format_pax, archive_write_add_filter_gzip);
    maker_add(&once, "a", S_IFREG, NULL, content, sizeof content);
    maker_end(&once);
    assert_int_equal(archive_list_read(once.bytes, once.size_bytes, &list, &err), 0);
    assert_in_range(list.unpacked_bytes, 2 * sizeof content, 3 * sizeof content); /* unpacked, and digested */
    archive_list_done(&list);
    maker_begin(&twice, archive_write_set_format_raw, archive_write_add_filter_gzip);
    archive_entry_set_filetype(entry, S_IFREG);
    assert_int_equal(archive_write_header(twice.archive, entry), ARCHIVE_OK);
    assert_int_equal(archive_write_data(twice.archive, once.bytes, once.size_bytes), once.size_bytes);
    archive_entry_free(entry);
    maker_end(&twice);
    assert_int_equal(archive_list_read(twice.bytes, twice.size_bytes, &list, &err), ERR_LIMIT);
    assert_string_equal(err.text, "the archive is compressed more than once");
    free(once.bytes);
    free(twice.bytes);
}

static void list_digests_the_holes_of_a_sparse_member(void **state)
{
    static uint8_t whole[300000];
    struct maker maker;
    struct archive_list list;
    struct err err = {0};
    struct archive_entry *entry = archive_entry_new();
    struct digest digest;

    (void)state;
    memset(whole + 200000, 'd', 100);
    digest = digest_of(whole, sizeof whole);
    maker_begin(&maker, archive_write_set_format_pax, NULL);
    archive_entry_set_pathname(entry, "sparse");
    archive_entry_set_filetype(entry, S_IFREG);
    archive_entry_set_perm(entry, 0600);
    archive_entry_set_size(entry, sizeof whole);
    archive_entry_sparse_add_entry(entry, 200000, 100);
    assert_int_equal(archive_write_header(maker.archive, entry), ARCHIVE_OK);
    assert_true(archive_write_data(maker.archive, whole, sizeof whole) > 0);
    archive_entry_free(entry);
    maker_end(&maker);
    assert_true(maker.size_bytes < 100000);
    assert_int_equal(archive_list_read(maker.bytes, maker.size_bytes, &list, &err), 0);
    assert_int_equal(list.members[0]->size_bytes, sizeof whole);
    assert_memory_equal(list.members[0]->sha256.data, digest.bytes, DIGEST_BYTES);
    archive_list_done(&list);
    free(maker.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(list_refuses_a_path_over_its_limit),
        cmocka_unit_test(list_refuses_names_that_no_event_could_hold),
        cmocka_unit_test(list_refuses_a_sparse_bomb_at_once),
        cmocka_unit_test(list_refuses_a_bomb_behind_the_last_member),
        cmocka_unit_test(list_refuses_one_member_more_than_its_limit),
        cmocka_unit_test(list_refuses_a_zip_whose_method_takes_memory_at_will),
        cmocka_unit_test(list_refuses_an_xz_whose_dictionary_no_one_has_room_for),
        cmocka_unit_test(list_refuses_layers_of_compression_and_tells_its_work),
        cmocka_unit_test(list_digests_the_holes_of_a_sparse_member),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
