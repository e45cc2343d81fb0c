/*
 * Freezing trees, hostile ones too.
 */
#include "base/cleanup.h"
#include "record/tree.h"
#include "record/walk.h"

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

static void a_freeze_lists_in_the_order_of_whole_paths(void **state)
{
    static const char *const wanted[] = {"", "a", "a-b", "a-b/x", "a.c", "a/b", "a/b-", "a/b/d", "a/c", "a0", "b\xff"};
    enum { WANTED = sizeof wanted / sizeof *wanted };
    Exhibit__FreezeList *list;

    (void)state;
    make_folder("t");
    make_folder("t/a");
    make_folder("t/a/b");
    make_folder("t/a-b");
    make_file("t/b\xff", "");
    make_file("t/a0", "");
    make_file("t/a/c", "");
    make_file("t/a/b-", "");
    make_file("t/a/b/d", "deep");
    make_file("t/a.c", "");
    make_file("t/a-b/x", "");
    list = freeze("t");
    assert_int_equal(list->n_entries, WANTED);
    for (size_t i = 0; i < WANTED; i++)
        if (!path_is(list->entries[i], wanted[i]))
            fail_msg("entry %zu is not %s", i, wanted[i]);
    exhibit__freeze_list__free_unpacked(list, NULL);
}

static void a_freeze_tells_modes_sizes_and_digests(void **state)
{
    Exhibit__FreezeList *list;

    (void)state;
    make_folder("t");
    make_file("t/file", "content");
    assert_int_equal(chmod(at("t/file"), 04751), 0);
    assert_int_equal(symlink("/nowhere/else", at("t/link")), 0);
    assert_int_equal(mkfifo(at("t/pipe"), 0600), 0);
    list = freeze("t");
    assert_int_equal(list->n_entries, 4);
    assert_int_equal(list->entries[0]->mode, S_IFDIR | 0755);
    assert_int_equal(list->entries[0]->sha256.len, 0);
    assert_int_equal(list->entries[1]->mode, S_IFREG | 04751);
    assert_int_equal(list->entries[1]->size_bytes, 7);
    assert_true(digest_is(list->entries[1], "content"));
    assert_true(S_ISLNK(list->entries[2]->mode));
    assert_int_equal(list->entries[2]->size_bytes, 0);
    assert_true(digest_is(list->entries[2], "/nowhere/else"));
    assert_int_equal(list->entries[3]->mode, S_IFIFO | 0600);
    assert_int_equal(list->entries[3]->sha256.len, 0);
    exhibit__freeze_list__free_unpacked(list, NULL);
    list = freeze("t/file");
    assert_int_equal(list->n_entries, 1);
    assert_true(path_is(list->entries[0], "") && digest_is(list->entries[0], "content"));
    exhibit__freeze_list__free_unpacked(list, NULL);
    list = freeze("t/link");
    assert_int_equal(list->n_entries, 1);
    assert_true(S_ISLNK(list->entries[0]->mode));
    exhibit__freeze_list__free_unpacked(list, NULL);
}

static void equal_trees_freeze_to_equal_bytes_and_every_change_shows(void **state)
{
    AUTO_BYTES struct bytes before = {0}, after = {0};
    struct err err;

    (void)state;
    make_folder("t");
    make_folder("t/sub");
    make_file("t/sub/file", "content");
    assert_int_equal(tree_freeze(at("t"), NULL, &before, &err), 0);
    assert_int_equal(tree_copy(at("t"), at("u"), &err), 0);
    assert_int_equal(tree_freeze(at("u"), NULL, &after, &err), 0);
    assert_int_equal(before.size_bytes, after.size_bytes);
    assert_memory_equal(before.data, after.data, before.size_bytes);
    for (int change = 0; change < 4; change++) {
        if (change == 0)
            make_file("u/sub/file", "Content");
        else if (change == 1)
            assert_int_equal(chmod(at("u/sub/file"), 0600), 0);
        else if (change == 2)
            assert_int_equal(rename(at("u/sub/file"), at("u/sub/fill")), 0);
        else
            make_folder("u/sub/empty");
        assert_int_equal(tree_freeze(at("u"), NULL, &after, &err), 0);
        assert_true(before.size_bytes != after.size_bytes || memcmp(before.data, after.data, after.size_bytes) != 0);
        bytes_done(&before);
        before = after;
        after = (struct bytes){0};
    }
}

