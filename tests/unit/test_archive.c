/*
 * Archives by member.
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

static void make_usual(struct maker *maker, set_up *format, set_up *filter)
{
    maker_begin(maker, format, filter);
    maker_add(maker, "pack/", S_IFDIR, NULL, NULL, 0);
    maker_add(maker, "pack/zwei", S_IFREG, NULL, "content", 7);
    maker_add(maker, "pack/empty", S_IFREG, NULL, NULL, 0);
    maker_add(maker, "pack/link", S_IFLNK, "zwei", NULL, 0);
    maker_end(maker);
}

static void assert_usual(const struct archive_list *list)
{
    struct digest content = digest_of("content", 7), empty = digest_of("", 0);

    assert_int_equal(list->count, 4);
    assert_bytes(&list->members[0]->path, "pack/");
    assert_int_equal(list->members[0]->type, S_IFDIR);
    assert_int_equal(list->members[0]->mode, 0750);
    assert_int_equal(list->members[0]->sha256.len, 0);
    assert_bytes(&list->members[1]->path, "pack/zwei");
    assert_int_equal(list->members[1]->type, S_IFREG);
    assert_int_equal(list->members[1]->mode, 0640);
    assert_int_equal(list->members[1]->size_bytes, 7);
    assert_int_equal(list->members[1]->mtime_s, 1234567890);
    assert_memory_equal(list->members[1]->sha256.data, content.bytes, DIGEST_BYTES);
    assert_int_equal(list->members[1]->owner->uid, 1000);
    assert_int_equal(list->members[1]->owner->gid, 100);
    assert_int_equal(list->members[2]->size_bytes, 0);
    assert_memory_equal(list->members[2]->sha256.data, empty.bytes, DIGEST_BYTES);
    assert_int_equal(list->members[3]->type, S_IFLNK);
    assert_bytes(&list->members[3]->link, "zwei");
    assert_int_equal(list->members[3]->sha256.len, 0);
}

static const struct {
    set_up *format;
    set_up *filter;
} sorts[] = {
    {archive_write_set_format_ustar, NULL},
    {archive_write_set_format_pax, archive_write_add_filter_gzip},
    {archive_write_set_format_gnutar, archive_write_add_filter_zstd},
    {archive_write_set_format_pax, archive_write_add_filter_xz},
    {archive_write_set_format_ustar, archive_write_add_filter_bzip2},
    {archive_write_set_format_zip, NULL},
};

enum { SORTS = sizeof sorts / sizeof *sorts };

static void list_tells_each_member_of_tar_and_zip_under_every_filter(void **state)
{
    (void)state;
    for (size_t i = 0; i < SORTS; i++) {
        struct maker maker;
        struct archive_list list;
        struct err err = {0};

        make_usual(&maker, sorts[i].format, sorts[i].filter);
        assert_int_equal(archive_list_read(maker.bytes, maker.size_bytes, &list, &err), 0);
        assert_usual(&list);
        for (size_t j = 0; j < list.count; j++) { /* zip knows numbers alone */
            const Exhibit__MemberOwner *owner = list.members[j]->owner;

            assert_bytes(&owner->uname, sorts[i].format == archive_write_set_format_zip ? "" : "who");
            assert_bytes(&owner->gname, sorts[i].format == archive_write_set_format_zip ? "" : "some");
        }
        archive_list_done(&list);
        free(maker.bytes);
    }
}

/* Compressed streams are refused at every length, even where the cut is behind the archive's last member. */
static void list_refuses_every_truncation_of_a_compressed_tar(void **state)
{
    (void)state;
    for (size_t i = 1; i <= 4; i++) {
        struct maker maker;

        make_usual(&maker, sorts[i].format, sorts[i].filter);
        for (size_t kept = 0; kept < maker.size_bytes; kept++) {
            uint8_t *cut = malloc(kept + 1); /* of its own size, so that a read beyond shows */
            struct archive_list list;
            struct err err = {0};

            assert_non_null(cut);
            memcpy(cut, maker.bytes, kept);
            assert_int_equal(archive_list_read(cut, kept, &list, &err), ERR_FORMAT);
            assert_non_null(strstr(err.text, "the archive is damaged or none: "));
            assert_int_equal(list.count, 0);
            free(cut);
        }
        free(maker.bytes);
    }
}

static void list_refuses_a_damaged_zip_and_tar(void **state)
{
    struct maker maker;
    struct archive_list list;
    struct err err = {0};
    uint8_t *at;

    (void)state;
    maker_begin(&maker, archive_write_set_format_zip, archive_write_zip_set_compression_store);
    maker_add(&maker, "a", S_IFREG, NULL, "some content", 12);
    maker_end(&maker);
    at = memmem(maker.bytes, maker.size_bytes, "some content", 12);
    assert_non_null(at);
    *at = 'S';
    assert_int_equal(archive_list_read(maker.bytes, maker.size_bytes, &list, &err), ERR_FORMAT);
    assert_non_null(strstr(err.text, "CRC"));
    free(maker.bytes);

    make_usual(&maker, archive_write_set_format_ustar, NULL);
    maker.bytes[512 + 100] ^= 1; /* the second header: its checksum does not fit any more */
    assert_int_equal(archive_list_read(maker.bytes, maker.size_bytes, &list, &err), ERR_FORMAT);
    assert_non_null(strstr(err.text, "damaged"));
    assert_int_equal(archive_list_read(maker.bytes, 1024 + 100, &list, &err), ERR_FORMAT);
    free(maker.bytes);
    assert_int_equal(archive_list_read("no archive, only text", 21, &list, &err), ERR_FORMAT);
    assert_non_null(strstr(err.text, "damaged or none"));
    assert_int_equal(archive_list_read("", 0, &list, &err), ERR_FORMAT);
}

