/*
 * Looking into /proc: who a member is, who descends from one, who is gone. Knows no process event.
 */
#include "record/census.h"
#include "record/host.h"
#include "record/lineage.h"
#include "record/observer_state.h"
#include "record/proc.h"

#include <assert.h>
#include <unistd.h>

/* A process that is younger may be between fork and exec: it still shows its parent's argv, and would pass for it. */
#define UNREAD_AFTER_NS 100000000ull
#define SETTLED_AFTER_NS 1000000000ull
#define ROUTE_LOOKS 256              /* members of a network at once */
#define SETTLED_EACH_NS 200000000ull /* with snapshots: an exec of an old process is seen that late */

/* A route came to a network: every member in it has had a way out, even if it is gone already. */
static int route_came(void *context, uint64_t network, struct err *err)
{
    struct observer *observer = context;
    int code = 0;

    observer->networks.came = network;
    for (size_t i = 0, looks = 0; code == 0 && i < observer->members.count && looks < ROUTE_LOOKS; i++) {
        if (observer->members.items[i].network_namespace != network)
            continue;
        looks++;
        code = observer_identity_look(observer, observer->members.items[i].pid, EXHIBIT__SOURCE__SOURCE_SNAPSHOT, true,
                                      err);
    }
    observer->networks.came = 0;
    return code;
}

/* Listens for routes in the network of a member, if it is another one than ours and not listened in yet. */
static int routes_listen(struct observer *observer, const struct member *member, struct err *err)
{
    pid_t pid = member->pid;

    if (member->network_namespace == 0 || observer->networks.own == 0 ||
        member->network_namespace == observer->networks.own || observer->routes_count == OBSERVER_NETWORKS)
        return 0;
    for (size_t i = 0; i < observer->routes_count; i++)
        if (observer->routes[i].network == member->network_namespace)
            return 0;
    if (routes_open(&observer->routes[observer->routes_count], observer->loop, pid, member->network_namespace,
                    route_came, observer, err) < 0)
        return err->code;
    if (observer->routes[observer->routes_count].source.fd < 0)
        return 0;
    observer->routes_count++;
    if (!networks_has_changed(member)) /* since the look that made us listen */
        return 0;
    return observer_identity_look(observer, pid, EXHIBIT__SOURCE__SOURCE_SNAPSHOT, true, err);
}

/* When the process of an identity began, if his line of parents is ours; 0: it is not, or not any more. */
static uint64_t line_start_time(const struct observer *observer, const Exhibit__ProcessIdentity *identity)
{
    const struct proc_stat seen = {.parent_pid = identity->parent_pid, .start_time = identity->start_time};

    return lineage_start_time_of(&observer->members, (pid_t)identity->pid, &seen);
}

int observer_identity_look(struct observer *observer, pid_t pid, Exhibit__Source source, bool always, struct err *err)
{
    struct member *member = members_find(&observer->members, pid);
    Exhibit__ProcessIdentity *identity = proc_identity_read(pid, observer->executables);
    Exhibit__Event event = journal_event(source, EXHIBIT__VANTAGE__VANTAGE_HOST, observer->log.run);
    uint64_t start_time; /* 0: his line is not ours, the number came round */
    int code = 0;

    assert(member != NULL);
    if (identity == NULL)
        return 0;
    networks_raise(&observer->networks, identity);
    start_time = line_start_time(observer, identity);
    if (member->start_time == 0)
        member->start_time = start_time;
    if (start_time == identity->start_time && member->start_time == start_time &&
        (always || member->identity_hash != proc_identity_hash(identity))) {
        member->identity_hash = proc_identity_hash(identity);
        networks_keep(member, identity);
        JOURNAL_WHAT(event, process_identity, PROCESS_IDENTITY, identity);
        code = journal_put(observer->log.journal, &event, NULL, 0, err);
        if (code == 0)
            observer->identity(observer->context, identity, event.at_ns);
        if (executables_keep(observer->executables, identity))
            identity = NULL;
        if (code == 0)
            code = routes_listen(observer, member, err);
    }
    if (identity != NULL)
        exhibit__process_identity__free_unpacked(identity, NULL);
    return code;
}

/* Tells an identity once more, with the digest that it lacked. */
static int digest_put(void *context, Exhibit__ProcessIdentity *identity, struct err *err)
{
    const struct observer *observer = context;
    Exhibit__Event event =
        journal_event(EXHIBIT__SOURCE__SOURCE_SNAPSHOT, EXHIBIT__VANTAGE__VANTAGE_HOST, observer->log.run);

    JOURNAL_WHAT(event, process_identity, PROCESS_IDENTITY, identity);
    return journal_put(observer->log.journal, &event, NULL, 0, err);
}

int observer_digest(struct observer *observer, struct err *err)
{
    return executables_digest(observer->executables, digest_put, observer, err);
}

int observer_member_add(struct observer *observer, pid_t pid, uint64_t start_time, struct err *err)
{
    struct member member = {.pid = pid, .start_time = start_time, .seen_at_ns = clock_now_ns()};

    return members_add(&observer->members, &member, err);
}

int observer_sweep(struct observer *observer, bool late, struct err *err)
{
    for (size_t place = 0; place < observer->members.count;) {
        struct member *member = &observer->members.items[place];
        bool was_gone = member->seen_gone;
        int code;

        member->seen_gone = proc_is_gone(member->pid, member->start_time);
        if (!member->seen_gone || (observer->events != NULL && !was_gone && !late)) {
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
            if (observer_member_add(observer, pid, start_time, err) < 0)
                return err->code;
            found = true;
        }
    }
    return 0;
}

int observer_snapshot(struct observer *observer, struct err *err)
{
    struct census census = {0};
    int code = census_take(&census, err);

    if (code == 0)
        code = descendants_add(observer, &census, err);
    census_done(&census);
    return code < 0 ? code : observer_sweep(observer, true, err);
}

int observer_identities_look(struct observer *observer, struct err *err)
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
        if (observer_identity_look(observer, member->pid, source, false, err) < 0)
            return err->code;
    }
    return 0;
}
