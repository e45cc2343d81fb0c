/*
 * What the tests of trees and artifacts share: a temporary folder, files in it, and doing something as nobody.
 */
#pragma once

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The folder of the test that runs, and a path in it (valid until the next call but seven). */
static char test_folder[64];

__attribute__((unused)) static char *at(const char *name)
{
    static char paths[8][8192];
    static unsigned next;
    char *path = paths[next++ % 8];

    (void)snprintf(path, sizeof paths[0], "%s/%s", test_folder, name);
    return path;
}

__attribute__((unused)) static void make_bytes(const char *name, const void *from, size_t size_bytes)
{
    int fd = open(at(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, from, size_bytes), size_bytes);
    assert_int_equal(fchmod(fd, 0644), 0);
    assert_int_equal(close(fd), 0);
}

__attribute__((unused)) static void make_file(const char *name, const char *content)
{
    make_bytes(name, content, strlen(content));
}

__attribute__((unused)) static void make_folder(const char *name)
{
    assert_int_equal(mkdir(at(name), 0755), 0);
    assert_int_equal(chmod(at(name), 0755), 0);
}

/* Makes a file of `size_bytes` bytes that are all one hole. */
__attribute__((unused)) static void make_hole(const char *name, off_t size_bytes)
{
    make_file(name, "");
    assert_int_equal(truncate(at(name), size_bytes), 0);
}

static int test_folder_make(void **state)
{
    (void)state;
    (void)strcpy(test_folder, "/tmp/test_tree.XXXXXX");
    return mkdtemp(test_folder) == NULL || chmod(test_folder, 0777) < 0;
}

/* Runs `act` in a child that is nobody; what it returns (0 is good) is asserted. */
__attribute__((unused)) static void as_nobody(int (*act)(void))
{
    pid_t pid = fork();
    int status;

    assert_true(pid >= 0);
    if (pid == 0) {
        if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
            _exit(99);
        _exit(act());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}
