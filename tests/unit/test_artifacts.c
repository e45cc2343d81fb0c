/*
 * What a run left in its scratch, as it may be left by somebody who means harm.
 */
#include "base/cleanup.h"
#include "record/artifacts.h"
#include "record/tree.h"

#include <archive.h>
#include <archive_entry.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>
/* cmocka.h wants some of the above first. */
#include <cmocka.h>

#include "tests/unit/trees.h"

/* What somebody does to the file "s/changing" just before or after the next read of a file. */
static void (*before_read)(void), (*after_read)(void);

int __real_file_pread_all(int fd, void *to, size_t size_bytes, uint64_t at_bytes, struct err *err);
int __wrap_file_pread_all(int fd, void *to, size_t size_bytes, uint64_t at_bytes, struct err *err);

int __wrap_file_pread_all(int fd, void *to, size_t size_bytes, uint64_t at_bytes, struct err *err)
{
    void (*before)(void) = before_read, (*after)(void) = after_read;
    int code;

    before_read = after_read = NULL;
    if (before != NULL)
        before();
    code = __real_file_pread_all(fd, to, size_bytes, at_bytes, err);
    if (after != NULL)
        after();
    return code;
}

/* One artifact as it was handed on. */
struct seen {
    char path[256];
    char note[256];
    uint32_t mode;
    uint64_t size_bytes;
    bool kept, is_archive, has_digest;
    size_t member_count;
    char content[64]; /* the beginning of it, where kept */
};

struct list {
    struct seen *items;
    size_t count;
};

static int note_down(void *context, const Exhibit__Artifact *artifact, const void *content, size_t size_bytes,
                     struct err *err)
{
    struct list *list = context;
    struct seen *seen = &list->items[list->count++];

    (void)err;
    assert_true(artifact->path.len < sizeof seen->path);
    *seen = (struct seen){.mode = artifact->mode,
                          .size_bytes = artifact->size_bytes,
                          .kept = artifact->kept,
                          .is_archive = artifact->is_archive,
                          .member_count = artifact->n_members};
    if (artifact->path.len > 0)
        memcpy(seen->path, artifact->path.data, artifact->path.len);
    (void)snprintf(seen->note, sizeof seen->note, "%s", artifact->note);
    seen->has_digest = artifact->sha256.len == DIGEST_BYTES;
    if (artifact->kept) {
        struct digest digest = digest_of(content, size_bytes);

        assert_memory_equal(digest.bytes, artifact->sha256.data, DIGEST_BYTES);
        assert_int_equal(size_bytes, artifact->size_bytes);
        memcpy(seen->content, content, size_bytes < 63 ? size_bytes : 63);
    } else {
        assert_null(content);
        assert_int_equal(size_bytes, 0);
    }
    return 0;
}

static bool with_folders;

/* Collects from the folder "s", with "kept.out" passed over. */
static void collect(struct list *list, size_t room)
{
    static const char *const skip[] = {"kept.out", "sub/kept.out"};
    AUTO_FD int dir = open(test_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct pack_writer *writer = NULL;
    struct err err = {0};
    int code;

    *list = (struct list){.items = calloc(room, sizeof(struct seen))};
    assert_non_null(list->items);
    assert_int_equal(pack_writer_new(dir, "pack", &writer, &err), 0);
    code = artifacts_collect(&(struct artifacts_request){.scratch = at("s"),
                                                         .skip = skip,
                                                         .skip_count = 2,
                                                         .folders = with_folders,
                                                         .pack = writer,
                                                         .take = note_down,
                                                         .context = list},
                             &err);
    pack_writer_abandon(writer);
    if (code < 0)
        fail_msg("%s", err.text);
}

static const struct seen *find(const struct list *list, const char *path)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].path, path) == 0)
            return &list->items[i];
    fail_msg("no artifact %s", path);
    return NULL;
}

static void assert_not_kept(const struct list *list, const char *path, const char *note)
{
    const struct seen *seen = find(list, path);

    assert_false(seen->kept);
    if (strstr(seen->note, note) == NULL)
        fail_msg("%s: %s", path, seen->note);
}

static void files_are_kept_in_order_and_the_recorders_own_are_passed_over(void **state)
{
    static const char *const wanted[] = {"a-b", "a/b", "a/kept.out", "line\nbreak", "none", "sub.x"};
    struct list list;

    (void)state;
    make_folder("s");
    make_folder("s/a");
    make_folder("s/sub");
    make_file("s/kept.out", "not this");
    make_file("s/sub/kept.out", "nor this");
    make_file("s/a/kept.out", "but this");
    make_file("s/a/b", "content");
    make_file("s/a-b", "");
    make_file("s/sub.x", "");
    make_file("s/none", "");
    make_file("s/line\nbreak", "");
    collect(&list, 20);
    assert_int_equal(list.count, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_string_equal(list.items[i].path, wanted[i]);
        assert_true(list.items[i].kept);
        assert_int_equal(list.items[i].mode, S_IFREG | 0644);
        assert_string_equal(list.items[i].note, "");
    }
    assert_string_equal(list.items[1].content, "content");
    free(list.items);
}

