#include "record/observer.h"

#include "base/cleanup.h"
#include "record/census.h"
#include "record/host.h"
#include "record/lineage.h"
#include "record/members.h"
#include "record/networks.h"
#include "record/observer_put.h"
#include "record/proc.h"
#include "record/process_events.h"

#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A process that is younger may be between fork and exec: it still shows its parent's argv, and would pass for it. */
#define UNREAD_AFTER_NS 100000000ull
#define SWEEP_EACH_NS 500000000ull  /* how often members are looked at though no event said anything */
#define STORM_WINDOW_NS 10000000ull /* more than STORM_EVENTS in so long are a storm */
#define STORM_EVENTS 64
#define STORM_PAUSE_NS 2000000
#define SETTLE_MS 200 /* how long the last events may take */
#define SETTLED_AFTER_NS 1000000000ull
#define SETTLED_EACH_NS 200000000ull /* with snapshots: an exec of an old process is seen that late */

struct observer {
    struct loop *loop;
    struct observer_log log;
    struct process_events *events; /* NULL: snapshots */
    struct loop_source source;
    char note[200];
    struct members members;
    struct bytes fresh; /* the pids that became known since fresh_look */
    struct networks networks;
    pid_t root;
    uint64_t swept_at_ns;
    uint64_t window_at_ns; /* when the counting of window_events began */
    unsigned window_events;
    uint64_t lost;
    void (*identity)(void *context, const Exhibit__ProcessIdentity *identity, uint64_t at_ns);
    void *context;
};

/* ---- identities ---- */

/* Reads who a member is and writes it down, if that is new. */
static int identity_look(struct observer *observer, pid_t pid, Exhibit__Source source, bool always, struct err *err)
{
    struct member *member = members_find(&observer->members, pid);
    Exhibit__ProcessIdentity *identity = proc_identity_read(pid);
    Exhibit__Event event = journal_event(source, EXHIBIT__VANTAGE__VANTAGE_HOST, observer->log.run);
    int code = 0;

    assert(member != NULL);
    if (identity == NULL)
        return 0;
    if (member->start_time == 0)
        member->start_time = lineage_start_time(&observer->members, pid);
    if (member->start_time == identity->start_time &&
        (always || member->identity_hash != proc_identity_hash(identity)) &&
        lineage_start_time(&observer->members, pid) == identity->start_time) { /* else the number came round */
        member->identity_hash = proc_identity_hash(identity);
        networks_keep(member, identity);
        JOURNAL_WHAT(event, process_identity, PROCESS_IDENTITY, identity);
        code = journal_put(observer->log.journal, &event, NULL, 0, err);
        if (code == 0)
            observer->identity(observer->context, identity, event.at_ns);
    }
    exhibit__process_identity__free_unpacked(identity, NULL);
    return code;
}

static int member_add(struct observer *observer, pid_t pid, uint64_t start_time, struct err *err)
{
    struct member member = {.pid = pid, .start_time = start_time, .seen_at_ns = clock_now_ns()};

    return members_add(&observer->members, &member, err);
}

/* ---- process events ---- */

static int exit_take(struct observer *observer, struct member *member, int wait_status, struct err *err)
{
    struct proc_stat stat;

    if (member->threaded && proc_stat_read(member->pid, &stat) && stat.start_time == member->start_time &&
        stat.thread_count > 1) {
        member->exit_pending = true; /* the first thread alone: the process is gone when the others are */
        member->wait_status = wait_status;
        return 0;
    }
    if (observer_put_exit(&observer->log, member, wait_status, err) < 0)
        return err->code;
    members_remove(&observer->members, (size_t)(member - observer->members.items));
    return 0;
}

