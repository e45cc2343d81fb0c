/*
 * The state of one run, and what its processes and steps do to it. Knows identities (docs/DECISION.md 4.1), no outcome.
 */
#include "record/judge_state.h"

#include "record/roles.h"

#include <stdlib.h>
#include <string.h>

int judge_grow(void *array, size_t *room, size_t count, size_t size, struct err *err)
{
    size_t wanted = *room == 0 ? 16 : *room * 2;
    void *grown;

    if (count < *room)
        return 0;
    grown = reallocarray(*(void **)array, wanted, size);
    if (grown == NULL)
        return err_set_errno(err, "memory for the judge");
    *(void **)array = grown;
    *room = wanted;
    return 0;
}

int judge_bytes_order(const ProtobufCBinaryData *a, const ProtobufCBinaryData *b)
{
    size_t shared = a->len < b->len ? a->len : b->len;
    int order = shared == 0 ? 0 : memcmp(a->data, b->data, shared);

    return order != 0 ? order : (a->len > b->len) - (a->len < b->len);
}

const char *judge_role_text(Exhibit__Role role)
{
    return role_name(role);
}

const char *judge_mode_text(Exhibit__Mode mode)
{
    switch (mode) {
    case EXHIBIT__MODE__MODE_BASELINE:
        return "baseline";
    case EXHIBIT__MODE__MODE_STRICT:
        return "strict";
    case EXHIBIT__MODE__MODE_CONTROL:
        return "control";
    default:
        return "";
    }
}

struct judge_run *judge_run_find(const struct judge *judge, uint32_t number)
{
    for (size_t i = judge->run_count; i > 0; i--) /* most events are of the youngest */
        if (judge->runs[i - 1]->number == number)
            return judge->runs[i - 1];
    return NULL;
}

struct judge_run *judge_run_of(const struct judge *judge, Exhibit__RunKind kind, const char *name, Exhibit__Mode mode,
                               uint32_t repeat)
{
    for (size_t i = 0; i < judge->run_count; i++) {
        struct judge_run *run = judge->runs[i];

        if (run->kind == kind && run->mode == mode && run->repeat == repeat && strcmp(run->name, name) == 0)
            return run;
    }
    return NULL;
}

int judge_effect_find(const struct judge_run *run, const char *effect)
{
    for (size_t i = 0; i < run->effect_count; i++)
        if (strcmp(run->effects[i], effect) == 0)
            return (int)i;
    return -1;
}

/* Copies what the probe was told. */
static int probe_copy(struct judge_run *run, const Exhibit__ProbeAssignment *probe, struct err *err)
{
    run->lifetime_ms = probe->lifetime_ms;
    run->interval_ms = probe->interval_ms;
    run->hash = digest_run_new();
    if (run->hash == NULL)
        return err_set(err, ERR_SYSTEM, "libcrypto gives no SHA-256");
    run->effects = calloc(probe->n_effects + 1, sizeof *run->effects);
    run->plan_steps = calloc(probe->n_ending + 1, sizeof *run->plan_steps);
    if (run->effects == NULL || run->plan_steps == NULL)
        return err_set_errno(err, "memory for the judge");
    for (size_t i = 0; i < probe->n_effects; i++) {
        run->effects[i] = strdup(probe->effects[i]);
        if (run->effects[i] == NULL)
            return err_set_errno(err, "memory for the judge");
        run->effect_count++;
    }
    for (size_t i = 0; i < probe->n_ending; i++)
        run->plan_steps[i] = *probe->ending[i]; /* numbers alone */
    run->plan_step_count = probe->n_ending;
    if (probe->nonce.len != NONCE_BYTES)
        return 0;
    for (Exhibit__Role role = EXHIBIT__ROLE__ROLE_PARENT; role < JUDGE_ROLES; role++)
        role_nonce(probe->nonce.data, role, run->roles[role].nonce);
    for (size_t i = 0; i < probe->n_roles; i++) {
        Exhibit__Role role = probe->roles[i]->role;

        if (role < 1 || role >= JUDGE_ROLES)
            continue;
        run->roles[role].listed = true;
        run->roles[role].rounds = probe->roles[i]->rounds;
    }
    return 0;
}

