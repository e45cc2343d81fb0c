/*
 * A recording in memory for the tests of the recorder's judge: a good one of one case and the two trials, in which a
 * test changes one thing. Derives nonces and proofs by itself. Knows the judge by record/judge.h alone.
 */
#pragma once

#include "base/bytes.h"
#include "formats/oracle.h"
#include "proto/exhibit.pb-c.h"

#include <stddef.h>
#include <stdint.h>

#define SCENE_EVENTS 2048
#define SCENE_RUNS 32
#define SCENE_MS 1000000ull

/* What each event is called in a test: SCENE(CHUNK). */
#define SCENE(what) EXHIBIT__EVENT__WHAT_##what
#define ROLE(name) EXHIBIT__ROLE__ROLE_##name
#define MODE(name) EXHIBIT__MODE__MODE_##name
#define STREAM(name) EXHIBIT__STREAM_NAME__STREAM_##name

struct scene_event {
    Exhibit__Event *event; /* owned; a test may change it in place */
    struct bytes payload;
};

struct scene_run {
    const char *name; /* static */
    Exhibit__RunKind kind;
    Exhibit__Mode mode;
    uint32_t repeat;
    char nonces[4][33]; /* by Exhibit__Role */
    char canaries[2][64];
};

struct scene {
    struct oracle oracle;
    struct scene_event events[SCENE_EVENTS];
    size_t count;
    struct scene_run runs[SCENE_RUNS]; /* by number; the first is none */
    uint32_t run_count;
    uint64_t now_ns;
    bool miscounted; /* the end record keeps the number that it has */
};

/* The oracle of scene_good. */
extern const char scene_oracle[];

/* A good recording under an oracle (YAML). Owned by the caller; scene_expect and scene_free release it. */
struct scene *scene_good_under(const char *oracle_yaml);
struct scene *scene_good(void);
void scene_free(struct scene *scene);

/* ---- building ---- */

/* Adds an event of a run (0: of none) with a copy of its body, 10 ms after the one before. */
void scene_put(struct scene *scene, uint32_t run, Exhibit__Event__WhatCase what, void *body);
void scene_put_bytes(struct scene *scene, uint32_t run, Exhibit__Event__WhatCase what, void *body, const void *payload,
                     size_t size_bytes);

/* Adds a chunk of a stream that holds the text. */
void scene_say(struct scene *scene, uint32_t run, Exhibit__StreamName stream, const char *text);

/* Writes a row of a role in which every effect told the same; reads tell their proof where that is "ok". */
void scene_row(const struct scene *scene, uint32_t run, Exhibit__Role role, unsigned round, const char *told,
               char out[1024]);

/* ---- changing ---- */

/* The number of a run. */
uint32_t scene_run_of(const struct scene *scene, const char *name, Exhibit__Mode mode, uint32_t repeat);

/* The place of the nth event (0 ...) of this kind in a run; the test fails where there is none. */
size_t scene_place(const struct scene *scene, uint32_t run, Exhibit__Event__WhatCase what, size_t nth);
Exhibit__Event *scene_event(struct scene *scene, uint32_t run, Exhibit__Event__WhatCase what, size_t nth);

/* Puts an event before that place, at the time of the one before it. */
void scene_insert(struct scene *scene, size_t place, uint32_t run, Exhibit__Event__WhatCase what, void *body);

/* Puts a chunk before that place. */
void scene_insert_text(struct scene *scene, size_t place, uint32_t run, Exhibit__StreamName stream, const char *text);

void scene_remove(struct scene *scene, size_t place);

/* Removes a run's events of a kind; of every kind where that is NOT__SET. */
void scene_drop(struct scene *scene, uint32_t run, Exhibit__Event__WhatCase what);

/* Lets all from that place on happen so much later. */
void scene_delay(struct scene *scene, size_t place, uint64_t delay_ms);

/* Changes what all copies of a row told of an effect. */
void scene_tell(struct scene *scene, uint32_t run, Exhibit__Role role, unsigned round, const char *effect,
                const char *told);

/* Replaces a text in the bytes of a run's chunks; the test fails where it is in none. */
void scene_replace(struct scene *scene, uint32_t run, const char *old, const char *new);

/* ---- judging ---- */

struct scene_failure {
    const char *rule; /* NULL ends a list */
    const char *text; /* a part of its detail */
};

/* The judge's claim on the recording: free with exhibit__claim__free_unpacked. */
Exhibit__Claim *scene_judge(struct scene *scene);

/* Judges it, wants this decision and exactly these rules to fail, each for that reason; releases the scene. */
void scene_expect(struct scene *scene, const char *decision, const struct scene_failure *failures);

#define EXPECT(scene, decision, ...)                                                                                   \
    scene_expect(scene, decision, (const struct scene_failure[]){__VA_ARGS__, {NULL, NULL}})
#define EXPECT_GO(scene) scene_expect(scene, "GO", (const struct scene_failure[]){{NULL, NULL}})

/* The attempt of a claim, or the test fails. Borrowed. */
const Exhibit__AttemptResult *scene_attempt(const Exhibit__Claim *claim, const char *trial, const char *mode,
                                            const char *role_round, const char *effect);

/* The member of a claim's tree, or the test fails. Borrowed. */
const Exhibit__TreeMember *scene_member(const Exhibit__Claim *claim, const char *trial, const char *mode,
                                        const char *role);