static int event_take(void *context, const struct process_event *event, struct err *err)
{
    struct observer *observer = context;
    struct member *member;

    if (observer->log.run == 0)
        return 0;
    if (event->kind == PROCESS_EVENT_FORK) {
        /* The recorder starts nothing but roots: its other children are of the run, by CLONE_PARENT. */
        if (members_find(&observer->members, event->parent_pid) == NULL && event->parent_pid != getpid())
            return 0;
        if (event->pid != observer->root &&
            (member_add(observer, event->pid, 0, err) < 0 ||
             bytes_add(&observer->fresh, &event->pid, sizeof event->pid, LIMIT_PROCESSES * sizeof event->pid, err) < 0))
            return err->code;
        return observer_put_fork(&observer->log, event->parent_pid, event->pid, err);
    }
    member = members_find(&observer->members, event->pid);
    if (member == NULL)
        return 0;
    observer->window_events++;
    if (event->kind == PROCESS_EVENT_THREAD) {
        member->threaded = true;
        return 0;
    }
    if (event->kind == PROCESS_EVENT_EXIT)
        return exit_take(observer, member, event->wait_status, err);
    if (observer_put_exec(&observer->log, event->pid, err) < 0)
        return err->code;
    return identity_look(observer, event->pid, EXHIBIT__SOURCE__SOURCE_PROCESS_EVENTS, true, err);
}

/*
 * Reads when the processes started that became known and have not ended yet: in a storm that is hardly one of them, and
 * to read each at once would slow the storm down.
 */
static void fresh_look(struct observer *observer)
{
    for (size_t at = 0; at < observer->fresh.size_bytes; at += sizeof(pid_t)) {
        struct member *member;
        pid_t pid;

        memcpy(&pid, observer->fresh.data + at, sizeof pid);
        member = members_find(&observer->members, pid);
        if (member != NULL && member->start_time == 0)
            member->start_time = lineage_start_time(&observer->members, pid);
    }
    observer->fresh.size_bytes = 0;
}

/* Takes what events there are. */
static int events_drain(struct observer *observer, struct err *err)
{
    uint64_t lost;

    if (process_events_read(observer->events, event_take, observer, &observer->lost, err) < 0)
        return err->code;
    if (observer->log.run == 0)
        observer->lost = 0; /* nothing of ours ran */
    if (observer->lost == 0)
        return 0;
    lost = observer->lost;
    observer->lost = 0;
    return observer_put_lost(&observer->log, lost, err);
}

/*
 * In a storm the events wait in the kernel for a moment, to be taken many at once: to be woken by each would take from
 * the subject what it is measured with. An exec is looked at that much later then.
 */
static int events_ready(void *context, uint32_t ready, struct err *err)
{
    static const struct timespec pause = {.tv_nsec = STORM_PAUSE_NS};
    struct observer *observer = context;
    uint64_t now_ns = clock_now_ns();

    (void)ready;
    if (now_ns - observer->window_at_ns > STORM_WINDOW_NS) {
        observer->window_at_ns = now_ns;
        observer->window_events = 0;
    }
    if (observer->window_events > STORM_EVENTS)
        (void)nanosleep(&pause, NULL);
    return events_drain(observer, err);
}

/* ---- looking ---- */

/*
 * Looks at each member once: those that are gone are written down and forgotten. With process events a process shows
 * that it is gone before its event tells how, so that it must have been gone the last time, too, unless it is `late`.
 */
static int sweep(struct observer *observer, bool late, struct err *err)
{
    for (size_t place = 0; place < observer->members.count;) {
        struct member *member = &observer->members.items[place];
        bool was_gone = member->seen_gone;
        int code;

        member->seen_gone = proc_is_gone(member->pid, member->start_time);
        if (!member->seen_gone || (observer->events != NULL && !was_gone && !late && !member->exit_pending)) {
            place++;
            continue;
        }
        code = member->exit_pending ? observer_put_exit(&observer->log, member, member->wait_status, err)
                                    : observer_put_gone(&observer->log, member, err);
        if (code < 0)
            return code;
        members_remove(&observer->members, place);
    }
    observer->swept_at_ns = clock_now_ns();
    return 0;
}

/* Adds every process whose parent is a member, until there is no further one. */
static int descendants_add(struct observer *observer, const struct census *census, struct err *err)
{
    for (bool found = true; found;) {
        found = false;
        for (size_t i = 0; i < census->count; i++) {
            pid_t parent = census->items[i].parent, pid = census->items[i].pid;
            uint64_t start_time;

            if (members_find(&observer->members, pid) != NULL ||
                (parent != getpid() && members_find(&observer->members, parent) == NULL))
                continue;
            start_time = lineage_start_time(&observer->members, pid); /* the parent's number may have come round */
            if (start_time == 0)
                continue;
            if (member_add(observer, pid, start_time, err) < 0)
                return err->code;
            found = true;
        }
    }
    return 0;
}

