/* What a writer does to its test_folder, and with files that change while they are read. */
#include "base/cleanup.h"
#include "base/file.h"
#include "test_pack_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#define LARGE_BYTES (LIMIT_BLOCK_BYTES + 1000)

static int rename_errno; /* 0: the real call */

/* The file that becomes another when it is read from its start for the time `changes_at`: while it is stored. */
static struct {
    int fd;
    unsigned starts;
    unsigned changes_at;
    const uint8_t *data;
    size_t size_bytes;
} changing = {.fd = -1};

/* The linker puts these before the real ones. */
ssize_t __real_pread64(int fd, void *to, size_t size_bytes, off_t offset);
ssize_t __wrap_pread64(int fd, void *to, size_t size_bytes, off_t offset);
int __real_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags);
int __wrap_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags);

ssize_t __wrap_pread64(int fd, void *to, size_t size_bytes, off_t offset)
{
    if (fd == changing.fd && offset == 0 && ++changing.starts == changing.changes_at) {
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(pwrite(fd, changing.data, changing.size_bytes, 0), (ssize_t)changing.size_bytes);
    }
    return __real_pread64(fd, to, size_bytes, offset);
}

int __wrap_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
    if (rename_errno != 0) {
        errno = rename_errno;
        return -1;
    }
    return __real_renameat2(from_fd, from, to_fd, to, flags);
}

static int set_up(void **state)
{
    (void)state;
    rename_errno = 0;
    (void)folder_set_up(state);
    return 0;
}

/* Starts "p" with one observation, the receipt. */
static struct pack_writer *begin(struct digest *out_receipt)
{
    struct pack_writer *writer = NULL;
    struct err err = {0};

    if (pack_writer_new(test_folder_fd, "p", &writer, &err) < 0 ||
        pack_put(writer, PACK_OBSERVATION, "receipt", 7, out_receipt, &err) < 0)
        fail_msg("%s", err.text);
    return writer;
}

static void a_name_that_is_taken_or_no_name_is_refused(void **state)
{
    static const char *const bad[] = {"", ".", "..", "a/b", "/p"};
    struct pack_writer *writer = NULL;
    struct err err = {0};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(pack_writer_new(test_folder_fd, bad[i], &writer, &err), ERR_USAGE);
        assert_non_null(strstr(err.text, "is not a file's name"));
    }
    assert_int_equal(symlinkat("nowhere", test_folder_fd, "p"), 0);
    assert_int_equal(pack_writer_new(test_folder_fd, "p", &writer, &err), ERR_USAGE);
    assert_string_equal(err.text, "p exists");
    assert_int_equal(folder_count(test_folder_fd), 1);
}

/* The name was taken: what was made has not got lost, and the message says where it is. */
static void want_whole_beside(const struct err *err)
{
    static const char before[] = "p exists by now; what was made is whole beside it: rename ";
    AUTO_BYTES struct bytes file = {0};
    struct err other = {0};

    assert_int_equal(strncmp(err->text, before, sizeof before - 1), 0);
    assert_int_equal(folder_count(test_folder_fd), 2);
    load(test_folder_fd, err->text + sizeof before - 1, &file);
    must(judge(file.data, file.size_bytes, &other), &other);
}

static void finish_refuses_a_name_that_was_taken_meanwhile(void **state)
{
    struct digest receipt;
    struct pack_writer *writer = begin(&receipt);
    AUTO_BYTES struct bytes other = {0};
    struct err err = {0};

    (void)state;
    assert_int_equal(file_create(test_folder_fd, "p", 0600, "other", 5, &err), 0);
    assert_int_equal(pack_writer_finish(writer, &receipt, NULL, &err), ERR_SYSTEM);
    load(test_folder_fd, "p", &other);
    assert_string_equal((const char *)other.data, "other");
    want_whole_beside(&err);
}

static void abandon_leaves_no_file(void **state)
{
    struct digest receipt;
    struct pack_writer *writer = begin(&receipt);
    struct err err = {0};

    (void)state;
    assert_int_equal(pack_writer_flush(writer, &err), 0);
    assert_int_equal(folder_count(test_folder_fd), 1);
    pack_writer_abandon(writer);
    pack_writer_abandon(NULL);
    assert_int_equal(folder_count(test_folder_fd), 0);
}

