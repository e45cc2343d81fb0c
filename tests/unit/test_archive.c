/*
 * Archives by member. The archives are made here, through libarchive's writer.
 */
#include "formats/archive.h"
#include "base/bytes.h"
#include "formats/limits.h"

#include <archive.h>
#include <archive_entry.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
/* cmocka.h wants some of the above first. */
#include <cmocka.h>

enum { ROOM_BYTES = 4 << 20 };

/* An archive being made in memory. */
struct maker {
    struct archive *archive;
    uint8_t *bytes;
    size_t size_bytes;
};

typedef int set_up(struct archive *archive);

static void maker_begin(struct maker *maker, set_up *format, set_up *filter)
{
    *maker = (struct maker){.archive = archive_write_new(), .bytes = malloc(ROOM_BYTES)};
    assert_non_null(maker->archive);
    assert_non_null(maker->bytes);
    assert_int_equal(format(maker->archive), ARCHIVE_OK);
    if (filter != NULL)
        assert_int_equal(filter(maker->archive), ARCHIVE_OK);
    assert_int_equal(archive_write_open_memory(maker->archive, maker->bytes, ROOM_BYTES, &maker->size_bytes),
                     ARCHIVE_OK);
}

/* The size must be that of the content; `link` is of a symbolic link, or of a hard link where type is S_IFREG. */
static void maker_add(struct maker *maker, const char *path, mode_t type, const char *link, const void *content,
                      size_t size_bytes)
{
    struct archive_entry *entry = archive_entry_new();

    archive_entry_set_pathname(entry, path);
    archive_entry_set_filetype(entry, type);
    archive_entry_set_perm(entry, type == S_IFDIR ? 0750 : 0640);
    archive_entry_set_mtime(entry, 1234567890, 0);
    archive_entry_set_size(entry, (la_int64_t)size_bytes);
    if (link != NULL && type == S_IFLNK)
        archive_entry_set_symlink(entry, link);
    else if (link != NULL)
        archive_entry_set_hardlink(entry, link);
    assert_int_equal(archive_write_header(maker->archive, entry), ARCHIVE_OK);
    if (size_bytes > 0)
        assert_int_equal(archive_write_data(maker->archive, content, size_bytes), size_bytes);
    archive_entry_free(entry);
}

static void maker_end(struct maker *maker)
{
    assert_int_equal(archive_write_free(maker->archive), ARCHIVE_OK);
}

static void make_usual(struct maker *maker, set_up *format, set_up *filter)
{
    maker_begin(maker, format, filter);
    maker_add(maker, "pack/", S_IFDIR, NULL, NULL, 0);
    maker_add(maker, "pack/zwei", S_IFREG, NULL, "content", 7);
    maker_add(maker, "pack/empty", S_IFREG, NULL, NULL, 0);
    maker_add(maker, "pack/link", S_IFLNK, "zwei", NULL, 0);
    maker_end(maker);
}

static void assert_bytes(const ProtobufCBinaryData *seen, const char *text)
{
    assert_int_equal(seen->len, strlen(text));
    assert_memory_equal(seen->data, text, seen->len);
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

/* Writes one header block of a tar. */
static void write_header(uint8_t *header, const char *path, char type, size_t size_bytes)
{
    unsigned sum = 0;

    (void)snprintf((char *)header, 100, "%s", path);
    (void)snprintf((char *)header + 100, 8, "%07o", 0644u);
    (void)snprintf((char *)header + 124, 12, "%011o", (unsigned)size_bytes);
    (void)snprintf((char *)header + 136, 12, "%011o", 0u);
    memset(header + 148, ' ', 8);
    header[156] = (uint8_t)type;
    memcpy(header + 257, "ustar\00000", 8);
    for (int i = 0; i < 512; i++)
        sum += header[i];
    (void)snprintf((char *)header + 148, 8, "%06o", sum);
}

enum { PAX_BYTES = 512 * 6 };

/* Makes, byte by byte, a tar of one file of one byte with these pax records: what the writer above would not make. */
static void make_pax(uint8_t tar[PAX_BYTES], const char *records)
{
    memset(tar, 0, PAX_BYTES);
    write_header(tar, "pax", 'x', strlen(records));
    (void)snprintf((char *)tar + 512, 512, "%s", records);
    write_header(tar + 1024, "plain", '0', 1);
    tar[1536] = 'd';
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
    assert_string_equal(err.text, "the members' paths have more than 1048576 bytes");
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
        cmocka_unit_test(list_refuses_a_malformed_pax_record),
        cmocka_unit_test(list_refuses_a_path_over_its_limit),
        cmocka_unit_test(list_refuses_names_that_no_event_could_hold),
        cmocka_unit_test(list_refuses_a_sparse_bomb_at_once),
        cmocka_unit_test(list_refuses_a_bomb_behind_the_last_member),
        cmocka_unit_test(list_digests_the_holes_of_a_sparse_member),
        cmocka_unit_test(names_of_archives_are_known_by_their_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
