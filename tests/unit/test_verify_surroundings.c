/* What the launcher does by itself, from hostile texts. */
#include "verify/surroundings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include <cmocka.h>

static const char *told;
static size_t told_bytes;
static bool asked = true;

static int give_told(void *source, const Exhibit__Stream *stream, evidence_take_piece *take, void *context,
                     struct err *err)
{
    (void)source;
    (void)stream;
    return take(context, told, told_bytes, err);
}

static ProtobufCBinaryData text(const char *from)
{
    return (ProtobufCBinaryData){strlen(from), (uint8_t *)from};
}

/* Gathers from the launcher's run, which was given A=1 and B=2 in /w, said `said`, and left an artifact of this name.
 */
static struct surroundings gather(const void *said, size_t said_bytes, const char *left, mode_t mode)
{
    static const struct evidence evidence = {.stream = give_told};
    ProtobufCBinaryData command[] = {text("/tools/exhibit-probe"), text(asked ? "surroundings" : "nothing")};
    ProtobufCBinaryData environment[] = {text("A=1"), text("B=2")};
    Exhibit__RunStart run_start = EXHIBIT__RUN_START__INIT;
    Exhibit__StreamEnd stream_end = EXHIBIT__STREAM_END__INIT;
    Exhibit__Artifact artifact = EXHIBIT__ARTIFACT__INIT;
    Exhibit__Event start = EXHIBIT__EVENT__INIT, end = EXHIBIT__EVENT__INIT, leaving = EXHIBIT__EVENT__INIT;
    Exhibit__Event *events[] = {&start, &end, &leaving};
    struct ledger_run run = {.start = &start, .events = {events, left == NULL ? 2 : 3}};
    struct ledger_run *runs[] = {&run};
    struct ledger ledger = {.runs = runs, .run_count = 1};
    struct surroundings out;
    struct err err = {0};

    run_start.kind = EXHIBIT__RUN_KIND__RUN_LAUNCHER;
    run_start.mode = EXHIBIT__MODE__MODE_STRICT;
    run_start.cwd = text("/w");
    run_start.command = command;
    run_start.n_command = 2;
    run_start.environment = environment;
    run_start.n_environment = 2;
    start.what_case = EXHIBIT__EVENT__WHAT_RUN_START;
    start.run_start = &run_start;
    stream_end.stream = EXHIBIT__STREAM_NAME__STREAM_STDOUT;
    end.what_case = EXHIBIT__EVENT__WHAT_STREAM_END;
    end.stream_end = &stream_end;
    artifact.path = text(left == NULL ? "" : left);
    artifact.mode = mode;
    leaving.what_case = EXHIBIT__EVENT__WHAT_ARTIFACT;
    leaving.artifact = &artifact;
    told = said;
    told_bytes = said_bytes;
    if (surroundings_gather(&evidence, &ledger, &out, &err) < 0)
        fail_msg("%s", err.text);
    return out;
}

static void what_is_as_it_was_given_is_not_told(void **state)
{
    static const char said[] = "banner\nEXHIBIT1 surroundings\n/w\0B=2\0A=1";
    struct surroundings out = gather(said, sizeof said, NULL, 0);

    (void)state;
    assert_true(out.ran && out.told);
    assert_null(out.folder);
    assert_int_equal(out.set.count + out.changed.count + out.removed.count + out.left.count, 0);
    surroundings_done(&out);
}

static void what_was_set_changed_removed_and_left_is_told_by_name(void **state)
{
    static const char said[] = "EXHIBIT1 surroundings\n/els\x1bwhere\0A=secret\0AA=1\0=odd\0none";
    struct surroundings out = gather(said, sizeof said - 1, ".git", S_IFDIR | 0755);

    (void)state;
    assert_string_equal(out.folder, "/els?where");
    assert_int_equal(out.set.count, 3);
    assert_string_equal(out.set.names[0], "AA");
    assert_string_equal(out.set.names[1], "");
    assert_string_equal(out.set.names[2], "none");
    assert_int_equal(out.changed.count, 1);
    assert_string_equal(out.changed.names[0], "A");
    assert_int_equal(out.removed.count, 1);
    assert_string_equal(out.removed.names[0], "B");
    assert_int_equal(out.left.count, 1);
    assert_string_equal(out.left.names[0], ".git/");
    surroundings_done(&out);
}

static void without_the_line_nothing_is_known_and_nothing_is_made_up(void **state)
{
    static const char *const texts[] = {"", "EXHIBIT1 surroundings", "exhibit1 surroundings\n/w"};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct surroundings out = gather(texts[i], strlen(texts[i]), "x\n", S_IFREG);

        assert_true(out.ran && !out.told);
        assert_int_equal(out.set.count + out.changed.count + out.removed.count, 0);
        assert_string_equal(out.left.names[0], "x?");
        surroundings_done(&out);
    }
}

