/*
 * The events and objects of a scene, and what its probe says. Streams are kept as the pieces of their chunks until
 * scene_seal().
 */
#pragma once

#include "formats/oracle.h"
#include "verify/evidence.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum scene_run {
    SCENE_CASE_BASELINE = 1,
    SCENE_CASE_AGAIN,
    SCENE_TRIAL_BASELINE,
    SCENE_LAUNCHER,
    SCENE_CASE_STRICT,
    SCENE_CONTROL_BEFORE,
    SCENE_STRICT,
    SCENE_CONTROL_AFTER,
};

enum { SCENE_EVENTS = 1024, SCENE_OBJECTS = 512, SCENE_EFFECTS = 5, SCENE_ROUNDS = 3 };

struct scene_object {
    struct digest digest;
    struct bytes content;
};

struct scene_event {
    Exhibit__Event *event; /* owned */
    char *piece;           /* of a Chunk: its bytes; else NULL */
};

struct scene {
    struct scene_event events[SCENE_EVENTS];
    size_t count;
    struct scene_object objects[SCENE_OBJECTS];
    size_t object_count;
    uint64_t now_ns;
    uint32_t connections;
    bool partial;
    bool miscounted; /* the end of the recording keeps the count that it has */
    struct digest oracle_digest;
};

#define SCENE_MS 1000000ull

static inline void *scene_zero(size_t size_bytes)
{
    void *made = calloc(1, size_bytes);

    assert(made != NULL);
    return made;
}

static inline ProtobufCBinaryData scene_bytes(const void *from, size_t size_bytes)
{
    ProtobufCBinaryData out = {size_bytes, scene_zero(size_bytes + 1)};

    if (size_bytes > 0)
        memcpy(out.data, from, size_bytes);
    return out;
}

static inline ProtobufCBinaryData scene_text(const char *text)
{
    return scene_bytes(text, strlen(text));
}

static inline ProtobufCBinaryData scene_digest(struct digest digest)
{
    return scene_bytes(digest.bytes, DIGEST_BYTES);
}

static inline struct digest scene_put(struct scene *scene, const void *from, size_t size_bytes)
{
    struct digest digest = digest_of(from, size_bytes);
    struct err err;

    for (size_t i = 0; i < scene->object_count; i++)
        if (digest_equal(&scene->objects[i].digest, &digest))
            return digest;
    assert(scene->object_count < SCENE_OBJECTS);
    scene->objects[scene->object_count].digest = digest;
    if (bytes_add(&scene->objects[scene->object_count].content, from, size_bytes, SIZE_MAX, &err) < 0)
        abort();
    scene->object_count++;
    return digest;
}

/* An event of a kind, after all others; its message is allocated and initialised. */
static inline Exhibit__Event *scene_add(struct scene *scene, uint32_t run, Exhibit__Event__WhatCase what)
{
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field(&exhibit__event__descriptor, (unsigned)what);
    const ProtobufCMessageDescriptor *descriptor = field->descriptor;
    Exhibit__Event *event = scene_zero(sizeof *event);
    ProtobufCMessage *message = scene_zero(descriptor->sizeof_message);

    exhibit__event__init(event);
    protobuf_c_message_init(descriptor, message);
    event->at_ns = scene->now_ns += SCENE_MS;
    event->source = EXHIBIT__SOURCE__SOURCE_RECORDER;
    event->vantage = EXHIBIT__VANTAGE__VANTAGE_HOST;
    event->run = run;
    event->what_case = what;
    memcpy((char *)event + field->offset, &message, sizeof message);
    assert(scene->count < SCENE_EVENTS);
    scene->events[scene->count++] = (struct scene_event){event, NULL};
    return event;
}

#define SCENE_ADD(scene, run, KIND) scene_add(scene, run, EXHIBIT__EVENT__WHAT_##KIND)

/* Where the nth (0 ...) event of a kind in a run is. */
static inline size_t scene_at(const struct scene *scene, uint32_t run, Exhibit__Event__WhatCase what, size_t nth)
{
    for (size_t i = 0; i < scene->count; i++)
        if (scene->events[i].event->what_case == what && scene->events[i].event->run == run && nth-- == 0)
            return i;
    assert(!"no such event");
    return 0;
}