static void what_is_no_plain_file_is_noted_and_never_waited_for(void **state)
{
    struct list list;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    AUTO_FD int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)state;
    make_folder("s");
    assert_int_equal(mkfifo(at("s/pipe"), 0600), 0);
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s/s/socket", test_folder);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(symlink("/etc/passwd", at("s/link")), 0);
    make_file("outside", "of another");
    assert_int_equal(link(at("outside"), at("s/hard")), 0);
    make_hole("s/hole", 8 << 20);
    make_hole("s/huge", (off_t)1 << 40);
    make_hole("s/small-hole", 1000);
    collect(&list, 20);
    assert_int_equal(list.count, 7);
    assert_not_kept(&list, "pipe", "not a regular file");
    assert_not_kept(&list, "socket", "not a regular file");
    assert_not_kept(&list, "link", "a symbolic link");
    assert_true(find(&list, "link")->has_digest);
    assert_not_kept(&list, "hard", "hard link: the file has 2 names");
    assert_false(find(&list, "hard")->has_digest);
    assert_not_kept(&list, "hole", "sparse: almost all of its 8388608 bytes are holes");
    assert_not_kept(&list, "huge", "too large: 1099511627776 bytes, 67108864 at most");
    assert_true(find(&list, "small-hole")->kept);
    if (geteuid() == 0 && mknod(at("s/null"), S_IFCHR | 0600, 0x0103) == 0) {
        free(list.items);
        collect(&list, 20);
        assert_not_kept(&list, "null", "not a regular file");
    }
    free(list.items);
}

/* Makes a tgz with `count` members. */
static void make_archive(const char *name, unsigned count)
{
    struct archive *archive = archive_write_new();

    assert_int_equal(archive_write_set_format_ustar(archive), ARCHIVE_OK);
    assert_int_equal(archive_write_add_filter_gzip(archive), ARCHIVE_OK);
    assert_int_equal(archive_write_open_filename(archive, at(name)), ARCHIVE_OK);
    for (unsigned i = 0; i < count; i++) {
        struct archive_entry *entry = archive_entry_new();
        char path[100];

        (void)snprintf(path, sizeof path, "package/a/path/that/is/not/all/that/short/%u", i);
        archive_entry_set_pathname(entry, path);
        archive_entry_set_filetype(entry, S_IFREG);
        archive_entry_set_perm(entry, 0644);
        archive_entry_set_size(entry, 0);
        assert_int_equal(archive_write_header(archive, entry), ARCHIVE_OK);
        archive_entry_free(entry);
    }
    assert_int_equal(archive_write_free(archive), ARCHIVE_OK);
}