static void where_renames_always_replace_a_link_gives_the_name(void **state)
{
    struct digest receipt;
    AUTO_BYTES struct bytes file = {0};
    struct err err = {0};

    (void)state;
    rename_errno = EINVAL;
    assert_int_equal(pack_writer_finish(begin(&receipt), &receipt, NULL, &err), 0);
    assert_int_equal(folder_count(test_folder_fd), 1);
    load(test_folder_fd, "p", &file);
    assert_int_equal(judge(file.data, file.size_bytes, &err), 0);
    assert_int_equal(unlinkat(test_folder_fd, "p", 0), 0);

    struct pack_writer *writer = begin(&receipt);

    assert_int_equal(file_create(test_folder_fd, "p", 0600, "other", 5, &err), 0);
    assert_int_equal(pack_writer_finish(writer, &receipt, NULL, &err), ERR_SYSTEM);
    want_whole_beside(&err);
}

static void a_failed_rename_leaves_no_file(void **state)
{
    struct digest receipt;
    struct err err = {0};

    (void)state;
    rename_errno = EIO;
    assert_int_equal(pack_writer_finish(begin(&receipt), &receipt, NULL, &err), ERR_SYSTEM);
    assert_int_equal(err.sys_errno, EIO);
    assert_non_null(strstr(err.text, "rename .p.partial-"));
    assert_int_equal(folder_count(test_folder_fd), 0);
}

