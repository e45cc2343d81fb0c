/* Many files at once: in the order given, with the same bytes however many cores there are, and every fault told. */
#include "base/cleanup.h"
#include "formats/intake.h"
#include "meeting.h"
#include "test_pack_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define FILES 400
#define LARGE_EACH 97 /* one file in so many is more than a block, */
#define ALONE_EACH 37 /* and one in so many has a batch to itself */

static bool interrupted, short_reads;

/* The linker puts this before the real one. */
ssize_t __real_pread64(int fd, void *to, size_t size_bytes, off_t offset);
ssize_t __wrap_pread64(int fd, void *to, size_t size_bytes, off_t offset);

ssize_t __wrap_pread64(int fd, void *to, size_t size_bytes, off_t offset)
{
    static _Thread_local unsigned calls;

    meet();
    if (interrupted && ++calls % 2 == 1) {
        errno = EINTR;
        return -1;
    }
    return __real_pread64(fd, to, short_reads && size_bytes > 7 ? size_bytes / 3 : size_bytes, offset);
}

static int set_up(void **state)
{
    (void)state;
    (void)folder_set_up(state);
    interrupted = short_reads = false;
    cores = 2;
    return 0;
}

/* What file `number` holds: some are equal, some empty, some large. */
static size_t content_make(unsigned number, uint8_t **out)
{
    unsigned seed = number % 10 == 9 ? 9 : number; /* one in ten is equal to the ninth */
    size_t size_bytes = seed % 31 == 0 ? 0 : seed * 311 % 70000;

    if (seed % LARGE_EACH == 50)
        size_bytes = LIMIT_BLOCK_BYTES + 12345;
    else if (seed % ALONE_EACH == 5)
        size_bytes = (600u << 10) + seed * 99991 % (LIMIT_BLOCK_BYTES - (600u << 10));
    *out = malloc(size_bytes + 1);
    assert_non_null(*out);
    noise(*out, size_bytes, seed);
    return size_bytes;
}

static int file_make(unsigned number)
{
    AUTO_FREE uint8_t *content = NULL;
    size_t size_bytes = content_make(number, &content);
    int fd = memfd_create("intake", MFD_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, content, size_bytes), (ssize_t)size_bytes);
    return fd;
}

struct seen {
    unsigned count;
    int failed_at; /* the one that could not be read, or -1 */
};

/* Compares what is told with what file `seen->count` holds. */
static int file_seen(void *context, const struct digest *digest, uint64_t size_bytes, struct err *err)
{
    struct seen *seen = context;
    AUTO_FREE uint8_t *content = NULL;
    struct digest right;

    if (digest == NULL) {
        seen->failed_at = (int)seen->count;
        return err->code;
    }
    assert_int_equal(size_bytes, content_make(seen->count, &content));
    right = digest_of(content, size_bytes);
    assert_true(digest_equal(digest, &right));
    seen->count++;
    return 0;
}

/* Gives all files; the sizes told are wrong for some, which have grown or shrunk since. */
static void give_all(struct intake *intake, struct err *err)
{
    for (unsigned i = 0; i < FILES; i++) {
        int fd = file_make(i);
        off_t size_bytes = lseek(fd, 0, SEEK_END);

        if (i % 5 == 0)
            size_bytes = size_bytes / 2;
        if (i % 5 == 1)
            size_bytes += 1000;
        if (intake_give(intake, fd, (uint64_t)size_bytes, err) < 0)
            fail_msg("%s", err->text);
    }
}

/* Takes all files into a pack called `name`. */
static void pack_all(const char *name)
{
    struct seen seen = {.failed_at = -1};
    struct pack_writer *writer = NULL;
    struct intake *intake = NULL;
    struct digest receipt;
    struct err err = {0};

    assert_int_equal(pack_writer_new(test_folder_fd, name, &writer, &err), 0);
    assert_int_equal(intake_new(&(struct intake_request){writer, PACK_INPUT, NULL, file_seen, &seen}, &intake, &err),
                     0);
    give_all(intake, &err);
    assert_int_equal(intake_finish(intake, &err), 0);
    intake_free(intake);
    assert_int_equal(seen.count, FILES);
    assert_int_equal(pack_put(writer, PACK_OBSERVATION, "receipt", 7, &receipt, &err), 0);
    assert_int_equal(pack_writer_finish(writer, &receipt, NULL, &err), 0);
}

static void check_right(const char *name)
{
    AUTO_FD int fd = openat(test_folder_fd, name, O_RDONLY | O_CLOEXEC);
    struct pack *pack = NULL;
    struct err err = {0};

    if (pack_open(fd, &pack, &err) < 0 || pack_check(pack, &err) < 0)
        fail_msg("%s", err.text);
    pack_close(pack);
}

static void the_bytes_are_the_same_with_one_core_and_with_many(void **state)
{
    AUTO_BYTES struct bytes one = {0}, many = {0};

    (void)state;
    cores = 1;
    pack_all("one");
    load(test_folder_fd, "one", &one);
    for (cores = 2; cores <= 8; cores *= 2) {
        pack_all("many");
        load(test_folder_fd, "many", &many);
        assert_int_equal(one.size_bytes, many.size_bytes);
        assert_memory_equal(one.data, many.data, one.size_bytes);
        check_right("many");
        assert_int_equal(unlinkat(test_folder_fd, "many", 0), 0);
    }
}