static void archives_are_listed_by_member_if_they_are_whole_and_fit_an_event(void **state)
{
    struct list list;
    struct stat stat_of_good;

    (void)state;
    make_folder("s");
    make_archive("s/good.tgz", 3);
    make_archive("s/many.tgz", 12000);
    make_archive("s/other.bin", 3);
    make_archive("s/cut.tar.gz", 3);
    assert_int_equal(stat(at("s/cut.tar.gz"), &stat_of_good), 0);
    assert_int_equal(truncate(at("s/cut.tar.gz"), stat_of_good.st_size - 3), 0);
    collect(&list, 20);
    assert_int_equal(list.count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_true(list.items[i].kept);
    assert_true(find(&list, "good.tgz")->is_archive);
    assert_int_equal(find(&list, "good.tgz")->member_count, 3);
    assert_string_equal(find(&list, "good.tgz")->note, "");
    assert_false(find(&list, "other.bin")->is_archive);
    assert_false(find(&list, "cut.tar.gz")->is_archive);
    assert_non_null(strstr(find(&list, "cut.tar.gz")->note, "kept, but not listed: the archive is damaged"));
    assert_false(find(&list, "many.tgz")->is_archive);
    assert_int_equal(find(&list, "many.tgz")->member_count, 0);
    assert_string_equal(find(&list, "many.tgz")->note,
                        "kept, but not listed: its 12000 members do not fit into an event");
    free(list.items);
}

static int collect_unreadable(void)
{
    struct list list;

    collect(&list, 20);
    if (list.count != 3)
        return 1;
    assert_not_kept(&list, "secret", "cannot be read: Permission denied");
    assert_not_kept(&list, "shut", "passed over in part: open the folder: Permission denied");
    if (!S_ISDIR(find(&list, "shut")->mode) || !find(&list, "z")->kept)
        return 2;
    free(list.items);
    return 0;
}

static void what_may_not_be_read_is_noted_and_the_rest_is_kept(void **state)
{
    (void)state;
    make_folder("s");
    make_folder("s/shut");
    make_file("s/shut/inside", "");
    make_file("s/secret", "secret");
    make_file("s/z", "z");
    assert_int_equal(chmod(at("s/secret"), 0), 0);
    assert_int_equal(chmod(at("s/shut"), 0), 0);
    as_nobody(collect_unreadable);
}

static void more_than_the_limit_are_counted_in_a_last_note(void **state)
{
    struct list list;

    (void)state;
    make_folder("s");
    for (unsigned i = 0; i < LIMIT_ARTIFACTS + 3; i++) {
        char name[32];

        (void)snprintf(name, sizeof name, "s/f%05u", i);
        make_file(name, "");
    }
    collect(&list, LIMIT_ARTIFACTS + 10);
    assert_int_equal(list.count, LIMIT_ARTIFACTS + 1);
    assert_string_equal(list.items[LIMIT_ARTIFACTS - 1].path, "f09999");
    assert_string_equal(list.items[LIMIT_ARTIFACTS].path, "");
    assert_string_equal(list.items[LIMIT_ARTIFACTS].note, "3 more were passed over: 10000 at most");
    free(list.items);
}

static void folders_are_told_where_asked_but_for_the_recorders_own(void **state)
{
    static const char *const wanted[] = {".git", "home/.config", "home/.config/x", "tmp/deep"};
    struct list list;

    (void)state;
    for (size_t i = 0; i < 3; i++)
        make_folder(((const char *const[]){"s", "s/home", "s/tmp"})[i]);
    make_folder("s/run");
    make_folder("s/.git");
    make_folder("s/home/.config");
    make_folder("s/tmp/deep");
    make_file("s/home/.config/x", "");
    with_folders = true;
    collect(&list, 10);
    with_folders = false;
    assert_int_equal(list.count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(list.items[i].path, wanted[i]);
    assert_not_kept(&list, ".git", "a folder");
    assert_true(S_ISDIR(list.items[0].mode));
    free(list.items);
    collect(&list, 10);
    assert_int_equal(list.count, 1);
    free(list.items);
}

static void file_shortened(void)
{
    assert_int_equal(truncate(at("s/changing"), 3), 0);
}

static void file_grown(void)
{
    assert_int_equal(truncate(at("s/changing"), 300), 0);
}

/* As many bytes as before; later than the coarsest clock of a file system shows. */
static void file_written_over(void)
{
    (void)usleep(30000);
    make_file("s/changing", "CONTENT");
}

static void a_file_that_changes_while_it_is_read_is_noted_and_not_kept(void **state)
{
    static void (*const changes[])(void) = {file_shortened, file_grown, file_written_over};

    (void)state;
    make_folder("s");
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        struct list list;

        for (int after = 0; after < 2; after++) {
            make_file("s/changing", "content");
            *(after ? &after_read : &before_read) = changes[i];
            collect(&list, 20);
            assert_int_equal(list.count, 1);
            assert_not_kept(&list, "changing", "changed while it was read");
            assert_false(find(&list, "changing")->has_digest);
            assert_true((strchr(find(&list, "changing")->note, ':') != NULL) ==
                        (!after && changes[i] == file_shortened));
            free(list.items);
        }
    }
}

static int refuse(void *context, const Exhibit__Artifact *artifact, const void *content, size_t size_bytes,
                  struct err *err)
{
    (void)context;
    (void)artifact;
    (void)content;
    (void)size_bytes;
    return err_set(err, ERR_LIMIT, "no more");
}

static void a_failure_of_the_taker_ends_the_walk_and_a_missing_scratch_is_named(void **state)
{
    struct err err = {0};

    (void)state;
    make_folder("s");
    assert_int_equal(mkfifo(at("s/pipe"), 0600), 0);
    assert_int_equal(artifacts_collect(&(struct artifacts_request){.scratch = at("s"), .take = refuse}, &err),
                     ERR_LIMIT);
    assert_string_equal(err.text, "artifact pipe: no more");
    assert_int_equal(artifacts_collect(&(struct artifacts_request){.scratch = at("no"), .take = refuse}, &err),
                     ERR_SYSTEM);
    assert_non_null(strstr(err.text, at("no")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(files_are_kept_in_order_and_the_recorders_own_are_passed_over),
        IN_FOLDER(what_is_no_plain_file_is_noted_and_never_waited_for),
        IN_FOLDER(archives_are_listed_by_member_if_they_are_whole_and_fit_an_event),
        IN_FOLDER(what_may_not_be_read_is_noted_and_the_rest_is_kept),
        IN_FOLDER(more_than_the_limit_are_counted_in_a_last_note),
        IN_FOLDER(folders_are_told_where_asked_but_for_the_recorders_own),
        IN_FOLDER(a_file_that_changes_while_it_is_read_is_noted_and_not_kept),
        IN_FOLDER(a_failure_of_the_taker_ends_the_walk_and_a_missing_scratch_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
