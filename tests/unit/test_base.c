/*
 * base/: errors by kind, checked bytes, the cursor, whole reads and writes.
 */
#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
/* cmocka.h wants some of the above first. */
#include <cmocka.h>

static char folder[] = "/tmp/test_base.XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    static const char *const names[] = {"file", "link", "pipe", "empty"};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[64];

        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        (void)unlink(path);
    }
    return rmdir(folder);
}

static int folder_fd(void)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    assert_true(fd >= 0);
    return fd;
}

/* ---- err ---- */

static void err_wrap_puts_context_before_and_keeps_the_kind(void **state)
{
    struct err err = {0};

    (void)state;
    assert_int_equal(err_set(&err, ERR_MISMATCH, "block %d", 7), ERR_MISMATCH);
    assert_int_equal(err_wrap(&err, "file %s", "x"), ERR_MISMATCH);
    assert_string_equal(err.text, "file x: block 7");
}

static void err_text_is_cut_and_terminated(void **state)
{
    char much[3000];
    struct err err = {0};

    (void)state;
    memset(much, 'a', sizeof much - 1);
    much[sizeof much - 1] = 0;
    err_set(&err, ERR_FORMAT, "%s", much);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    err_wrap(&err, "%s", much);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    errno = ENOENT;
    assert_int_equal(err_set_errno(&err, "%s", much), ERR_SYSTEM);
    assert_int_equal(err.sys_errno, ENOENT);
}

static void err_set_errno_tells_number_and_text(void **state)
{
    struct err err = {0};

    (void)state;
    errno = EACCES;
    assert_int_equal(err_set_errno(&err, "open %s", "f"), ERR_SYSTEM);
    assert_string_equal(err.text, "open f: Permission denied");
    assert_int_equal(err.sys_errno, EACCES);
}

static void every_kind_has_its_own_words(void **state)
{
    (void)state;
    for (int a = ERR_USAGE; a <= ERR_OK; a++)
        for (int b = ERR_USAGE; b < a; b++)
            assert_string_not_equal(err_kind_text((enum err_code)a), err_kind_text((enum err_code)b));
}

/* ---- bytes ---- */

static void bytes_add_keeps_the_bytes_and_an_uncounted_nul(void **state)
{
    AUTO_BYTES struct bytes bytes = {0};
    struct err err = {0};

    (void)state;
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(bytes_add(&bytes, "abc", 3, 3000, &err), 0);
        assert_int_equal(bytes.data[bytes.size_bytes], 0);
    }
    assert_int_equal(bytes.size_bytes, 3000);
    assert_memory_equal(bytes.data + 2997, "abc", 3);
}

static void bytes_add_refuses_more_than_its_limit_and_stays(void **state)
{
    AUTO_BYTES struct bytes bytes = {0};
    struct err err = {0};

    (void)state;
    assert_int_equal(bytes_add(&bytes, "abcd", 4, 4, &err), 0);
    assert_int_equal(bytes_add(&bytes, "e", 1, 4, &err), ERR_LIMIT);
    assert_string_equal(err.text, "more than 4 bytes");
    assert_int_equal(bytes.size_bytes, 4);
    assert_int_equal(bytes_reserve(&bytes, SIZE_MAX, SIZE_MAX, &err), ERR_LIMIT);
    assert_int_equal(bytes_reserve(&bytes, SIZE_MAX - 4, SIZE_MAX, &err), ERR_LIMIT);
}

static void hex_goes_there_and_back_and_refuses_all_else(void **state)
{
    static const uint8_t raw[] = {0x00, 0x7f, 0xab, 0xff};
    char text[9];
    uint8_t back[4] = {1, 2, 3, 4};

    (void)state;
    hex_encode(raw, sizeof raw, text);
    assert_string_equal(text, "007fabff");
    assert_true(hex_decode(text, back, 4));
    assert_memory_equal(raw, back, 4);
    assert_false(hex_decode("007FABFF", back, 4));
    assert_false(hex_decode("007fabf", back, 4));
    assert_false(hex_decode("007fabff0", back, 4));
    assert_false(hex_decode("007fabf ", back, 4));
    assert_memory_equal(raw, back, 4);
}