static void a_freeze_keeps_contents_as_inputs_where_asked(void **state)
{
    AUTO_FD int fd = -1, dir = open(test_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO_BYTES struct bytes list = {0}, back = {0};
    struct digest content = digest_of("content", 7), digest;
    struct pack_writer *writer = NULL;
    struct pack *pack = NULL;
    struct err err;

    (void)state;
    make_folder("t");
    make_file("t/file", "content");
    assert_int_equal(pack_writer_new(dir, "pack", &writer, &err), 0);
    assert_int_equal(tree_freeze(at("t"), writer, &list, &err), 0);
    assert_int_equal(pack_put(writer, PACK_OBSERVATION, list.data, list.size_bytes, &digest, &err), 0);
    assert_int_equal(pack_writer_finish(writer, &digest, NULL, &err), 0);
    fd = openat(dir, "pack", O_RDONLY | O_CLOEXEC);
    assert_int_equal(pack_open(fd, &pack, &err), 0);
    assert_int_equal(pack_read(pack, PACK_INPUT, &content, 100, &back, &err), 0);
    assert_string_equal((char *)back.data, "content");
    pack_close(pack);
}

/* The digest of the salt and then some bytes. */
static struct digest salted(const uint8_t *salt, const void *from, size_t size_bytes)
{
    struct digest_run *run = digest_run_new();
    struct digest digest;

    assert_non_null(run);
    digest_run_add(run, salt, FREEZE_SALT_BYTES);
    digest_run_add(run, from, size_bytes);
    digest = digest_run_now(run);
    digest_run_free(run);
    return digest;
}

static void a_salted_freeze_has_the_same_list_with_and_without_contents(void **state)
{
    static const size_t sizes[] = {0,
                                   1,
                                   31,
                                   (512u << 10) - 33,
                                   (512u << 10) - 32,
                                   (512u << 10) - 31,
                                   (4u << 20) - 33,
                                   (4u << 20) - 32,
                                   (4u << 20) - 31,
                                   5u << 20};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    static uint8_t content[(5u << 20) + 1];
    AUTO_FD int fd = -1, dir = open(test_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO_BYTES struct bytes list = {0}, kept = {0}, back = {0};
    uint8_t salt[FREEZE_SALT_BYTES];
    struct freeze_way way = {.salt = salt};
    Exhibit__FreezeList *seen;
    struct pack_writer *writer = NULL;
    struct pack *pack = NULL;
    struct digest digest;
    struct err err;

    (void)state;
    memset(salt, 0xa5, sizeof salt);
    for (size_t i = 0; i < sizeof content; i++)
        content[i] = (uint8_t)(i * i >> 7);
    make_folder("t");
    for (size_t i = 0; i < SIZES; i++) {
        char name[16];

        (void)snprintf(name, sizeof name, "t/%zu", i);
        make_bytes(name, content, sizes[i]);
    }
    assert_int_equal(symlink("/nowhere/else", at("t/link")), 0);
    assert_int_equal(tree_freeze_by(at("t"), &way, &list, &err), 0);
    assert_int_equal(pack_writer_new(dir, "pack", &writer, &err), 0);
    way.retain = writer;
    assert_int_equal(tree_freeze_by(at("t"), &way, &kept, &err), 0);
    assert_int_equal(list.size_bytes, kept.size_bytes);
    assert_memory_equal(list.data, kept.data, kept.size_bytes);
    assert_int_equal(pack_put(writer, PACK_OBSERVATION, list.data, list.size_bytes, &digest, &err), 0);
    assert_int_equal(pack_writer_finish(writer, &digest, NULL, &err), 0);
    fd = openat(dir, "pack", O_RDONLY | O_CLOEXEC);
    assert_int_equal(pack_open(fd, &pack, &err), 0);
    seen = exhibit__freeze_list__unpack(NULL, list.size_bytes, list.data);
    assert_int_equal(seen->n_entries, 2 + SIZES);
    for (size_t i = 0; i < SIZES; i++) {
        digest = salted(salt, content, sizes[i]);
        assert_int_equal(seen->entries[1 + i]->size_bytes, sizes[i]);
        assert_memory_equal(seen->entries[1 + i]->sha256.data, digest.bytes, DIGEST_BYTES);
        assert_int_equal(pack_read(pack, PACK_INPUT, &digest, sizeof content + 100, &back, &err), 0);
        assert_int_equal(back.size_bytes, sizes[i] + FREEZE_SALT_BYTES);
        assert_memory_equal(back.data, salt, FREEZE_SALT_BYTES);
        assert_memory_equal(back.data + FREEZE_SALT_BYTES, content, sizes[i]);
    }
    digest = salted(salt, "/nowhere/else", 13);
    assert_memory_equal(seen->entries[1 + SIZES]->sha256.data, digest.bytes, DIGEST_BYTES);
    exhibit__freeze_list__free_unpacked(seen, NULL);
    pack_close(pack);
}

static void a_file_with_several_names_is_listed_under_each_and_stored_once(void **state)
{
    enum { SIZE_BYTES = 6 << 20, NAMES = 5 };
    static uint8_t content[SIZE_BYTES];
    AUTO_FD int fd = -1, dir = open(test_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO_BYTES struct bytes list = {0};
    Exhibit__FreezeList *seen;
    struct pack_writer *writer = NULL;
    struct digest digest, whole;
    struct pack *pack = NULL;
    struct stat stat;
    struct err err;

    (void)state;
    for (uint32_t i = 0, number = 1; i < SIZE_BYTES; i++) {
        number = number * 1664525u + 1013904223u; /* does not compress */
        content[i] = (uint8_t)(number >> 24);
    }
    whole = digest_of(content, sizeof content);
    make_folder("t");
    fd = open(at("t/file-0"), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    assert_int_equal(write(fd, content, sizeof content), sizeof content);
    (void)close(take_fd(&fd));
    for (int i = 1; i < NAMES; i++) {
        char name[16];

        (void)snprintf(name, sizeof name, "t/file-%d", i);
        assert_int_equal(linkat(dir, "t/file-0", dir, name, 0), 0);
    }
    assert_int_equal(pack_writer_new(dir, "pack", &writer, &err), 0);
    assert_int_equal(tree_freeze(at("t"), writer, &list, &err), 0);
    assert_int_equal(pack_put(writer, PACK_OBSERVATION, list.data, list.size_bytes, &digest, &err), 0);
    assert_int_equal(pack_writer_finish(writer, &digest, NULL, &err), 0);
    seen = exhibit__freeze_list__unpack(NULL, list.size_bytes, list.data);
    assert_int_equal(seen->n_entries, 1 + NAMES);
    for (int i = 1; i <= NAMES; i++)
        assert_memory_equal(seen->entries[i]->sha256.data, whole.bytes, DIGEST_BYTES);
    exhibit__freeze_list__free_unpacked(seen, NULL);
    fd = openat(dir, "pack", O_RDONLY | O_CLOEXEC);
    assert_int_equal(fstat(fd, &stat), 0);
    assert_in_range(stat.st_size, SIZE_BYTES, SIZE_BYTES + SIZE_BYTES / 10);
    assert_int_equal(pack_open(fd, &pack, &err), 0);
    assert_int_equal(pack_object_count(pack, PACK_INPUT), 1);
    assert_true(pack_find(pack, PACK_INPUT, &whole, NULL));
    pack_close(pack);
}

static void a_missing_root_is_named(void **state)
{
    AUTO_BYTES struct bytes list = {0};
    struct err err = {0};

    (void)state;
    assert_int_equal(tree_freeze(at("no"), NULL, &list, &err), ERR_SYSTEM);
    assert_int_equal(err.sys_errno, ENOENT);
    assert_non_null(strstr(err.text, at("no")));
    assert_int_equal(tree_copy(at("no"), at("other"), &err), ERR_SYSTEM);
    assert_non_null(strstr(err.text, at("no")));
}

/* A terabyte of hole is one system call to make; it must not be hours to freeze. */
static void a_freeze_does_not_read_a_file_of_holes(void **state)
{
    Exhibit__FreezeList *list;

    (void)state;
    make_folder("t");
    make_hole("t/hole", (off_t)1 << 40);
    list = freeze("t");
    assert_int_equal(list->entries[1]->size_bytes, (uint64_t)1 << 40);
    assert_int_equal(list->entries[1]->sha256.len, 0);
    exhibit__freeze_list__free_unpacked(list, NULL);
}

static int freeze_unreadable(void)
{
    AUTO_BYTES struct bytes packed = {0};
    Exhibit__FreezeList *list;
    struct err err = {0};

    list = freeze("t");
    if (list->n_entries != 3 || list->entries[1]->sha256.len != 0 || list->entries[1]->size_bytes != 6 ||
        !path_is(list->entries[2], "shut"))
        return 1;
    exhibit__freeze_list__free_unpacked(list, NULL);
    /* A writer is only asked for where content is put, so none is needed to see the refusal. */
    if (tree_freeze(at("u"), (struct pack_writer *)&err, &packed, &err) != ERR_SYSTEM || err.sys_errno != EACCES)
        return 2;
    return strstr(err.text, "/u: secret: open: Permission denied") == NULL ? 3 : 0;
}

static void an_unreadable_file_is_listed_unless_it_was_to_be_kept(void **state)
{
    (void)state;
    make_folder("t");
    make_folder("t/shut");
    make_file("t/shut/inside", "");
    make_file("t/secret", "secret");
    assert_int_equal(chmod(at("t/secret"), 0), 0);
    make_folder("u");
    make_file("u/secret", "secret");
    assert_int_equal(chmod(at("u/secret"), 0), 0);
    assert_int_equal(chmod(at("t/shut"), 0), 0);
    as_nobody(freeze_unreadable);
}

/* ---- while a hostile process changes the tree ---- */

static atomic_bool swapping;

/* Puts now a folder and now a symbolic link to another one in the same place. */
static void *swap_folder(void *context)
{
    char inside[128], beside[128];

    (void)context;
    (void)snprintf(inside, sizeof inside, "%s/t/sub", test_folder);
    (void)snprintf(beside, sizeof beside, "%s/other", test_folder);
    while (swapping)
        (void)renameat2(AT_FDCWD, inside, AT_FDCWD, beside, RENAME_EXCHANGE);
    return NULL;
}

static void a_freeze_never_leaves_the_root_whatever_is_swapped(void **state)
{
    pthread_t thread;
    unsigned links = 0;

    (void)state;
    make_folder("outside");
    make_file("outside/file", "secret of another");
    make_folder("t");
    make_folder("t/sub");
    make_file("t/sub/file", "own");
    assert_int_equal(symlink(at("outside"), at("other")), 0);
    swapping = true;
    assert_int_equal(pthread_create(&thread, NULL, swap_folder, NULL), 0);
    for (int i = 0; i < 2000; i++) {
        Exhibit__FreezeList *list = freeze("t");

        for (size_t j = 0; j < list->n_entries; j++) {
            assert_false(digest_is(list->entries[j], "secret of another"));
            links += S_ISLNK(list->entries[j]->mode);
        }
        exhibit__freeze_list__free_unpacked(list, NULL);
    }
    swapping = false;
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(links > 0); /* else nothing was swapped and nothing was shown */
}

static void a_folder_that_is_gone_has_no_names(void **state)
{
    AUTO_FD int dir = -1;
    struct folder_names names;
    struct err err;

    (void)state;
    make_folder("t");
    make_file("t/file", "");
    dir = open(at("t"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 2; i++) { /* as often as one likes */
        assert_int_equal(folder_names_read(dir, true, &names, &err), 0);
        assert_int_equal(names.count, 1);
        assert_string_equal(names.items[0], "file");
        folder_names_done(&names);
    }
    assert_int_equal(unlink(at("t/file")), 0);
    assert_int_equal(rmdir(at("t")), 0);
    assert_int_equal(folder_names_read(dir, true, &names, &err), 0);
    assert_int_equal(names.count, 0);
    folder_names_done(&names);
}

/* ---- opening ---- */

static void a_file_that_was_swapped_is_neither_followed_nor_waited_for(void **state)
{
    AUTO_FD int dir = open(test_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO_FD int fifo = -1;
    struct stat stat;

    (void)state;
    make_file("file", "");
    assert_int_equal(symlink("file", at("link")), 0);
    assert_int_equal(mkfifo(at("pipe"), 0600), 0);
    assert_int_equal(walk_open_file(dir, "link", &stat), -1);
    assert_int_equal(errno, ELOOP);
    fifo = walk_open_file(dir, "pipe", &stat);
    assert_true(fifo >= 0 && S_ISFIFO(stat.st_mode));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(a_freeze_lists_in_the_order_of_whole_paths),
        IN_FOLDER(a_freeze_tells_modes_sizes_and_digests),
        IN_FOLDER(equal_trees_freeze_to_equal_bytes_and_every_change_shows),
        IN_FOLDER(a_freeze_keeps_contents_as_inputs_where_asked),
        IN_FOLDER(a_file_with_several_names_is_listed_under_each_and_stored_once),
        IN_FOLDER(a_missing_root_is_named),
        IN_FOLDER(a_freeze_does_not_read_a_file_of_holes),
        IN_FOLDER(a_salted_freeze_has_the_same_list_with_and_without_contents),
        IN_FOLDER(an_unreadable_file_is_listed_unless_it_was_to_be_kept),
        IN_FOLDER(a_freeze_never_leaves_the_root_whatever_is_swapped),
        IN_FOLDER(a_folder_that_is_gone_has_no_names),
        IN_FOLDER(a_file_that_was_swapped_is_neither_followed_nor_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
