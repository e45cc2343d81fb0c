/*
 * The runs of the probe in a scene, each as it should be.
 */
#pragma once

#include "verify_scene_runs.h"

static inline void scene_assign(Exhibit__RunStart *start, uint32_t run, size_t roles)
{
    Exhibit__ProbeAssignment *probe = scene_zero(sizeof *probe);
    bool control = start->mode == EXHIBIT__MODE__MODE_CONTROL;
    uint8_t nonce[NONCE_BYTES];

    exhibit__probe_assignment__init(probe);
    start->probe = probe;
    memset(nonce, (int)(run + 16), sizeof nonce);
    probe->nonce = scene_bytes(nonce, sizeof nonce);
    probe->roles = scene_zero(roles * sizeof *probe->roles);
    for (size_t i = 0; i < roles; i++) {
        probe->roles[i] = scene_zero(sizeof **probe->roles);
        exhibit__role_rounds__init(probe->roles[i]);
        probe->roles[i]->role = (Exhibit__Role)(i + 1);
        probe->roles[i]->rounds = i == 2 && !control ? SCENE_ROUNDS : 1;
    }
    probe->n_roles = roles;
    probe->effects = scene_zero(SCENE_EFFECTS * sizeof *probe->effects);
    for (size_t i = 0; i < SCENE_EFFECTS; i++)
        probe->effects[probe->n_effects++] = strdup(scene_effects[i]);
    probe->interval_ms = 2000;
    probe->lifetime_ms = control ? 1000 : 8000;
    probe->tcp_port = 4000;
    probe->udp_port = 4001;
    if (control)
        return;
    probe->ending = scene_zero(sizeof *probe->ending);
    probe->ending[0] = scene_zero(sizeof **probe->ending);
    exhibit__step_plan__init(probe->ending[0]);
    probe->ending[0]->signal = 15;
    probe->ending[0]->target = EXHIBIT__STEP_TARGET__STEP_GROUP;
    probe->ending[0]->after_rounds = 2;
    probe->ending[0]->after_role = EXHIBIT__ROLE__ROLE_GRANDCHILD;
    probe->n_ending = 1;
}

static inline uint32_t scene_pid(uint32_t run, int role)
{
    return run * 100 + (uint32_t)role;
}

static inline Exhibit__ProcessIdentity *scene_identify(struct scene *scene, uint32_t run, int role)
{
    Exhibit__ProcessIdentity *process = SCENE_ADD(scene, run, PROCESS_IDENTITY)->process_identity;
    char nonce[33];
    const char *argv[] = {"/tools/exhibit-probe", "run", scene_roles[role], nonce, "effects=all"};

    scene_nonce(run, role, nonce);
    process->pid = scene_pid(run, role);
    process->start_time = run * 1000u + (uint32_t)role;
    process->parent_pid = role == 1 ? run * 100 : scene_pid(run, role - 1);
    process->executable_sha256 = scene_digest(digest_of("probe", 5));
    process->argv = scene_list(argv, 5);
    process->n_argv = 5;
    process->network_namespace = 7;
    process->routes_case = EXHIBIT__PROCESS_IDENTITY__ROUTES_ROUTES_BEYOND_LOOPBACK;
    process->routes_beyond_loopback = 1;
    return process;
}

static inline void scene_message_of(struct scene *scene, uint32_t run, int role, uint32_t round, bool udp)
{
    char text[128], nonce[33];
    Exhibit__Event *event;

    scene_nonce(run, role, nonce);
    (void)snprintf(text, sizeof text, "EXHIBIT1 %s %s %s %" PRIu32 "\n", udp ? "udp" : "tcp", nonce, scene_roles[role],
                   round);
    if (!udp) {
        event = SCENE_ADD(scene, run, ACCEPT);
        event->accept->connection = ++scene->connections;
        event->accept->peer = scene_text("127.0.0.1:40000");
    }
    event = SCENE_ADD(scene, run, MESSAGE);
    event->message->protocol = udp ? EXHIBIT__PROTOCOL__PROTOCOL_UDP : EXHIBIT__PROTOCOL__PROTOCOL_TCP;
    event->message->connection = udp ? 0 : scene->connections;
    event->message->peer = scene_text("127.0.0.1:40000");
    event->message->payload = scene_text(text);
}

static inline void scene_touch(struct scene *scene, uint32_t run, Exhibit__TargetName target)
{
    Exhibit__Event *event = SCENE_ADD(scene, run, FILE_EVENT);

    event->file_event->target = target;
    event->file_event->mask = 1;
}

/* The rows of a run; unconfined ones with what the host saw of them. Appends to `written` what went to the target. */
static inline void scene_speak(struct scene *scene, const Exhibit__RunStart *start, uint32_t run, char *written,
                               size_t written_bytes)
{
    bool strict = start->mode == EXHIBIT__MODE__MODE_STRICT;

    for (size_t i = 0; i < start->probe->n_roles; i++) {
        int role = (int)start->probe->roles[i]->role;

        for (uint32_t round = 1; round <= start->probe->roles[i]->rounds; round++) {
            char nonce[33];
            size_t used = strlen(written);

            scene_nonce(run, role, nonce);
            scene_row(scene, run, role, round, strict ? "errno:13" : NULL);
            if (strict)
                continue;
            scene_message_of(scene, run, role, round, false);
            scene_message_of(scene, run, role, round, true);
            for (int target = 1; target < 4; target++)
                scene_touch(scene, run, (Exhibit__TargetName)target);
            (void)snprintf(written + used, written_bytes - used, "EXHIBIT1 write %s %s %" PRIu32 "\n", nonce,
                           scene_roles[role], round);
        }
    }
}