/* ---- cursor ---- */

static void cursor_refuses_every_truncation_and_does_not_move(void **state)
{
    static const uint8_t whole[8] = {1, 2, 3, 4, 5, 6, 7, 8};

    (void)state;
    for (size_t kept = 0; kept < 8; kept++) {
        struct cursor from = {whole, kept}, part;
        uint64_t number = 99;
        uint32_t half = 99;
        uint8_t copy[8];

        assert_false(cursor_take_u64le(&from, &number));
        assert_false(cursor_take_bytes(&from, kept + 1, &part));
        assert_false(cursor_copy(&from, copy, 8));
        assert_true(kept >= 4 || !cursor_take_u32le(&from, &half));
        assert_ptr_equal(from.at, whole);
        assert_int_equal(from.left_bytes, kept);
        assert_int_equal(number, 99);
    }
}

static void cursor_reads_little_endian(void **state)
{
    static const uint8_t whole[12] = {1, 2, 3, 4, 5, 6, 7, 0x88, 0xff, 0, 0, 0x80};
    struct cursor from = {whole, sizeof whole};
    uint64_t wide;
    uint32_t narrow;

    (void)state;
    assert_true(cursor_take_u64le(&from, &wide));
    assert_true(wide == 0x8807060504030201ull);
    assert_true(cursor_take_u32le(&from, &narrow));
    assert_int_equal(narrow, 0x800000ffu);
    assert_int_equal(from.left_bytes, 0);
}

static void varint_takes_the_shortest_form_only(void **state)
{
    static const struct {
        uint8_t bytes[11];
        size_t size;
        bool good;
        uint64_t value;
    } cases[] = {
        {{0}, 1, true, 0},
        {{127}, 1, true, 127},
        {{0x80, 1}, 2, true, 128},
        {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, 10, true, UINT64_MAX},
        {{0x80, 0}, 2, false, 0},
        {{0x81, 0x80, 0}, 3, false, 0},
        {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2}, 10, false, 0},
        {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x81, 1}, 11, false, 0},
        {{0x80}, 1, false, 0},
        {{0}, 0, false, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cursor from = {cases[i].bytes, cases[i].size};
        uint64_t value = 77;

        assert_int_equal(cursor_take_varint(&from, &value), cases[i].good);
        assert_true(value == (cases[i].good ? cases[i].value : 77));
        assert_int_equal(from.left_bytes, cases[i].good ? 0 : cases[i].size);
    }
}

/* ---- file ---- */

static void file_create_writes_all_with_its_mode_and_once_only(void **state)
{
    AUTO_FD int dir = folder_fd();
    AUTO_BYTES struct bytes back = {0};
    struct err err = {0};
    struct stat stat;
    mode_t mask = umask(077);

    (void)state;
    assert_int_equal(file_create(dir, "file", 0644, "content", 7, &err), 0);
    (void)umask(mask);
    assert_int_equal(fstatat(dir, "file", &stat, 0), 0);
    assert_int_equal(stat.st_mode & 07777, 0644);
    assert_int_equal(file_read_path(dir, "file", 1, 7, &back, &err), 0);
    assert_int_equal(back.size_bytes, 7);
    assert_memory_equal(back.data, "content", 7);
    assert_int_equal(file_create(dir, "file", 0644, "x", 1, &err), ERR_SYSTEM);
    assert_non_null(strstr(err.text, "File exists"));
    assert_int_equal(file_read_path(dir, "file", 1, 6, &back, &err), ERR_LIMIT);
    assert_non_null(strstr(err.text, "more than 6 bytes"));
    assert_int_equal(back.size_bytes, 7);
    assert_int_equal(unlinkat(dir, "file", 0), 0);
}

