/*
 * What a scene is made of and how it is changed: objects, streams, events; and the claim that follows from it.
 */
#include "replay_scene.h"

#include "base/bytes.h"
#include "replay/judge.h"
#include "replay/words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void *scene_take(struct scene *scene, size_t size_bytes)
{
    void *taken = arena_take(&scene->arena, size_bytes);

    assert_non_null(taken);
    return taken;
}

ProtobufCBinaryData scene_text(const char *text)
{
    return (ProtobufCBinaryData){strlen(text), (uint8_t *)text};
}

ProtobufCBinaryData scene_object(struct scene *scene, const void *from, size_t size_bytes)
{
    struct scene_object object = {digest_of(from, size_bytes), scene_take(scene, size_bytes + 1), size_bytes};
    struct err err;
    uint8_t *digest = scene_take(scene, DIGEST_BYTES);

    memcpy((uint8_t *)object.data, from, size_bytes);
    memcpy(digest, object.digest.bytes, DIGEST_BYTES);
    assert_int_equal(table_add(&scene->objects, &scene->object_count, &object, sizeof object, &err), 0);
    return (ProtobufCBinaryData){DIGEST_BYTES, digest};
}

Exhibit__Stream *scene_stream(struct scene *scene, const void *from, size_t size_bytes)
{
    Exhibit__Stream *stream = scene_take(scene, sizeof *stream);
    size_t count = (size_bytes + LIMIT_SEGMENT_BYTES - 1) / LIMIT_SEGMENT_BYTES;

    exhibit__stream__init(stream);
    stream->size_bytes = size_bytes;
    stream->sha256 = scene_object(scene, from, size_bytes);
    scene->object_count--; /* the whole is no object of its own */
    stream->segments = scene_take(scene, (count + 1) * sizeof *stream->segments);
    for (size_t i = 0; i < count; i++) {
        size_t at = i * LIMIT_SEGMENT_BYTES;
        Exhibit__Segment *segment = scene_take(scene, sizeof *segment);

        exhibit__segment__init(segment);
        segment->size_bytes = size_bytes - at < LIMIT_SEGMENT_BYTES ? size_bytes - at : LIMIT_SEGMENT_BYTES;
        segment->sha256 = scene_object(scene, (const uint8_t *)from + at, (size_t)segment->size_bytes);
        stream->segments[stream->n_segments++] = segment;
    }
    return stream;
}

void scene_fill_archive(struct scene *scene, Exhibit__Artifact *artifact, const char *content)
{
    Exhibit__ArchiveMember *member = scene_take(scene, sizeof *member);
    char tar[4 * 512] = "file";
    unsigned sum = 0;
    struct digest digest = digest_of(content, strlen(content));
    uint8_t *member_sha256 = scene_take(scene, DIGEST_BYTES);

    memcpy(tar + 100, "0000644", 8);
    memcpy(tar + 108, "0000000", 8);
    memcpy(tar + 116, "0000000", 8);
    (void)snprintf(tar + 124, 12, "%011o", (unsigned)strlen(content));
    memcpy(tar + 136, "00000000007", 12);
    memset(tar + 148, ' ', 8);
    tar[156] = '0';
    memcpy(tar + 257, "ustar\00000", 8);
    for (size_t i = 0; i < 512; i++)
        sum += (unsigned char)tar[i];
    (void)snprintf(tar + 148, 8, "%06o", sum);
    memcpy(tar + 512, content, strlen(content));
    artifact->path = scene_text("out.tar");
    artifact->mode = 0100644;
    artifact->size_bytes = sizeof tar;
    artifact->sha256 = scene_object(scene, tar, sizeof tar);
    artifact->kept = artifact->is_archive = true;
    exhibit__archive_member__init(member);
    memcpy(member_sha256, digest.bytes, DIGEST_BYTES);
    member->path = scene_text("file");
    member->type = 0100000;
    member->mode = 0644;
    member->size_bytes = strlen(content);
    member->sha256 = (ProtobufCBinaryData){DIGEST_BYTES, member_sha256};
    member->mtime_s = 7;
    artifact->members = scene_take(scene, sizeof *artifact->members);
    artifact->members[artifact->n_members++] = member;
}

/* ---- the source ---- */

static int read_object(void *self, const struct digest *digest, source_take *take, void *context, struct err *err)
{
    const struct scene *scene = self;

    for (size_t i = 0; i < scene->object_count; i++)
        if (digest_equal(&scene->objects[i].digest, digest))
            return take(context, scene->objects[i].data, scene->objects[i].size_bytes, err);
    return err_set(err, ERR_MISMATCH, "no such object");
}

