/* What waits in the spool comes out as it went in. */
#include "record/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void bytes_come_out_in_the_order_in_which_they_went_in(void **state)
{
    struct spool spool = SPOOL_NONE;
    struct err err = {0};
    char got[16] = "";
    size_t size_bytes = 9;
    int ends[2];

    (void)state;
    assert_int_equal(spool_take(&spool, got, sizeof got, &size_bytes, &err), 0);
    assert_int_equal(size_bytes, 0);
    assert_int_equal(spool_put(&spool, "/tmp", "abc", 3, &err), 0);
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    assert_int_equal(spool_put_pipe(&spool, ends[0], 100), -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(write(ends[1], "defghi", 6), 6);
    assert_int_equal(spool_put_pipe(&spool, ends[0], 4), 4);
    assert_int_equal(spool_put(&spool, "/tmp", "xyz", 3, &err), 0);
    assert_int_equal(spool_waiting(&spool), 10);
    assert_int_equal(spool_take(&spool, got, 5, &size_bytes, &err), 0);
    assert_memory_equal(got, "abcde", 5);
    assert_int_equal(spool_forget(&spool, 2, &err), 0);
    assert_int_equal(spool_put(&spool, "/tmp", "!", 1, &err), 0);
    assert_int_equal(spool_take(&spool, got, sizeof got, &size_bytes, &err), 0);
    assert_int_equal(size_bytes, 4);
    assert_memory_equal(got, "fgx!", 4);
    (void)close(ends[1]);
    assert_int_equal(spool_put_pipe(&spool, ends[0], 100), 2);
    assert_int_equal(spool_put_pipe(&spool, ends[0], 100), 0);
    (void)close(ends[0]);
    spool_done(&spool);
    assert_int_equal(spool.fd, -1);
}

static void a_folder_that_is_not_there_is_told(void **state)
{
    struct spool spool = SPOOL_NONE;
    struct err err = {0};

    (void)state;
    assert_int_equal(spool_put(&spool, "/nowhere", "abc", 3, &err), ERR_SYSTEM);
    assert_non_null(strstr(err.text, "make a file in /nowhere"));
    spool_done(&spool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_come_out_in_the_order_in_which_they_went_in),
        cmocka_unit_test(a_folder_that_is_not_there_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
