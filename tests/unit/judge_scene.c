#include "judge_scene.h"

#include "formats/digest.h"
#include "record/judge.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void scene_free(struct scene *scene)
{
    for (size_t i = 0; i < scene->count; i++) {
        exhibit__event__free_unpacked(scene->events[i].event, NULL);
        bytes_done(&scene->events[i].payload);
    }
    oracle_done(&scene->oracle);
    free(scene);
}

/* ---- building ---- */

static struct scene_event event_copy(uint32_t run, Exhibit__Event__WhatCase what, void *body, const void *payload,
                                     size_t size_bytes)
{
    Exhibit__Event event = EXHIBIT__EVENT__INIT;
    struct scene_event copy = {0};
    AUTO_BYTES struct bytes packed = {0};
    struct err err;

    event.source = EXHIBIT__SOURCE__SOURCE_RECORDER;
    event.vantage = EXHIBIT__VANTAGE__VANTAGE_HOST;
    event.run = run;
    event.what_case = what;
    event.recording_start = body; /* every member of the union is a pointer to a message */
    assert_int_equal(bytes_reserve(&packed, exhibit__event__get_packed_size(&event), SIZE_MAX / 2, &err), 0);
    packed.size_bytes = exhibit__event__pack(&event, packed.data);
    copy.event = exhibit__event__unpack(NULL, packed.size_bytes, packed.data);
    assert_non_null(copy.event);
    assert_int_equal(bytes_add(&copy.payload, payload, size_bytes, SIZE_MAX / 2, &err), 0);
    return copy;
}

static void place_event(struct scene *scene, size_t place, struct scene_event event)
{
    assert_true(scene->count < SCENE_EVENTS);
    memmove(&scene->events[place + 1], &scene->events[place], (scene->count - place) * sizeof scene->events[0]);
    scene->events[place] = event;
    scene->count++;
}

void scene_put_bytes(struct scene *scene, uint32_t run, Exhibit__Event__WhatCase what, void *body, const void *payload,
                     size_t size_bytes)
{
    struct scene_event event = event_copy(run, what, body, payload, size_bytes);

    scene->now_ns += 10 * SCENE_MS;
    event.event->at_ns = scene->now_ns;
    place_event(scene, scene->count, event);
}

void scene_put(struct scene *scene, uint32_t run, Exhibit__Event__WhatCase what, void *body)
{
    scene_put_bytes(scene, run, what, body, "", 0);
}

void scene_say(struct scene *scene, uint32_t run, Exhibit__StreamName stream, const char *text)
{
    Exhibit__Chunk chunk = EXHIBIT__CHUNK__INIT;

    chunk.stream = stream;
    scene_put_bytes(scene, run, SCENE(CHUNK), &chunk, text, strlen(text));
}

static const char *role_word(Exhibit__Role role)
{
    return role == ROLE(PARENT) ? "parent" : role == ROLE(CHILD) ? "child" : "grandchild";
}

void scene_row(const struct scene *scene, uint32_t run, Exhibit__Role role, unsigned round, const char *told,
               char out[1024])
{
    const struct scene_run *of = &scene->runs[run];
    int used = snprintf(out, 1024, "EXHIBIT1 row %s %s %u", of->nonces[role], role_word(role), round);

    for (int i = 0; effect_names[i] != NULL; i++) {
        char text[128], proof[65] = "";

        if (i < 2 && strcmp(told, "ok") == 0) {
            struct digest digest;
            int size = snprintf(text, sizeof text, "%s %s %u", of->canaries[i], of->nonces[role], round);

            digest = digest_of(text, (size_t)size);
            hex_encode(digest.bytes, sizeof digest.bytes, proof);
        }
        used +=
            snprintf(out + used, 1024 - (size_t)used, " %s=%s%s%s", effect_names[i], told, *proof ? ":" : "", proof);
    }
    (void)snprintf(out + used, 1024 - (size_t)used, "\n");
}

/* ---- changing ---- */