static int read_stream(void *self, const Exhibit__Stream *stream, source_take *take, void *context, struct err *err)
{
    for (size_t i = 0; stream != NULL && i < stream->n_segments; i++) {
        struct digest digest;
        int code;

        assert_true(digest_from(stream->segments[i]->sha256.data, DIGEST_BYTES, &digest));
        code = read_object(self, &digest, take, context, err);
        if (code < 0)
            return code;
    }
    return 0;
}

/* ---- the whole ---- */

static void fill_oracle(struct scene *scene)
{
    static const int file_errnos[] = {13, 1}, network_errnos[] = {111, 13};
    static const char *const effects[] = {"read", "read-link", "write", "tcp", "udp"};
    struct oracle *oracle = &scene->oracle;

    for (size_t i = 0; i < 5; i++) {
        scene->denials[i].effect = (char *)effects[i];
        scene->denials[i].errnos = (int *)(i < 3 ? file_errnos : network_errnos);
        scene->denials[i].errno_count = 2;
        scene->denials[i].diverted_allowed = i == 2 || i == 4;
    }
    scene->trial = (struct oracle_trial){.name = (char *)"tree",
                                         .roles = {false, true, true, true},
                                         .effects = scene_take(scene, sizeof effects),
                                         .effect_count = 5};
    memcpy(scene->trial.effects, effects, sizeof effects);
    scene->matchers[0] = (struct oracle_matcher){.kind = ORACLE_EXIT, .number = 0, .line = 3};
    scene->matchers[1] =
        (struct oracle_matcher){.kind = ORACLE_EQUALS, .bytes = {(uint8_t *)"hello\n", 6, 7}, .line = 4};
    scene->matchers[2] = (struct oracle_matcher){.kind = ORACLE_EMPTY, .on_stderr = true, .line = 5};
    scene->archive.path = (char *)"out.*";
    scene->archive.line = 6;
    scene->oracle_case = (struct oracle_case){.name = (char *)"hello",
                                              .matchers = scene->matchers,
                                              .matcher_count = 3,
                                              .archives = &scene->archive,
                                              .archive_count = 1};
    oracle->ended_ms = 2000;
    oracle->grace_ms = 500;
    oracle->identities_required = true;
    oracle->denials = scene->denials;
    oracle->denial_count = 5;
    oracle->cases = &scene->oracle_case;
    oracle->case_count = 1;
    oracle->trials = &scene->trial;
    oracle->trial_count = 1;
    oracle->digest = digest_of("", 0);
}

void scene_init(struct scene *scene)
{
    *scene = (struct scene){
        .told = {"errno:13", "errno:13", "errno:13", "errno:111", "ok"},
        .case_stdout = {"hello\n", "hello\n", "hello\n"},
        .case_stderr = "",
        .gone_ms = 100,
        .archives = {"same", "same", "same"},
        .now_ns = 1000000000,
    };
    scene->source = (struct source){read_stream, read_object, scene};
    fill_oracle(scene);
}

Exhibit__Event *scene_find(struct scene *scene, Exhibit__Event__WhatCase kind, uint32_t run, size_t nth)
{
    for (size_t i = 0; i < scene->event_count; i++)
        if (scene->events[i]->what_case == kind && scene->events[i]->run == run && nth-- == 0)
            return scene->events[i];
    fail_msg("the scene has no such event");
    return NULL;
}

/* Where the event stands. */
static size_t place_of(const struct scene *scene, const Exhibit__Event *event)
{
    for (size_t i = 0; i < scene->event_count; i++)
        if (scene->events[i] == event)
            return i;
    fail_msg("the event is not of this scene");
    return 0;
}

void scene_drop(struct scene *scene, const Exhibit__Event *event)
{
    size_t place = place_of(scene, event);

    scene->event_count--;
    memmove(scene->events + place, scene->events + place + 1, (scene->event_count - place) * sizeof *scene->events);
}

Exhibit__Event *scene_insert(struct scene *scene, const Exhibit__Event *after, uint32_t run)
{
    Exhibit__Event *event = scene_take(scene, sizeof *event);
    size_t place = place_of(scene, after) + 1;
    struct err err;

    exhibit__event__init(event);
    event->source = after->source;
    event->vantage = after->vantage;
    event->at_ns = after->at_ns;
    event->run = run;
    assert_int_equal(table_add(&scene->events, &scene->event_count, &event, sizeof event, &err), 0);
    memmove(scene->events + place + 1, scene->events + place, (scene->event_count - 1 - place) * sizeof *scene->events);
    scene->events[place] = event;
    return event;
}

