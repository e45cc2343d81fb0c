/*
 * Copying and removing trees, hostile ones too.
 */
#include "base/cleanup.h"
#include "record/tree.h"
#include "record/walk.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/resource.h>
/* cmocka.h wants some of the above first. */
#include <cmocka.h>

#include "tests/unit/trees.h"

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
    return strstr(err.text, "/t: remove sub: Permission denied") == NULL ? 2 : 0;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(folders_nested_too_deep_are_refused_but_removed),
        IN_FOLDER(paths_over_their_limit_are_refused_but_removed),
        IN_FOLDER(a_copy_has_contents_modes_and_links_but_no_set_id_bits),
        IN_FOLDER(a_copy_refuses_what_is_no_file_and_names_it),
        IN_FOLDER(remove_takes_files_links_and_missing_things_and_follows_nothing),
        IN_FOLDER(remove_opens_what_its_owner_had_shut),
        IN_FOLDER(what_cannot_be_removed_is_named),
        IN_FOLDER(remove_never_empties_what_is_mounted_in_the_tree),
    };

    /* The usual number of descriptors, so that none is held for each level of a tree without end. */
    const struct rlimit usual = {1024, 1024};

    return setrlimit(RLIMIT_NOFILE, &usual) < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
