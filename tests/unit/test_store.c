#include "stores.h"

#include <sys/wait.h>

static void file_make(const struct scene *scene, const char *name, const char *text)
{
    char path[512];
    int fd;

    (void)snprintf(path, sizeof path, "%s/%s", scene->path, name);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    (void)close(fd);
}

static void refused(struct scene *scene, bool make, int code, const char *text)
{
    struct store *store = NULL;
    struct err err = {0};

    assert_int_equal(scene_try(scene, make, &store, &err), code);
    if (strstr(err.text, text) == NULL)
        fail_msg("'%s' is not in '%s'", text, err.text);
    if (make)
        assert_int_equal(store_may_be(scene->path, &err), code);
}

static void a_missing_folder_and_an_empty_one_become_stores(void **state)
{
    struct scene *scene = *state;
    char path[128], text[32] = "";
    struct err err;
    int fd;

    must(store_may_be(scene->path, &err), &err);
    assert_int_equal(access(scene->path, F_OK), -1); /* looking makes nothing */
    for (int turn = 0; turn < 3; turn++) {
        store_close(scene_open(scene));
        must(store_may_be(scene->path, &err), &err);
        (void)snprintf(path, sizeof path, "%s/%s", scene->path, STORE_MARKER);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        assert_int_equal(read(fd, text, sizeof text), 16);
        assert_memory_equal(text, "exhibit store 1\n", 16);
        (void)close(fd);
        if (turn == 0) { /* now an empty one, with what a crash can leave */
            assert_int_equal(unlink(path), 0);
            (void)snprintf(path, sizeof path, "%s/%s", scene->path, STORE_LOCK);
            assert_int_equal(unlink(path), 0);
            file_make(scene, ".exhibit-store.partial", "exhibit store 1\n and more than that");
        }
    }
}

static void what_is_no_store_is_refused(void **state)
{
    struct scene *scene = *state;

    refused(scene, false, ERR_USAGE, "cannot be opened (No such file or directory); name a store");
    assert_int_equal(mkdir(scene->path, 0700), 0);
    refused(scene, false, ERR_USAGE, "is no store; exhibit-record run PLAN --store makes one");
    file_make(scene, "notes", "mine");
    refused(scene, true, ERR_USAGE, "is no store and not empty; name an empty folder");
    refused(scene, false, ERR_USAGE, "is no store");
    file_make(scene, STORE_MARKER, "exhibit store 2\n");
    refused(scene, true, ERR_USAGE, "does not say `exhibit store 1`: a store of another version");
    file_make(scene, STORE_MARKER, "exhibit store 1\n\n");
    refused(scene, false, ERR_USAGE, "does not say `exhibit store 1`");
    (void)strcat(scene->path, "/notes");
    refused(scene, true, ERR_USAGE, "cannot be ");
    (void)strcpy(strrchr(scene->path, '/'), "/no/where");
    refused(scene, true, ERR_USAGE, "the folder above it");
    scene->path[0] = 0;
    refused(scene, true, ERR_USAGE, "takes the name of a folder");
}

static void a_marker_or_lock_that_is_a_link_is_not_followed(void **state)
{
    struct scene *scene = *state;
    char path[128], target[128];
    struct store *store = NULL;
    struct err err;

    assert_int_equal(mkdir(scene->path, 0700), 0);
    file_make(scene, "target", "exhibit store 1\n");
    (void)snprintf(path, sizeof path, "%s/%s", scene->path, STORE_MARKER);
    (void)snprintf(target, sizeof target, "%s/target", scene->path);
    assert_int_equal(symlink(target, path), 0);
    assert_true(scene_try(scene, true, &store, &err) < 0);
    assert_int_equal(unlink(path), 0);
    file_make(scene, STORE_MARKER, "exhibit store 1\n");
    (void)snprintf(path, sizeof path, "%s/%s", scene->path, STORE_LOCK);
    (void)snprintf(target, sizeof target, "%s/made", scene->path);
    assert_int_equal(symlink(target, path), 0);
    assert_int_equal(scene_try(scene, true, &store, &err), ERR_SYSTEM);
    assert_int_equal(access(target, F_OK), -1);
}

