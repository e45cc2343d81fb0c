/*
 * What the tests of trees and artifacts share: a temporary folder, files in it, and doing something as nobody.
 */
#pragma once

#include "formats/message.h"
#include "proto/exhibit.pb-c.h"
#include "record/tree.h"

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

static int test_folder_remove(void **state)
{
    struct err err;

    (void)state;
    return tree_remove(test_folder, &err) < 0 || access(test_folder, F_OK) == 0;
}

/* Freezes and unpacks; free with exhibit__freeze_list__free_unpacked. */
__attribute__((unused)) static Exhibit__FreezeList *freeze(const char *name)
{
    AUTO_BYTES struct bytes packed = {0};
    ProtobufCMessage *list = NULL;
    struct err err = {0};

    if (tree_freeze(at(name), NULL, &packed, &err) < 0)
        fail_msg("%s", err.text);
    if (message_unpack(&exhibit__freeze_list__descriptor, packed.data, packed.size_bytes, &list, &err) < 0)
        fail_msg("%s", err.text);
    return (Exhibit__FreezeList *)list;
}

__attribute__((unused)) static bool path_is(const Exhibit__FreezeEntry *entry, const char *path)
{
    return entry->path.len == strlen(path) &&
           (entry->path.len == 0 || memcmp(entry->path.data, path, entry->path.len) == 0);
}

__attribute__((unused)) static bool digest_is(const Exhibit__FreezeEntry *entry, const char *content)
{
    struct digest digest = digest_of(content, strlen(content));

    return entry->sha256.len == DIGEST_BYTES && memcmp(entry->sha256.data, digest.bytes, DIGEST_BYTES) == 0;
}

/* Makes folders nested `depth` deep in the folder `name`. */
__attribute__((unused)) static void make_deep(const char *name, int depth)
{
    int fd = open(at(name), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    for (int i = 0; i < depth; i++) {
        int next;

        assert_int_equal(mkdirat(fd, "d", 0755), 0);
        next = openat(fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(next >= 0);
        (void)close(fd);
        fd = next;
    }
    (void)close(fd);
}

#define IN_FOLDER(name) cmocka_unit_test_setup_teardown(name, test_folder_make, test_folder_remove)