uint32_t scene_run_of(const struct scene *scene, const char *name, Exhibit__Mode mode, uint32_t repeat)
{
    for (uint32_t i = 1; i <= scene->run_count; i++)
        if (strcmp(scene->runs[i].name, name) == 0 && scene->runs[i].mode == mode && scene->runs[i].repeat == repeat)
            return i;
    fail_msg("the scene has no run %s", name);
    return 0;
}

size_t scene_place(const struct scene *scene, uint32_t run, Exhibit__Event__WhatCase what, size_t nth)
{
    for (size_t i = 0; i < scene->count; i++)
        if (scene->events[i].event->run == run && scene->events[i].event->what_case == what && nth-- == 0)
            return i;
    fail_msg("run %u has no such event of kind %d", run, (int)what);
    return 0;
}

Exhibit__Event *scene_event(struct scene *scene, uint32_t run, Exhibit__Event__WhatCase what, size_t nth)
{
    return scene->events[scene_place(scene, run, what, nth)].event;
}

void scene_insert(struct scene *scene, size_t place, uint32_t run, Exhibit__Event__WhatCase what, void *body)
{
    struct scene_event event = event_copy(run, what, body, "", 0);

    event.event->at_ns = scene->events[place - 1].event->at_ns;
    place_event(scene, place, event);
}

void scene_insert_text(struct scene *scene, size_t place, uint32_t run, Exhibit__StreamName stream, const char *text)
{
    Exhibit__Chunk chunk = EXHIBIT__CHUNK__INIT;
    struct err err;

    chunk.stream = stream;
    scene_insert(scene, place, run, SCENE(CHUNK), &chunk);
    assert_int_equal(bytes_add(&scene->events[place].payload, text, strlen(text), SIZE_MAX / 2, &err), 0);
}

void scene_remove(struct scene *scene, size_t place)
{
    exhibit__event__free_unpacked(scene->events[place].event, NULL);
    bytes_done(&scene->events[place].payload);
    scene->count--;
    memmove(&scene->events[place], &scene->events[place + 1], (scene->count - place) * sizeof scene->events[0]);
}

void scene_drop(struct scene *scene, uint32_t run, Exhibit__Event__WhatCase what)
{
    for (size_t i = scene->count; i > 0; i--)
        if (scene->events[i - 1].event->run == run &&
            (what == EXHIBIT__EVENT__WHAT__NOT_SET || scene->events[i - 1].event->what_case == what))
            scene_remove(scene, i - 1);
}

void scene_delay(struct scene *scene, size_t place, uint64_t delay_ms)
{
    for (; place < scene->count; place++)
        scene->events[place].event->at_ns += delay_ms * SCENE_MS;
}

/* Puts another text where `old_bytes` bytes stand in an event's payload. */
static void splice(struct bytes *payload, size_t at, size_t old_bytes, const char *new)
{
    struct bytes made = {0};
    struct err err;

    assert_int_equal(bytes_add(&made, payload->data, at, SIZE_MAX / 2, &err), 0);
    assert_int_equal(bytes_add(&made, new, strlen(new), SIZE_MAX / 2, &err), 0);
    assert_int_equal(
        bytes_add(&made, payload->data + at + old_bytes, payload->size_bytes - at - old_bytes, SIZE_MAX / 2, &err), 0);
    bytes_done(payload);
    *payload = made;
}

void scene_tell(struct scene *scene, uint32_t run, Exhibit__Role role, unsigned round, const char *effect,
                const char *told)
{
    char row[128], word[32];
    bool found = false;

    (void)snprintf(row, sizeof row, "EXHIBIT1 row %s %s %u ", scene->runs[run].nonces[role], role_word(role), round);
    (void)snprintf(word, sizeof word, " %s=", effect);
    for (size_t i = 0; i < scene->count; i++) {
        struct bytes *payload = &scene->events[i].payload;
        const char *line, *at;

        if (scene->events[i].event->run != run || payload->size_bytes == 0)
            continue;
        line = strstr((const char *)payload->data, row);
        at = line == NULL ? NULL : strstr(line, word);
        if (at == NULL)
            continue;
        at += strlen(word);
        splice(payload, (size_t)(at - (const char *)payload->data), strcspn(at, " \n"), told);
        found = true;
    }
    assert_true(found);
}