static int command_copy(struct judge_run *run, const Exhibit__RunStart *start, struct err *err)
{
    run->command = calloc(start->n_command + 1, sizeof *run->command);
    if (run->command == NULL)
        return err_set_errno(err, "memory for the judge");
    for (; run->command_count < start->n_command; run->command_count++) {
        const ProtobufCBinaryData *word = &start->command[run->command_count];

        if (bytes_add(&run->command[run->command_count], word->data, word->len, LIMIT_EVENT_BYTES, err) < 0)
            return err->code;
    }
    return 0;
}

static int bytes_copy(struct bytes *to, const struct bytes *from, struct err *err)
{
    return bytes_add(to, from->data, from->size_bytes, LIMIT_EVENT_BYTES, err);
}

int judge_run_start(struct judge *judge, const Exhibit__Event *event, struct err *err)
{
    const Exhibit__RunStart *start = event->run_start;
    struct judge_run *run;

    if (judge->run_count >= LIMIT_RUNS)
        return err_set(err, ERR_LIMIT, "more than %u runs", LIMIT_RUNS);
    if (judge_grow(&judge->runs, &judge->run_room, judge->run_count, sizeof(struct judge_run *), err) < 0)
        return err->code;
    run = calloc(1, sizeof *run);
    if (run == NULL)
        return err_set_errno(err, "memory for the judge");
    judge->runs[judge->run_count++] = run;
    run->number = event->run;
    run->kind = start->kind;
    run->mode = start->mode;
    run->repeat = start->repeat;
    run->start_seq = event->seq;
    run->name = strdup(start->name);
    if (run->name == NULL)
        return err_set_errno(err, "memory for the judge");
    memcpy(run->before, judge->targets, sizeof run->before);
    memcpy(run->stale, judge->stale, sizeof run->stale);
    run->targets_set = judge->targets_set;
    run->canary_start = judge->canary_count;
    if (bytes_copy(&run->canary_read, &judge->canary_read, err) < 0 ||
        bytes_copy(&run->canary_link, &judge->canary_link, err) < 0 || command_copy(run, start, err) < 0)
        return err->code;
    if (start->probe == NULL)
        return 0;
    if (probe_copy(run, start->probe, err) < 0)
        return err->code;
    return run->mode == EXHIBIT__MODE__MODE_STRICT ? judge_proofs_add(judge, run, err) : 0;
}

/* Whether a process's argv is the role's own (docs/DECISION.md 1.4). */
static bool argv_is_own(const struct judge_run *run, Exhibit__Role role, const Exhibit__ProcessIdentity *identity)
{
    bool derived = role != EXHIBIT__ROLE__ROLE_PARENT;

    if (identity->n_argv != run->command_count || (derived && identity->n_argv < 4))
        return false;
    for (size_t i = 0; i < identity->n_argv; i++) {
        ProtobufCBinaryData word = {run->command[i].size_bytes, run->command[i].data};

        if (derived && (i == 2 || i == 3)) {
            word.data = (uint8_t *)(i == 2 ? judge_role_text(role) : run->roles[role].nonce); /* only read */
            word.len = strlen((const char *)word.data);
        }
        if (judge_bytes_order(&word, &identity->argv[i]) != 0)
            return false;
    }
    return true;
}

/* DECISION 3.3: a later look at a role that shows an uplink, or another network. */
static void network_look_again(struct judge_run *run, const Exhibit__ProcessIdentity *identity)
{
    for (Exhibit__Role role = EXHIBIT__ROLE__ROLE_PARENT; role < JUDGE_ROLES; role++) {
        struct judge_role *known = &run->roles[role];
        bool moved = identity->network_namespace != 0 && identity->network_namespace != known->network_namespace;
        bool linked = identity->routes_case == EXHIBIT__PROCESS_IDENTITY__ROUTES_ROUTES_BEYOND_LOOPBACK &&
                      identity->routes_beyond_loopback != 0;

        if (known->seen && known->pid == identity->pid && known->start_time == identity->start_time &&
            (moved || linked))
            known->network_private = false;
    }
}

