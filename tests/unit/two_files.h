/*
 * A folder with a file in it, and another file of that name in a folder below: what a path leads to can be another file
 * when it is opened.
 */
#pragma once

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
/* cmocka.h wants some of the above first. */
#include <cmocka.h>

/* Makes ./file and ./other/file in a fresh folder and goes there. `place` is as mkdtemp wants it. */
static void two_files_make(char *place)
{
    assert_non_null(mkdtemp(place));
    assert_int_equal(chdir(place), 0);
    assert_int_equal(mkdir("other", 0700), 0);
    assert_int_equal(close(open("file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600)), 0);
    assert_int_equal(close(open("other/file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600)), 0);
}

static void two_files_remove(const char *place)
{
    assert_int_equal(unlink("other/file"), 0);
    assert_int_equal(unlink("file"), 0);
    assert_int_equal(rmdir("other"), 0);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(rmdir(place), 0);
}