static void a_full_disk_leaves_no_file(void **state)
{
    static uint8_t data[100000];
    struct digest receipt, digest;
    struct pack_writer *writer = begin(&receipt);
    struct rlimit old, small = {5000, 0};
    struct err err = {0};
    int code;

    (void)state;
    noise(data, sizeof data, 1);
    assert_int_equal(pack_put(writer, PACK_INPUT, data, sizeof data, &digest, &err), 0);
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small.rlim_max = old.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    code = pack_writer_finish(writer, &receipt, NULL, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(code, ERR_SYSTEM);
    assert_int_equal(err.sys_errno, EFBIG);
    assert_int_equal(folder_count(test_folder_fd), 0);
}

static void an_object_over_the_limit_is_refused(void **state)
{
    struct digest receipt;
    struct pack_writer *writer = begin(&receipt);
    struct err err = {0};

    (void)state;
    assert_int_equal(pack_put(writer, PACK_INPUT, "", LIMIT_OBJECT_BYTES + 1, &receipt, &err), ERR_LIMIT);
    assert_non_null(strstr(err.text, "an object of 1099511627777 bytes"));
    pack_writer_abandon(writer);
}

/* What a recorder that was killed leaves behind. */
static void what_was_flushed_is_in_a_file_that_counts_as_partial(void **state)
{
    struct digest receipt;
    struct pack_writer *writer = begin(&receipt);
    AUTO_BYTES struct bytes file = {0};
    struct err err = {0};
    char command[256];

    (void)state;
    assert_int_equal(pack_writer_flush(writer, &err), 0);
    (void)snprintf(command, sizeof command, "cd %s && zstd -dqc .p.partial-* > out && cp .p.partial-* copy",
                   test_folder);
    assert_int_equal(system(command), 0);
    load(test_folder_fd, "out", &file);
    assert_string_equal((const char *)file.data, "receipt");
    load(test_folder_fd, "copy", &file);
    refuse(&file, ERR_FORMAT, "no footer at its end");
    pack_writer_abandon(writer);
}

/*
 * Puts a large file that becomes `data` when it is stored, after `known` was put, and wants `object_count` inputs in a
 * right pack in the end. With a `twin` another object of its size is there: then it is read once more before.
 */
static void change_once(const uint8_t *data, size_t size_bytes, const uint8_t *known, size_t known_bytes,
                        uint32_t object_count, bool twin)
{
    static uint8_t before[LARGE_BYTES];
    AUTO_FD int from = -1, fd = -1;
    struct digest receipt, digest, right = digest_of(data, size_bytes);
    struct pack_writer *writer = begin(&receipt);
    struct pack *pack = NULL;
    AUTO_BYTES struct bytes content = {0};
    uint64_t seen_bytes = 0;
    struct err err = {0};

    noise(before, sizeof before, 6);
    if (twin)
        assert_int_equal(pack_put(writer, PACK_INPUT, before, sizeof before, &digest, &err), 0);
    noise(before, sizeof before, 7);
    from = memory_file(before, sizeof before);
    assert_int_equal(pack_put(writer, PACK_INPUT, known, known_bytes, &digest, &err), 0);
    changing.fd = from;
    changing.starts = 0;
    changing.changes_at = twin ? 2 : 1;
    changing.data = data;
    changing.size_bytes = size_bytes;
    assert_int_equal(pack_put_fd(writer, PACK_INPUT, from, &digest, &seen_bytes, &err), 0);
    changing.fd = -1;
    assert_int_equal(changing.starts, changing.changes_at);
    assert_true(digest_equal(&digest, &right));
    assert_int_equal(seen_bytes, size_bytes);
    assert_int_equal(pack_put(writer, PACK_INPUT, "after", 5, &digest, &err), 0);
    assert_int_equal(pack_writer_finish(writer, &receipt, NULL, &err), 0);

    fd = openat(test_folder_fd, "p", O_RDONLY | O_CLOEXEC);
    if (pack_open(fd, &pack, &err) < 0 || pack_check(pack, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(pack_object_count(pack, PACK_INPUT), object_count + (twin ? 1 : 0));
    assert_int_equal(pack_read(pack, PACK_INPUT, &right, size_bytes, &content, &err), 0);
    pack_close(pack);
}

static void change_while_storing(const uint8_t *data, size_t size_bytes, const uint8_t *known, size_t known_bytes,
                                 uint32_t object_count)
{
    change_once(data, size_bytes, known, known_bytes, object_count, true);
    assert_int_equal(unlinkat(test_folder_fd, "p", 0), 0);
    change_once(data, size_bytes, known, known_bytes, object_count, false);
}

/* A file of whole blocks: its last byte ends a block, and the journal of that block names it. */
static void a_file_may_end_where_a_block_ends(void **state)
{
    static uint8_t data[2 * LIMIT_BLOCK_BYTES];
    AUTO_FD int from = -1, fd = -1;
    struct digest receipt, digest, right;
    struct pack_writer *writer = begin(&receipt);
    struct pack *pack = NULL;
    uint64_t seen_bytes = 0;
    struct err err = {0};

    (void)state;
    noise(data, sizeof data, 12);
    right = digest_of(data, sizeof data);
    from = memory_file(data, sizeof data);
    assert_int_equal(pack_put_fd(writer, PACK_INPUT, from, &digest, &seen_bytes, &err), 0);
    assert_true(digest_equal(&digest, &right));
    assert_int_equal(seen_bytes, sizeof data);
    assert_int_equal(pack_writer_finish(writer, &receipt, NULL, &err), 0);
    fd = openat(test_folder_fd, "p", O_RDONLY | O_CLOEXEC);
    if (pack_open(fd, &pack, &err) < 0 || pack_check(pack, &err) < 0)
        fail_msg("%s", err.text);
    pack_close(pack);
}

static void a_file_that_changes_is_stored_as_it_was_seen(void **state)
{
    static uint8_t data[LARGE_BYTES + 500];

    (void)state;
    noise(data, sizeof data, 8);
    change_while_storing(data, sizeof data, (const uint8_t *)"known", 5, 3);
}

static void a_file_that_becomes_known_content_is_not_stored_again(void **state)
{
    static uint8_t data[2 * LIMIT_BLOCK_BYTES + 3];
    AUTO_BYTES struct bytes file = {0};

    (void)state;
    noise(data, sizeof data, 9);
    change_while_storing(data, sizeof data, data, sizeof data, 2);
    load(test_folder_fd, "p", &file);
    assert_true(file.size_bytes < sizeof data + 2000);
}

static void a_file_that_becomes_empty_is_the_empty_object(void **state)
{
    (void)state;
    change_while_storing((const uint8_t *)"", 0, (const uint8_t *)"known", 5, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_name_that_is_taken_or_no_name_is_refused, set_up, folder_tear_down),
        cmocka_unit_test_setup_teardown(finish_refuses_a_name_that_was_taken_meanwhile, set_up, folder_tear_down),
        cmocka_unit_test_setup_teardown(abandon_leaves_no_file, set_up, folder_tear_down),
        cmocka_unit_test_setup_teardown(where_renames_always_replace_a_link_gives_the_name, set_up, folder_tear_down),
        cmocka_unit_test_setup_teardown(a_failed_rename_leaves_no_file, set_up, folder_tear_down),
        cmocka_unit_test_setup_teardown(a_full_disk_leaves_no_file, set_up, folder_tear_down),
        cmocka_unit_test_setup_teardown(an_object_over_the_limit_is_refused, set_up, folder_tear_down),
        cmocka_unit_test_setup_teardown(what_was_flushed_is_in_a_file_that_counts_as_partial, set_up, folder_tear_down),
        cmocka_unit_test_setup_teardown(a_file_may_end_where_a_block_ends, set_up, folder_tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_changes_is_stored_as_it_was_seen, set_up, folder_tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_becomes_known_content_is_not_stored_again, set_up,
                                        folder_tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_becomes_empty_is_the_empty_object, set_up, folder_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