static void identity_take(const struct judge *judge, struct judge_run *run, const Exhibit__Event *event)
{
    const Exhibit__ProcessIdentity *identity = event->process_identity;

    if (!judge->has_probe || identity->executable_sha256.len != DIGEST_BYTES ||
        memcmp(identity->executable_sha256.data, judge->probe.bytes, DIGEST_BYTES) != 0)
        return;
    network_look_again(run, identity);
    for (Exhibit__Role role = EXHIBIT__ROLE__ROLE_PARENT; role < JUDGE_ROLES; role++) {
        struct judge_role *known = &run->roles[role];

        if (known->nonce[0] == 0 || !argv_is_own(run, role, identity))
            continue;
        if (known->seen) {
            bool same = identity->pid == known->pid && identity->start_time == known->start_time;

            if (!same && identity->parent_pid != known->pid) /* else one of its short-lived forks */
                known->ambiguous = true;
            return;
        }
        known->seen = true;
        known->pid = identity->pid;
        known->start_time = identity->start_time;
        known->first_at_ns = event->at_ns;
        known->network_namespace = identity->network_namespace;
        known->network_private = identity->network_namespace != 0 &&
                                 identity->network_namespace != judge->network_namespace &&
                                 identity->routes_case == EXHIBIT__PROCESS_IDENTITY__ROUTES_ROUTES_BEYOND_LOOPBACK &&
                                 identity->routes_beyond_loopback == 0;
        return;
    }
}

static int exit_take(struct judge_run *run, uint32_t pid, uint64_t start_time, const Exhibit__Event *event,
                     struct err *err)
{
    if (run->kind != EXHIBIT__RUN_KIND__RUN_TRIAL) /* nobody in it has a role, of whom it has to be known */
        return 0;
    if (run->exit_count >= LIMIT_PROCESSES)
        return err_set(err, ERR_LIMIT, "more than %u processes in a run", LIMIT_PROCESSES);
    if (judge_grow(&run->exits, &run->exit_room, run->exit_count, sizeof *run->exits, err) < 0)
        return err->code;
    run->exits[run->exit_count++] =
        (struct judge_exit){.pid = pid, .start_time = start_time, .at_ns = event->at_ns, .seq = event->seq};
    return 0;
}

/* Keeps who was alive, as pids: whose they are may be told later. */
static int alive_keep(struct judge_run *run, const Exhibit__Step *step, struct err *err)
{
    struct judge_alive *alive = calloc(step->n_alive + 1, sizeof *alive);

    if (alive == NULL)
        return err_set_errno(err, "memory for the judge");
    for (size_t i = 0; i < step->n_alive; i++)
        alive[i] = (struct judge_alive){.pid = step->alive[i]->pid, .start_time = step->alive[i]->start_time};
    free(run->alive);
    run->alive = alive;
    run->alive_count = step->n_alive;
    run->alive_index = step->index;
    return 0;
}

static int step_take(struct judge_run *run, const Exhibit__Event *event, struct err *err)
{
    const Exhibit__Step *step = event->step;

    if (judge_grow(&run->steps, &run->step_room, run->step_count, sizeof *run->steps, err) < 0)
        return err->code;
    run->steps[run->step_count++] = (struct judge_step){.index = step->index,
                                                        .signal = step->signal,
                                                        .target = step->target,
                                                        .trigger = step->trigger,
                                                        .errno_value = step->errno_value,
                                                        .at_ns = event->at_ns,
                                                        .seq = event->seq};
    return run->alive == NULL || step->index < run->alive_index ? alive_keep(run, step, err) : 0;
}