void scene_replace(struct scene *scene, uint32_t run, const char *old, const char *new)
{
    bool found = false;

    for (size_t i = 0; i < scene->count; i++) {
        struct bytes *payload = &scene->events[i].payload;
        const char *at;

        if (scene->events[i].event->run != run || payload->size_bytes == 0)
            continue;
        at = strstr((const char *)payload->data, old);
        if (at != NULL)
            splice(payload, (size_t)(at - (const char *)payload->data), strlen(old), new);
        found = found || at != NULL;
    }
    assert_true(found);
}

/* ---- judging ---- */

Exhibit__Claim *scene_judge(struct scene *scene)
{
    struct digest receipt = digest_of("receipt", 7);
    struct judge *judge = judge_new(&scene->oracle);
    Exhibit__Claim *claim = NULL;
    struct err err = {0};

    assert_non_null(judge);
    for (size_t i = 0; i < scene->count; i++) {
        struct scene_event *at = &scene->events[i];
        const void *payload = at->payload.size_bytes == 0 ? NULL : at->payload.data;

        at->event->seq = i + 1;
        if (at->event->what_case == SCENE(CHUNK))
            at->event->chunk->size_bytes = at->payload.size_bytes;
        if (at->event->what_case == SCENE(RECORDING_END) && !scene->miscounted)
            at->event->recording_end->event_count = scene->count;
        if (judge_take(judge, at->event, payload, at->payload.size_bytes, &err) < 0)
            fail_msg("event %zu: %s", i + 1, err.text);
    }
    assert_int_equal(judge_finish(judge, &receipt, &claim, &err), 0);
    judge_free(judge);
    assert_non_null(claim);
    return claim;
}

void scene_expect(struct scene *scene, const char *decision, const struct scene_failure *failures)
{
    Exhibit__Claim *claim = scene_judge(scene);

    for (size_t i = 0; i < claim->n_rules; i++) {
        const Exhibit__RuleResult *rule = claim->rules[i];
        const struct scene_failure *wanted = failures;

        while (wanted->rule != NULL && strcmp(wanted->rule, rule->rule) != 0)
            wanted++;
        if (rule->holds != (wanted->rule == NULL))
            fail_msg("%s %s: %s", rule->rule, rule->holds ? "holds" : "fails", rule->detail);
        if (!rule->holds && strstr(rule->detail, wanted->text) == NULL)
            fail_msg("%s says \"%s\", not \"%s\"", rule->rule, rule->detail, wanted->text);
    }
    assert_int_equal(claim->n_rules, 14);
    assert_string_equal(claim->decision, decision);
    exhibit__claim__free_unpacked(claim, NULL);
    scene_free(scene);
}

const Exhibit__AttemptResult *scene_attempt(const Exhibit__Claim *claim, const char *trial, const char *mode,
                                            const char *role_round, const char *effect)
{
    for (size_t i = 0; i < claim->n_attempts; i++) {
        const Exhibit__AttemptResult *attempt = claim->attempts[i];
        char place[64];

        (void)snprintf(place, sizeof place, "%s/%u", attempt->role, attempt->round);
        if (strcmp(attempt->trial, trial) == 0 && strcmp(attempt->mode, mode) == 0 && strcmp(place, role_round) == 0 &&
            strcmp(attempt->effect, effect) == 0)
            return attempt;
    }
    fail_msg("no attempt %s %s %s %s", trial, mode, role_round, effect);
    return NULL;
}

const Exhibit__TreeMember *scene_member(const Exhibit__Claim *claim, const char *trial, const char *mode,
                                        const char *role)
{
    for (size_t i = 0; i < claim->n_tree; i++)
        if (strcmp(claim->tree[i]->trial, trial) == 0 && strcmp(claim->tree[i]->mode, mode) == 0 &&
            strcmp(claim->tree[i]->role, role) == 0)
            return claim->tree[i];
    fail_msg("no member %s %s %s", trial, mode, role);
    return NULL;
}
