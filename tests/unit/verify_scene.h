/*
 * A scene: one whole recording held in memory, as evidence for the verifier's tests. Built good; a test then changes
 * one thing and looks at what is said of it.
 */
#pragma once

#include "verify_scene_trials.h"

/* ---- the whole ---- */

static inline Exhibit__Binary *scene_binary(const char *name, const char *content)
{
    Exhibit__Binary *binary = scene_zero(sizeof *binary);

    exhibit__binary__init(binary);
    binary->name = strdup(name);
    binary->path = scene_text("/tools/binary");
    binary->sha256 = scene_digest(digest_of(content, strlen(content)));
    return binary;
}

static inline void scene_begin(struct scene *scene, const char *plan, const char *oracle)
{
    static const char *const launcher[] = {"/bin/box", "{command}"};
    Exhibit__RecordingStart *start = SCENE_ADD(scene, 0, RECORDING_START)->recording_start;

    scene->oracle_digest = scene_put(scene, oracle, strlen(oracle));
    start->run_id = scene_bytes("0123456789abcdef", RUN_ID_BYTES);
    start->toolkit_version = strdup("0.1.0");
    start->plan_sha256 = scene_digest(scene_put(scene, plan, strlen(plan)));
    start->oracle_sha256 = scene_digest(scene->oracle_digest);
    start->policy_sha256 = scene_digest(scene_put(scene, "the policy", 10));
    start->experiment = strdup("demo");
    start->candidate = strdup("box");
    start->candidate_version = strdup("box 1.0");
    start->launcher = scene_list(launcher, 2);
    start->n_launcher = 2;
    start->host = scene_zero(sizeof *start->host);
    exhibit__host__init(start->host);
    start->host->kernel_release = strdup("6.1.0");
    start->host->machine = strdup("x86_64");
    start->host->network_namespace = 7;
    start->binaries = scene_zero(2 * sizeof *start->binaries);
    start->binaries[start->n_binaries++] = scene_binary("exhibit-record", "record");
    start->binaries[start->n_binaries++] = scene_binary("exhibit-probe", "probe");
    start->process_observer = EXHIBIT__SOURCE__SOURCE_PROCESS_EVENTS;
}

/* Builds a recording of one case and one trial, in which all is as it should be. */
static inline struct scene *scene_good(const char *plan, const char *oracle)
{
    struct scene *scene = scene_zero(sizeof *scene);

    scene_begin(scene, plan, oracle);
    scene_freeze(scene, 0, EXHIBIT__FREEZE_MOMENT__FREEZE_BEFORE, "work");
    scene_phase(scene, "", EXHIBIT__PHASE_NAME__PHASE_CASES);
    scene_case(scene, SCENE_CASE_BASELINE, EXHIBIT__MODE__MODE_BASELINE, 1);
    scene_case(scene, SCENE_CASE_AGAIN, EXHIBIT__MODE__MODE_BASELINE, 2);
    scene_trial(scene, SCENE_TRIAL_BASELINE, EXHIBIT__MODE__MODE_BASELINE, 1);
    scene_freeze(scene, 0, EXHIBIT__FREEZE_MOMENT__FREEZE_AFTER_BASELINE, "work");
    scene_launcher(scene);
    scene_phase(scene, "", EXHIBIT__PHASE_NAME__PHASE_CASES);
    scene_case(scene, SCENE_CASE_STRICT, EXHIBIT__MODE__MODE_STRICT, 1);
    scene_trial(scene, SCENE_CONTROL_BEFORE, EXHIBIT__MODE__MODE_CONTROL, 1);
    scene_trial(scene, SCENE_STRICT, EXHIBIT__MODE__MODE_STRICT, 1);
    scene_trial(scene, SCENE_CONTROL_AFTER, EXHIBIT__MODE__MODE_CONTROL, 2);
    scene_freeze(scene, 0, EXHIBIT__FREEZE_MOMENT__FREEZE_AFTER_STRICT, "work");
    (void)SCENE_ADD(scene, 0, RECORDING_END);
    return scene;
}

/* Numbers the events and gives each StreamEnd the bytes that its chunks hold. */
static inline void scene_seal(struct scene *scene)
{
    for (size_t i = 0; i < scene->count; i++) {
        Exhibit__Event *event = scene->events[i].event;
        AUTO_BYTES struct bytes whole = {0};
        struct err err;

        event->seq = i + 1;
        if (event->what_case == EXHIBIT__EVENT__WHAT_RECORDING_END && !scene->miscounted)
            event->recording_end->event_count = scene->count;
        if (event->what_case != EXHIBIT__EVENT__WHAT_STREAM_END)
            continue;
        for (size_t j = 0; j < scene->count; j++) {
            Exhibit__Event *chunk = scene->events[j].event;

            if (scene->events[j].piece == NULL || chunk->run != event->run ||
                chunk->chunk->stream != event->stream_end->stream)
                continue;
            chunk->chunk->offset_bytes = whole.size_bytes;
            chunk->chunk->size_bytes = strlen(scene->events[j].piece);
            if (bytes_add(&whole, scene->events[j].piece, chunk->chunk->size_bytes, SIZE_MAX, &err) < 0)
                abort();
        }
        if (event->stream_end->content != NULL)
            exhibit__stream__free_unpacked(event->stream_end->content, NULL);
        event->stream_end->content = scene_stream(scene, whole.size_bytes == 0 ? "" : (const char *)whole.data);
    }
}