static void an_older_recording_says_nothing_of_it(void **state)
{
    struct surroundings out;

    (void)state;
    asked = false;
    out = gather("", 0, NULL, 0);
    asked = true;
    assert_false(out.ran);
    surroundings_done(&out);
}

static void a_flood_of_variables_is_counted_and_bounded(void **state)
{
    static const char first[] = "EXHIBIT1 surroundings\n/w";
    size_t size_bytes = 1u << 20;
    char *said = calloc(1, size_bytes);
    struct surroundings out;

    (void)state;
    assert_non_null(said);
    memcpy(said, first, sizeof first);
    for (size_t i = sizeof first; i + 2 < size_bytes; i += 2)
        said[i] = 'x';
    out = gather(said, size_bytes, NULL, 0);
    assert_int_equal(out.set.count, 16384);
    assert_string_equal(out.set.names[SURROUNDINGS_KEPT - 1], "x");
    surroundings_done(&out);
    memset(said + sizeof first, 'y', size_bytes - sizeof first);
    out = gather(said, size_bytes, NULL, 0);
    assert_int_equal(out.set.count, 1);
    assert_int_equal(strlen(out.set.names[0]), 256);
    surroundings_done(&out);
    free(said);
}

/* Gathers from the launcher's run with these events of scratch. */
static struct surroundings gather_passing(const Exhibit__ScratchEvent *seen, size_t count, bool lost)
{
    static const struct evidence evidence = {.stream = give_told};
    ProtobufCBinaryData command[] = {text("/tools/exhibit-probe"), text("surroundings")};
    Exhibit__RunStart run_start = EXHIBIT__RUN_START__INIT;
    Exhibit__ScratchEvent copies[16];
    Exhibit__Event all[18];
    Exhibit__Event *events[18];
    struct ledger_run run = {.start = &all[0], .events = {events, count + 1 + lost}};
    struct ledger_run *runs[] = {&run};
    struct ledger ledger = {.runs = runs, .run_count = 1};
    struct surroundings out;
    struct err err = {0};

    run_start.kind = EXHIBIT__RUN_KIND__RUN_LAUNCHER;
    run_start.mode = EXHIBIT__MODE__MODE_STRICT;
    run_start.command = command;
    run_start.n_command = 2;
    for (size_t i = 0; i < 18; i++) {
        exhibit__event__init(&all[i]);
        all[i].seq = i + 1;
        events[i] = &all[i];
    }
    all[0].what_case = EXHIBIT__EVENT__WHAT_RUN_START;
    all[0].run_start = &run_start;
    for (size_t i = 0; i < count; i++) {
        copies[i] = seen[i];
        all[i + 1].what_case = EXHIBIT__EVENT__WHAT_SCRATCH_EVENT;
        all[i + 1].scratch_event = &copies[i];
    }
    if (lost)
        all[count + 1].what_case = EXHIBIT__EVENT__WHAT_LOST;
    if (surroundings_gather(&evidence, &ledger, &out, &err) < 0)
        fail_msg("%s", err.text);
    return out;
}

static Exhibit__ScratchEvent seen(const char *path, uint32_t mask)
{
    Exhibit__ScratchEvent event = EXHIBIT__SCRATCH_EVENT__INIT;

    event.path = text(path);
    event.mask = mask;
    return event;
}

static void what_was_made_and_is_gone_is_told_and_nothing_else(void **state)
{
    const Exhibit__ScratchEvent events[] = {seen("stays", IN_CREATE),          seen("b\n", IN_CREATE),
                                            seen("again", IN_CREATE),          seen("again", IN_DELETE),
                                            seen("again", IN_CREATE),          seen("b\n", IN_DELETE),
                                            seen("a", IN_CREATE | IN_ISDIR),   seen("a/found", 0),
                                            seen("a/found", IN_MOVED_FROM),    seen("a", IN_DELETE | IN_ISDIR),
                                            seen("tmp", IN_DELETE | IN_ISDIR), seen("", IN_MOVED_TO)};
    struct surroundings out = gather_passing(events, sizeof events / sizeof *events, false);

    (void)state;
    assert_false(out.unseen);
    assert_int_equal(out.passed.count, 3);
    assert_string_equal(out.passed.names[0], "a/");
    assert_string_equal(out.passed.names[1], "a/found");
    assert_string_equal(out.passed.names[2], "b?");
    assert_int_equal(out.left.count, 0);
    surroundings_done(&out);
    out = gather_passing(events, 1, true);
    assert_true(out.unseen);
    assert_int_equal(out.passed.count, 0);
    surroundings_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_as_it_was_given_is_not_told),
        cmocka_unit_test(what_was_set_changed_removed_and_left_is_told_by_name),
        cmocka_unit_test(without_the_line_nothing_is_known_and_nothing_is_made_up),
        cmocka_unit_test(what_was_made_and_is_gone_is_told_and_nothing_else),
        cmocka_unit_test(an_older_recording_says_nothing_of_it),
        cmocka_unit_test(a_flood_of_variables_is_counted_and_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