static void packs_are_listed_in_order_and_found_by_the_beginning_of_their_receipt(void **state)
{
    struct scene *scene = *state;
    char digits[2 * DIGEST_BYTES + 1], text[80];
    struct store *store;
    struct err err;
    uint32_t number = 99;

    for (uint32_t i = 0; i < 20; i++)
        (void)pack_add(scene, (struct inputs){i, i, 10});
    store = scene_open(scene);
    assert_int_equal(store_pack_count(store), 20);
    for (uint32_t i = 0; i < 20; i++) {
        const struct digest receipt = store_receipt(store, i), before = store_receipt(store, i == 0 ? 0 : i - 1);

        assert_true(i == 0 || memcmp(before.bytes, receipt.bytes, DIGEST_BYTES) < 0);
        hex_encode(receipt.bytes, DIGEST_BYTES, digits);
        must(store_find(store, digits, &number, &err), &err);
        assert_int_equal(number, i);
        (void)snprintf(text, sizeof text, "%.8s", digits);
        must(store_find(store, text, &number, &err), &err);
        assert_int_equal(number, i);
        text[7] = 0;
        assert_int_equal(store_find(store, text, &number, &err), ERR_USAGE);
        assert_non_null(strstr(err.text, "8 or more hexadecimal digits"));
    }
    assert_int_equal(store_find(store, "ABCDEF0123", &number, &err), ERR_USAGE);
    digits[63] = digits[63] == '0' ? '1' : '0';
    assert_int_equal(store_find(store, digits, &number, &err), ERR_USAGE);
    assert_non_null(strstr(err.text, "has no receipt"));
    store_close(store);
}

static void a_beginning_that_several_have_is_refused(void **state)
{
    struct scene *scene = *state;
    struct store *store = scene_open(scene);
    struct err err;
    uint32_t number;
    char name[STORE_NAME_BYTES];

    for (int i = 0; i < 2; i++) {
        struct digest receipt = {{0xab, 0xcd, 0xef, 0x01, (uint8_t)i}};

        store_pack_name(&receipt, name);
        file_make(scene, name, "");
    }
    store_close(store);
    store = scene_open(scene);
    assert_int_equal(store_find(store, "abcdef01", &number, &err), ERR_USAGE);
    assert_non_null(strstr(err.text, "more than one receipt abcdef01"));
    must(store_find(store, "abcdef0101", &number, &err), &err);
    assert_int_equal(number, 1);
    store_close(store);
}

/* What strays were told, in a text. */
static int stray_write(void *context, const struct store_stray *stray, struct err *err)
{
    char *all = context;

    (void)err;
    (void)sprintf(all + strlen(all), "[%s]%s%s ", stray->name, stray->is_local ? "local " : "",
                  stray->is_left      ? "left"
                  : stray->is_partial ? "partial"
                                      : "stray");
    return 0;
}

static void strays_are_told_and_hostile_names_are_harmless(void **state)
{
    static const char *const names[] = {
        "notes.txt",    "x.pack", "\033[2J\n%s%n.pack",
        "ABCDEF.local", "0.pack", "00000000000000000000000000000000000000000000000000000000000000ab.local"};
    struct scene *scene = *state;
    struct digest receipt = pack_add(scene, (struct inputs){1, 2, 10});
    char all[4096] = "", name[STORE_NAME_BYTES];
    struct pack_writer *writer;
    struct store *store;
    struct err err;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        file_make(scene, names[i], "");
    file_make(scene, ".recording.partial-0123", "");
    file_make(scene, ".local.partial-0123", "");
    store_local_name(&receipt, name);
    file_make(scene, name, "");
    store = scene_open(scene);
    writer = pack_begin(store, NULL);
    assert_int_equal(store_pack_count(store), 1);
    assert_true(store_has_local(store, 0));
    assert_int_equal(scene->note_count, 3);
    for (const char *at = scene->notes; *at != 0; at++)
        assert_true(*at == '\n' || (*at >= ' ' && *at <= '~'));
    must(store_strays(store, stray_write, all, &err), &err);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_non_null(strstr(all, names[i]));
    assert_non_null(strstr(all, "[.recording.partial-0123]left"));
    assert_non_null(strstr(all, "[.local.partial-0123]local left"));
    assert_non_null(strstr(all, "ab.local]local stray"));
    assert_non_null(strstr(all, "[ABCDEF.local]stray")); /* no receipt's */
    assert_non_null(strstr(all, "]partial"));            /* the one that is being written */
    assert_null(strstr(all, STORE_MARKER "]"));
    assert_null(strstr(all, name));
    pack_writer_abandon(writer);
    store_close(store);
}

