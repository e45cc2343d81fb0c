/*
 * What the tests of streams and events share: a pack in a temporary folder, first written, then read.
 */
#pragma once

#include "formats/stream.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* One pack, first written, then read. */
struct fixture {
    char folder[32];
    int folder_fd;
    struct pack_writer *writer;
    int fd;
    struct pack *pack;
};

__attribute__((unused)) static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    struct err err;

    *state = fixture;
    (void)strcpy(fixture->folder, "/tmp/test_stream.XXXXXX");
    fixture->fd = -1;
    if (mkdtemp(fixture->folder) == NULL)
        return -1;
    fixture->folder_fd = open(fixture->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return pack_writer_new(fixture->folder_fd, "pack", &fixture->writer, &err);
}

__attribute__((unused)) static int teardown(void **state)
{
    struct fixture *fixture = *state;

    pack_close(fixture->pack);
    pack_writer_abandon(fixture->writer);
    if (fixture->fd >= 0)
        (void)close(fixture->fd);
    (void)unlinkat(fixture->folder_fd, "pack", 0);
    (void)close(fixture->folder_fd);
    int left = rmdir(fixture->folder);
    free(fixture);
    return left;
}

__attribute__((unused)) static struct digest put(struct fixture *fixture, const void *from, size_t size_bytes)
{
    struct digest digest;
    struct err err;

    assert_int_equal(pack_put(fixture->writer, PACK_OBSERVATION, from, size_bytes, &digest, &err), 0);
    return digest;
}

/* Ends the writing and opens the pack. The named objects must have been put. */
__attribute__((unused)) static void turn(struct fixture *fixture, const struct digest *receipt,
                                         const struct digest *claim)
{
    struct digest other = receipt == NULL ? put(fixture, "some object", 11) : *receipt;
    struct err err = {0};
    struct pack_writer *writer = fixture->writer;

    fixture->writer = NULL;
    if (pack_writer_finish(writer, &other, claim, &err) < 0)
        fail_msg("%s", err.text);
    fixture->fd = openat(fixture->folder_fd, "pack", O_RDONLY | O_CLOEXEC);
    assert_true(fixture->fd >= 0);
    if (pack_open(fixture->fd, &fixture->pack, &err) < 0)
        fail_msg("%s", err.text);
}

/* Bytes that do not repeat within a segment. */
__attribute__((unused)) static uint8_t *some_bytes(size_t size_bytes)
{
    uint8_t *all = malloc(size_bytes + 1);
    uint32_t random = 1;

    assert_non_null(all);
    for (size_t i = 0; i < size_bytes; i++) {
        random = random * 1664525u + 1013904223u;
        all[i] = (uint8_t)(random >> 24);
    }
    return all;
}

__attribute__((unused)) static struct stream_writer *write_stream(struct fixture *fixture, const void *from,
                                                                  size_t size_bytes, const Exhibit__Stream **out)
{
    struct stream_writer *writer = stream_writer_new(fixture->writer);
    struct err err;

    assert_non_null(writer);
    assert_int_equal(stream_writer_add(writer, from, size_bytes, &err), 0);
    assert_int_equal(stream_writer_finish(writer, out, &err), 0);
    return writer;
}

#define WITH_PACK(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