/* A worker that reads waits for another one that reads: where only one works, it waits in vain. */
static void more_than_one_core_works_in_ingest_and_in_check(void **state)
{
    (void)state;
    for (cores = 1; cores <= 4; cores *= 2) {
        meeting_begin();
        pack_all("p");
        assert_int_equal(meeting_end(), cores > 1);
        meeting_begin();
        check_right("p");
        assert_int_equal(meeting_end(), cores > 1);
        assert_int_equal(unlinkat(test_folder_fd, "p", 0), 0);
    }
}

static void interrupted_and_short_reads_change_nothing(void **state)
{
    AUTO_BYTES struct bytes plain = {0}, disturbed = {0};

    (void)state;
    pack_all("plain");
    interrupted = short_reads = true;
    pack_all("disturbed");
    interrupted = short_reads = false;
    load(test_folder_fd, "plain", &plain);
    load(test_folder_fd, "disturbed", &disturbed);
    assert_int_equal(plain.size_bytes, disturbed.size_bytes);
    assert_memory_equal(plain.data, disturbed.data, plain.size_bytes);
}

static void digests_alone_are_told_in_the_order_given(void **state)
{
    struct seen seen = {.failed_at = -1};
    struct intake *intake = NULL;
    struct err err = {0};

    (void)state;
    assert_int_equal(intake_new(&(struct intake_request){.done = file_seen, .context = &seen}, &intake, &err), 0);
    give_all(intake, &err);
    assert_int_equal(intake_finish(intake, &err), 0);
    intake_free(intake);
    assert_int_equal(seen.count, FILES);
}

/* How many descriptors are open. */
static unsigned descriptors(void)
{
    unsigned count = 0;

    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* Something that cannot be read, among the others: told of the right one, nothing hangs, every descriptor is closed. */
static void refuse_unreadable(struct pack_writer *writer, unsigned before)
{
    struct seen seen = {.failed_at = -1};
    struct intake *intake = NULL;
    struct err err = {0};
    int code = 0;

    assert_int_equal(intake_new(&(struct intake_request){writer, PACK_INPUT, NULL, file_seen, &seen}, &intake, &err),
                     0);
    for (unsigned i = 0; i < FILES && code == 0; i++)
        code = intake_give(intake, i == 201 ? open(test_folder, O_RDONLY | O_CLOEXEC) : file_make(i), 100, &err);
    if (code == 0)
        code = intake_finish(intake, &err);
    intake_free(intake);
    assert_int_equal(code, ERR_SYSTEM);
    assert_int_equal(err.sys_errno, EISDIR);
    assert_int_equal(seen.failed_at, 201);
    assert_int_equal(descriptors(), before);
}

static void a_file_that_cannot_be_read_ends_the_intake_in_its_turn(void **state)
{
    unsigned before = descriptors();
    struct pack_writer *writer = NULL;
    struct err err = {0};

    (void)state;
    refuse_unreadable(NULL, before);
    assert_int_equal(pack_writer_new(test_folder_fd, "p", &writer, &err), 0);
    refuse_unreadable(writer, descriptors());
    pack_writer_abandon(writer);
    assert_int_equal(descriptors(), before);
}

/* With two damaged blocks it is the first one that is told, whichever is found first. */
static void the_first_fault_in_the_file_is_told(void **state)
{
    AUTO_BYTES struct bytes file = {0};

    (void)state;
    pack_all("p");
    load(test_folder_fd, "p", &file);
    file.data[file.size_bytes / 4] ^= 1;
    file.data[file.size_bytes / 2] ^= 1;
    for (cores = 1; cores <= 8; cores *= 2) {
        AUTO_FD int fd = memory_file(file.data, file.size_bytes);
        struct pack *pack = NULL;
        uint64_t first, last;
        struct err err = {0};

        assert_int_equal(pack_open(fd, &pack, &err), 0);
        assert_int_equal(pack_check(pack, &err), ERR_FORMAT);
        assert_non_null(strstr(err.text, "FORMAT 3.6: the block has not the digest that the index tells"));
        range_of(&err, &first, &last);
        assert_in_range(file.size_bytes / 4, first, last);
        pack_close(pack);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_bytes_are_the_same_with_one_core_and_with_many, set_up, folder_tear_down),
        cmocka_unit_test_setup_teardown(more_than_one_core_works_in_ingest_and_in_check, set_up, folder_tear_down),
        cmocka_unit_test_setup_teardown(interrupted_and_short_reads_change_nothing, set_up, folder_tear_down),
        cmocka_unit_test_setup_teardown(digests_alone_are_told_in_the_order_given, set_up, folder_tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_cannot_be_read_ends_the_intake_in_its_turn, set_up,
                                        folder_tear_down),
        cmocka_unit_test_setup_teardown(the_first_fault_in_the_file_is_told, set_up, folder_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
