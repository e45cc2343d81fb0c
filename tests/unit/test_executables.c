/* When an executable is digested: at once, or when the run is over and it is still what was seen. */
#include "base/cleanup.h"
#include "base/file.h"
#include "formats/digest.h"
#include "record/executables.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { SMALL_BYTES = 1 << 20, LARGE_BYTES = (1 << 20) + 1 };

/* A folder that stands for that of a process, whose `exe` is a file of its own. */
struct scene {
    char folder[64];
    char file[80];
    int folder_fd;
    struct executables *executables;
    struct digest digest; /* of the file */
    bool is_away;         /* the folder has another name */
    int told;             /* how many identities were given with that digest */
};

/* Writes the file, byte after byte the same. */
static void file_fill(struct scene *scene, char byte, size_t size_bytes)
{
    static char bytes[LARGE_BYTES];
    AUTO_FD int fd = open(scene->file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
    struct err err;

    memset(bytes, byte, size_bytes);
    assert_int_equal(file_write_all(fd, bytes, size_bytes, &err), 0);
    scene->digest = digest_of(bytes, size_bytes);
}

static int64_t later_s(void)
{
    struct timespec now;

    assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
    return now.tv_sec + 2;
}

/* Makes a name in the folder one of another file, in place of what it was. */
static void name_make(const struct scene *scene, const char *name, const char *target)
{
    (void)unlinkat(scene->folder_fd, name, 0);
    assert_int_equal(symlinkat(target, scene->folder_fd, name), 0);
}

static int scene_make(void **state)
{
    static struct scene scene;
    scene = (struct scene){.folder = "/tmp/exhibit-test-XXXXXX"};
    assert_non_null(mkdtemp(scene.folder));
    (void)snprintf(scene.file, sizeof scene.file, "%s/file", scene.folder);
    scene.folder_fd = open(scene.folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    name_make(&scene, "exe", scene.file);
    name_make(&scene, "root", "/");
    assert_int_equal(mkdirat(scene.folder_fd, "ns", 0700), 0);
    name_make(&scene, "ns/mnt", "/proc/self/ns/mnt");
    scene.executables = executables_new();
    assert_non_null(scene.executables);
    file_fill(&scene, 'a', LARGE_BYTES);
    executables_defer(scene.executables, later_s());
    *state = &scene;
    return 0;
}

static int scene_end(void **state)
{
    static const char *const names[] = {"file", "exe", "other", "root", "ns/mnt"};
    struct scene *scene = *state;

    char away[80];

    executables_free(scene->executables);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        (void)unlinkat(scene->folder_fd, names[i], 0);
    (void)unlinkat(scene->folder_fd, "ns", AT_REMOVEDIR);
    (void)close(scene->folder_fd);
    (void)snprintf(away, sizeof away, "%s%s", scene->folder, scene->is_away ? "-away" : "");
    return rmdir(away);
}

/* The identity of a process that executes the file, which it knows by this path. */
static Exhibit__ProcessIdentity *identity_of(struct scene *scene, const char *path)
{
    Exhibit__ProcessIdentity *identity = malloc(sizeof *identity);

    assert_non_null(identity);
    exhibit__process_identity__init(identity);
    identity->executable = (ProtobufCBinaryData){strlen(path), (uint8_t *)strdup(path)};
    assert_true(executables_identify(scene->executables, scene->folder_fd, identity));
    return identity;
}

static bool is_told(const struct scene *scene, const Exhibit__ProcessIdentity *identity)
{
    struct digest digest;

    return digest_from(identity->executable_sha256.data, identity->executable_sha256.len, &digest) &&
           digest_equal(&digest, &scene->digest);
}

/* Whether a look tells the digest. */
static bool look_tells(struct scene *scene, const char *path)
{
    Exhibit__ProcessIdentity *identity = identity_of(scene, path);
    bool told = is_told(scene, identity);

    exhibit__process_identity__free_unpacked(identity, NULL);
    return told;
}

static int take(void *context, Exhibit__ProcessIdentity *identity, struct err *err)
{
    struct scene *scene = context;

    (void)err;
    scene->told += is_told(scene, identity);
    return 0;
}

/* Looks, has the identity kept, and does this before the run's end. Gives how many are told then. */
static int told_after(struct scene *scene, const char *path, void (*meanwhile)(struct scene *scene))
{
    Exhibit__ProcessIdentity *identity = identity_of(scene, path);
    struct err err = {0};

    assert_int_equal(identity->executable_sha256.len, 0);
    assert_true(executables_keep(scene->executables, identity));
    if (meanwhile != NULL)
        meanwhile(scene);
    assert_int_equal(executables_digest(scene->executables, take, scene, &err), 0);
    return scene->told;
}

/* Takes its path away, and leaves what it is. */
static void folder_away(struct scene *scene)
{
    char away[80];

    (void)snprintf(away, sizeof away, "%s-away", scene->folder);
    assert_int_equal(rename(scene->folder, away), 0);
    assert_int_equal(mkdir(scene->folder, 0700), 0);
    assert_int_equal(rmdir(scene->folder), 0);
    scene->is_away = true;
}

static void a_large_one_is_told_at_the_end_and_by_the_first_alone(void **state)
{
    struct scene *scene = *state;
    Exhibit__ProcessIdentity *first = identity_of(scene, scene->file), *second = identity_of(scene, scene->file);
    struct err err = {0};
    struct stat stat;

    assert_int_equal(fstatat(scene->folder_fd, "file", &stat, 0), 0);
    assert_int_equal(first->executable_device, stat.st_dev);
    assert_int_equal(first->executable_inode, stat.st_ino);
    assert_int_equal(first->executable_sha256.len + second->executable_sha256.len, 0);
    assert_true(executables_keep(scene->executables, first));
    assert_false(executables_keep(scene->executables, second));
    exhibit__process_identity__free_unpacked(second, NULL);
    assert_int_equal(executables_digest(scene->executables, take, scene, &err), 0);
    assert_int_equal(scene->told, 1);
    assert_true(look_tells(scene, scene->file)); /* it is known now */
    assert_int_equal(executables_digest(scene->executables, take, scene, &err), 0);
    assert_int_equal(scene->told, 1);
}

static void a_small_one_is_told_at_once(void **state)
{
    struct scene *scene = *state;

    file_fill(scene, 'b', SMALL_BYTES);
    assert_true(look_tells(scene, scene->file));
}

static void one_that_is_as_young_as_the_run_is_told_by_no_path(void **state)
{
    struct scene *scene = *state;

    executables_defer(scene->executables, later_s() - 3600);
    assert_int_equal(told_after(scene, scene->file, folder_away), 1);
}

static void where_none_may_wait_all_are_told_at_once(void **state)
{
    struct scene *scene = *state;
    Exhibit__ProcessIdentity *identity = identity_of(scene, scene->file);

    assert_int_equal(identity->executable_sha256.len, 0);
    exhibit__process_identity__free_unpacked(identity, NULL);
    executables_defer(scene->executables, INT64_MIN);
    assert_true(look_tells(scene, scene->file));
}

static void one_that_we_know_by_no_path_is_told(void **state)
{
    assert_int_equal(told_after(*state, "/nowhere", NULL), 1);
}

static void one_whose_path_is_another_file_for_us_is_told(void **state)
{
    assert_int_equal(told_after(*state, "/bin/sh", NULL), 1);
}

static void one_in_another_root_is_told_by_no_path(void **state)
{
    struct scene *scene = *state;

    name_make(scene, "root", "/tmp");
    assert_int_equal(told_after(scene, scene->file, folder_away), 1);
}

static void one_among_other_mounts_is_told_by_no_path(void **state)
{
    struct scene *scene = *state;

    name_make(scene, "ns/mnt", "/proc/self/ns/net");
    assert_int_equal(told_after(scene, scene->file, folder_away), 1);
}

/* So a run's end takes no longer than to digest so much. */
static void those_that_wait_have_half_a_gigabyte_together(void **state)
{
    struct scene *scene = *state;
    Exhibit__ProcessIdentity *identity;

    assert_int_equal(truncate(scene->file, (512 << 20) - LARGE_BYTES), 0);
    assert_false(look_tells(scene, scene->file));
    (void)unlinkat(scene->folder_fd, "file", 0);
    file_fill(scene, 'd', LARGE_BYTES);
    assert_false(look_tells(scene, scene->file));
    (void)unlinkat(scene->folder_fd, "file", 0);
    file_fill(scene, 'e', LARGE_BYTES);
    identity = identity_of(scene, scene->file);
    assert_int_equal(identity->executable_sha256.len, 0);
    assert_false(executables_keep(scene->executables, identity)); /* it has none to come */
    exhibit__process_identity__free_unpacked(identity, NULL);
}

static void other_content(struct scene *scene)
{
    static const struct timespec tick = {.tv_nsec = 20000000}; /* the kernel's for the times of files is shorter */

    (void)nanosleep(&tick, NULL);
    file_fill(scene, 'c', LARGE_BYTES);
}

static void one_that_was_changed_is_not_told(void **state)
{
    assert_int_equal(told_after(*state, ((struct scene *)*state)->file, other_content), 0);
}

static void other_file(struct scene *scene)
{
    char other[96];

    (void)snprintf(other, sizeof other, "%s/other", scene->folder);
    assert_int_equal(rename(scene->file, other), 0);
    file_fill(scene, 'a', LARGE_BYTES);
}

static void one_that_was_replaced_is_not_told_though_the_bytes_are_the_same(void **state)
{
    assert_int_equal(told_after(*state, ((struct scene *)*state)->file, other_file), 0);
}

static void a_pipe(struct scene *scene)
{
    assert_int_equal(unlinkat(scene->folder_fd, "file", 0), 0);
    assert_int_equal(mkfifo(scene->file, 0600), 0);
}

static void one_that_became_a_pipe_is_not_waited_for(void **state)
{
    assert_int_equal(told_after(*state, ((struct scene *)*state)->file, a_pipe), 0);
}

static void one_that_is_left_as_it_was_is_told(void **state)
{
    assert_int_equal(told_after(*state, ((struct scene *)*state)->file, NULL), 1);
}

static void what_waits_when_all_ends_is_released(void **state)
{
    struct scene *scene = *state;

    assert_true(executables_keep(scene->executables, identity_of(scene, scene->file)));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_make, scene_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_large_one_is_told_at_the_end_and_by_the_first_alone),
        TEST(a_small_one_is_told_at_once),
        TEST(one_that_is_as_young_as_the_run_is_told_by_no_path),
        TEST(where_none_may_wait_all_are_told_at_once),
        TEST(one_that_we_know_by_no_path_is_told),
        TEST(one_whose_path_is_another_file_for_us_is_told),
        TEST(one_in_another_root_is_told_by_no_path),
        TEST(one_among_other_mounts_is_told_by_no_path),
        TEST(those_that_wait_have_half_a_gigabyte_together),
        TEST(one_that_was_changed_is_not_told),
        TEST(one_that_was_replaced_is_not_told_though_the_bytes_are_the_same),
        TEST(one_that_became_a_pipe_is_not_waited_for),
        TEST(one_that_is_left_as_it_was_is_told),
        TEST(what_waits_when_all_ends_is_released),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
