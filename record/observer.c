/*
 * The observer's beginning and end, and what it does at each tick.
 */
#include "record/observer.h"

#include "record/host.h"
#include "record/observer_state.h"
#include "record/proc.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>

#define SWEEP_EACH_NS 500000000ull /* how often members are looked at though no event said anything */
#define YOUTH_NS 4000000ull        /* who may well end by himself is left alone for so long */
#define SETTLE_MS 200              /* how long the last events may take */

int observer_tick(struct observer *observer, struct err *err)
{
    pid_t moved;
    int code = 0;

    if (observer->log.run == 0)
        return observer->events == NULL ? 0 : observer_events_drain(observer, err);
    if (observer->events == NULL)
        code = observer_snapshot(observer, err);
    else if (observer_events_drain(observer, err) < 0)
        return err->code;
    observer_fresh_look(observer, YOUTH_NS);
    if (observer->events != NULL && code == 0 && clock_now_ns() - observer->swept_at_ns > SWEEP_EACH_NS)
        code = observer_sweep(observer, false, err);
    if (code == 0)
        code = observer_identities_look(observer, err);
    if (code == 0 && (moved = networks_changed(&observer->networks, &observer->members)) != 0)
        code = observer_identity_look(observer, moved, EXHIBIT__SOURCE__SOURCE_SNAPSHOT, true, err);
    observer_reap(observer);
    return code;
}

/* Whether an event is still to come: a member is gone, and its end was not written down. */
static bool event_is_awaited(const struct observer *observer)
{
    for (size_t i = 0; i < observer->members.count; i++)
        if (proc_is_gone(observer->members.items[i].pid, observer->members.items[i].start_time))
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
        if (observer_events_drain(observer, err) < 0)
            return err->code;
        observer_fresh_look(observer, 0);
    }
    return observer_sweep(observer, true, err);
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
    observer->source =
        (struct loop_source){.fd = -1, .urgent = true, .ready = observer_execs_ready, .context = observer};
    observer->executables = executables_new();
    if (observer->executables == NULL) {
        err_set_errno(err, "memory for the observer");
        goto undo;
    }
    if (members_init(&observer->members, err) < 0)
        goto undo;
    if (snapshots_only)
        (void)snprintf(observer->note, sizeof observer->note, "snapshots were asked for");
    else
        observer->events = process_events_open(observer->note, sizeof observer->note);
    if (observer->events != NULL) {
        observer->source.fd = process_events_bell(observer->events);
        loop_first(loop, observer_events_first, observer);
        if (loop_add(loop, &observer->source, EPOLLIN | EPOLLET, err) < 0)
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

int observer_run_begin(struct observer *observer, uint32_t run, int64_t older_than_s, pid_t root, uint64_t start_time,
                       void (*identity)(void *context, const Exhibit__ProcessIdentity *identity, uint64_t at_ns),
                       void *context, struct err *err)
{
    struct member member = {.pid = root, .start_time = start_time, .seen_at_ns = clock_now_ns()};

    assert(observer->log.run == 0 && run != 0);
    observer->log.run = run;
    observer->root = root;
    executables_defer(observer->executables, older_than_s);
    observer->identity = identity;
    observer->context = context;
    return members_add(&observer->members, &member, err);
}

void observer_run_end(struct observer *observer)
{
    while (observer->routes_count > 0)
        routes_close(&observer->routes[--observer->routes_count]);
    members_clear(&observer->members);
    observer->log.run = 0;
    observer->root = 0;
}

void observer_free(struct observer *observer)
{
    if (observer == NULL)
        return;
    while (observer->routes_count > 0)
        routes_close(&observer->routes[--observer->routes_count]);
    loop_remove(observer->loop, &observer->source);
    loop_first(observer->loop, NULL, NULL);
    process_events_close(observer->events);
    executables_free(observer->executables);
    members_done(&observer->members);
    bytes_done(&observer->fresh);
    free(observer);
}
