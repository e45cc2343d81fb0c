/*
 * Copying, freezing and removing trees, hostile ones too.
 */
#include "record/tree.h"
#include "base/cleanup.h"
#include "formats/message.h"
#include "proto/exhibit.pb-c.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/un.h>
/* cmocka.h wants some of the above first. */
#include <cmocka.h>

#include "tests/unit/trees.h"

static int test_folder_remove(void **state)
{
    struct err err;

    (void)state;
    return tree_remove(test_folder, &err) < 0 || access(test_folder, F_OK) == 0;
}

/* Freezes and unpacks; free with exhibit__freeze_list__free_unpacked. */
static Exhibit__FreezeList *freeze(const char *name)
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

static bool path_is(const Exhibit__FreezeEntry *entry, const char *path)
{
    return entry->path.len == strlen(path) && (entry->path.len == 0 || memcmp(entry->path.data, path, entry->path.len) == 0);
}

static bool digest_is(const Exhibit__FreezeEntry *entry, const char *content)
{
    struct digest digest = digest_of(content, strlen(content));

    return entry->sha256.len == DIGEST_BYTES && memcmp(entry->sha256.data, digest.bytes, DIGEST_BYTES) == 0;
}

/* ---- freeze ---- */

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
    if (tree_freeze(at("t"), (struct pack_writer *)&err, &packed, &err) != ERR_SYSTEM || err.sys_errno != EACCES)
        return 2;
    return strstr(err.text, "/t: secret: open: Permission denied") == NULL ? 3 : 0;
}

static void an_unreadable_file_is_listed_unless_it_was_to_be_kept(void **state)
{
    (void)state;
    make_folder("t");
    make_folder("t/shut");
    make_file("t/shut/inside", "");
    make_file("t/secret", "secret");
    assert_int_equal(chmod(at("t/secret"), 0), 0);
    assert_int_equal(chmod(at("t/shut"), 0), 0);
    as_nobody(freeze_unreadable);
}

/* Makes folders nested `depth` deep in the folder `name`. */
static void make_deep(const char *name, int depth)
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

static void folders_nested_too_deep_are_refused_but_removed(void **state)
{
    AUTO_BYTES struct bytes list = {0};
    struct err err = {0};

    (void)state;
    make_folder("t");
    make_deep("t", 256);
    assert_int_equal(tree_freeze(at("t"), NULL, &list, &err), 0);
    assert_int_equal(tree_copy(at("t"), at("u"), &err), 0);
    make_folder("v");
    make_deep("v", 3000);
    assert_int_equal(tree_freeze(at("v"), NULL, &list, &err), ERR_LIMIT);
    assert_non_null(strstr(err.text, "nested deeper than 256"));
    assert_int_equal(tree_copy(at("v"), at("w"), &err), ERR_LIMIT);
    assert_non_null(strstr(err.text, "nested deeper than 256"));
    assert_int_equal(tree_remove(at("v"), &err), 0);
    assert_int_equal(access(at("v"), F_OK), -1);
}

