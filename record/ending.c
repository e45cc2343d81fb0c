#include "record/ending.h"

#include "base/cleanup.h"
#include "record/roles.h"
#include "record/spawn.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOOK_EACH_NS 30000000ull
#define OVERDUE_AFTER_NS 3000000000ull /* past the time at which the planned rows should have come */

/* Reads the round from a row of the awaited role; 0 for any other line. `line` ends in NUL. */
static uint32_t round_of(const struct ending *ending, const char *line)
{
    Exhibit__Role role = ending->probe->ending[0]->after_role;
    char start[128], nonce[2 * NONCE_BYTES + 1];
    size_t start_bytes;

    role_nonce(ending->probe->nonce.data, role, nonce);
    start_bytes = (size_t)snprintf(start, sizeof start, "EXHIBIT1 row %s %s ", nonce, role_name(role));
    return strncmp(line, start, start_bytes) == 0 ? (uint32_t)strtoul(line + start_bytes, NULL, 10) : 0;
}

void ending_lines(struct ending *ending, Exhibit__StreamName stream, const uint8_t *bytes, size_t size_bytes)
{
    bool copy = stream == EXHIBIT__STREAM_NAME__STREAM_SCRATCH_GRANDCHILD;
    struct bytes *part = &ending->parts[copy];
    struct err err;

    if (!copy && stream != EXHIBIT__STREAM_NAME__STREAM_STDOUT)
        return;
    if (ending->probe == NULL || ending->probe->n_ending == 0 || ending->sent > 0)
        return;
    for (size_t i = 0; i < size_bytes; i++) {
        uint32_t round;

        if (bytes[i] != '\n') {
            if (part->size_bytes < LIMIT_LINE_BYTES) /* the rest of a longer one does not matter */
                (void)bytes_add(part, bytes + i, 1, LIMIT_LINE_BYTES, &err);
            continue;
        }
        round = part->data == NULL ? 0 : round_of(ending, (const char *)part->data);
        if (round > ending->rounds_seen)
            ending->rounds_seen = round;
        part->size_bytes = 0;
        if (part->data != NULL)
            part->data[0] = 0;
    }
}

void ending_identity(struct ending *ending, const Exhibit__ProcessIdentity *identity)
{
    if (ending->parent != 0 || identity->n_argv != ending->command->count)
        return;
    for (size_t i = 0; i < identity->n_argv; i++)
        if (identity->argv[i].len != strlen(ending->command->items[i]) ||
            memcmp(identity->argv[i].data, ending->command->items[i], identity->argv[i].len) != 0)
            return;
    ending->parent = (pid_t)identity->pid;
    ending->parent_start_time = identity->start_time;
}

/* Whether the probe's parent was seen to end: that is written down already. Of one that nobody saw, its launcher's. */
static bool parent_ended(const struct ending *ending)
{
    if (ending->parent == 0)
        return ending->leader_ended;
    return !observer_has(ending->session->observer, ending->parent, ending->parent_start_time);
}

static bool step_names(const Exhibit__Step *step, pid_t pid, uint64_t start_time)
{
    for (size_t i = 0; i < step->n_alive; i++)
        if (step->alive[i]->pid == (uint32_t)pid && step->alive[i]->start_time == start_time)
            return true;
    return false;
}

/* Where the parent's own end is awaited, nobody can look just before it: so it is done again and again. */
static int look_again(struct ending *ending, struct err *err)
{
    const Exhibit__StepPlan *plan = ending->probe->ending[0];
    Exhibit__Step look = EXHIBIT__STEP__INIT;

    if (plan->target != EXHIBIT__STEP_TARGET__STEP_PARENT_EXIT || ending->parent == 0 ||
        ending->rounds_seen < plan->after_rounds || clock_now_ns() - ending->looked_at_ns < LOOK_EACH_NS)
        return 0;
    ending->looked_at_ns = clock_now_ns();
    if (observer_alive(ending->session->observer, &look, err) < 0) {
        observer_alive_free(&look);
        return err->code;
    }
    if (step_names(&look, ending->parent, ending->parent_start_time)) {
        observer_alive_free(&ending->look);
        ending->look = look;
    } else {
        observer_alive_free(&look);
    }
    return 0;
}

