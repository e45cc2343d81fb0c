/* What a receipt needs of the inputs, read from packs that are made here. */
#include "base/cleanup.h"
#include "formats/stream.h"
#include "record/needs.h"
#include "test_pack_fixture.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static const char plan_text[] = "version: 1\nname: needs\n"
                                "candidate: {name: open, argv: [/usr/bin/env, '{command}']}\n"
                                "inputs: [{name: kept, path: /kept}, {name: passed, path: /passed, retain: false}]\n"
                                "cases: [{name: one, command: [/bin/true]}]\n";

/* A freeze in the log: what is in it are files of these contents. */
struct scene_freeze {
    Exhibit__FreezeMoment moment;
    const char *input;
    const char *contents[4]; /* NULL: no more */
    bool missing;            /* its list is not in the pack */
};

/* What is written. */
struct scene {
    const char *plan;
    struct scene_freeze freezes[6];
    size_t freeze_count;
    bool partial;
    const char *loose[2]; /* contents; the first is an input of the pack, the second an observation */
    const char *raw_list; /* instead of the first list */
    bool without_plan, claim;
};

static struct digest put_message(struct pack_writer *writer, const ProtobufCMessage *message)
{
    AUTO_BYTES struct bytes packed = {0};
    struct digest digest;
    struct err err = {0};

    must(message_pack(message, LIMIT_FREEZE_BYTES, &packed, &err), &err);
    must(pack_put(writer, PACK_OBSERVATION, packed.data, packed.size_bytes, &digest, &err), &err);
    return digest;
}

/* The list of a root, the files, a link and a file that could not be read. */
static struct digest put_list(struct pack_writer *writer, const struct scene_freeze *freeze)
{
    Exhibit__FreezeList list = EXHIBIT__FREEZE_LIST__INIT;
    Exhibit__FreezeEntry entries[7], *pointers[7];
    struct digest digests[7];
    char names[7][2] = {{0}};
    size_t count = 0;

    for (size_t i = 0; i < 7; i++) {
        exhibit__freeze_entry__init(&entries[i]);
        pointers[i] = &entries[i];
        names[i][0] = (char)('a' + i);
    }
    entries[count++].mode = S_IFDIR | 0755;
    for (size_t i = 0; i < 4 && freeze->contents[i] != NULL; i++, count++) {
        digests[count] = digest_of(freeze->contents[i], strlen(freeze->contents[i]));
        entries[count].mode = S_IFREG | 0644;
        entries[count].path = (ProtobufCBinaryData){1, (uint8_t *)names[count]};
        entries[count].size_bytes = strlen(freeze->contents[i]);
        entries[count].sha256 = (ProtobufCBinaryData){DIGEST_BYTES, digests[count].bytes};
    }
    digests[count] = digest_of("a target", 8);
    entries[count].mode = S_IFLNK | 0777;
    entries[count].path = (ProtobufCBinaryData){1, (uint8_t *)names[count]};
    entries[count].sha256 = (ProtobufCBinaryData){DIGEST_BYTES, digests[count].bytes};
    count++;
    entries[count].mode = S_IFREG;
    entries[count].path = (ProtobufCBinaryData){1, (uint8_t *)names[count]};
    count++;
    list.n_entries = count;
    list.entries = pointers;
    return put_message(writer, &list.base);
}

static void append(struct stream_writer *log, Exhibit__Event *event, uint64_t *seq)
{
    struct err err = {0};

    event->seq = ++*seq;
    event->at_ns = *seq;
    event->source = EXHIBIT__SOURCE__SOURCE_RECORDER;
    event->vantage = EXHIBIT__VANTAGE__VANTAGE_HOST;
    must(events_append(log, event, &err), &err);
}

static void put_freeze(struct pack_writer *writer, struct stream_writer *log, const struct scene *scene, size_t number,
                       uint64_t *seq)
{
    const struct scene_freeze *told = &scene->freezes[number];
    Exhibit__Event event = EXHIBIT__EVENT__INIT;
    Exhibit__Freeze freeze = EXHIBIT__FREEZE__INIT;
    struct digest list = digest_of("nothing", 7);
    struct err err = {0};

    if (number == 0 && scene->raw_list != NULL)
        must(pack_put(writer, PACK_OBSERVATION, scene->raw_list, strlen(scene->raw_list), &list, &err), &err);
    else if (!told->missing)
        list = put_list(writer, told);
    freeze.moment = told->moment;
    freeze.input = (char *)told->input;
    freeze.root = (ProtobufCBinaryData){1, (uint8_t *)"/"};
    freeze.list_sha256 = (ProtobufCBinaryData){DIGEST_BYTES, list.bytes};
    event.what_case = EXHIBIT__EVENT__WHAT_FREEZE;
    event.freeze = &freeze;
    append(log, &event, seq);
}

