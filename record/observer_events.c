/*
 * Process events as they come: who becomes a member by them, and how storms are taken. Knows nothing of looking.
 */
#include "record/host.h"
#include "record/lineage.h"
#include "record/observer_state.h"
#include "record/proc.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STORM_WINDOW_NS 10000000ull /* more than STORM_EXECS in so long are a storm */
#define STORM_EXECS 32
#define STORM_PAUSE_NS 2000000
#define EXITS_EACH_NS 5000000 /* how often those are looked at whose exit waits: a process may stay so for long */

/*
 * Of a process that had threads the end of the first one may tell nothing of it: others go on, or one of them has
 * executed a program, and has its number now. So it waits until the process is gone.
 */
static void exit_hold_back(struct observer *observer, struct member *member, int wait_status)
{
    if (member->start_time == 0)
        member->start_time = lineage_start_time(&observer->members, member->pid);
    member->exit_pending = true;
    member->seen_gone = false;
    member->wait_status = wait_status;
    observer->exits_pending = true;
    observer->exits_looked_at_ns = 0;
}

/* Whether he whose exit waits is gone. */
static bool exit_is_true(const struct observer *observer, struct member *member)
{
    struct proc_stat stat;

    if (member->start_time == 0)
        member->start_time = lineage_start_time(&observer->members, member->pid);
    if (member->start_time != 0)
        return proc_is_gone(member->pid, member->start_time);
    return !proc_stat_read(member->pid, &stat) && (errno == ENOENT || errno == ESRCH);
}

/* Looks who of those whose exit waits is gone. Returns whether anybody is. */
static bool exits_look(struct observer *observer)
{
    bool found = false;

    observer->exits_looked_at_ns = clock_now_ns();
    observer->exits_pending = false;
    for (size_t i = 0; i < observer->members.count; i++) {
        struct member *member = &observer->members.items[i];

        if (!member->exit_pending)
            continue;
        observer->exits_pending = true;
        member->seen_gone = exit_is_true(observer, member);
        found |= member->seen_gone;
    }
    return found;
}

/* Writes down the exits of those whom exits_look found gone, and no event since then told otherwise. */
static int exits_put(struct observer *observer, struct err *err)
{
    for (size_t place = 0; place < observer->members.count;) {
        struct member *member = &observer->members.items[place];

        if (!member->exit_pending || !member->seen_gone) {
            place++;
            continue;
        }
        if (observer_put_exit(&observer->log, member, member->wait_status, err) < 0)
            return err->code;
        members_remove(&observer->members, place);
    }
    return 0;
}

static int exit_take(struct observer *observer, struct member *member, int wait_status, struct err *err)
{
    if (member->threaded) {
        exit_hold_back(observer, member, wait_status);
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
        /* His number has come round: whose exit waited under it, is gone. */
        member = members_find(&observer->members, event->pid);
        if (member != NULL && member->exit_pending &&
            observer_put_exit(&observer->log, member, member->wait_status, err) < 0)
            return err->code;
        if (event->pid != observer->root &&
            (observer_member_add(observer, event->pid, 0, err) < 0 ||
             bytes_add(&observer->fresh, &event->pid, sizeof event->pid, LIMIT_PROCESSES * sizeof event->pid, err) < 0))
            return err->code;
        return observer_put_fork(&observer->log, event->parent_pid, event->pid, err);
    }
    member = members_find(&observer->members, event->pid);
    if (member == NULL)
        return 0;
    if (event->kind == PROCESS_EVENT_THREAD) {
        member->threaded = true;
        return 0;
    }
    if (event->kind == PROCESS_EVENT_EXIT)
        return exit_take(observer, member, event->wait_status, err);
    member->exit_pending = member->seen_gone = false; /* the first thread's end, if it told any, was not its own */
    observer->window_execs++;
    if (observer_put_exec(&observer->log, event->pid, err) < 0)
        return err->code;
    return observer_identity_look(observer, event->pid, EXHIBIT__SOURCE__SOURCE_PROCESS_EVENTS, true, err);
}

void observer_fresh_look(struct observer *observer, uint64_t youth_ns)
{
    uint64_t now_ns = clock_now_ns();
    size_t kept_bytes = 0;

    for (size_t at = 0; at < observer->fresh.size_bytes; at += sizeof(pid_t)) {
        struct member *member;
        pid_t pid;

        memcpy(&pid, observer->fresh.data + at, sizeof pid);
        member = members_find(&observer->members, pid);
        if (member == NULL || member->start_time != 0)
            continue;
        if (now_ns - member->seen_at_ns < youth_ns) {
            memcpy(observer->fresh.data + kept_bytes, &pid, sizeof pid);
            kept_bytes += sizeof pid;
        } else {
            member->start_time = lineage_start_time(&observer->members, pid);
        }
    }
    observer->fresh.size_bytes = kept_bytes;
}

int observer_events_drain(struct observer *observer, struct err *err)
{
    uint64_t lost;

    if (process_events_read(observer->events, event_take, observer, &observer->lost, err) < 0)
        return err->code;
    if (observer->exits_pending && clock_now_ns() - observer->exits_looked_at_ns >= EXITS_EACH_NS &&
        exits_look(observer) &&
        (process_events_read(observer->events, event_take, observer, &observer->lost, err) < 0 ||
         exits_put(observer, err) < 0))
        return err->code;
    if (observer->log.run == 0)
        observer->lost = 0; /* nothing of ours ran */
    if (observer->lost == 0)
        return 0;
    lost = observer->lost;
    observer->lost = 0;
    return observer_put_lost(&observer->log, lost, err);
}

int observer_events_first(void *context, struct err *err)
{
    return observer_events_drain(context, err);
}

/*
 * Forks and ends wait in the kernel until the next turn: to be woken by each would take from the subject what it is
 * measured with. So do execs in a storm of them, for a moment: they are looked at that much later then.
 */
int observer_execs_ready(void *context, uint32_t ready, struct err *err)
{
    static const struct timespec pause = {.tv_nsec = STORM_PAUSE_NS};
    struct observer *observer = context;
    uint64_t now_ns = clock_now_ns();

    (void)ready;
    process_events_hush(observer->events);
    if (now_ns - observer->window_at_ns > STORM_WINDOW_NS) {
        observer->window_at_ns = now_ns;
        observer->window_execs = 0;
    }
    if (observer->window_execs > STORM_EXECS)
        (void)nanosleep(&pause, NULL);
    return observer_events_drain(observer, err);
}