static void list_tells_hard_links_and_names_of_any_script(void **state)
{
    struct maker maker;
    struct archive_list list;
    struct err err = {0};

    (void)state;
    maker_begin(&maker, archive_write_set_format_gnutar, NULL);
    maker_add(&maker, "gr\xc3\xbc\xc3\x9f\x65", S_IFREG, NULL, "x", 1);
    maker_add(&maker, "raw\xff", S_IFREG, NULL, "x", 1);
    maker_add(&maker, "again", S_IFREG, "raw", NULL, 0);
    maker_end(&maker);
    assert_int_equal(archive_list_read(maker.bytes, maker.size_bytes, &list, &err), 0);
    assert_int_equal(list.count, 3);
    assert_bytes(&list.members[0]->path, "gr\xc3\xbc\xc3\x9f\x65");
    assert_bytes(&list.members[1]->path, "raw\xff");
    assert_bytes(&list.members[2]->link, "raw");
    assert_int_equal(list.members[2]->sha256.len, 0);
    archive_list_done(&list);
    free(maker.bytes);
}

/* A pax name beyond ASCII, as many tools write it, is UTF-8 whatever the caller's locale. */
static void list_reads_pax_names_in_the_plain_locale(void **state)
{
    uint8_t tar[PAX_BYTES];
    struct archive_list list;
    struct err err = {0};

    (void)state;
    make_pax(tar, "16 path=gr\xc3\xbc\xc3\x9f\x65\n");
    assert_int_equal(archive_list_read(tar, sizeof tar, &list, &err), 0);
    assert_int_equal(list.count, 1);
    assert_bytes(&list.members[0]->path, "gr\xc3\xbc\xc3\x9f\x65");
    archive_list_done(&list);
    make_pax(tar, "13 path=a\xff\x62\xfe\n");
    assert_int_equal(archive_list_read(tar, sizeof tar, &list, &err), 0);
    assert_bytes(&list.members[0]->path, "a\xff\x62\xfe");
    archive_list_done(&list);
}

/* The same for a zip that marks its names as UTF-8 (bit 11 of the flags, in both of its headers). */
static void list_reads_zip_names_in_the_plain_locale(void **state)
{
    struct maker maker;
    struct archive_list list;
    struct err err = {0};
    uint8_t *local, *central;

    (void)state;
    maker_begin(&maker, archive_write_set_format_zip, archive_write_zip_set_compression_store);
    maker_add(&maker, "gr\xc3\xbc\xc3\x9f\x65", S_IFREG, NULL, "x", 1);
    maker_end(&maker);
    local = memmem(maker.bytes, maker.size_bytes, "PK\3\4", 4);
    central = memmem(maker.bytes, maker.size_bytes, "PK\1\2", 4);
    assert_true(local != NULL && central != NULL);
    local[7] |= 8;
    central[9] |= 8;
    assert_int_equal(archive_list_read(maker.bytes, maker.size_bytes, &list, &err), 0);
    assert_int_equal(list.count, 1);
    assert_bytes(&list.members[0]->path, "gr\xc3\xbc\xc3\x9f\x65");
    archive_list_done(&list);
    free(maker.bytes);
}

static void list_refuses_a_malformed_pax_record(void **state)
{
    uint8_t tar[PAX_BYTES];
    struct archive_list list;
    struct err err = {0};

    (void)state;
    make_pax(tar, "9 path=a\nb");
    assert_int_equal(archive_list_read(tar, sizeof tar, &list, &err), ERR_FORMAT);
    assert_non_null(strstr(err.text, "malformed pax"));
}

static void names_of_archives_are_known_by_their_end(void **state)
{
    static const char *const known[] = {"a.tar", "b/c.tgz", "d.zip", "e.tar.gz", "f/g.tar.zst", "h.tar.xz"};
    static const char *const unknown[] = {"tar", "a.tar.", "a.tar/b", "a.tar.gz.sig", "a.gz", "a.tart", "", "zip"};

    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_true(archive_name_is_known(known[i], strlen(known[i])));
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        assert_false(archive_name_is_known(unknown[i], strlen(unknown[i])));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(list_tells_each_member_of_tar_and_zip_under_every_filter),
        cmocka_unit_test(list_refuses_every_truncation_of_a_compressed_tar),
        cmocka_unit_test(list_refuses_a_damaged_zip_and_tar),
        cmocka_unit_test(list_tells_hard_links_and_names_of_any_script),
        cmocka_unit_test(list_reads_pax_names_in_the_plain_locale),
        cmocka_unit_test(list_reads_zip_names_in_the_plain_locale),
        cmocka_unit_test(list_refuses_a_malformed_pax_record),
        cmocka_unit_test(names_of_archives_are_known_by_their_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