/* Whether the next step's time has come, and why. */
static bool is_due(const struct ending *ending, const Exhibit__StepPlan *plan, Exhibit__Step *step)
{
    uint64_t now_ns = clock_now_ns(), due_ns;
    bool awaits_exit = plan->target == EXHIBIT__STEP_TARGET__STEP_PARENT_EXIT;

    if (ending->sent > 0) {
        due_ns = ending->last_sent_at_ns + plan->after_ms * 1000000ull;
        step->trigger = EXHIBIT__STEP__TRIGGER__TRIGGER_TIME;
    } else if (ending->rounds_seen >= plan->after_rounds && (!awaits_exit || parent_ended(ending))) {
        due_ns = now_ns;
        step->trigger = awaits_exit ? EXHIBIT__STEP__TRIGGER__TRIGGER_EXIT : EXHIBIT__STEP__TRIGGER__TRIGGER_ROUNDS;
    } else {
        due_ns = ending->started_at_ns + (uint64_t)plan->after_rounds * ending->probe->interval_ms * 1000000u +
                 ending->probe->parent_ms * 1000000ull + OVERDUE_AFTER_NS;
        step->trigger = EXHIBIT__STEP__TRIGGER__TRIGGER_OVERDUE;
    }
    step->planned_at_ns = due_ns;
    return now_ns >= due_ns;
}

/* Does what the step says. Returns 0 or an errno. */
static int step_do(const struct ending *ending, const Exhibit__StepPlan *plan)
{
    if (plan->target == EXHIBIT__STEP_TARGET__STEP_PARENT_EXIT)
        return 0; /* done already, by the parent */
    if (plan->target == EXHIBIT__STEP_TARGET__STEP_CGROUP)
        return cgroup_kill(ending->cgroup) ? 0 : errno;
    if (plan->target == EXHIBIT__STEP_TARGET__STEP_LAUNCHER)
        return syscall(SYS_pidfd_send_signal, ending->leader_fd, (int)plan->signal, NULL, 0u) < 0 ? errno : 0;
    return spawn_group_signal(ending->leader, ending->leader_start_time, (int)plan->signal);
}

static int step_send(struct ending *ending, Exhibit__Step *step, struct err *err)
{
    const Exhibit__StepPlan *plan = ending->probe->ending[ending->sent];
    Exhibit__Event event = journal_event(EXHIBIT__SOURCE__SOURCE_RECORDER, EXHIBIT__VANTAGE__VANTAGE_HOST, ending->run);
    bool was_looked = ending->sent == 0 && ending->look.n_alive > 0;
    int code = 0;

    if (was_looked) {
        step->alive = ending->look.alive;
        step->n_alive = ending->look.n_alive;
        ending->look = (Exhibit__Step)EXHIBIT__STEP__INIT;
    } else {
        code = observer_alive(ending->session->observer, step, err);
    }
    if (code == 0) {
        step->index = (uint32_t)ending->sent + 1;
        step->signal = plan->signal;
        step->target = plan->target;
        step->target_pid =
            (uint32_t)(plan->target == EXHIBIT__STEP_TARGET__STEP_PARENT_EXIT ? ending->parent : ending->leader);
        step->errno_value = (uint32_t)step_do(ending, plan);
        JOURNAL_WHAT(event, step, STEP, step);
        code = journal_put(ending->session->journal, &event, NULL, 0, err);
        ending->sent++;
        ending->last_sent_at_ns = event.at_ns;
    }
    observer_alive_free(step);
    return code;
}

int ending_tick(struct ending *ending, struct err *err)
{
    while (ending->probe != NULL && ending->sent < ending->probe->n_ending) {
        Exhibit__Step step = EXHIBIT__STEP__INIT;

        if (ending->sent == 0 && look_again(ending, err) < 0)
            return err->code;
        if (!is_due(ending, ending->probe->ending[ending->sent], &step))
            return 0;
        if (step_send(ending, &step, err) < 0)
            return err->code;
    }
    return 0;
}

void ending_done(struct ending *ending)
{
    bytes_done(&ending->parts[0]);
    bytes_done(&ending->parts[1]);
    observer_alive_free(&ending->look);
}
