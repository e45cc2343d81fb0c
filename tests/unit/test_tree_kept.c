/*
 * Freezing trees whose contents are kept: in the order of the files' own names, with the list that they have without.
 */
#define SORT_FILES 64 /* at a time */
#include "record/tree_freeze.c"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants some of the above first. */
#include <cmocka.h>

#include "tests/unit/trees.h"

/* Freezes "t" with its contents into a pack "pack" in the folder dir, and leaves it open. */
static struct pack_writer *freeze_kept(int dir, struct bytes *list)
{
    struct pack_writer *writer = NULL;
    struct err err;

    if (pack_writer_new(dir, "pack", &writer, &err) < 0 || tree_freeze(at("t"), writer, list, &err) < 0)
        fail_msg("%s", err.text);
    return writer;
}

/* Freezes "t" with its contents and gives the size of the pack. Its list must be that of a freeze without. */
static off_t size_kept(void)
{
    AUTO_FD int dir = open(test_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO_BYTES struct bytes kept = {0}, list = {0};
    struct pack_writer *writer = freeze_kept(dir, &kept);
    struct digest receipt;
    struct stat state;
    struct err err;

    assert_int_equal(tree_freeze(at("t"), NULL, &list, &err), 0);
    assert_int_equal(kept.size_bytes, list.size_bytes);
    assert_memory_equal(kept.data, list.data, list.size_bytes);
    assert_int_equal(pack_put(writer, PACK_OBSERVATION, "receipt", 7, &receipt, &err), 0);
    assert_int_equal(pack_writer_finish(writer, &receipt, NULL, &err), 0);
    assert_int_equal(stat(at("pack"), &state), 0);
    return state.st_size;
}

/* Makes a file of noise, which is another one for each name and the same in both packages but for its first byte. */
static void make_noise(const char *package, char name)
{
    enum { SIZE_BYTES = 1536 << 10 };
    static uint8_t content[SIZE_BYTES];
    uint32_t number = (uint32_t)name;
    char path[32];

    for (size_t i = 0; i < SIZE_BYTES; i++) {
        number = number * 1664525u + 1013904223u;
        content[i] = (uint8_t)(number >> 24);
    }
    content[0] = (uint8_t)package[0];
    (void)snprintf(path, sizeof path, "t/%s/%c", package, name);
    make_bytes(path, content, SIZE_BYTES);
}

/* In the order of whole paths the two that resemble each other would not share a block, and take twice as much. */
static void files_of_one_name_share_a_block(void **state)
{
    (void)state;
    make_folder("t");
    make_folder("t/one");
    make_folder("t/other");
    for (char name = 'a'; name <= 'd'; name++) {
        make_noise("one", name);
        make_noise("other", name);
    }
    assert_in_range(size_kept(), 6 << 20, 7 << 20);
}

/* More files than are sorted at a time, and more entries behind one than may wait; each is listed in its place. */
static void a_tree_of_many_entries_is_listed_as_without_contents(void **state)
{
    AUTO_FD int dir = -1;

    (void)state;
    make_folder("t");
    make_folder("t/a");
    make_file("t/z", "last");
    dir = open(at("t/a"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 3000; i++) {
        char name[16];

        (void)snprintf(name, sizeof name, "%d", i * 779 % 3000); /* all of them */
        if (i < 1000)
            assert_int_equal(i % 100 == 1 ? symlinkat("z", dir, name) : linkat(AT_FDCWD, at("t/z"), dir, name, 0), 0);
        else
            assert_int_equal(mkdirat(dir, name, 0755), 0);
    }
    (void)size_kept();
}

/* One file, and behind it nothing but folders. */
static void what_waits_for_a_file_is_bounded(void **state)
{
    AUTO_FD int dir = -1;

    (void)state;
    make_folder("t");
    make_file("t/a", "first");
    dir = open(at("t"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 1000; i++) {
        char name[16];

        (void)snprintf(name, sizeof name, "b-%d", i);
        assert_int_equal(mkdirat(dir, name, 0755), 0);
    }
    (void)size_kept(); /* an assertion of the freeze counts */
}

/* The system opens no path of this length at once. */
static void the_longest_path_is_kept(void **state)
{
    AUTO_BYTES struct bytes list = {0};
    AUTO_FD int fd = -1, dir = open(test_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct digest digest = digest_of("far", 3);
    struct pack_writer *writer;
    char name[256];
    int file;

    (void)state;
    make_folder("t");
    fd = open(at("t"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    memset(name, 'n', 255);
    name[255] = 0;
    for (int i = 0; i < 16; i++) {
        int next;

        if (i == 15)
            name[1] = 0; /* 15 of 255 bytes and one of 1, each with its slash, and 254: 4096 */
        assert_int_equal(mkdirat(fd, name, 0755), 0);
        next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(next >= 0);
        (void)close(fd);
        fd = next;
    }
    memset(name, 'n', 254);
    name[254] = 0;
    file = openat(fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    assert_int_equal(write(file, "far", 3), 3);
    (void)close(file);
    writer = freeze_kept(dir, &list);
    assert_true(pack_put_has(writer, PACK_INPUT, &digest));
    pack_writer_abandon(writer);
}

/* ---- while a hostile process changes the tree ---- */

static atomic_bool changing;

/* Makes and removes a file. */
static void *blink(void *context)
{
    while (changing) {
        (void)close(open(context, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
        (void)unlink(context);
    }
    return NULL;
}

static void what_vanishes_before_it_is_opened_was_not_there(void **state)
{
    AUTO_FD int dir = open(test_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char path[128];
    pthread_t thread;
    unsigned there = 0, gone = 0;

    (void)state;
    (void)snprintf(path, sizeof path, "%s/t/b", test_folder);
    make_folder("t");
    make_file("t/a", "stays");
    changing = true;
    assert_int_equal(pthread_create(&thread, NULL, blink, path), 0);
    for (int i = 0; i < 20000 && (there == 0 || gone == 0 || i < 500); i++) {
        AUTO_BYTES struct bytes list = {0};
        struct pack_writer *writer = freeze_kept(dir, &list);
        Exhibit__FreezeList *seen = exhibit__freeze_list__unpack(NULL, list.size_bytes, list.data);

        pack_writer_abandon(writer);
        assert_in_range(seen->n_entries, 2, 3);
        assert_true(path_is(seen->entries[1], "a") && digest_is(seen->entries[1], "stays"));
        there += seen->n_entries == 3;
        gone += seen->n_entries == 2;
        exhibit__freeze_list__free_unpacked(seen, NULL);
    }
    changing = false;
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(there > 0 && gone > 0);
}

static void no_link_in_a_path_is_followed_and_no_pipe_waited_for(void **state)
{
    AUTO_FD int dir = open(test_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO_FD int file = -1, fifo = -1;
    struct stat stat;

    (void)state;
    make_folder("t");
    make_file("t/file", "");
    assert_int_equal(symlink("t", at("link")), 0);
    assert_int_equal(symlink("file", at("t/own")), 0);
    assert_int_equal(mkfifo(at("t/pipe"), 0600), 0);
    assert_int_equal(walk_open_below(dir, "link/file", &stat), -1);
    assert_int_equal(errno, ELOOP);
    assert_int_equal(walk_open_below(dir, "t/own", &stat), -1);
    assert_int_equal(errno, ELOOP);
    assert_int_equal(walk_open_below(dir, "../file", &stat), -1);
    assert_int_equal(errno, EXDEV);
    fifo = walk_open_below(dir, "t/pipe", &stat);
    assert_true(fifo >= 0 && S_ISFIFO(stat.st_mode));
    file = walk_open_below(dir, "t/file", &stat);
    assert_true(file >= 0 && S_ISREG(stat.st_mode));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(files_of_one_name_share_a_block),
        IN_FOLDER(a_tree_of_many_entries_is_listed_as_without_contents),
        IN_FOLDER(what_waits_for_a_file_is_bounded),
        IN_FOLDER(the_longest_path_is_kept),
        IN_FOLDER(what_vanishes_before_it_is_opened_was_not_there),
        IN_FOLDER(no_link_in_a_path_is_followed_and_no_pipe_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
