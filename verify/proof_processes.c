/*
 * Which process was a role, and how it came to its end (DECISION 3.3 and 4).
 */
#include "verify/proof.h"

#include <assert.h>
#include <string.h>

static bool proof_argv_item_is(const ProtobufCBinaryData *item, const ProtobufCBinaryData *own, const char *text)
{
    if (text == NULL)
        return evidence_same(item, own);
    return item->len == strlen(text) && memcmp(item->data, text, item->len) == 0;
}

/* DECISION 1.4: the parent's argv is the command; another role's differs in its name and nonce alone. */
static bool proof_argv_is_own(const struct ledger_run *run, Exhibit__Role role, const Exhibit__ProcessIdentity *seen)
{
    const Exhibit__RunStart *told = ledger_told(run);
    bool other = role != EXHIBIT__ROLE__ROLE_PARENT;

    if (seen->n_argv != told->n_command || (other && told->n_command < 4))
        return false;
    for (size_t i = 0; i < told->n_command; i++) {
        const char *text = NULL;

        if (other && i == 2)
            text = ledger_role_text(role);
        if (other && i == 3)
            text = run->nonces[role];
        if (!proof_argv_item_is(&seen->argv[i], &told->command[i], text))
            return false;
    }
    return true;
}

/* DECISION 4.1. The ledger keeps only identities with the probe's digest. */
static void proof_identify(const struct ledger_run *run, Exhibit__Role role, struct proof_role *out)
{
    const Exhibit__Event *event;
    size_t position = 0;

    while ((event = ledger_next(run, EXHIBIT__EVENT__WHAT_PROCESS_IDENTITY, &position)) != NULL) {
        const Exhibit__ProcessIdentity *seen = event->process_identity, *first;

        if (!proof_argv_is_own(run, role, seen))
            continue;
        if (out->identity == NULL) {
            out->identity = event;
            continue;
        }
        first = out->identity->process_identity;
        if (seen->parent_pid == first->pid) /* one of the short-lived forks that make the attempts */
            continue;
        if (seen->pid == first->pid && seen->start_time == first->start_time)
            continue;
        out->conflicting = true;
        out->identity = NULL;
        return;
    }
}

/* DECISION 4.2. */
static void proof_find_end(const struct ledger_run *run, struct proof_role *role)
{
    const Exhibit__ProcessIdentity *own = role->identity->process_identity;

    for (size_t i = 0; i < run->events.count && role->gone == NULL; i++) {
        const Exhibit__Event *event = run->events.items[i];

        if (event->what_case == EXHIBIT__EVENT__WHAT_PROCESS_EXIT && event->process_exit->pid == own->pid &&
            event->process_exit->start_time == own->start_time)
            role->gone = event;
        if (event->what_case == EXHIBIT__EVENT__WHAT_PROCESS_GONE && event->process_gone->pid == own->pid &&
            event->process_gone->start_time == own->start_time)
            role->gone = event;
    }
}

/* Whether a role was seen elsewhere, or with a way out, after the first time (DECISION 3.3). */
static bool proof_gained_network(const struct ledger_run *run, const struct proof_role *role)
{
    const Exhibit__ProcessIdentity *own = role->identity->process_identity;
    const Exhibit__Event *event;
    size_t position = 0;

    while ((event = ledger_next(run, EXHIBIT__EVENT__WHAT_PROCESS_IDENTITY, &position)) != NULL) {
        const Exhibit__ProcessIdentity *again = event->process_identity;

        if (event->seq <= role->identity->seq || again->pid != own->pid || again->start_time != own->start_time)
            continue;
        if (again->network_namespace != 0 && again->network_namespace != own->network_namespace)
            return true;
        if (again->routes_case == EXHIBIT__PROCESS_IDENTITY__ROUTES_ROUTES_BEYOND_LOOPBACK &&
            again->routes_beyond_loopback != 0)
            return true;
    }
    return false;
}

void proof_processes(struct proof *proof)
{
    for (size_t i = 0; i < proof->ledger.run_count; i++) {
        struct proof_run *run = &proof->runs[i];
        const Exhibit__Event *step;
        size_t position = 0;

        while ((step = ledger_next(run->run, EXHIBIT__EVENT__WHAT_STEP, &position)) != NULL) {
            if (run->first_step == NULL || step->step->index < run->first_step->step->index)
                run->first_step = step;
            if (run->last_step == NULL || step->step->index > run->last_step->step->index)
                run->last_step = step;
        }
        for (int role = 1; ledger_is_trial(run->run) && role < LEDGER_ROLES; role++) {
            proof_identify(run->run, (Exhibit__Role)role, &run->roles[role]);
            if (run->roles[role].identity == NULL)
                continue;
            proof_find_end(run->run, &run->roles[role]);
            run->roles[role].gained_network = proof_gained_network(run->run, &run->roles[role]);
        }
    }
}

bool proof_network_is_private(const struct proof *proof, const struct proof_role *role)
{
    const Exhibit__Host *host = proof->ledger.recording_start->recording_start->host;
    const Exhibit__ProcessIdentity *own;

    if (role->identity == NULL || role->gained_network)
        return false;
    own = role->identity->process_identity;
    return own->network_namespace != 0 && own->network_namespace != (host == NULL ? 0 : host->network_namespace) &&
           own->routes_case == EXHIBIT__PROCESS_IDENTITY__ROUTES_ROUTES_BEYOND_LOOPBACK &&
           own->routes_beyond_loopback == 0;
}

bool proof_before_self_exit(const struct proof_run *run, const struct proof_role *role)
{
    assert(role->identity != NULL && role->gone != NULL);
    /* gone_at < first_at + lifetime - 500 ms, without a difference below 0 */
    return proof_later(role->gone->at_ns, 500) < proof_later(role->identity->at_ns, proof_assignment(run)->lifetime_ms);
}

bool proof_was_alive(const struct proof_run *run, const struct proof_role *role)
{
    const Exhibit__ProcessIdentity *process = role->identity->process_identity;
    const Exhibit__Step *step = run->first_step->step;

    for (size_t i = 0; i < step->n_alive; i++)
        if (step->alive[i]->pid == process->pid && step->alive[i]->start_time == process->start_time)
            return true;
    return false;
}

const struct proof_role *proof_own_end(const struct proof_run *run)
{
    if (run->first_step == NULL || run->first_step->step->target != EXHIBIT__STEP_TARGET__STEP_PARENT_EXIT)
        return NULL;
    return &run->roles[EXHIBIT__ROLE__ROLE_PARENT];
}

const char *proof_ended_by(const struct proof_run *run, const struct proof_role *role)
{
    const Exhibit__Event *cleanup;
    size_t position = 0;

    if (role->identity == NULL || role->gone == NULL)
        return "none";
    cleanup = ledger_next(run->run, EXHIBIT__EVENT__WHAT_CLEANUP, &position);
    if (cleanup != NULL && cleanup->seq < role->gone->seq)
        return "cleanup";
    if (!proof_before_self_exit(run, role))
        return "self-expiry";
    if (run->first_step == NULL)
        return "early";
    if (run->first_step->seq < role->gone->seq)
        return "step";
    if (role == proof_own_end(run))
        return "exit";
    return proof_own_end(run) != NULL && proof_was_alive(run, role) ? "step" : "early";
}

uint64_t proof_survived_ms(const struct proof_run *run, const struct proof_role *role)
{
    if (role->identity == NULL || role->gone == NULL || run->last_step == NULL ||
        role->gone->at_ns <= run->last_step->at_ns)
        return 0;
    return (role->gone->at_ns - run->last_step->at_ns) / 1000000u;
}