#define SCENE_FIND(scene, run, KIND, nth)                                                                              \
    ((scene)->events[scene_at(scene, run, EXHIBIT__EVENT__WHAT_##KIND, nth)].event)

static inline void scene_drop(struct scene *scene, size_t at)
{
    exhibit__event__free_unpacked(scene->events[at].event, NULL);
    free(scene->events[at].piece);
    scene->count--;
    memmove(&scene->events[at], &scene->events[at + 1], (scene->count - at) * sizeof scene->events[0]);
}

#define SCENE_DROP(scene, run, KIND, nth) scene_drop(scene, scene_at(scene, run, EXHIBIT__EVENT__WHAT_##KIND, nth))

/* Moves the last event to just before `at`, with the time of the one that was there. */
static inline void scene_move_last(struct scene *scene, size_t at)
{
    struct scene_event last = scene->events[scene->count - 1];

    last.event->at_ns = scene->events[at].event->at_ns;
    memmove(&scene->events[at + 1], &scene->events[at], (scene->count - 1 - at) * sizeof scene->events[0]);
    scene->events[at] = last;
}

/* ---- what the probe says ---- */

static const char *const scene_effects[SCENE_EFFECTS] = {"read", "read-link", "write", "tcp", "udp"};
static const char *const scene_roles[] = {"", "parent", "child", "grandchild"};
static const char scene_canary[] = "the canary that nobody may read";
static const char scene_canary_link[] = "the canary behind the link";

static inline void scene_nonce(uint32_t run, int role, char out[33])
{
    uint8_t parent[NONCE_BYTES];

    memset(parent, (int)(run + 16), sizeof parent);
    hex_encode(parent, sizeof parent, out);
    for (int next = 2; next <= role; next++) {
        char text[64];
        struct digest digest;

        (void)snprintf(text, sizeof text, "exhibit %s %s", scene_roles[next], out);
        digest = digest_of(text, strlen(text));
        hex_encode(digest.bytes, NONCE_BYTES, out);
    }
}

/* What an effect tells when it succeeds in a row. */
static inline void scene_success(uint32_t run, int role, uint32_t round, int effect, char *out, size_t out_bytes)
{
    char text[256], nonce[33], hex[65];
    struct digest digest;

    (void)snprintf(out, out_bytes, "ok");
    if (effect > 1)
        return;
    scene_nonce(run, role, nonce);
    (void)snprintf(text, sizeof text, "%s %s %" PRIu32, effect == 0 ? scene_canary : scene_canary_link, nonce, round);
    digest = digest_of(text, strlen(text));
    hex_encode(digest.bytes, DIGEST_BYTES, hex);
    (void)snprintf(out, out_bytes, "ok:%s", hex);
}

static inline void scene_say(struct scene *scene, uint32_t run, Exhibit__StreamName stream, const char *text)
{
    Exhibit__Event *event = SCENE_ADD(scene, run, CHUNK);

    event->chunk->stream = stream;
    event->vantage = EXHIBIT__VANTAGE__VANTAGE_SUBJECT;
    scene->events[scene->count - 1].piece = strdup(text);
}

/* A row of all effects on stdout and, later, in scratch. `told` NULL: each succeeded. */
static inline void scene_row(struct scene *scene, uint32_t run, int role, uint32_t round, const char *told)
{
    char line[1024], nonce[33];
    size_t used;

    scene_nonce(run, role, nonce);
    used = (size_t)snprintf(line, sizeof line, "EXHIBIT1 row %s %s %" PRIu32, nonce, scene_roles[role], round);
    for (int e = 0; e < SCENE_EFFECTS; e++) {
        char success[80];

        scene_success(run, role, round, e, success, sizeof success);
        used += (size_t)snprintf(line + used, sizeof line - used, " %s=%s", scene_effects[e],
                                 told == NULL ? success : told);
    }
    (void)snprintf(line + used, sizeof line - used, "\n");
    scene_say(scene, run, EXHIBIT__STREAM_NAME__STREAM_STDOUT, line);
    scene_say(scene, run, (Exhibit__StreamName)(EXHIBIT__STREAM_NAME__STREAM_SCRATCH_PARENT + role - 1), line);
}

/* Puts another text in place of one in the copies of a run's lines; `only` 0: in every stream. False: it is nowhere. */
static inline bool scene_replace(struct scene *scene, uint32_t run, const char *from, const char *to,
                                 Exhibit__StreamName only)
{
    bool found = false;

    for (size_t i = 0; i < scene->count; i++) {
        struct scene_event *at = &scene->events[i];
        char *hit, *whole;

        if (at->piece == NULL || at->event->run != run || (only != 0 && at->event->chunk->stream != only))
            continue;
        hit = strstr(at->piece, from);
        if (hit == NULL)
            continue;
        if (asprintf(&whole, "%.*s%s%s", (int)(hit - at->piece), at->piece, to, hit + strlen(from)) < 0)
            abort();
        free(at->piece);
        at->piece = whole;
        found = true;
    }
    return found;
}