static inline void scene_step(struct scene *scene, uint32_t run)
{
    Exhibit__Step *step = SCENE_ADD(scene, run, STEP)->step;

    step->index = 1;
    step->signal = 15;
    step->target = EXHIBIT__STEP_TARGET__STEP_GROUP;
    step->target_pid = run * 100;
    step->trigger = EXHIBIT__STEP__TRIGGER__TRIGGER_ROUNDS;
    step->alive = scene_zero(3 * sizeof *step->alive);
    for (int role = 1; role < 4; role++) {
        step->alive[step->n_alive] = scene_zero(sizeof **step->alive);
        exhibit__alive_process__init(step->alive[step->n_alive]);
        step->alive[step->n_alive]->pid = scene_pid(run, role);
        step->alive[step->n_alive++]->start_time = run * 1000u + (uint32_t)role;
    }
}

/* The targets are set and looked at, each in its phase. */
static inline void scene_prepare(struct scene *scene, Exhibit__Mode mode, uint32_t repeat, const char *written)
{
    bool strict = mode == EXHIBIT__MODE__MODE_STRICT;

    scene_phase(scene, "tree",
                strict                                 ? EXHIBIT__PHASE_NAME__PHASE_RESET
                : mode == EXHIBIT__MODE__MODE_BASELINE ? EXHIBIT__PHASE_NAME__PHASE_BASELINE
                : repeat == 1                          ? EXHIBIT__PHASE_NAME__PHASE_CONTROL_BEFORE
                                                       : EXHIBIT__PHASE_NAME__PHASE_RESET_AGAIN);
    scene_targets(scene);
    if (strict)
        scene_phase(scene, "tree", EXHIBIT__PHASE_NAME__PHASE_STATE_BEFORE);
    if (repeat == 2)
        scene_phase(scene, "tree", EXHIBIT__PHASE_NAME__PHASE_CONTROL_AFTER);
    scene_states(scene, written, 0);
    if (strict)
        scene_phase(scene, "tree", EXHIBIT__PHASE_NAME__PHASE_STRICT);
}

static inline void scene_trial(struct scene *scene, uint32_t run, Exhibit__Mode mode, uint32_t repeat)
{
    size_t roles = mode == EXHIBIT__MODE__MODE_CONTROL && repeat == 2 ? 1 : 3;
    char nonce[33], written[2048] = "unwritten\n";
    const char *command[] = {"/tools/exhibit-probe", "run", "parent", nonce, "effects=all"};
    Exhibit__RunStart *start;

    scene_nonce(run, 1, nonce);
    scene_prepare(scene, mode, repeat, written);
    start = scene_start(scene, run, EXHIBIT__RUN_KIND__RUN_TRIAL, "tree", mode, repeat);
    scene_assign(start, run, roles);
    scene_command(start, command, 5);
    scene_freeze(scene, run, EXHIBIT__FREEZE_MOMENT__FREEZE_RUN_BEFORE, "copy");
    scene_spawn(scene, run);
    for (size_t role = 1; role <= roles; role++)
        (void)scene_identify(scene, run, (int)role);
    scene_speak(scene, start, run, written, sizeof written);
    if (mode != EXHIBIT__MODE__MODE_CONTROL) {
        scene->now_ns += 1000 * SCENE_MS;
        scene_step(scene, run);
    }
    for (size_t role = 1; role <= roles; role++) {
        Exhibit__Event *event = SCENE_ADD(scene, run, PROCESS_EXIT);

        event->process_exit->pid = scene_pid(run, (int)role);
        event->process_exit->start_time = run * 1000u + (uint32_t)role;
        event->process_exit->how_case = EXHIBIT__PROCESS_EXIT__HOW_TERM_SIGNAL;
        event->process_exit->term_signal = 15;
    }
    SCENE_ADD(scene, run, DROPS)->drops->protocol = EXHIBIT__PROTOCOL__PROTOCOL_TCP;
    SCENE_ADD(scene, run, DROPS)->drops->protocol = EXHIBIT__PROTOCOL__PROTOCOL_UDP;
    scene_close(scene, run, EXHIBIT__STREAM_NAME__STREAM_SCRATCH_GRANDCHILD);
    if (mode == EXHIBIT__MODE__MODE_STRICT)
        scene_phase(scene, "tree", EXHIBIT__PHASE_NAME__PHASE_STATE_AFTER);
    scene_states(scene, written, mode == EXHIBIT__MODE__MODE_STRICT ? 0 : 77);
    if (repeat == 2)
        scene_phase(scene, "tree", EXHIBIT__PHASE_NAME__PHASE_DONE);
}