static int snapshot(struct observer *observer, struct err *err)
{
    struct census census = {0};
    int code = census_take(&census, err);

    if (code == 0)
        code = descendants_add(observer, &census, err);
    census_done(&census);
    return code < 0 ? code : sweep(observer, true, err);
}

/*
 * Reads identities that no exec event announced: of forks that never execute, and with snapshots of all, again and
 * again, since an exec shows in nothing else.
 */
static int identities_look(struct observer *observer, struct err *err)
{
    Exhibit__Source source = EXHIBIT__SOURCE__SOURCE_SNAPSHOT;
    uint64_t now_ns = clock_now_ns();

    for (size_t i = 0; i < observer->members.count; i++) {
        struct member *member = &observer->members.items[i];
        uint64_t age_ns = now_ns - member->seen_at_ns, told_ns = proc_age_ns(member->start_time);
        bool settled = age_ns > SETTLED_AFTER_NS && now_ns - member->looked_at_ns < SETTLED_EACH_NS;

        if ((age_ns < UNREAD_AFTER_NS && (member->start_time == 0 || told_ns < UNREAD_AFTER_NS)) ||
            (member->identity_hash != 0 && (observer->events != NULL || settled)))
            continue;
        member->looked_at_ns = now_ns;
        if (identity_look(observer, member->pid, source, false, err) < 0)
            return err->code;
    }
    return 0;
}

int observer_tick(struct observer *observer, struct err *err)
{
    pid_t moved;
    int code = 0;

    if (observer->log.run == 0)
        return observer->events == NULL ? 0 : events_drain(observer, err);
    if (observer->events == NULL)
        code = snapshot(observer, err);
    else if (events_drain(observer, err) < 0)
        return err->code;
    fresh_look(observer);
    if (observer->events != NULL && code == 0 && clock_now_ns() - observer->swept_at_ns > SWEEP_EACH_NS)
        code = sweep(observer, false, err);
    if (code == 0)
        code = identities_look(observer, err);
    if (code == 0 && (moved = networks_changed(&observer->networks, &observer->members)) != 0)
        code = identity_look(observer, moved, EXHIBIT__SOURCE__SOURCE_SNAPSHOT, true, err);
    observer_reap(observer);
    return code;
}

/* Whether an event is still to come: a member is gone, and not one of which only the last threads were waited for. */
static bool event_is_awaited(const struct observer *observer)
{
    for (size_t i = 0; i < observer->members.count; i++)
        if (!observer->members.items[i].exit_pending &&
            proc_is_gone(observer->members.items[i].pid, observer->members.items[i].start_time))
            return true;
    return false;
}

int observer_settle(struct observer *observer, struct err *err)
{
    static const struct timespec pause = {.tv_nsec = 1000000};

    if (observer_tick(observer, err) < 0)
        return err->code;
    for (int i = 0; observer->events != NULL && i < SETTLE_MS; i++) {
        if (!event_is_awaited(observer))
            break;
        (void)nanosleep(&pause, NULL);
        if (events_drain(observer, err) < 0)
            return err->code;
        fresh_look(observer);
    }
    return sweep(observer, true, err);
}

void observer_reap(struct observer *observer)
{
    siginfo_t info;

    for (;;) {
        info.si_pid = 0;
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0 ||
            info.si_pid == observer->root)
            return; /* the root's zombie holds its group's number: it is waited for when no signal can follow */
        (void)waitpid(info.si_pid, NULL, WNOHANG);
    }
}

