/* What waits in the spool comes out as it went in. */
#include "record/spool.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

/* A pipe that holds these bytes. */
static void pipe_with(int ends[2], const char *bytes)
{
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    assert_int_equal(write(ends[1], bytes, strlen(bytes)), (ssize_t)strlen(bytes));
}

static void bytes_come_out_in_the_order_in_which_they_went_in(void **state)
{
    struct spool spool = {0};
    struct err err = {0};
    char got[16] = "";
    size_t size_bytes = 9;
    ssize_t moved = 9;
    int ends[2];

    (void)state;
    assert_int_equal(spool_check(&spool, &err), 0);
    assert_int_equal(spool_take(&spool, got, sizeof got, &size_bytes, &err), 0);
    assert_int_equal(size_bytes, 0);
    pipe_with(ends, "");
    assert_int_equal(spool_put_pipe(&spool, "/tmp", ends[0], 100, &moved, &err), 0);
    assert_int_equal(moved, -1);
    assert_int_equal(write(ends[1], "abcdefghi", 9), 9);
    assert_int_equal(spool_put_pipe(&spool, "/tmp", ends[0], 7, &moved, &err), 0);
    assert_int_equal(moved, 7);
    assert_int_equal(spool_waiting(&spool), 7);
    assert_int_equal(spool_take(&spool, got, 5, &size_bytes, &err), 0);
    assert_int_equal(size_bytes, 5);
    assert_memory_equal(got, "abcde", 5);
    assert_int_equal(spool_put_pipe(&spool, "/tmp", ends[0], 100, &moved, &err), 0);
    assert_int_equal(moved, 2);
    assert_int_equal(spool_check(&spool, &err), 0);
    assert_int_equal(spool_take(&spool, got, sizeof got, &size_bytes, &err), 0);
    assert_int_equal(size_bytes, 4);
    assert_memory_equal(got, "fghi", 4);
    (void)close(ends[1]);
    assert_int_equal(spool_put_pipe(&spool, "/tmp", ends[0], 100, &moved, &err), 0);
    assert_int_equal(moved, 0);
    (void)close(ends[0]);
    spool_done(&spool);
    assert_null(spool.crew);
}

/* Byte number i of what goes through. No two stripes are alike. */
static uint8_t byte_at(size_t i)
{
    return (uint8_t)(i * 7 + i / 4096 * 13 + (i >> 20) * 5);
}

/* Takes what is there and looks at it. Gives how many bytes that were. */
static size_t take_and_look(struct spool *spool, size_t from, size_t wanted)
{
    static uint8_t got[300000];
    struct err err = {0};
    size_t size_bytes = 0;

    assert_int_equal(spool_take(spool, got, wanted < sizeof got ? wanted : sizeof got, &size_bytes, &err), 0);
    for (size_t i = 0; i < size_bytes; i++)
        if (got[i] != byte_at(from + i))
            fail_msg("byte %zu is another one", from + i);
    return size_bytes;
}

/* Odd pieces, and some taken between: over many stripes of both files, and round them several times. */
static void what_lies_in_several_files_comes_out_as_one(void **state)
{
    enum { ALL_BYTES = 11 << 20, PIECE_BYTES = 50021 };
    static uint8_t piece[PIECE_BYTES];
    struct spool spool = {0};
    struct err err = {0};
    size_t put_bytes = 0, taken_bytes = 0;
    ssize_t moved;
    int ends[2];

    (void)state;
    pipe_with(ends, "");
    for (size_t turn = 0; put_bytes < ALL_BYTES; turn++) {
        for (size_t i = 0; i < PIECE_BYTES; i++)
            piece[i] = byte_at(put_bytes + i);
        assert_int_equal(write(ends[1], piece, PIECE_BYTES), PIECE_BYTES);
        for (size_t left = PIECE_BYTES; left > 0; left -= (size_t)moved) {
            assert_int_equal(spool_put_pipe(&spool, "/tmp", ends[0], left, &moved, &err), 0);
            assert_true(moved > 0);
        }
        put_bytes += PIECE_BYTES;
        if (turn % 3 == 0)
            taken_bytes += take_and_look(&spool, taken_bytes, 40009);
        assert_int_equal(spool_waiting(&spool), put_bytes - taken_bytes);
    }
    while (spool_waiting(&spool) > 0)
        taken_bytes += take_and_look(&spool, taken_bytes, SIZE_MAX);
    assert_int_equal(taken_bytes, put_bytes);
    (void)close(ends[0]);
    (void)close(ends[1]);
    spool_done(&spool);
}

static void a_folder_that_is_not_there_is_told(void **state)
{
    struct spool spool = {0};
    struct err err = {0};
    ssize_t moved;
    int ends[2];

    (void)state;
    pipe_with(ends, "abc");
    assert_int_equal(spool_put_pipe(&spool, "/nowhere", ends[0], 3, &moved, &err), ERR_SYSTEM);
    assert_non_null(strstr(err.text, "make a file in /nowhere"));
    assert_null(spool.crew);
    spool_done(&spool);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* It is found while nothing more comes: who waits for the writer's end does not wait for it. */
static void what_could_not_be_written_is_told_before_it_is_taken(void **state)
{
    const struct rlimit none = {4096, RLIM_INFINITY};
    struct rlimit before;
    struct spool spool = {0};
    struct err err = {0};
    ssize_t moved = 0;
    int ends[2], code = 0;

    (void)state;
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(write(ends[1], (char[4096]){0}, 4096), 4096);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    assert_int_equal(spool_put_pipe(&spool, "/tmp", ends[0], 3 * 4096, &moved, &err), 0);
    for (int i = 0; i < 1000 && code == 0; i++) {
        (void)usleep(10000);
        code = spool_check(&spool, &err);
    }
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(code, ERR_SYSTEM);
    assert_non_null(strstr(err.text, "what waits to be kept: write"));
    (void)close(ends[0]);
    (void)close(ends[1]);
    spool_done(&spool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_come_out_in_the_order_in_which_they_went_in),
        cmocka_unit_test(what_lies_in_several_files_comes_out_as_one),
        cmocka_unit_test(a_folder_that_is_not_there_is_told),
        cmocka_unit_test(what_could_not_be_written_is_told_before_it_is_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