static void put_start(struct pack_writer *writer, struct stream_writer *log, const struct scene *scene, uint64_t *seq)
{
    static uint8_t run_id[RUN_ID_BYTES];
    Exhibit__Event event = EXHIBIT__EVENT__INIT;
    Exhibit__RecordingStart start = EXHIBIT__RECORDING_START__INIT;
    struct digest plan = digest_of(scene->plan, strlen(scene->plan)), oracle = digest_of("oracle", 6);
    struct err err = {0};

    if (!scene->without_plan)
        must(pack_put(writer, PACK_OBSERVATION, scene->plan, strlen(scene->plan), &plan, &err), &err);
    start.run_id = (ProtobufCBinaryData){RUN_ID_BYTES, run_id};
    start.plan_sha256 = (ProtobufCBinaryData){DIGEST_BYTES, plan.bytes};
    start.oracle_sha256 = (ProtobufCBinaryData){DIGEST_BYTES, oracle.bytes};
    start.process_observer = EXHIBIT__SOURCE__SOURCE_SNAPSHOT;
    event.what_case = EXHIBIT__EVENT__WHAT_RECORDING_START;
    event.recording_start = &start;
    append(log, &event, seq);
}

static int digest_order(const void *a, const void *b)
{
    return memcmp(a, b, DIGEST_BYTES);
}

/* Writes the scene's pack, opens it, and gives what needs_read says. */
static int scene_needs(const struct scene *scene, struct needs *out, struct err *err)
{
    static uint8_t run_id[RUN_ID_BYTES];
    Exhibit__Receipt receipt = EXHIBIT__RECEIPT__INIT;
    struct pack_writer *writer = NULL;
    struct stream_writer *log;
    const Exhibit__Stream *events;
    ProtobufCBinaryData loose[2];
    struct digest loose_digests[2], digest;
    uint64_t seq = 0;
    AUTO_FD int fd = -1;
    struct pack *pack = NULL;
    int code;

    must(pack_writer_new(test_folder_fd, "p", &writer, err), err);
    log = stream_writer_new(writer);
    put_start(writer, log, scene, &seq);
    for (size_t i = 0; i < scene->freeze_count; i++)
        put_freeze(writer, log, scene, i, &seq);
    must(stream_writer_finish(log, &events, err), err);
    for (size_t i = 0; i < 2 && scene->loose[i] != NULL; i++)
        must(pack_put(writer, i == 0 ? PACK_INPUT : PACK_OBSERVATION, scene->loose[i], strlen(scene->loose[i]),
                      &loose_digests[receipt.n_loose_sha256++], err),
             err);
    if (receipt.n_loose_sha256 > 0)
        qsort(loose_digests, receipt.n_loose_sha256, sizeof *loose_digests, digest_order);
    for (size_t i = 0; i < receipt.n_loose_sha256; i++)
        loose[i] = (ProtobufCBinaryData){DIGEST_BYTES, loose_digests[i].bytes};
    receipt.loose_sha256 = loose;
    receipt.version = 1;
    receipt.run_id = (ProtobufCBinaryData){RUN_ID_BYTES, run_id};
    receipt.events = (Exhibit__Stream *)events;
    receipt.partial = scene->partial;
    digest = put_message(writer, &receipt.base);
    must(pack_writer_finish(writer, &digest, scene->claim ? &digest : NULL, err), err);
    stream_writer_free(log);
    fd = openat(test_folder_fd, "p", O_RDONLY | O_CLOEXEC);
    must(pack_open(fd, &pack, err), err);
    code = needs_read(pack, out, err);
    pack_close(pack);
    assert_int_equal(unlinkat(test_folder_fd, "p", 0), 0);
    return code;
}

/* Wants exactly these contents to be needed. */
static void expect(const struct scene *scene, const char *const *contents, size_t count)
{
    struct needs needs = {0};
    struct err err = {0};

    must(scene_needs(scene, &needs, &err), &err);
    assert_int_equal(needs_count(&needs), count);
    for (size_t i = 0; i < count; i++) {
        struct digest digest = digest_of(contents[i], strlen(contents[i]));

        assert_true(needs_have(&needs, &digest));
    }
    for (size_t i = 1; i < count; i++) {
        struct digest before = needs_at(&needs, i - 1), digest = needs_at(&needs, i);

        assert_true(memcmp(before.bytes, digest.bytes, DIGEST_BYTES) < 0);
    }
    needs_done(&needs);
}

