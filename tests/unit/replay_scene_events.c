/*
 * The events of the scene, in the order in which a recorder writes them.
 */
#include "replay_scene.h"

#include "base/bytes.h"
#include "replay/words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { NS_PER_MS = 1000000, LIFETIME_MS = 8000, OWN_NETWORK = 7, PRIVATE_NETWORK = 42 };

static const char canary_read[] = "canary for read", canary_link[] = "canary for read-link";
static const char probe_bytes[] = "the probe";

/* Appends an event a millisecond later. */
static Exhibit__Event *add(struct scene *scene, uint32_t run, Exhibit__Event__WhatCase kind)
{
    Exhibit__Event *event = scene_take(scene, sizeof *event);
    struct err err;

    exhibit__event__init(event);
    event->run = run;
    event->source = EXHIBIT__SOURCE__SOURCE_RECORDER;
    event->vantage = EXHIBIT__VANTAGE__VANTAGE_HOST;
    event->what_case = kind;
    event->at_ns = scene->now_ns += NS_PER_MS;
    assert_int_equal(table_add(&scene->events, &scene->event_count, &event, sizeof event, &err), 0);
    return event;
}

/* Appends an event and gives the struct of its kind. */
#define ADD(scene, run, KIND, type, field)                                                                             \
    __extension__({                                                                                                    \
        Exhibit__##type *what_ = scene_take((scene), sizeof *what_);                                                   \
        exhibit__##field##__init(what_);                                                                               \
        add((scene), (run), EXHIBIT__EVENT__WHAT_##KIND)->field = what_;                                               \
        what_;                                                                                                         \
    })

static void add_recording(struct scene *scene)
{
    Exhibit__RecordingStart *start = ADD(scene, 0, RECORDING_START, RecordingStart, recording_start);
    Exhibit__Binary *probe = scene_take(scene, sizeof *probe);
    Exhibit__Pin *pin = scene_take(scene, sizeof *pin);

    start->run_id = scene_text("0123456789abcdef");
    start->plan_sha256 = scene_object(scene, "plan", 4);
    start->oracle_sha256 =
        scene_object(scene, scene->oracle.source.data == NULL ? "" : (char *)scene->oracle.source.data,
                     scene->oracle.source.size_bytes);
    start->process_observer = EXHIBIT__SOURCE__SOURCE_SNAPSHOT;
    start->host = scene_take(scene, sizeof *start->host);
    exhibit__host__init(start->host);
    start->host->network_namespace = OWN_NETWORK;
    exhibit__binary__init(probe);
    probe->name = (char *)"exhibit-probe";
    probe->sha256 = scene_object(scene, probe_bytes, sizeof probe_bytes);
    start->binaries = scene_take(scene, sizeof *start->binaries);
    start->binaries[start->n_binaries++] = probe;
    exhibit__pin__init(pin);
    pin->expected_sha256 = pin->seen_sha256 = probe->sha256;
    start->pins = scene_take(scene, sizeof *start->pins);
    start->pins[start->n_pins++] = pin;
}

static void add_freeze(struct scene *scene, uint32_t run, Exhibit__FreezeMoment moment)
{
    Exhibit__Freeze *freeze = ADD(scene, run, FREEZE, Freeze, freeze);

    freeze->moment = moment;
    freeze->input = (char *)"workspace";
    freeze->list_sha256 = scene_object(scene, "list", 4);
}

/* Appends a stream with one piece; NULL: an empty one. */
static void add_stream(struct scene *scene, uint32_t run, Exhibit__StreamName name, const char *text)
{
    Exhibit__StreamEnd *end;

    if (text != NULL && *text != 0) {
        Exhibit__Chunk *chunk = ADD(scene, run, CHUNK, Chunk, chunk);

        chunk->stream = name;
        chunk->size_bytes = strlen(text);
    }
    end = ADD(scene, run, STREAM_END, StreamEnd, stream_end);
    end->stream = name;
    end->how = EXHIBIT__STREAM_END__HOW__HOW_EOF;
    end->content = scene_stream(scene, text == NULL ? "" : text, text == NULL ? 0 : strlen(text));
}

static Exhibit__RunStart *add_run(struct scene *scene, uint32_t run, Exhibit__RunKind kind, const char *name,
                                  Exhibit__Mode mode, uint32_t repeat)
{
    Exhibit__RunStart *start = ADD(scene, run, RUN_START, RunStart, run_start);

    start->kind = kind;
    start->name = (char *)name;
    start->mode = mode;
    start->repeat = repeat;
    (void)ADD(scene, run, SPAWNED, Spawned, spawned);
    if (mode == EXHIBIT__MODE__MODE_STRICT)
        add_freeze(scene, run, EXHIBIT__FREEZE_MOMENT__FREEZE_RUN_BEFORE);
    return start;
}

static void end_run(struct scene *scene, uint32_t run, bool strict)
{
    ADD(scene, run, RUN_EXIT, RunExit, run_exit)->how_case = EXHIBIT__RUN_EXIT__HOW_EXIT_STATUS;
    (void)ADD(scene, run, ALL_GONE, AllGone, all_gone);
    if (strict)
        add_freeze(scene, run, EXHIBIT__FREEZE_MOMENT__FREEZE_RUN_AFTER);
}

static void add_case(struct scene *scene, uint32_t run, int which)
{
    bool strict = which == 2;

    (void)add_run(scene, run, EXHIBIT__RUN_KIND__RUN_CASE, "hello",
                  strict ? EXHIBIT__MODE__MODE_STRICT : EXHIBIT__MODE__MODE_BASELINE, which == 1 ? 2 : 1);
    add_stream(scene, run, EXHIBIT__STREAM_NAME__STREAM_STDOUT, scene->case_stdout[which]);
    add_stream(scene, run, EXHIBIT__STREAM_NAME__STREAM_STDERR, scene->case_stderr);
    end_run(scene, run, strict);
    if (scene->archives[which] != NULL)
        scene_fill_archive(scene, ADD(scene, run, ARTIFACT, Artifact, artifact), scene->archives[which]);
}

/* ---- trials ---- */

const char *scene_nonce(struct scene *scene, uint32_t run, int role)
{
    char *nonce = scene_take(scene, 2 * NONCE_BYTES + 1);
    char text[80];

    if (role == PARENT) {
        (void)snprintf(nonce, 2 * NONCE_BYTES + 1, "%032x", 0xabc00 + run);
        return nonce;
    }
    (void)snprintf(text, sizeof text, "exhibit %s %s", word_of_role(role), scene_nonce(scene, run, role - 1));
    hex_encode(digest_of(text, strlen(text)).bytes, NONCE_BYTES, nonce);
    return nonce;
}

static void add_states(struct scene *scene, const char *written)
{
    for (int target = 1; target <= 4; target++) {
        Exhibit__TargetState *state = ADD(scene, 0, TARGET_STATE, TargetState, target_state);
        const char *content = target == 1 ? canary_read : target == 2 ? canary_link : target == 3 ? written : "list";

        state->target = (Exhibit__TargetName)target;
        state->exists = true;
        state->size_bytes = strlen(content);
        state->content_sha256 = scene_object(scene, content, strlen(content));
    }
}

static void add_targets(struct scene *scene)
{
    Exhibit__Targets *targets = ADD(scene, 0, TARGETS, Targets, targets);

    targets->canary_read = scene_text(canary_read);
    targets->canary_link = scene_text(canary_link);
    targets->write = scene_text("written by nobody\n");
    add_states(scene, "written by nobody\n");
}

static void add_identity(struct scene *scene, uint32_t run, int role, const Exhibit__RunStart *start)
{
    Exhibit__ProcessIdentity *identity = ADD(scene, run, PROCESS_IDENTITY, ProcessIdentity, process_identity);

    identity->pid = run * 100 + (uint32_t)role;
    identity->start_time = identity->pid + 5;
    identity->parent_pid = role == PARENT ? 1 : identity->pid - 1;
    identity->executable_sha256 = scene_object(scene, probe_bytes, sizeof probe_bytes);
    identity->argv = scene_take(scene, start->n_command * sizeof *identity->argv);
    for (size_t i = 0; i < start->n_command; i++)
        identity->argv[identity->n_argv++] = start->command[i];
    identity->argv[2] = scene_text(word_of_role(role));
    identity->argv[3] = scene_text(scene_nonce(scene, run, role));
    identity->network_namespace = start->mode == EXHIBIT__MODE__MODE_STRICT ? PRIVATE_NETWORK : OWN_NETWORK;
    identity->routes_case = EXHIBIT__PROCESS_IDENTITY__ROUTES_ROUTES_BEYOND_LOOPBACK;
}

/* What an unconfined probe tells: `ok`, with a right proof for the reads. */
static const char *told_free(struct scene *scene, uint32_t run, int role, uint32_t round, int effect)
{
    const char *content = effect == 0 ? canary_read : canary_link;
    char text[120], *told;

    if (effect > 1)
        return "ok";
    told = scene_take(scene, 3 + 2 * DIGEST_BYTES + 1);
    (void)snprintf(text, sizeof text, "%s %s %u", content, scene_nonce(scene, run, role), round);
    memcpy(told, "ok:", 3);
    hex_encode(digest_of(text, strlen(text)).bytes, DIGEST_BYTES, told + 3);
    return told;
}

const char *scene_row(struct scene *scene, uint32_t run, int role, uint32_t round)
{
    char *text = scene_take(scene, 1024);
    int used = snprintf(text, 1024, "EXHIBIT1 row %s %s %u", scene_nonce(scene, run, role), word_of_role(role), round);

    for (int effect = 0; effect < 5; effect++) {
        const char *told = run == RUN_STRICT ? scene->told[effect] : told_free(scene, run, role, round, effect);

        if (strcmp(told, "proof") == 0)
            told = told_free(scene, run, role, round, effect);
        used += snprintf(text + used, 1024 - (size_t)used, " %s=%s", word_of_effect(effect), told);
    }
    (void)snprintf(text + used, 1024 - (size_t)used, "\n");
    return text;
}

static Exhibit__RunStart *start_trial(struct scene *scene, uint32_t run, Exhibit__Mode mode, uint32_t repeat, int roles)
{
    Exhibit__RunStart *start = add_run(scene, run, EXHIBIT__RUN_KIND__RUN_TRIAL, "tree", mode, repeat);
    Exhibit__ProbeAssignment *probe = start->probe = scene_take(scene, sizeof *probe);
    uint8_t *nonce = scene_take(scene, NONCE_BYTES);

    exhibit__probe_assignment__init(probe);
    assert_true(hex_decode(scene_nonce(scene, run, PARENT), nonce, NONCE_BYTES));
    probe->nonce = (ProtobufCBinaryData){NONCE_BYTES, nonce};
    probe->lifetime_ms = LIFETIME_MS;
    probe->interval_ms = 2000;
    probe->roles = scene_take(scene, 3 * sizeof *probe->roles);
    probe->effects = scene_take(scene, 5 * sizeof *probe->effects);
    for (int role = 1; role <= roles; role++) {
        Exhibit__RoleRounds *rounds = probe->roles[probe->n_roles++] = scene_take(scene, sizeof *rounds);

        exhibit__role_rounds__init(rounds);
        rounds->role = (Exhibit__Role)role;
        rounds->rounds = role == GRANDCHILD ? 2 : 1;
    }
    for (int effect = 0; effect < 5; effect++)
        probe->effects[probe->n_effects++] = (char *)word_of_effect(effect);
    start->command = scene_take(scene, 5 * sizeof *start->command);
    start->command[0] = scene_text("/tools/exhibit-probe");
    start->command[1] = scene_text("run");
    start->command[2] = scene_text("parent");
    start->command[3] = scene_text(scene_nonce(scene, run, PARENT));
    start->command[4] = scene_text("rest");
    start->n_command = 5;
    if (mode != EXHIBIT__MODE__MODE_CONTROL) {
        Exhibit__StepPlan *step = scene_take(scene, sizeof *step);

        exhibit__step_plan__init(step);
        step->signal = 15;
        step->target = EXHIBIT__STEP_TARGET__STEP_GROUP;
        probe->ending = scene_take(scene, sizeof *probe->ending);
        probe->ending[probe->n_ending++] = step;
    }
    return start;
}

/* What the host sees of an unconfined row. */
static void add_reached(struct scene *scene, uint32_t run, int role, uint32_t round)
{
    (void)ADD(scene, run, ACCEPT, Accept, accept);
    for (int protocol = 1; protocol <= 2; protocol++) {
        Exhibit__Message *message = ADD(scene, run, MESSAGE, Message, message);
        char *text = scene_take(scene, 100);

        (void)snprintf(text, 100, "EXHIBIT1 %s %s %s %u\n", protocol == 1 ? "tcp" : "udp",
                       scene_nonce(scene, run, role), word_of_role(role), round);
        message->protocol = (Exhibit__Protocol)protocol;
        message->payload = scene_text(text);
    }
    for (int target = 1; target <= 3; target++)
        ADD(scene, run, FILE_EVENT, FileEvent, file_event)->target = (Exhibit__TargetName)target;
}

static void add_step(struct scene *scene, const Exhibit__RunStart *start, uint32_t run)
{
    Exhibit__Step *step = ADD(scene, run, STEP, Step, step);

    step->index = 1;
    step->signal = 15;
    step->target = EXHIBIT__STEP_TARGET__STEP_GROUP;
    step->trigger = EXHIBIT__STEP__TRIGGER__TRIGGER_ROUNDS;
    step->alive = scene_take(scene, 3 * sizeof *step->alive);
    for (uint32_t role = 1; role <= start->probe->n_roles; role++) {
        Exhibit__AliveProcess *alive = step->alive[step->n_alive++] = scene_take(scene, sizeof *alive);

        exhibit__alive_process__init(alive);
        alive->pid = run * 100 + role;
        alive->start_time = alive->pid + 5;
    }
}

/* Appends one more piece of the run's stdout, whose bytes so far are `out`. */
static void add_piece(struct scene *scene, uint32_t run, struct bytes *out, const char *text)
{
    Exhibit__Chunk *chunk = ADD(scene, run, CHUNK, Chunk, chunk);
    struct err err;

    chunk->stream = EXHIBIT__STREAM_NAME__STREAM_STDOUT;
    chunk->offset_bytes = out->size_bytes;
    chunk->size_bytes = strlen(text);
    assert_int_equal(bytes_add(out, text, strlen(text), 1 << 20, &err), 0);
}

static void add_trial(struct scene *scene, uint32_t run, Exhibit__Mode mode, uint32_t repeat, int roles)
{
    bool strict = mode == EXHIBIT__MODE__MODE_STRICT;
    Exhibit__RunStart *start;
    struct bytes out = {0}, written = {0};
    Exhibit__StreamEnd *end;
    struct err err;

    add_targets(scene);
    start = start_trial(scene, run, mode, repeat, roles);
    for (int role = 1; role <= roles; role++)
        add_identity(scene, run, role, start);
    for (int role = 1; role <= roles; role++)
        for (uint32_t round = 1; round <= (role == GRANDCHILD ? 2U : 1U); round++) {
            char line[100];

            if (!strict || role != scene->mute_role)
                add_piece(scene, run, &out, scene_row(scene, run, role, round));
            if (strict)
                continue;
            add_reached(scene, run, role, round);
            (void)snprintf(line, sizeof line, "EXHIBIT1 write %s %s %u\n", scene_nonce(scene, run, role),
                           word_of_role(role), round);
            assert_int_equal(bytes_add(&written, line, strlen(line), 1 << 20, &err), 0);
        }
    if (strict && scene->extra_stdout != NULL)
        add_piece(scene, run, &out, scene->extra_stdout);
    if (start->probe->n_ending > 0 && !(strict && scene->no_step))
        add_step(scene, start, run);
    if (strict)
        scene->now_ns += (uint64_t)scene->gone_ms * NS_PER_MS;
    for (uint32_t role = 1; role <= (uint32_t)roles; role++) {
        Exhibit__ProcessExit *gone = ADD(scene, run, PROCESS_EXIT, ProcessExit, process_exit);

        gone->pid = run * 100 + role;
        gone->start_time = gone->pid + 5;
    }
    if (strict && scene->late_stdout != NULL) {
        scene->now_ns += (uint64_t)scene->late_ms * NS_PER_MS;
        add_piece(scene, run, &out, scene->late_stdout);
    }
    end = ADD(scene, run, STREAM_END, StreamEnd, stream_end);
    end->stream = EXHIBIT__STREAM_NAME__STREAM_STDOUT;
    end->how = EXHIBIT__STREAM_END__HOW__HOW_EOF;
    end->content = scene_stream(scene, out.data, out.size_bytes);
    for (int name = EXHIBIT__STREAM_NAME__STREAM_STDERR; name <= EXHIBIT__STREAM_NAME__STREAM_SCRATCH_GRANDCHILD;
         name++)
        add_stream(scene, run, (Exhibit__StreamName)name, NULL);
    end_run(scene, run, strict);
    for (int protocol = 1; protocol <= 2; protocol++)
        ADD(scene, run, DROPS, Drops, drops)->protocol = (Exhibit__Protocol)protocol;
    add_states(scene, strict ? "written by nobody\n" : (const char *)written.data);
    bytes_done(&out);
    bytes_done(&written);
}

void scene_build(struct scene *scene)
{
    add_recording(scene);
    add_freeze(scene, 0, EXHIBIT__FREEZE_MOMENT__FREEZE_BEFORE);
    (void)add_run(scene, RUN_LAUNCHER, EXHIBIT__RUN_KIND__RUN_LAUNCHER, "launcher", EXHIBIT__MODE__MODE_STRICT, 1);
    end_run(scene, RUN_LAUNCHER, true);
    add_case(scene, RUN_CASE_BASELINE, 0);
    add_case(scene, RUN_CASE_BASELINE_AGAIN, 1);
    add_trial(scene, RUN_BASELINE, EXHIBIT__MODE__MODE_BASELINE, 1, 3);
    add_freeze(scene, 0, EXHIBIT__FREEZE_MOMENT__FREEZE_AFTER_BASELINE);
    add_case(scene, RUN_CASE_STRICT, 2);
    add_trial(scene, RUN_CONTROL_BEFORE, EXHIBIT__MODE__MODE_CONTROL, 1, 3);
    add_trial(scene, RUN_STRICT, EXHIBIT__MODE__MODE_STRICT, 1, 3);
    add_trial(scene, RUN_CONTROL_AFTER, EXHIBIT__MODE__MODE_CONTROL, 2, 1);
    add_freeze(scene, 0, EXHIBIT__FREEZE_MOMENT__FREEZE_AFTER_STRICT);
    (void)ADD(scene, 0, RECORDING_END, RecordingEnd, recording_end);
}
