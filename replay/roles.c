/*
 * Identities from the events of processes. What counts as one process is its pid and start time together.
 */
#include "replay/roles.h"

#include "replay/words.h"

#include <assert.h>
#include <string.h>

enum { NS_PER_MS = 1000000, EXPIRY_MARGIN_MS = 500 };

static bool item_is(const ProtobufCBinaryData *item, const void *wanted, size_t size_bytes)
{
    return item->len == size_bytes && (size_bytes == 0 || memcmp(item->data, wanted, size_bytes) == 0);
}

/* DECISION 1.4. */
static bool role_argv_matches(const struct run *run, int role, const Exhibit__ProcessIdentity *identity)
{
    const Exhibit__RunStart *start = run->start;

    if (identity->n_argv != start->n_command || (role != EXHIBIT__ROLE__ROLE_PARENT && start->n_command < 4))
        return false;
    for (size_t i = 0; i < identity->n_argv; i++) {
        const ProtobufCBinaryData *item = &identity->argv[i];
        bool same;

        if (role != EXHIBIT__ROLE__ROLE_PARENT && i == 2)
            same = item_is(item, word_of_role(role), strlen(word_of_role(role)));
        else if (role != EXHIBIT__ROLE__ROLE_PARENT && i == 3)
            same = item_is(item, run->nonces[role], NONCE_DIGITS);
        else
            same = item_is(item, start->command[i].data, start->command[i].len);
        if (!same)
            return false;
    }
    return true;
}

/* What DECISION 3.3 asks of the first event of the identity. */
static bool is_private(const struct tables *tables, const Exhibit__ProcessIdentity *identity)
{
    const Exhibit__Host *host = tables->recording->host;

    return identity->network_namespace != 0 &&
           (host == NULL || identity->network_namespace != host->network_namespace) &&
           identity->routes_case == EXHIBIT__PROCESS_IDENTITY__ROUTES_ROUTES_BEYOND_LOOPBACK &&
           identity->routes_beyond_loopback == 0;
}

/* DECISION 3.3: nor may a later sight of the same process show more of a network than the first one did. */
static void find_uplink(struct span span, struct identity *out)
{
    uint64_t first_namespace = 0;

    for (size_t i = 0; i < span.count; i++) {
        const Exhibit__ProcessIdentity *sight = span.events[i]->process_identity;

        if (span.events[i]->seq == out->first_seq)
            first_namespace = sight->network_namespace;
        if (span.events[i]->seq <= out->first_seq || sight->pid != out->pid || sight->start_time != out->start_time)
            continue;
        if ((sight->network_namespace != 0 && sight->network_namespace != first_namespace) ||
            (sight->routes_case == EXHIBIT__PROCESS_IDENTITY__ROUTES_ROUTES_BEYOND_LOOPBACK &&
             sight->routes_beyond_loopback > 0))
            out->network_is_private = false;
    }
}

static void take_first(const struct tables *tables, const Exhibit__Event *event, struct identity *out)
{
    *out = (struct identity){
        .found = true,
        .pid = event->process_identity->pid,
        .start_time = event->process_identity->start_time,
        .first_at_ns = event->at_ns,
        .first_seq = event->seq,
        .network_is_private = is_private(tables, event->process_identity),
    };
}

/*
 * DECISION 4.1. The tables hold identities with the probe's digest alone. Of the events that hold, all are one process
 * or the role has none; so "an earlier event of which the same holds" is always the first one's process.
 */
static void find_identity(const struct tables *tables, const struct run *run, int role, struct identity *out)
{
    struct span span = tables_of_run(tables, EXHIBIT__EVENT__WHAT_PROCESS_IDENTITY, run->number);

    for (size_t i = 0; i < span.count; i++) {
        const Exhibit__ProcessIdentity *identity = span.events[i]->process_identity;

        if (!role_argv_matches(run, role, identity))
            continue;
        if (!out->found) {
            take_first(tables, span.events[i], out);
        } else if (identity->parent_pid != out->pid &&
                   (identity->pid != out->pid || identity->start_time != out->start_time)) {
            *out = (struct identity){.contested = true, .first_seq = span.events[i]->seq};
            return;
        }
    }
    if (out->found)
        find_uplink(span, out);
}

