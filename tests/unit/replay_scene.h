/*
 * A small recording in memory that means GO: one case, one trial of three roles, the launcher's own run. A test changes
 * one thing in it and asks for the claim.
 */
#pragma once

#include "base/arena.h"
#include "base/table.h"
#include "formats/oracle.h"
#include "replay/source.h"

/* The numbers of the scene's runs, in their order in the log. */
enum {
    RUN_LAUNCHER = 1,
    RUN_CASE_BASELINE,
    RUN_CASE_BASELINE_AGAIN,
    RUN_BASELINE,
    RUN_CASE_STRICT,
    RUN_CONTROL_BEFORE,
    RUN_STRICT,
    RUN_CONTROL_AFTER,
};

enum { PARENT = 1, CHILD, GRANDCHILD };

struct scene_object {
    struct digest digest;
    const uint8_t *data;
    size_t size_bytes;
};

/* What is set before scene_build; scene_init fills in what means GO. */
struct scene {
    const char *told[5];      /* strict, by effect: read, read-link, write, tcp, udp */
    const char *extra_stdout; /* strict trial: bytes in a piece of their own after the rows */
    const char *late_stdout;  /* strict trial: bytes that arrive late_ms after the step */
    uint32_t late_ms;
    const char *case_stdout[3]; /* baseline, baseline again, strict */
    const char *case_stderr;
    uint32_t gone_ms; /* after the step */
    bool no_step;
    int mute_role;           /* strict trial: it leaves no row; 0: none */
    const char *archives[3]; /* member content of out.tar of each case run; NULL: no such artifact */

    struct arena arena;
    Exhibit__Event **events; /* sequence numbers are given by scene_finish */
    size_t event_count;
    struct scene_object *objects;
    size_t object_count;
    uint64_t now_ns;
    bool end_count_is_wrong;

    struct oracle oracle; /* its arrays are below */
    struct oracle_denial denials[5];
    struct oracle_trial trial;
    struct oracle_case oracle_case;
    struct oracle_matcher matchers[8];
    struct oracle_archive archive;
    struct source source;
};

/* Sets everything to what means GO. The scene must not move afterwards. */
void scene_init(struct scene *scene);

/* Makes the events. */
void scene_build(struct scene *scene);

/* The nth (0 ...) event of a kind in a run. Fails the test where there is none. */
Exhibit__Event *scene_find(struct scene *scene, Exhibit__Event__WhatCase kind, uint32_t run, size_t nth);

/* Takes an event out. */
void scene_drop(struct scene *scene, const Exhibit__Event *event);

/* A new event of this run and time right after another; the caller fills in what it is. */
Exhibit__Event *scene_insert(struct scene *scene, const Exhibit__Event *after, uint32_t run);

/* Puts an object, and gives its digest as a bytes field. */
ProtobufCBinaryData scene_object(struct scene *scene, const void *from, size_t size_bytes);

/*
 * Makes the artifact out.tar, a kept archive with the one member "file": as few bytes as there can be, a header block,
 * one of content and the end.
 */
void scene_fill_archive(struct scene *scene, Exhibit__Artifact *artifact, const char *content);

/* Text as a bytes field, borrowed. */
ProtobufCBinaryData scene_text(const char *text);

/* A stream of these bytes. */
Exhibit__Stream *scene_stream(struct scene *scene, const void *from, size_t size_bytes);

/* A zeroed struct that lives as long as the scene. */
void *scene_take(struct scene *scene, size_t size_bytes);

/* Numbers the events. Called after the last change. */
void scene_finish(struct scene *scene);

void scene_done(struct scene *scene);

/* The nonce of a role in a run, as text. */
const char *scene_nonce(struct scene *scene, uint32_t run, int role);

/* A line of a row of the strict run's role, with the scene's told texts; lives as long as the scene. */
const char *scene_row(struct scene *scene, uint32_t run, int role, uint32_t round);

/*
 * Finishes the scene, derives its claim, and checks that it has this decision and that exactly the rules in `failing`
 * (separated by spaces) do not hold, the first of them with a detail that holds `detail`. Releases the scene.
 */
void scene_expect(struct scene *scene, const char *decision, const char *failing, const char *detail);

/* Finishes the scene, and checks that no claim follows, for this kind of reason and text. Releases the scene. */
void scene_expect_malformed(struct scene *scene, enum err_code code, const char *text);

/*
 * What the strict run of the case is told under an oracle whose only case asks for `wanted` on line 3: the sentences of
 * DECISION 6.5 without "CASE MODE REPEAT: ", each ended by a newline; "" where it is met. Finishes the scene; the text
 * lives as long as it does. Fails the test where nothing can be told.
 */
const char *scene_told(struct scene *scene, const char *wanted);

/* Derives the claim of a finished scene. Returns as the library does; *out lives in `facts`. */
struct facts;
int scene_claim(struct scene *scene, struct facts *facts, const Exhibit__Claim **out, struct err *err);