static void run_exit_take(const struct judge *judge, struct judge_run *run, const Exhibit__Event *event)
{
    const Exhibit__RunExit *run_exit = event->run_exit;

    if (run->exited)
        return;
    run->exited = true;
    run->exit_seq = event->seq;
    run->exit_at_ns = event->at_ns;
    run->exit_how = run_exit->how_case;
    if (run->exit_how == EXHIBIT__RUN_EXIT__HOW_TERM_SIGNAL)
        run->exit_value = run_exit->term_signal;
    else if (run->exit_how == EXHIBIT__RUN_EXIT__HOW_EXIT_STATUS)
        run->exit_value = run_exit->exit_status;
    run->watchdog = run_exit->watchdog;
    run->canary_count = judge->canary_count;
    memset(run->after, 0, sizeof run->after); /* a state after a failed spawn is not one after the exit */
    run->written_count = 0;
    judge_bytes_release(run);
}

int judge_process_take(struct judge *judge, struct judge_run *run, const Exhibit__Event *event, struct err *err)
{
    switch (event->what_case) {
    case EXHIBIT__EVENT__WHAT_SPAWNED:
        run->spawned = true;
        if (run->spawned_seq == 0) {
            run->spawned_seq = event->seq;
            run->spawned_at_ns = event->at_ns;
        }
        return 0;
    case EXHIBIT__EVENT__WHAT_SPAWN_FAILED:
        run->spawn_failed = true;
        return 0;
    case EXHIBIT__EVENT__WHAT_PROCESS_IDENTITY:
        identity_take(judge, run, event);
        return 0;
    case EXHIBIT__EVENT__WHAT_PROCESS_EXIT:
        return exit_take(run, event->process_exit->pid, event->process_exit->start_time, event, err);
    case EXHIBIT__EVENT__WHAT_PROCESS_GONE:
        return exit_take(run, event->process_gone->pid, event->process_gone->start_time, event, err);
    case EXHIBIT__EVENT__WHAT_RUN_EXIT:
        run_exit_take(judge, run, event);
        return 0;
    case EXHIBIT__EVENT__WHAT_STEP:
        return step_take(run, event, err);
    case EXHIBIT__EVENT__WHAT_CLEANUP:
        if (run->cleanup_seq == 0)
            run->cleanup_seq = event->seq;
        if (event->cleanup->reason == EXHIBIT__CLEANUP__REASON__REASON_BOUND && run->bound_cleanup_seq == 0) {
            run->bound_cleanup_seq = event->seq;
            run->bound_cleanup_at_ns = event->at_ns;
        }
        return 0;
    case EXHIBIT__EVENT__WHAT_ALL_GONE:
        run->all_gone = run->exited; /* one before the exit says nothing */
        run->remaining = event->all_gone->remaining;
        return 0;
    default:
        return 0;
    }
}

void judge_run_free(struct judge_run *run)
{
    if (run == NULL)
        return;
    free(run->name);
    for (size_t i = 0; i < run->effect_count; i++)
        free(run->effects[i]);
    free(run->effects);
    free(run->plan_steps);
    for (size_t i = 0; i < run->command_count; i++)
        bytes_done(&run->command[i]);
    free(run->command);
    digest_run_free(run->hash);
    for (size_t i = 0; i < run->row_count; i++)
        free(run->rows[i].attempts);
    free(run->rows);
    free(run->lines);
    free(run->exits);
    free(run->steps);
    free(run->alive);
    free(run->written);
    bytes_done(&run->canary_read);
    bytes_done(&run->canary_link);
    for (size_t i = 0; i < JUDGE_STREAMS; i++) {
        bytes_done(&run->parts[i]);
        bytes_done(&run->tails[i]);
        bytes_done(&run->kept[i]);
    }
    for (size_t i = 0; i < run->artifact_count; i++)
        exhibit__artifact__free_unpacked(run->artifacts[i], NULL);
    free(run->artifacts);
    free(run);
}
