#include "test_pack_fixture.h"

#include "base/cleanup.h"
#include "base/file.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include <cmocka.h>

#define FOOTER_BYTES 208

int folder_make(char *out_path)
{
    int fd;

    strcpy(out_path, "/tmp/exhibit-test-pack-XXXXXX");
    assert_non_null(mkdtemp(out_path));
    fd = open(out_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

/* Counts the files in a folder, and removes them where `remove`. */
static unsigned folder_walk(int dir_fd, bool remove)
{
    int own_fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO_DIR DIR *dir = fdopendir(own_fd);
    unsigned count = 0;

    assert_non_null(dir);
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        count++;
        if (remove)
            assert_int_equal(unlinkat(dir_fd, entry->d_name, 0), 0);
    }
    return count;
}

void folder_remove(int dir_fd, const char *path)
{
    (void)folder_walk(dir_fd, true);
    (void)close(dir_fd);
    assert_int_equal(rmdir(path), 0);
}

unsigned folder_count(int dir_fd)
{
    return folder_walk(dir_fd, false);
}

char test_folder[64];
int test_folder_fd = -1;

int folder_set_up(void **state)
{
    (void)state;
    test_folder_fd = folder_make(test_folder);
    return 0;
}

int folder_tear_down(void **state)
{
    (void)state;
    folder_remove(test_folder_fd, test_folder);
    return 0;
}

void must(int code, const struct err *err)
{
    if (code != 0)
        fail_msg("%s", err->text);
}

void noise(uint8_t *to, size_t size_bytes, uint32_t seed)
{
    uint64_t state = 0x9E3779B97F4A7C15u * (seed + 1);

    for (size_t i = 0; i < size_bytes; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        to[i] = (uint8_t)(state >> 32);
    }
}

void load(int dir_fd, const char *name, struct bytes *out)
{
    struct err err = {0};

    if (file_read_path(dir_fd, name, 1, 1u << 30, out, &err) < 0)
        fail_msg("%s", err.text);
}

int memory_file(const void *from, size_t size_bytes)
{
    struct err err = {0};
    int fd = memfd_create("pack", MFD_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(file_write_all(fd, from, size_bytes, &err), 0);
    return fd;
}

int judge(const void *from, size_t size_bytes, struct err *err)
{
    AUTO_FD int fd = memory_file(from, size_bytes);
    struct pack *pack = NULL;
    int code = pack_open(fd, &pack, err);

    if (code == 0)
        code = pack_check(pack, err);
    pack_close(pack);
    return code;
}

void range_of(const struct err *err, uint64_t *out_first, uint64_t *out_last)
{
    unsigned long long first, last;
    const char *text = strrchr(err->text, '(');

    if (text == NULL || sscanf(text, "(bytes %llu to %llu)", &first, &last) != 2)
        fail_msg("no range of bytes: %s", err->text);
    *out_first = first;
    *out_last = last;
}

void refuse(const struct bytes *file, int code, const char *text)
{
    struct err err = {0};
    int found = judge(file->data, file->size_bytes, &err);
    uint64_t first, last;

    if (found != code || strstr(err.text, text) == NULL)
        fail_msg("wanted %d \"%s\", got %d \"%s\"", code, text, found, err.text);
    range_of(&err, &first, &last);
    assert_true(first <= last && last < file->size_bytes && last - first < LIMIT_BLOCK_BYTES);
}

/* Appends bytes. */
static void add(struct bytes *to, const void *from, size_t size_bytes)
{
    struct err err = {0};

    assert_int_equal(bytes_add(to, from, size_bytes, 1u << 30, &err), 0);
}

void forge_number(struct bytes *to, uint64_t value, size_t width)
{
    for (size_t i = 0; i < width; i++)
        add(to, &(uint8_t){(uint8_t)(value >> 8 * i)}, 1);
}

/* Reads a number of 8 bytes. */
static uint64_t number_at(const struct bytes *file, size_t at, size_t width)
{
    uint64_t value = 0;

    assert_true(at + width <= file->size_bytes);
    for (size_t i = width; i > 0; i--)
        value = value << 8 | file->data[at + i - 1];
    return value;
}

/* Adds where an element begins. */
static void add_element(struct elements *elements, size_t at)
{
    elements->at = reallocarray(elements->at, elements->count + 1, sizeof *elements->at);
    assert_non_null(elements->at);
    elements->at[elements->count++] = at;
}

struct elements elements_of(const struct bytes *file)
{
    size_t end = forge_index_at(file, 1);
    struct elements elements = {0};

    add_element(&elements, 0);
    for (size_t at = 24; at < end;) {
        add_element(&elements, at);
        at += 8 + number_at(file, at + 4, 4);
        add_element(&elements, at);
        at += ZSTD_findFrameCompressedSize(file->data + at, end - at);
    }
    add_element(&elements, end);
    add_element(&elements, forge_index_at(file, 2));
    add_element(&elements, file->size_bytes - FOOTER_BYTES);
    add_element(&elements, file->size_bytes);
    elements.count--;
    return elements;
}

void elements_done(struct elements *elements)
{
    free(elements->at);
}

bool element_is_named(const struct elements *elements, const struct err *err, uint64_t first, uint64_t last)
{
    size_t number = 0;

    if (strstr(err->text, "no footer at its end") != NULL || strstr(err->text, "follow the footer") != NULL)
        return last - first < FOOTER_BYTES;
    while (number < elements->count && elements->at[number + 1] <= first)
        number++;
    return number < elements->count && last < elements->at[number + 1];
}

void forge_frame(const void *from, size_t size_bytes, struct bytes *out)
{
    struct err err = {0};
    ZSTD_CCtx *compressor = ZSTD_createCCtx();
    size_t done;

    assert_int_equal(bytes_reserve(out, ZSTD_compressBound(size_bytes), 1u << 30, &err), 0);
    assert_false(ZSTD_isError(ZSTD_CCtx_setParameter(compressor, ZSTD_c_checksumFlag, 1)));
    done = ZSTD_compress2(compressor, out->data, out->room_bytes, from, size_bytes);
    assert_false(ZSTD_isError(done));
    out->size_bytes = done;
    ZSTD_freeCCtx(compressor);
}

struct forge_group forge_text(uint32_t part, const char *text)
{
    struct forge_group group = {.part = part, .content_bytes = (uint32_t)strlen(text), .count = 1};

    group.entries[0] = (struct forge_entry){digest_of(text, strlen(text)), strlen(text)};
    forge_frame(text, strlen(text), &group.frame);
    return group;
}

/* Appends the index of a part: the records of what the groups list, objects in ascending order. */
static void add_index(const struct forge_group *groups, size_t count, uint32_t part, const uint64_t *frames_at,
                      struct bytes *out)
{
    AUTO_BYTES struct bytes blocks = {0};
    uint8_t objects[32][48];
    uint64_t start = 0, block_start = 0;
    uint32_t object_count = 0, block_count = 0;

    for (size_t i = 0; i < count; block_start += groups[i].part == part ? groups[i].content_bytes : 0, i++) {
        struct digest digest = digest_of(groups[i].frame.data, groups[i].frame.size_bytes);

        if (groups[i].part != part)
            continue;
        forge_number(&blocks, frames_at[i], 8);
        forge_number(&blocks, groups[i].frame.size_bytes, 4);
        forge_number(&blocks, groups[i].content_bytes, 4);
        add(&blocks, digest.bytes, 32);
        for (uint32_t j = 0; j < groups[i].count; j++) {
            AUTO_BYTES struct bytes record = {0};

            assert_true(start >= block_start && object_count < 32); /* objects of one block only */
            add(&record, groups[i].entries[j].digest.bytes, 32);
            forge_number(&record, groups[i].entries[j].size_bytes, 8);
            forge_number(&record, j + groups[i].unlisted < groups[i].count ? block_count : 0, 4);
            forge_number(&record, j + groups[i].unlisted < groups[i].count ? start - block_start : 0, 4);
            memcpy(objects[object_count++], record.data, 48);
            start += groups[i].entries[j].size_bytes;
        }
        block_count++;
    }
    for (uint32_t i = 0; i < object_count; i++)
        for (uint32_t j = i; j > 0 && memcmp(objects[j - 1], objects[j], 32) > 0; j--) {
            uint8_t held[48];

            memcpy(held, objects[j], 48);
            memcpy(objects[j], objects[j - 1], 48);
            memcpy(objects[j - 1], held, 48);
        }
    forge_number(out, 0x184D2A52, 4);
    forge_number(out, 16 + 48 * object_count + 48 * block_count, 4);
    forge_number(out, part, 4);
    forge_number(out, object_count, 4);
    forge_number(out, block_count, 4);
    forge_number(out, 0, 4);
    add(out, objects, (size_t)object_count * 48);
    add(out, blocks.data, blocks.size_bytes);
}

void forge_file(const struct forge_group *groups, size_t count, struct bytes *out)
{
    static const uint8_t zero[32];
    uint64_t frames_at[16], index_at[3];
    const struct forge_group *first = NULL;

    assert_true(count <= 16);
    bytes_done(out);
    forge_number(out, 0x184D2A50, 4);
    forge_number(out, 16, 4);
    add(out, "EXHIBIT\n", 8);
    forge_number(out, 1, 8);
    for (size_t i = 0; i < count; i++) {
        forge_number(out, 0x184D2A51, 4);
        forge_number(out, 8 + 40 * (groups[i].count - groups[i].unlisted), 4);
        forge_number(out, groups[i].part, 4);
        forge_number(out, groups[i].count - groups[i].unlisted, 4);
        for (uint32_t j = 0; j < groups[i].count - groups[i].unlisted; j++) {
            add(out, groups[i].entries[j].digest.bytes, 32);
            forge_number(out, groups[i].entries[j].size_bytes, 8);
        }
        frames_at[i] = out->size_bytes;
        add(out, groups[i].frame.data, groups[i].frame.size_bytes);
        if (first == NULL && groups[i].part == 1)
            first = &groups[i];
    }
    for (uint32_t part = 1; part <= 2; part++) {
        index_at[part - 1] = out->size_bytes;
        add_index(groups, count, part, frames_at, out);
    }
    index_at[2] = out->size_bytes;
    forge_number(out, 0x184D2A53, 4);
    forge_number(out, 200, 4);
    for (unsigned i = 0; i < 2; i++) {
        forge_number(out, index_at[i], 8);
        forge_number(out, index_at[i + 1] - index_at[i], 8);
        add(out, zero, 32);
    }
    assert_non_null(first);
    add(out, first->entries[0].digest.bytes, 32);
    add(out, zero, 32);
    add(out, zero, 32);
    add(out, "EXHIBEND", 8);
    forge_seal(out);
}

size_t forge_index_at(const struct bytes *file, uint32_t part)
{
    return number_at(file, file->size_bytes - FOOTER_BYTES + 8 + 48 * (part - 1), 8);
}

size_t forge_object_at(const struct bytes *file, uint32_t part, uint32_t number)
{
    return forge_index_at(file, part) + 24 + (size_t)48 * number;
}

size_t forge_block_at(const struct bytes *file, uint32_t part, uint32_t number)
{
    return forge_object_at(file, part, (uint32_t)number_at(file, forge_index_at(file, part) + 12, 4) + number);
}

void forge_patch(struct bytes *file, size_t at, uint64_t value, size_t width)
{
    assert_true(at + width <= file->size_bytes);
    for (size_t i = 0; i < width; i++)
        file->data[at + i] = (uint8_t)(value >> 8 * i);
}

void forge_seal(struct bytes *file)
{
    size_t footer = file->size_bytes - FOOTER_BYTES;
    struct digest digest;

    for (unsigned i = 0; i < 2; i++) {
        size_t at = number_at(file, footer + 8 + 48 * i, 8), size_bytes = number_at(file, footer + 16 + 48 * i, 8);

        assert_true(at < footer && size_bytes <= footer - at);
        digest = digest_of(file->data + at, size_bytes);
        memcpy(file->data + footer + 24 + 48 * i, digest.bytes, 32);
    }
    digest = digest_of(file->data + footer, 168);
    memcpy(file->data + footer + 168, digest.bytes, 32);
}
