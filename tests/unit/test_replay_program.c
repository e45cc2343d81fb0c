/*
 * exhibit-replay from end to end: bundles written as a recorder writes them, and what the program says of them.
 */
#include "replay_scene.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "formats/archive.h"
#include "replay/bundle.h"

#include <archive.h>
#include <archive_entry.h>
#include <assert.h>
#include <fcntl.h>
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#define WHAT(kind) EXHIBIT__EVENT__WHAT_##kind

static const char oracle_text[] =
    "version: 1\n"
    "trials: [{name: tree, roles: [parent, child, grandchild]}]\n"
    "cases: [{name: hello, exit: 0, stdout: {equals: \"hello\\n\"}, stderr: {empty: true},\n"
    "         archives: [{path: \"out.*\"}]}]\n";

static char folder[64];
static struct scene scene;
static struct err err;
static struct bytes said, complained;

static int start(void **state)
{
    (void)state;
    (void)strcpy(folder, "/tmp/exhibit-replay.XXXXXX");
    assert_non_null(mkdtemp(folder));
    scene_init(&scene);
    assert_int_equal(bytes_add(&scene.oracle.source, oracle_text, strlen(oracle_text), 1 << 20, &err), 0);
    return 0;
}

static int stop(void **state)
{
    char command[128];

    (void)state;
    (void)snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
    bytes_done(&scene.oracle.source);
    bytes_done(&said);
    bytes_done(&complained);
    scene_done(&scene);
    return 0;
}

static struct digest put_message(struct pack_writer *writer, const ProtobufCMessage *message)
{
    AUTO_BYTES struct bytes packed = {0};
    struct digest digest;