int observer_alive(struct observer *observer, Exhibit__Step *step, struct err *err)
{
    if (observer_tick(observer, err) < 0)
        return err->code;
    step->alive = calloc(observer->members.count + 1, sizeof *step->alive);
    if (step->alive == NULL)
        return err_set_errno(err, "memory for %zu processes", observer->members.count);
    for (size_t i = 0; i < observer->members.count; i++) {
        const struct member *member = &observer->members.items[i];
        Exhibit__AliveProcess *alive;

        if (proc_is_gone(member->pid, member->start_time))
            continue;
        alive = malloc(sizeof *alive);
        if (alive == NULL)
            return err_set_errno(err, "memory for %zu processes", observer->members.count);
        exhibit__alive_process__init(alive);
        alive->pid = (uint32_t)member->pid;
        alive->start_time = member->start_time;
        step->alive[step->n_alive++] = alive;
    }
    return 0;
}

void observer_alive_free(Exhibit__Step *step)
{
    for (size_t i = 0; i < step->n_alive; i++)
        free(step->alive[i]);
    free(step->alive);
    step->alive = NULL;
    step->n_alive = 0;
}

bool observer_has(const struct observer *observer, pid_t pid, uint64_t start_time)
{
    const struct member *member = members_find(&observer->members, pid);

    return member != NULL && member->start_time == start_time;
}

size_t observer_remaining(struct observer *observer)
{
    size_t remaining = 0;

    fresh_look(observer);
    for (size_t i = 0; i < observer->members.count; i++)
        remaining += !proc_is_gone(observer->members.items[i].pid, observer->members.items[i].start_time);
    return remaining;
}

void observer_kill(struct observer *observer)
{
    fresh_look(observer);
    for (size_t i = 0; i < observer->members.count; i++) {
        const struct member *member = &observer->members.items[i];
        AUTO_FD int fd = (int)syscall(SYS_pidfd_open, member->pid, 0u);

        /* Compared after the descriptor is held: from here on the number cannot come to mean another process. */
        if (fd >= 0 && member->start_time != 0 && !proc_is_gone(member->pid, member->start_time) &&
            lineage_start_time(&observer->members, member->pid) == member->start_time)
            (void)syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0u);
    }
}

/* ---- beginning and end ---- */

int observer_new(struct loop *loop, struct journal *journal, bool snapshots_only, struct observer **out,
                 struct err *err)
{
    struct observer *observer = calloc(1, sizeof *observer);

    if (observer == NULL)
        return err_set_errno(err, "memory for the observer");
    observer->loop = loop;
    observer->log.journal = journal;
    observer->networks.own = host_network_namespace();
    observer->source = (struct loop_source){.fd = -1, .urgent = true, .ready = events_ready, .context = observer};
    if (members_init(&observer->members, err) < 0)
        goto undo;
    if (snapshots_only)
        (void)snprintf(observer->note, sizeof observer->note, "snapshots were asked for");
    else
        observer->events = process_events_open(observer->note, sizeof observer->note);
    if (observer->events != NULL) {
        observer->source.fd = process_events_fd(observer->events);
        if (loop_add(loop, &observer->source, EPOLLIN, err) < 0)
            goto undo;
    }
    *out = observer;
    return 0;

undo:
    observer_free(observer);
    return err->code;
}

Exhibit__Source observer_source(const struct observer *observer)
{
    return observer->events != NULL ? EXHIBIT__SOURCE__SOURCE_PROCESS_EVENTS : EXHIBIT__SOURCE__SOURCE_SNAPSHOT;
}

const char *observer_note(const struct observer *observer)
{
    return observer->note;
}

int observer_run_begin(struct observer *observer, uint32_t run, pid_t root, uint64_t start_time,
                       void (*identity)(void *context, const Exhibit__ProcessIdentity *identity, uint64_t at_ns),
                       void *context, struct err *err)
{
    struct member member = {.pid = root, .start_time = start_time, .seen_at_ns = clock_now_ns()};

    assert(observer->log.run == 0 && run != 0);
    observer->log.run = run;
    observer->root = root;
    observer->identity = identity;
    observer->context = context;
    return members_add(&observer->members, &member, err);
}

void observer_run_end(struct observer *observer)
{
    members_clear(&observer->members);
    observer->log.run = 0;
    observer->root = 0;
}

void observer_free(struct observer *observer)
{
    if (observer == NULL)
        return;
    loop_remove(observer->loop, &observer->source);
    process_events_close(observer->events);
    members_done(&observer->members);
    bytes_done(&observer->fresh);
    free(observer);
}