static inline void scene_free(struct scene *scene)
{
    while (scene->count > 0)
        scene_drop(scene, scene->count - 1);
    for (size_t i = 0; i < scene->object_count; i++)
        bytes_done(&scene->objects[i].content);
    free(scene);
}

/* ---- as evidence ---- */

static inline int scene_events(void *source, evidence_take_event *take, void *context, struct err *err)
{
    struct scene *scene = source;

    for (size_t i = 0; i < scene->count; i++)
        if (take(context, scene->events[i].event, err) < 0)
            return err->code;
    return 0;
}

static inline int scene_pieces(void *source, const struct digest *digest, evidence_take_piece *take, void *context,
                               struct err *err)
{
    struct scene *scene = source;

    for (size_t i = 0; i < scene->object_count; i++) {
        const struct bytes *content = &scene->objects[i].content;

        if (!digest_equal(&scene->objects[i].digest, digest))
            continue;
        for (size_t at = 0; at < content->size_bytes; at += 7) { /* small pieces: what lies across them must be found */
            size_t left = content->size_bytes - at;

            if (take(context, content->data + at, left < 7 ? left : 7, err) < 0)
                return err->code;
        }
        return 0;
    }
    return err_set(err, ERR_MISMATCH, "no such object");
}

static inline int scene_collect(void *context, const void *piece, size_t size_bytes, struct err *err)
{
    return bytes_add(context, piece, size_bytes, SIZE_MAX, err);
}

static inline int scene_object(void *source, const struct digest *digest, size_t max_bytes, struct bytes *out,
                               struct err *err)
{
    (void)max_bytes;
    bytes_done(out);
    return scene_pieces(source, digest, scene_collect, out, err);
}

static inline int scene_read_stream(void *source, const Exhibit__Stream *stream, evidence_take_piece *take,
                                    void *context, struct err *err)
{
    for (size_t i = 0; stream != NULL && i < stream->n_segments; i++) {
        struct digest digest;

        assert(digest_from(stream->segments[i]->sha256.data, stream->segments[i]->sha256.len, &digest));
        if (scene_pieces(source, &digest, take, context, err) < 0)
            return err->code;
    }
    return 0;
}

static inline struct evidence scene_evidence(struct scene *scene)
{
    return (struct evidence){.source = scene,
                             .receipt = digest_of("the receipt", 11),
                             .partial = scene->partial,
                             .events = scene_events,
                             .object = scene_object,
                             .pieces = scene_pieces,
                             .stream = scene_read_stream};
}

/* ---- the oracle of the scene, made by hand ---- */

struct scene_oracle {
    struct oracle oracle;
    struct oracle_denial denials[SCENE_EFFECTS];
    int errnos[3];
    struct oracle_matcher matchers[2];
    struct oracle_archive archives[1];
    struct oracle_case cases[1];
    struct oracle_trial trials[1];
};

/* Lets the oracle point into its own struct, wherever that was copied to; counts stay. */
static inline struct oracle *scene_link_oracle(struct scene_oracle *out)
{
    for (size_t i = 0; i < SCENE_EFFECTS; i++)
        out->denials[i].errnos = out->errnos;
    out->oracle.denials = out->denials;
    out->cases[0].matchers = out->matchers;
    out->cases[0].archives = out->archives;
    out->oracle.cases = out->cases;
    out->oracle.trials = out->trials;
    return &out->oracle;
}

static inline void scene_fill_oracle(struct scene_oracle *out, const struct scene *scene)
{
    *out = (struct scene_oracle){.errnos = {1, 13, 111}};
    out->oracle.digest = scene->oracle_digest;
    out->oracle.ended_ms = 2000;
    out->oracle.grace_ms = 500;
    out->oracle.identities_required = true;
    out->oracle.denial_count = SCENE_EFFECTS;
    out->oracle.case_count = 1;
    out->oracle.trial_count = 1;
    for (size_t i = 0; i < SCENE_EFFECTS; i++)
        out->denials[i] = (struct oracle_denial){.effect = (char *)(uintptr_t)scene_effects[i],
                                                 .errno_count = 3,
                                                 .timeout = i >= 3,
                                                 .signal = i == 0,
                                                 .diverted_allowed = i == 2 || i == 4};
    out->matchers[0] = (struct oracle_matcher){.kind = ORACLE_EXIT, .number = 0, .line = 3};
    out->matchers[1] =
        (struct oracle_matcher){.kind = ORACLE_CONTAINS, .bytes = {(uint8_t *)(uintptr_t) "done", 4, 0}, .line = 4};
    out->archives[0] = (struct oracle_archive){.path = (char *)(uintptr_t) "*.tgz", .line = 5};
    out->cases[0] = (struct oracle_case){.name = (char *)(uintptr_t) "build", .matcher_count = 2, .archive_count = 1};
    out->trials[0] = (struct oracle_trial){.name = (char *)(uintptr_t) "tree",
                                           .roles = {false, true, true, true},
                                           .effects = (char **)(uintptr_t)scene_effects,
                                           .effect_count = SCENE_EFFECTS};
}