    if (message_pack(message, LIMIT_CLAIM_BYTES, &packed, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(pack_put(writer, PACK_OBSERVATION, packed.data, packed.size_bytes, &digest, &err), 0);
    return digest;
}

/* Writes the scene as NAME in the folder, with a claim where there is one. */
static void write_bundle(const char *name, const Exhibit__Claim *claim)
{
    AUTO_FD int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct pack_writer *writer;
    struct stream_writer *log;
    const Exhibit__Stream *events;
    Exhibit__Receipt receipt = EXHIBIT__RECEIPT__INIT;
    struct digest receipt_digest, claim_digest;

    scene_finish(&scene);
    assert_int_equal(pack_writer_new(dir, name, &writer, &err), 0);
    for (size_t i = 0; i < scene.object_count; i++)
        assert_int_equal(
            pack_put(writer, PACK_OBSERVATION, scene.objects[i].data, scene.objects[i].size_bytes, &claim_digest, &err),
            0);
    log = stream_writer_new(writer);
    assert_non_null(log);
    for (size_t i = 0; i < scene.event_count; i++)
        if (events_append(log, scene.events[i], &err) < 0)
            fail_msg("event %zu: %s", i + 1, err.text);
    assert_int_equal(stream_writer_finish(log, &events, &err), 0);
    receipt.version = 1;
    receipt.run_id = scene_text("0123456789abcdef");
    receipt.events = (Exhibit__Stream *)events;
    receipt_digest = put_message(writer, &receipt.base);
    if (claim != NULL)
        claim_digest = put_message(writer, &claim->base);
    stream_writer_free(log);
    if (pack_writer_finish(writer, &receipt_digest, claim == NULL ? NULL : &claim_digest, &err) < 0)
        fail_msg("%s", err.text);
}

/* Writes the scene as NAME with the claim that follows from it, in which `change` may change something. */
static void write_claimed(const char *name, void (*change)(Exhibit__Claim *claim))
{
    struct bundle *bundle = NULL;
    char path[128];
    Exhibit__Claim claim;
    int fd;

    write_bundle("first", NULL);
    (void)snprintf(path, sizeof path, "%s/first", folder);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (bundle_replay(fd, NULL, &bundle, &err) < 0)
        fail_msg("%s", err.text);
    claim = *bundle->claim;
    if (change != NULL)
        change(&claim);
    write_bundle(name, &claim);
    bundle_free(bundle);
    (void)close(fd);
}

static void write_file(const char *name, const void *from, size_t size_bytes)
{
    char path[128];

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(file_create(AT_FDCWD, path, 0600, from, size_bytes, &err), 0);
}

/* Runs the program in the folder with arguments and redirections as a shell takes them. Returns its exit code. */
static int run_shell(const char *arguments)
{
    char command[512];
    int status;

    (void)snprintf(command, sizeof command, "cd %s && " EXHIBIT_REPLAY_PROGRAM " %s", folder, arguments);
    status = system(command);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Runs the program in the folder; what it printed is in `said` and `complained`. Returns its exit code. */
static int run(const char *arguments)
{
    char redirected[256], path[128];
    int code;

    (void)snprintf(redirected, sizeof redirected, "%s 2>complained >said", arguments);
    code = run_shell(redirected);
    (void)snprintf(path, sizeof path, "%s/said", folder);
    bytes_done(&said);
    assert_int_equal(file_read_path(AT_FDCWD, path, 1, 1 << 20, &said, &err), 0);
    (void)snprintf(path, sizeof path, "%s/complained", folder);
    bytes_done(&complained);
    assert_int_equal(file_read_path(AT_FDCWD, path, 1, 1 << 20, &complained, &err), 0);
    return code;
}

static void expect_complaint(const char *text)
{
    const char *whole = complained.size_bytes == 0 ? "" : (const char *)complained.data;

    if (strstr(whole, text) == NULL)
        fail_msg("it complains: %s", whole);
}

static void expect_said(const char *text)
{
    const char *whole = said.size_bytes == 0 ? "" : (const char *)said.data;

    if (strstr(whole, text) == NULL)
        fail_msg("it says: %s", whole);
}

static void a_claim_that_follows_is_derived(void **state)
{
    (void)state;
    scene_build(&scene);
    write_claimed("good", NULL);
    assert_int_equal(run("good --json"), 0);
    expect_said("\"decision\": \"GO\"");
    expect_said("\"prospective\": false");
    assert_int_equal(complained.size_bytes, 0);
    assert_int_equal(run("--require go good"), 0);
    expect_said("GO");
}

static void a_pack_without_a_claim_is_derived_with_a_note(void **state)
{
    (void)state;
    scene_build(&scene);
    write_bundle("bare", NULL);
    assert_int_equal(run("bare"), 0);
    expect_complaint("exhibit-replay: bare: note: it has no recorded claim to compare with\n");
}

static void be_optimistic(Exhibit__Claim *claim)
{
    claim->decision = (char *)"GO";
}

static void a_claim_that_does_not_follow_is_told(void **state)
{
    (void)state;
    scene.told[3] = "ok";
    scene_build(&scene);
    write_claimed("false", be_optimistic);
    assert_int_equal(run("false --require go"), 1);
    expect_complaint("exhibit-replay: false: recorded: decision GO; derived: NO-GO\n");
    expect_said("NO-GO");
}

static void no_go_is_derived_and_not_what_go_requires(void **state)
{
    (void)state;
    scene.told[3] = "ok";
    scene_build(&scene);
    write_claimed("bundle", NULL);
    assert_int_equal(run("bundle"), 0);
    assert_int_equal(run("bundle --require go"), 4);
}

static void incomplete_has_its_own_code(void **state)
{
    (void)state;
    scene_build(&scene);
    scene_find(&scene, WHAT(DROPS), RUN_STRICT, 0)->drops->count = 1;
    write_claimed("bundle", NULL);
    assert_int_equal(run("bundle"), 3);
    assert_int_equal(run("bundle --require go"), 4);
}

static void another_oracle_makes_a_prospective_claim(void **state)
{
    static const char wider[] = "version: 1\n"
                                "trials: [{name: tree, roles: [parent, child, grandchild]}]\n";

    (void)state;
    scene_build(&scene);
    write_claimed("bundle", be_optimistic);
    write_file("wider", wider, strlen(wider));
    write_file("same", oracle_text, strlen(oracle_text));
    assert_int_equal(run("bundle --oracle wider --json"), 0);
    expect_said("\"prospective\": true");
    assert_int_equal(run("bundle --oracle wider --require go"), 4);
    assert_int_equal(run("bundle --oracle same --require go"), 0);
}

static void wrong_usage_is_told_apart(void **state)
{
    (void)state;
    scene_build(&scene);
    write_bundle("bundle", NULL);
    write_file("broken", "version: 1\ncases: 7\n", 20);
    assert_int_equal(run(""), 2);
    expect_complaint("exhibit-replay: no bundle is named");
    assert_int_equal(run("bundle --html"), 2);
    expect_complaint("unknown option --html");
    assert_int_equal(run("bundle --require nogo"), 2);
    assert_int_equal(run("bundle --oracle"), 2);
    expect_complaint("--oracle needs a value");
    assert_int_equal(run("bundle --oracle broken"), 2);
    expect_complaint("broken:2");
    assert_int_equal(run("--help"), 0);
    expect_said("usage: exhibit-replay BUNDLE");
}

static void could_not_read_says_nothing_about_the_bundle(void **state)
{
    (void)state;
    scene_build(&scene);
    write_bundle("bundle", NULL);
    assert_int_equal(run("missing"), 5);
    expect_complaint("exhibit-replay: missing: cannot be opened: No such file");
    assert_int_equal(run("/dev/null"), 5);
    expect_complaint("not a regular file");
    assert_int_equal(run("bundle missing"), 5);
    assert_int_equal(run("bundle --oracle missing"), 2); /* the caller can mend that */
    assert_int_equal(run_shell("bundle >/dev/full 2>&1"), 5);
    assert_int_equal(run_shell("bundle --json >/dev/full 2>&1"), 5);
    assert_int_equal(run_shell("bundle >&- 2>&-"), 5);
}

static void malformed_bundles_are_refused(void **state)
{
    AUTO_BYTES struct bytes whole = {0};
    char path[128];

    (void)state;
    scene_build(&scene);
    write_bundle("bundle", NULL);
    (void)snprintf(path, sizeof path, "%s/bundle", folder);
    assert_int_equal(file_read_path(AT_FDCWD, path, 1, 1 << 24, &whole, &err), 0);
    write_file("cut", whole.data, whole.size_bytes - 1);
    write_file("empty", "", 0);
    assert_int_equal(run("cut"), 1);
    expect_complaint("exhibit-replay: cut: ");
    assert_int_equal(run("empty"), 1);
}

static void a_recorded_oracle_that_is_none_is_the_bundle_s_fault(void **state)
{
    (void)state;
    scene.oracle.source.data[0] = '[';
    scene_build(&scene);
    write_bundle("bundle", NULL);
    assert_int_equal(run("bundle"), 1);
    expect_complaint("exhibit-replay: bundle: the recorded oracle:");
}

static void a_malformed_log_is_the_bundle_s_fault(void **state)
{
    (void)state;
    scene_build(&scene);
    scene_find(&scene, WHAT(RUN_START), RUN_CASE_BASELINE_AGAIN, 0)->run_start->repeat = 1;
    write_bundle("bundle", NULL);
    assert_int_equal(run("bundle"), 1);
    expect_complaint("exhibit-replay: bundle: DECISION 1.1: runs 2 and 3");
}

/* Makes the artifact of a run a real archive whose member has a name that is not ASCII. */
static void make_foreign(uint32_t run_number, bool zip)
{
    Exhibit__Artifact *artifact = scene_find(&scene, WHAT(ARTIFACT), run_number, 0)->artifact;
    struct archive *archive = archive_write_new();
    struct archive_entry *entry = archive_entry_new();
    struct archive_list list = {0};
    static char buffer[1 << 16];
    size_t used = 0;

    assert_int_equal(zip ? archive_write_set_format_zip(archive) : archive_write_set_format_pax(archive), ARCHIVE_OK);
    assert_int_equal(archive_write_open_memory(archive, buffer, sizeof buffer, &used), ARCHIVE_OK);
    archive_entry_set_pathname_utf8(entry, "na\xc3\xafve-\xe2\x82\xac");
    archive_entry_set_filetype(entry, S_IFREG);
    archive_entry_set_perm(entry, 0644);
    archive_entry_set_size(entry, 1);
    archive_entry_set_mtime(entry, 1700000000, 0);
    assert_in_range(archive_write_header(archive, entry) + 100, 80, 100); /* a warning will do */
    assert_int_equal(archive_write_data(archive, "x", 1), 1);
    archive_entry_free(entry);
    assert_int_equal(archive_write_close(archive), ARCHIVE_OK);
    archive_write_free(archive);
    if (archive_list_read(buffer, used, &list, &err) < 0)
        fail_msg("%s", err.text);
    artifact->sha256 = scene_object(&scene, buffer, used);
    artifact->size_bytes = used;
    artifact->members = list.members;
    artifact->n_members = list.count;
}

static void confinement_does_not_change_what_an_archive_holds(void **state)
{
    (void)state;
    scene_build(&scene);
    make_foreign(RUN_CASE_BASELINE, false);
    make_foreign(RUN_CASE_BASELINE_AGAIN, true);
    make_foreign(RUN_CASE_STRICT, false);
    write_bundle("bundle", NULL);
    assert_int_equal(run("bundle --json"), 0);
    for (uint32_t i = 0; i < 3; i++) {
        static const uint32_t runs[] = {RUN_CASE_BASELINE, RUN_CASE_BASELINE_AGAIN, RUN_CASE_STRICT};
        Exhibit__Artifact *artifact = scene_find(&scene, WHAT(ARTIFACT), runs[i], 0)->artifact;
        struct archive_list list = {.members = artifact->members, .count = artifact->n_members};

        archive_list_done(&list);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_claim_that_follows_is_derived, start, stop),
        cmocka_unit_test_setup_teardown(a_pack_without_a_claim_is_derived_with_a_note, start, stop),
        cmocka_unit_test_setup_teardown(a_claim_that_does_not_follow_is_told, start, stop),
        cmocka_unit_test_setup_teardown(no_go_is_derived_and_not_what_go_requires, start, stop),
        cmocka_unit_test_setup_teardown(incomplete_has_its_own_code, start, stop),
        cmocka_unit_test_setup_teardown(another_oracle_makes_a_prospective_claim, start, stop),
        cmocka_unit_test_setup_teardown(wrong_usage_is_told_apart, start, stop),
        cmocka_unit_test_setup_teardown(could_not_read_says_nothing_about_the_bundle, start, stop),
        cmocka_unit_test_setup_teardown(malformed_bundles_are_refused, start, stop),
        cmocka_unit_test_setup_teardown(a_recorded_oracle_that_is_none_is_the_bundle_s_fault, start, stop),
        cmocka_unit_test_setup_teardown(a_malformed_log_is_the_bundle_s_fault, start, stop),
        cmocka_unit_test_setup_teardown(confinement_does_not_change_what_an_archive_holds, start, stop),
    };

    assert(setlocale(LC_CTYPE, "C.UTF-8") != NULL); /* libarchive's writers need it for names that are not ASCII */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
