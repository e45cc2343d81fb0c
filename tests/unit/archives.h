/*
 * What the tests of archives share: archives made in memory, through libarchive's writer or byte by byte.
 */
#pragma once

#include <archive.h>
#include <archive_entry.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { ROOM_BYTES = 4 << 20 };

/* An archive being made in memory. */
struct maker {
    struct archive *archive;
    uint8_t *bytes;
    size_t size_bytes;
};

typedef int set_up(struct archive *archive);

__attribute__((unused)) static void maker_begin(struct maker *maker, set_up *format, set_up *filter)
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
__attribute__((unused)) static void maker_add(struct maker *maker, const char *path, mode_t type, const char *link,
                                              const void *content, size_t size_bytes)
{
    struct archive_entry *entry = archive_entry_new();

    archive_entry_set_pathname(entry, path);
    archive_entry_set_filetype(entry, type);
    archive_entry_set_perm(entry, type == S_IFDIR ? 0750 : 0640);
    archive_entry_set_mtime(entry, 1234567890, 0);
    archive_entry_set_uid(entry, 1000);
    archive_entry_set_gid(entry, 100);
    archive_entry_set_uname(entry, "who");
    archive_entry_set_gname(entry, "some");
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

__attribute__((unused)) static void maker_end(struct maker *maker)
{
    assert_int_equal(archive_write_free(maker->archive), ARCHIVE_OK);
}

/* Writes one header block of a tar. */
__attribute__((unused)) static void write_header(uint8_t *header, const char *path, char type, size_t size_bytes)
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
__attribute__((unused)) static void make_pax(uint8_t tar[PAX_BYTES], const char *records)
{
    memset(tar, 0, PAX_BYTES);
    write_header(tar, "pax", 'x', strlen(records));
    (void)snprintf((char *)tar + 512, 512, "%s", records);
    write_header(tar + 1024, "plain", '0', 1);
    tar[1536] = 'd';
}

__attribute__((unused)) static void assert_bytes(const ProtobufCBinaryData *seen, const char *text)
{
    assert_int_equal(seen->len, strlen(text));
    assert_memory_equal(seen->data, text, seen->len);
}