#define BEFORE EXHIBIT__FREEZE_MOMENT__FREEZE_BEFORE

/* Of every input, and at every moment. */
static const struct scene usual = {
    .plan = plan_text,
    .freezes =
        {
            {BEFORE, "workspace", {"one", "two", "one", ""}, false},
            {BEFORE, "kept", {"three", "two"}, false},
            {BEFORE, "passed", {"four"}, false},
            {EXHIBIT__FREEZE_MOMENT__FREEZE_AFTER_BASELINE, "workspace", {"five"}, false},
            {EXHIBIT__FREEZE_MOMENT__FREEZE_RUN_BEFORE, "workspace", {"six"}, false},
        },
    .freeze_count = 5,
};

static void the_files_of_retained_inputs_are_needed_each_once_and_nothing_else(void **state)
{
    static const char *const right[] = {"one", "two", "", "three"};

    (void)state;
    expect(&usual, right, 4);
}

static void a_receipt_without_files_needs_nothing(void **state)
{
    struct scene scene = usual;
    struct digest digest = digest_of("one", 3);
    struct needs needs = {0};

    (void)state;
    scene.freeze_count = 0;
    expect(&scene, NULL, 0);
    assert_false(needs_have(&needs, &digest));
}

static void of_loose_objects_those_that_are_inputs_are_needed(void **state)
{
    static const char *const right[] = {"one", "two", "", "three", "loose input"};
    struct scene scene = usual;

    (void)state;
    scene.partial = true;
    scene.loose[0] = "loose input";
    scene.loose[1] = "loose observation";
    expect(&scene, right, 5);
}

static void what_was_salvaged_promises_nothing_and_may_have_lost_plan_and_lists(void **state)
{
    static const char *const right[] = {"one", "two", ""};
    struct scene scene = usual;
    struct needs needs = {0};
    struct err err = {0};

    (void)state;
    scene.partial = true;
    scene.without_plan = true;
    expect(&scene, right, 3);
    scene.freezes[0].missing = true;
    expect(&scene, NULL, 0);
    must(scene_needs(&scene, &needs, &err), &err);
    assert_false(needs.promises);
    needs_done(&needs);
}

static void a_whole_recording_and_an_interrupted_one_promise_what_they_need(void **state)
{
    struct scene scene = usual;
    struct needs needs = {0};
    struct err err = {0};

    (void)state;
    must(scene_needs(&scene, &needs, &err), &err);
    assert_true(needs.promises);
    scene.partial = scene.claim = true;
    must(scene_needs(&scene, &needs, &err), &err);
    assert_true(needs.promises);
    needs_done(&needs);
}

static void what_cannot_be_read_is_told_with_its_place(void **state)
{
    struct scene lost = usual, raw = usual, plan = usual, none = usual;
    const struct {
        const struct scene *scene;
        int code;
        const char *text;
    } cases[] = {
        {&lost, ERR_MISMATCH, "the event log: event 3, the list of kept: the pack has no observation"},
        {&raw, ERR_FORMAT, "the event log: event 2, the list of workspace: FORMAT 7.5: not a FreezeList"},
        {&plan, ERR_FORMAT, "the event log: the plan: "},
        {&none, ERR_MISMATCH, "the event log: the plan: the pack has no observation"},
    };
    struct needs needs = {0};

    (void)state;
    lost.freezes[1].missing = true;
    raw.raw_list = "no list";
    plan.plan = "version: 7\n";
    none.without_plan = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err err = {0};
        int code = scene_needs(cases[i].scene, &needs, &err);

        if (code != cases[i].code || strstr(err.text, cases[i].text) == NULL)
            fail_msg("wanted %d \"%s\", got %d \"%s\"", cases[i].code, cases[i].text, code, err.text);
        assert_int_equal(needs_count(&needs), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_files_of_retained_inputs_are_needed_each_once_and_nothing_else,
                                        folder_set_up, folder_tear_down),
        cmocka_unit_test_setup_teardown(a_receipt_without_files_needs_nothing, folder_set_up, folder_tear_down),
        cmocka_unit_test_setup_teardown(of_loose_objects_those_that_are_inputs_are_needed, folder_set_up,
                                        folder_tear_down),
        cmocka_unit_test_setup_teardown(what_was_salvaged_promises_nothing_and_may_have_lost_plan_and_lists,
                                        folder_set_up, folder_tear_down),
        cmocka_unit_test_setup_teardown(a_whole_recording_and_an_interrupted_one_promise_what_they_need, folder_set_up,
                                        folder_tear_down),
        cmocka_unit_test_setup_teardown(what_cannot_be_read_is_told_with_its_place, folder_set_up, folder_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