static void file_read_path_neither_follows_nor_blocks(void **state)
{
    AUTO_FD int dir = folder_fd();
    AUTO_BYTES struct bytes back = {0};
    struct err err = {0};

    (void)state;
    assert_int_equal(symlinkat("/etc/passwd", dir, "link"), 0);
    assert_int_equal(file_read_path(dir, "link", 1, 1 << 20, &back, &err), ERR_SYSTEM);
    assert_int_equal(err.sys_errno, ELOOP);
    assert_int_equal(mkfifoat(dir, "pipe", 0600), 0);
    assert_int_equal(file_read_path(dir, "pipe", 1, 1 << 20, &back, &err), ERR_USAGE);
    assert_non_null(strstr(err.text, "not a regular file"));
    assert_int_equal(file_read_path(dir, "missing", 1, 1 << 20, &back, &err), ERR_SYSTEM);
    assert_int_equal(err.sys_errno, ENOENT);
    assert_int_equal(back.size_bytes, 0);
}

static void file_pread_all_tells_a_file_that_ends_early_from_a_read_error(void **state)
{
    AUTO_FD int dir = folder_fd();
    AUTO_FD int fd = -1;
    struct err err = {0};
    char part[4];

    (void)state;
    assert_int_equal(file_create(dir, "file", 0600, "content", 7, &err), 0);
    fd = openat(dir, "file", O_RDONLY | O_CLOEXEC);
    assert_int_equal(file_pread_all(fd, part, 4, 3, &err), 0);
    assert_memory_equal(part, "tent", 4);
    assert_int_equal(file_pread_all(fd, part, 4, 4, &err), ERR_FORMAT);
    assert_string_equal(err.text, "the file ends at 7, 1 bytes too early");
    assert_int_equal(file_pread_all(dir, part, 4, 0, &err), ERR_SYSTEM);
    assert_int_equal(err.sys_errno, EISDIR);
    assert_int_equal(unlinkat(dir, "file", 0), 0);
}

static void file_write_all_tells_what_could_not_be_written(void **state)
{
    AUTO_FD int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    struct err err = {0};

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(file_write_all(fd, "abc", 3, &err), ERR_SYSTEM);
    assert_int_equal(err.sys_errno, ENOSPC);
}

static void file_random_does_not_repeat(void **state)
{
    uint8_t a[32] = {0}, b[32] = {0};
    struct err err = {0};

    (void)state;
    assert_int_equal(file_random(a, sizeof a, &err), 0);
    assert_int_equal(file_random(b, sizeof b, &err), 0);
    assert_memory_not_equal(a, b, sizeof a);
}

static void handing_on_spends_the_local(void **state)
{
    int fd = 5;
    AUTO_FREE char *text = strdup("x");
    AUTO_FREE char *given = take_ptr(&text);

    (void)state;
    assert_int_equal(take_fd(&fd), 5);
    assert_int_equal(fd, -1);
    assert_null(text);
    assert_string_equal(given, "x");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(err_wrap_puts_context_before_and_keeps_the_kind),
        cmocka_unit_test(err_text_is_cut_and_terminated),
        cmocka_unit_test(err_set_errno_tells_number_and_text),
        cmocka_unit_test(every_kind_has_its_own_words),
        cmocka_unit_test(bytes_add_keeps_the_bytes_and_an_uncounted_nul),
        cmocka_unit_test(bytes_add_refuses_more_than_its_limit_and_stays),
        cmocka_unit_test(hex_goes_there_and_back_and_refuses_all_else),
        cmocka_unit_test(cursor_refuses_every_truncation_and_does_not_move),
        cmocka_unit_test(cursor_reads_little_endian),
        cmocka_unit_test(varint_takes_the_shortest_form_only),
        cmocka_unit_test(file_create_writes_all_with_its_mode_and_once_only),
        cmocka_unit_test(file_read_path_neither_follows_nor_blocks),
        cmocka_unit_test(file_pread_all_tells_a_file_that_ends_early_from_a_read_error),
        cmocka_unit_test(file_write_all_tells_what_could_not_be_written),
        cmocka_unit_test(file_random_does_not_repeat),
        cmocka_unit_test(handing_on_spends_the_local),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