void scene_finish(struct scene *scene)
{
    for (size_t i = 0; i < scene->event_count; i++) {
        scene->events[i]->seq = i + 1;
        if (scene->events[i]->what_case == EXHIBIT__EVENT__WHAT_RECORDING_END)
            scene->events[i]->recording_end->event_count = scene->event_count + scene->end_count_is_wrong;
    }
}

void scene_done(struct scene *scene)
{
    table_free(scene->events);
    table_free(scene->objects);
    arena_done(&scene->arena);
}

/* Finishes the scene and derives what follows from it without an oracle. */
static int scene_derive(struct scene *scene, struct facts *facts, struct err *err)
{
    int code = 0;

    scene_finish(scene);
    *facts = (struct facts){.source = &scene->source};
    for (size_t i = 0; i < scene->event_count && code == 0; i++)
        code = tables_take(&facts->tables, scene->events[i], err);
    if (code == 0)
        code = tables_finish(&facts->tables, err);
    return code == 0 ? facts_derive(facts, err) : code;
}

const char *scene_told(struct scene *scene, const char *wanted)
{
    char *text = scene_take(scene, 64 + strlen(wanted)), *told;
    size_t used = 0;
    struct oracle oracle;
    struct facts facts;
    struct match match;
    struct err err = {0};

    (void)sprintf(text, "version: 1\ncases:\n  - {name: hello, %s}\n", wanted);
    if (oracle_parse("o.yaml", text, strlen(text), &oracle, &err) < 0 || scene_derive(scene, &facts, &err) < 0 ||
        match_case(&facts, oracle.cases,
                   tables_run(&facts.tables, EXHIBIT__RUN_KIND__RUN_CASE, "hello", EXHIBIT__MODE__MODE_STRICT, 1),
                   &match, &err) < 0)
        fail_msg("%s: %s", wanted, err.text);
    assert_int_equal(match.met, match.first == NULL);
    for (const struct mismatch *at = match.first; at != NULL; at = at->next)
        used += strlen(at->text) + 1;
    told = scene_take(scene, used + 1);
    for (const struct mismatch *at = match.first; at != NULL; at = at->next)
        (void)strcat(strcat(told, at->text), "\n");
    facts_done(&facts);
    oracle_done(&oracle);
    return told;
}

int scene_claim(struct scene *scene, struct facts *facts, const Exhibit__Claim **out, struct err *err)
{
    struct judge_request request = {.oracle = &scene->oracle, .receipt = digest_of("receipt", 7)};
    int code = scene_derive(scene, facts, err);

    if (code < 0)
        return code;
    memcpy(request.recorded_oracle.bytes, facts->tables.recording->oracle_sha256.data, DIGEST_BYTES);
    return judge_facts(facts, &request, out, err);
}

void scene_expect(struct scene *scene, const char *decision, const char *failing, const char *detail)
{
    struct facts facts;
    const Exhibit__Claim *claim = NULL;
    struct err err = {0};
    char failed[512] = "";
    const char *first = "";

    if (scene_claim(scene, &facts, &claim, &err) < 0)
        fail_msg("no claim: %s", err.text);
    for (size_t i = 0; i < claim->n_rules; i++) {
        if (claim->rules[i]->holds)
            continue;
        if (failed[0] == 0)
            first = claim->rules[i]->detail;
        (void)strcat(strcat(failed, failed[0] == 0 ? "" : " "), claim->rules[i]->rule);
        assert_true(claim->rules[i]->n_evidence > 0 || strstr(claim->rules[i]->detail, "has no run") != NULL ||
                    strstr(claim->rules[i]->detail, "the oracle names no trial") != NULL ||
                    strstr(claim->rules[i]->detail, "no input was frozen") != NULL);
    }
    assert_string_equal(failed, failing);
    if (strstr(first, detail) == NULL)
        fail_msg("the detail is: %s", first);
    assert_string_equal(claim->decision, decision);
    facts_done(&facts);
    scene_done(scene);
}

void scene_expect_malformed(struct scene *scene, enum err_code code, const char *text)
{
    struct facts facts;
    const Exhibit__Claim *claim = NULL;
    struct err err = {0};

    assert_int_equal(scene_claim(scene, &facts, &claim, &err), code);
    if (strstr(err.text, text) == NULL)
        fail_msg("the error is: %s", err.text);
    facts_done(&facts);
    scene_done(scene);
}