/* DECISION 4.2, over the events of one kind. */
static void find_gone(struct span span, struct identity *out)
{
    for (size_t i = 0; i < span.count && (!out->gone || span.events[i]->seq < out->gone_seq); i++) {
        const Exhibit__Event *event = span.events[i];
        bool exits = event->what_case == EXHIBIT__EVENT__WHAT_PROCESS_EXIT;
        uint32_t pid = exits ? event->process_exit->pid : event->process_gone->pid;
        uint64_t start_time = exits ? event->process_exit->start_time : event->process_gone->start_time;

        if (pid != out->pid || start_time != out->start_time)
            continue;
        out->gone = true;
        out->gone_at_ns = event->at_ns;
        out->gone_seq = event->seq;
        return;
    }
}

void roles_derive(const struct tables *tables, struct run *run)
{
    for (int role = EXHIBIT__ROLE__ROLE_PARENT; role < ROLE_ROOM; role++) {
        struct identity *identity = &run->derived->roles[role];

        find_identity(tables, run, role, identity);
        if (!identity->found)
            continue;
        find_gone(tables_of_run(tables, EXHIBIT__EVENT__WHAT_PROCESS_EXIT, run->number), identity);
        find_gone(tables_of_run(tables, EXHIBIT__EVENT__WHAT_PROCESS_GONE, run->number), identity);
    }
}

bool time_is_after(uint64_t later, uint64_t earlier, int64_t ns)
{
    if (later >= earlier)
        return ns <= 0 || later - earlier >= (uint64_t)ns;
    return ns < 0 && earlier - later <= (uint64_t)-ns;
}

bool role_may_have_expired(const struct run *run, int role)
{
    const struct identity *identity = &run->derived->roles[role];
    int64_t lifetime_ms = run->start->probe->lifetime_ms;

    assert(identity->gone);
    return time_is_after(identity->gone_at_ns, identity->first_at_ns, (lifetime_ms - EXPIRY_MARGIN_MS) * NS_PER_MS);
}

bool role_was_alive(const struct run *run, int role)
{
    const struct identity *identity = &run->derived->roles[role];
    const Exhibit__Step *step = run->first_step->step;

    for (size_t i = 0; i < step->n_alive; i++)
        if (step->alive[i]->pid == identity->pid && step->alive[i]->start_time == identity->start_time)
            return true;
    return false;
}

bool role_ends_itself(const struct run *run, int role)
{
    return role == EXHIBIT__ROLE__ROLE_PARENT && run->first_step != NULL &&
           run->first_step->step->target == EXHIBIT__STEP_TARGET__STEP_PARENT_EXIT;
}

const char *role_ended_by(const struct tables *tables, const struct run *run, int role)
{
    const struct identity *identity = &run->derived->roles[role];
    struct span cleanups = tables_of_run(tables, EXHIBIT__EVENT__WHAT_CLEANUP, run->number);

    if (!identity->gone)
        return "none";
    if (cleanups.count > 0 && cleanups.events[0]->seq < identity->gone_seq)
        return "cleanup";
    if (role_may_have_expired(run, role))
        return "self-expiry";
    if (run->first_step != NULL && run->first_step->seq < identity->gone_seq)
        return "step";
    if (role_ends_itself(run, role))
        return "exit";
    return role_ends_itself(run, EXHIBIT__ROLE__ROLE_PARENT) && role_was_alive(run, role) ? "step" : "early";
}

uint64_t role_survived_ms(const struct run *run, int role)
{
    const struct identity *identity = &run->derived->roles[role];

    if (!identity->gone || run->last_step == NULL || identity->gone_at_ns <= run->last_step->at_ns)
        return 0;
    return (identity->gone_at_ns - run->last_step->at_ns) / NS_PER_MS;
}