static void paths_over_their_limit_are_refused_but_removed(void **state)
{
    AUTO_BYTES struct bytes list = {0};
    struct err err = {0};
    char name[251] = {0};
    AUTO_FD int fd = -1;

    (void)state;
    memset(name, 'n', 250);
    make_folder("t");
    fd = open(at("t"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 17; i++) {
        int next;

        assert_int_equal(mkdirat(fd, name, 0755), 0);
        next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        (void)close(fd);
        fd = next;
    }
    assert_int_equal(tree_freeze(at("t"), NULL, &list, &err), ERR_LIMIT);
    assert_non_null(strstr(err.text, "a path of more than 4096 bytes"));
    assert_int_equal(tree_copy(at("t"), at("u"), &err), ERR_LIMIT);
    assert_int_equal(tree_remove(at("t"), &err), 0);
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

/* ---- copy ---- */

static void a_copy_has_contents_modes_and_links_but_no_set_id_bits(void **state)
{
    Exhibit__FreezeList *list;
    struct err err;

    (void)state;
    make_folder("t");
    make_folder("t/shut");
    make_file("t/shut/file", "content");
    assert_int_equal(chmod(at("t/shut/file"), 06755), 0);
    assert_int_equal(chmod(at("t/shut"), 0555), 0);
    assert_int_equal(symlink("../outside", at("t/link")), 0);
    assert_int_equal(tree_copy(at("t"), at("u"), &err), 0);
    list = freeze("u");
    assert_int_equal(list->n_entries, 4);
    assert_true(digest_is(list->entries[1], "../outside"));
    assert_int_equal(list->entries[2]->mode, S_IFDIR | 0555);
    assert_int_equal(list->entries[3]->mode, S_IFREG | 0755);
    assert_true(digest_is(list->entries[3], "content"));
    exhibit__freeze_list__free_unpacked(list, NULL);
}

static void a_copy_refuses_what_is_no_file_and_names_it(void **state)
{
    struct err err = {0};

    (void)state;
    make_folder("t");
    make_folder("t/sub");
    assert_int_equal(mkfifo(at("t/sub/pipe"), 0600), 0);
    assert_int_equal(tree_copy(at("t"), at("u"), &err), ERR_USAGE);
    assert_non_null(strstr(err.text, "/t/sub/pipe: it is no regular file, folder or symbolic link"));
    assert_int_equal(tree_copy(at("t"), at("u"), &err), ERR_SYSTEM);
    assert_int_equal(err.sys_errno, EEXIST);
}

/* ---- remove ---- */

static void remove_takes_files_links_and_missing_things_and_follows_nothing(void **state)
{
    struct err err;

    (void)state;
    make_folder("outside");
    make_file("outside/file", "");
    make_folder("t");
    assert_int_equal(symlink(at("outside"), at("t/link")), 0);
    assert_int_equal(symlink(at("outside"), at("link")), 0);
    assert_int_equal(mkfifo(at("t/pipe"), 0600), 0);
    assert_int_equal(tree_remove(at("t"), &err), 0);
    assert_int_equal(tree_remove(at("link"), &err), 0);
    assert_int_equal(tree_remove(at("missing"), &err), 0);
    assert_int_equal(access(at("t"), F_OK), -1);
    assert_int_equal(access(at("outside/file"), F_OK), 0);
}

static int remove_as_nobody(void)
{
    struct err err = {0};

    make_folder("t");
    make_folder("t/shut");
    make_folder("t/shut/inner");
    make_file("t/shut/inner/file", "");
    make_deep("t/shut/inner", 300);
    if (chmod(at("t/shut/inner"), 0) < 0 || chmod(at("t/shut"), 0555) < 0 || chmod(at("t"), 0) < 0)
        return 1;
    if (tree_remove(at("t"), &err) < 0) {
        (void)fprintf(stderr, "%s\n", err.text);
        return 2;
    }
    return access(at("t"), F_OK) == 0 ? 3 : 0;
}

static void remove_opens_what_its_owner_had_shut(void **state)
{
    (void)state;
    as_nobody(remove_as_nobody);
}

static int remove_of_another(void)
{
    struct err err = {0};

    if (tree_remove(at("t"), &err) != ERR_SYSTEM)
        return 1;
    return strstr(err.text, "/t: sub: remove file: Permission denied") == NULL ? 2 : 0;
}

static void what_cannot_be_removed_is_named(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    make_folder("t");
    make_folder("t/sub");
    make_file("t/sub/file", "");
    as_nobody(remove_of_another);
    assert_int_equal(access(at("t/sub/file"), F_OK), 0);
}

/* In a mount namespace of its own: 0 good, 77 this machine does not let us mount. */
static int remove_over_a_mount(void)
{
    struct err err = {0};

    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount(at("outside"), at("t/mounted"), NULL, MS_BIND, NULL) < 0)
        return 77;
    if (tree_remove(at("t"), &err) != ERR_SYSTEM || access(at("outside/file"), F_OK) < 0)
        return 1;
    return strstr(err.text, "mounted") == NULL;
}

static void remove_never_empties_what_is_mounted_in_the_tree(void **state)
{
    pid_t pid;
    int status = 0;

    (void)state;
    make_folder("outside");
    make_file("outside/file", "");
    make_folder("t");
    make_folder("t/mounted");
    pid = fork();
    if (pid == 0)
        _exit(remove_over_a_mount());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(status, 0);
}

#define IN_FOLDER(name) cmocka_unit_test_setup_teardown(name, test_folder_make, test_folder_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(a_freeze_lists_in_the_order_of_whole_paths),
        IN_FOLDER(a_freeze_tells_modes_sizes_and_digests),
        IN_FOLDER(equal_trees_freeze_to_equal_bytes_and_every_change_shows),
        IN_FOLDER(a_freeze_keeps_contents_as_inputs_where_asked),
        IN_FOLDER(a_missing_root_is_named),
        IN_FOLDER(a_freeze_does_not_read_a_file_of_holes),
        IN_FOLDER(an_unreadable_file_is_listed_unless_it_was_to_be_kept),
        IN_FOLDER(folders_nested_too_deep_are_refused_but_removed),
        IN_FOLDER(paths_over_their_limit_are_refused_but_removed),
        IN_FOLDER(a_freeze_never_leaves_the_root_whatever_is_swapped),
        IN_FOLDER(a_copy_has_contents_modes_and_links_but_no_set_id_bits),
        IN_FOLDER(a_copy_refuses_what_is_no_file_and_names_it),
        IN_FOLDER(remove_takes_files_links_and_missing_things_and_follows_nothing),
        IN_FOLDER(remove_opens_what_its_owner_had_shut),
        IN_FOLDER(what_cannot_be_removed_is_named),
        IN_FOLDER(remove_never_empties_what_is_mounted_in_the_tree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