static void two_writers_at_once_leave_both_packs(void **state)
{
    struct scene *scene = *state;
    struct store *first = scene_open(scene), *second = scene_open(scene);
    struct pack_writer *one = pack_begin(first, NULL), *two = pack_begin(second, NULL);
    struct store_pack pack = {.fd = -1};
    struct store *store;
    struct err err;

    for (uint32_t i = 0; i < 10; i++) {
        inputs_put(one, (struct inputs){i, i, 3000});
        inputs_put(two, (struct inputs){i + 5, i + 5, 3000});
    }
    (void)pack_end(scene, two);
    (void)pack_end(scene, one);
    store_close(first);
    store_close(second);
    store = scene_open(scene);
    assert_int_equal(store_pack_count(store), 2);
    for (uint32_t i = 0; i < 2; i++) {
        must(store_pack_open(store, i, true, &pack, &err), &err);
        must(pack_check(pack.pack, &err), &err);
        assert_int_equal(pack_object_count(pack.pack, PACK_INPUT), 10);
        store_pack_close(&pack);
    }
    store_close(store);
}

/* Tells a pipe that it waits. */
static void wait_note(void *context, const char *text)
{
    if (strstr(text, "waiting for") != NULL)
        (void)!write(*(int *)context, "w", 1);
}

static void who_replaces_packs_waits_for_those_who_read(void **state)
{
    struct scene *scene = *state;
    struct store *store = scene_open(scene), *other = NULL;
    int ends[2], status;
    char told[2] = "";
    struct err err;
    pid_t pid;

    assert_int_equal(pipe(ends), 0);
    pid = fork();
    if (pid == 0) {
        store_close(store); /* the descriptor of the lock is the parent's, too */
        if (store_open(
                &(struct store_request){
                    .path = scene->path, .lock = STORE_EXCLUSIVE, .note = wait_note, .context = &ends[1]},
                &other, &err) < 0)
            _exit(1);
        (void)!write(ends[1], "o", 1);
        _exit(0);
    }
    assert_int_equal(read(ends[0], told, 1), 1);
    assert_int_equal(told[0], 'w');
    assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
    store_close(store);
    assert_int_equal(read(ends[0], told, 1), 1);
    assert_int_equal(told[0], 'o');
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void a_pack_is_replaced_in_one_step_or_refused(void **state)
{
    struct scene *scene = *state;
    struct digest receipt = pack_add(scene, (struct inputs){1, 2, 10}), same;
    struct store *store = scene_open(scene);
    struct store_pack pack = {.fd = -1};
    char name[STORE_NAME_BYTES];
    unsigned zero = 0;
    struct err err;

    store_pack_name(&receipt, name);
    for (int naming = PACK_NAME_FRESH; naming <= PACK_NAME_REPLACE; naming++) {
        struct pack_writer *writer = pack_begin(store, NULL);

        inputs_put(writer, (struct inputs){1, 7, 10});
        must(pack_put(writer, PACK_OBSERVATION, &zero, sizeof zero, &same, &err), &err);
        assert_true(digest_equal(&same, &receipt));
        must(pack_writer_name(writer, name, (enum pack_naming)naming, &err), &err);
        assert_int_equal(pack_writer_finish(writer, &same, NULL, &err), naming == PACK_NAME_FRESH ? ERR_SYSTEM : 0);
        must(store_pack_open(store, 0, true, &pack, &err), &err);
        assert_int_equal(pack_object_count(pack.pack, PACK_INPUT), naming == PACK_NAME_FRESH ? 2 : 7);
        store_pack_close(&pack);
    }
    assert_int_equal(pack_writer_new_unnamed(store_folder(store), "a/b", &(struct pack_writer *){NULL}, &err),
                     ERR_USAGE);
    store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SCENE(a_missing_folder_and_an_empty_one_become_stores),
        WITH_SCENE(what_is_no_store_is_refused),
        WITH_SCENE(a_marker_or_lock_that_is_a_link_is_not_followed),
        WITH_SCENE(packs_are_listed_in_order_and_found_by_the_beginning_of_their_receipt),
        WITH_SCENE(a_beginning_that_several_have_is_refused),
        WITH_SCENE(strays_are_told_and_hostile_names_are_harmless),
        WITH_SCENE(two_writers_at_once_leave_both_packs),
        WITH_SCENE(who_replaces_packs_waits_for_those_who_read),
        WITH_SCENE(a_pack_is_replaced_in_one_step_or_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
