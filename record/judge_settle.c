/*
 * Own evidence, outcomes and ends (docs/DECISION.md 3 and 4), once all events are there. Knows no rule.
 */
#include "record/judge_settle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SELF_EXIT_MARGIN_NS 500000000ull

bool judge_effect_is_network(const char *effect)
{
    return strcmp(effect, "tcp") == 0 || strcmp(effect, "udp") == 0;
}

bool judge_role_is_known(const struct judge_run *run, Exhibit__Role role)
{
    return run->roles[role].seen && !run->roles[role].ambiguous;
}

uint64_t judge_ns_sum(uint64_t a_ns, uint64_t b_ns)
{
    uint64_t sum_ns;

    return __builtin_add_overflow(a_ns, b_ns, &sum_ns) ? UINT64_MAX : sum_ns;
}

bool judge_may_be_self_exit(const struct judge_run *run, Exhibit__Role role)
{
    const struct judge_role *known = &run->roles[role];

    return judge_ns_sum(known->gone_at_ns, SELF_EXIT_MARGIN_NS) >=
           judge_ns_sum(known->first_at_ns, run->lifetime_ms * 1000000ull);
}

const struct judge_step *judge_first_step(const struct judge_run *run)
{
    const struct judge_step *first = NULL;

    for (size_t i = 0; i < run->step_count; i++)
        if (first == NULL || run->steps[i].index < first->index)
            first = &run->steps[i];
    return first;
}

bool judge_was_alive(const struct judge_run *run, Exhibit__Role role)
{
    for (size_t i = 0; i < run->alive_count; i++)
        if (run->alive[i].pid == run->roles[role].pid && run->alive[i].start_time == run->roles[role].start_time)
            return true;
    return false;
}

bool judge_is_own_end(const struct judge_step *first, Exhibit__Role role)
{
    return first != NULL && role == EXHIBIT__ROLE__ROLE_PARENT &&
           first->target == EXHIBIT__STEP_TARGET__STEP_PARENT_EXIT;
}

const struct judge_step *judge_last_step(const struct judge_run *run)
{
    const struct judge_step *last = NULL;

    for (size_t i = 0; i < run->step_count; i++)
        if (last == NULL || run->steps[i].index > last->index)
            last = &run->steps[i];
    return last;
}

bool judge_message_is_of(const struct judge_run *run, const struct judge_message *message, Exhibit__Role *out_role,
                         uint32_t *out_round)
{
    const char *word = message->protocol == EXHIBIT__PROTOCOL__PROTOCOL_TCP ? "tcp" : "udp";
    size_t size_bytes = message->payload.size_bytes;

    return !message->truncated && size_bytes > 0 && message->payload.data[size_bytes - 1] == '\n' &&
           judge_mark_parse(run, word, (const char *)message->payload.data, size_bytes - 1, out_role, out_round);
}

static int row_order(const void *a, const void *b)
{
    const struct judge_row *left = a, *right = b;

    if (left->role != right->role)
        return left->role < right->role ? -1 : 1;
    return left->round < right->round ? -1 : left->round > right->round;
}

static void evidence_mark(struct judge_run *run, Exhibit__Role role, uint32_t round, const char *effect)
{
    struct judge_row key = {.role = role, .round = round};
    struct judge_row *row;
    int place = judge_effect_find(run, effect);

    if (place < 0 || run->row_count == 0)
        return;
    row = bsearch(&key, run->rows, run->row_count, sizeof *run->rows, row_order);
    if (row != NULL)
        row->attempts[place].own_evidence = true;
}

static void gone_settle(struct judge_run *run)
{
    for (Exhibit__Role role = EXHIBIT__ROLE__ROLE_PARENT; role < JUDGE_ROLES; role++) {
        struct judge_role *known = &run->roles[role];

        for (size_t i = 0; known->seen && !known->gone && i < run->exit_count; i++)
            if (run->exits[i].pid == known->pid && run->exits[i].start_time == known->start_time) {
                known->gone = true;
                known->gone_at_ns = run->exits[i].at_ns;
                known->gone_seq = run->exits[i].seq;
            }
    }
}

static int path_order(const void *a, const void *b)
{
    const Exhibit__Artifact *const *left = a, *const *right = b;

    return judge_bytes_order(&(*left)->path, &(*right)->path);
}

void judge_settle(struct judge *judge)
{
    for (size_t i = 0; i < judge->run_count; i++) {
        struct judge_run *run = judge->runs[i];

        if (run->kind == EXHIBIT__RUN_KIND__RUN_LAUNCHER && run->artifact_count > 0)
            qsort(run->artifacts, run->artifact_count, sizeof *run->artifacts, path_order);
        if (run->row_count > 0)
            qsort(run->rows, run->row_count, sizeof *run->rows, row_order);
        judge_lines_unite(run);
        judge_leaks_settle(judge, run);
        gone_settle(run);
        for (size_t j = 0; j < run->row_count; j++)
            for (size_t k = 0; k < run->effect_count; k++)
                if (run->rows[j].attempts[k].proof_right)
                    run->rows[j].attempts[k].own_evidence = true;
        for (size_t j = 0; j < run->written_count; j++)
            evidence_mark(run, run->written[j].role, run->written[j].round, "write");
        for (size_t j = 0; j < judge->message_count && run->kind == EXHIBIT__RUN_KIND__RUN_TRIAL; j++) {
            const struct judge_message *message = &judge->messages[j];
            Exhibit__Role role;
            uint32_t round;

            if (judge_message_is_of(run, message, &role, &round))
                evidence_mark(run, role, round, message->protocol == EXHIBIT__PROTOCOL__PROTOCOL_TCP ? "tcp" : "udp");
        }
    }
}

bool judge_target_changed(const struct judge_run *run, Exhibit__TargetName target)
{
    const struct judge_target *a = &run->before[target], *b = &run->after[target];

    if (!a->known || !b->known || !run->exited)
        return false;
    return a->exists != b->exists || a->mode != b->mode || a->size_bytes != b->size_bytes || a->inode != b->inode ||
           a->mtime_ns != b->mtime_ns || a->ctime_ns != b->ctime_ns || !digest_equal(&a->content, &b->content);
}

/* Whether the host saw something of this effect in the run, whoever did it. */
static bool has_trace(const struct judge_run *run, const char *effect)
{
    if (strcmp(effect, "tcp") == 0)
        return run->accepted_seq != 0 || run->messaged_seq[EXHIBIT__PROTOCOL__PROTOCOL_TCP] != 0;
    if (strcmp(effect, "udp") == 0)
        return run->messaged_seq[EXHIBIT__PROTOCOL__PROTOCOL_UDP] != 0;
    if (strcmp(effect, "read") == 0)
        return run->touched_seq[EXHIBIT__TARGET_NAME__TARGET_CANARY_READ] != 0;
    if (strcmp(effect, "read-link") == 0)
        return run->touched_seq[EXHIBIT__TARGET_NAME__TARGET_CANARY_LINK] != 0;
    if (strcmp(effect, "write") == 0)
        return run->touched_seq[EXHIBIT__TARGET_NAME__TARGET_WRITE] != 0 ||
               judge_target_changed(run, EXHIBIT__TARGET_NAME__TARGET_WRITE);
    return false;
}

static bool is_unexplained(const struct judge_run *run, size_t effect)
{
    if (!has_trace(run, run->effects[effect]))
        return false;
    for (size_t i = 0; i < run->row_count; i++)
        if (run->rows[i].attempts[effect].own_evidence)
            return false;
    return true;
}

static bool errno_is_listed(const struct oracle_denial *denial, uint32_t number)
{
    for (size_t i = 0; i < denial->errno_count; i++)
        if (denial->errnos[i] == (int)number)
            return true;
    return false;
}

/* Errnos that a network gives which leads nowhere. */
static bool errno_rests_on_network(uint32_t number)
{
    return number == ECONNREFUSED || number == ENETUNREACH || number == EHOSTUNREACH || number == ENETDOWN ||
           number == EADDRNOTAVAIL;
}

const char *judge_outcome(const struct judge *judge, const struct judge_run *run, const struct judge_row *row,
                          size_t effect)
{
    const struct judge_attempt *attempt = &row->attempts[effect];
    const char *name = run->effects[effect];
    const struct oracle_denial *denial = oracle_denial_of(judge->oracle, name);
    bool network = judge_effect_is_network(name);
    bool private = judge_role_is_known(run, row->role) && run->roles[row->role].network_private == 1;
    bool denied;

    if (attempt->own_evidence || is_unexplained(run, effect))
        return "reached";
    if (row->contested)
        return "undetermined";
    if (attempt->told == JUDGE_TOLD_OK)
        return !network || private ? "diverted" : "undetermined";
    if (attempt->told == JUDGE_TOLD_ERRNO)
        denied = denial != NULL && errno_is_listed(denial, attempt->number) &&
                 (!network || !errno_rests_on_network(attempt->number) || private);
    else if (attempt->told == JUDGE_TOLD_TIMEOUT)
        denied = denial != NULL && denial->timeout && (!network || private);
    else
        denied = denial != NULL && denial->signal;
    return denied ? "denied" : "undetermined";
}

const char *judge_ended_by(const struct judge_run *run, Exhibit__Role role)
{
    const struct judge_role *known = &run->roles[role];
    const struct judge_step *first = judge_first_step(run);

    if (!judge_role_is_known(run, role) || !known->gone)
        return "none";
    if (run->cleanup_seq != 0 && run->cleanup_seq < known->gone_seq)
        return "cleanup";
    if (judge_may_be_self_exit(run, role))
        return "self-expiry";
    if (first != NULL && known->gone_seq > first->seq)
        return "step";
    if (judge_is_own_end(first, role))
        return "exit";
    return judge_is_own_end(first, EXHIBIT__ROLE__ROLE_PARENT) && judge_was_alive(run, role) ? "step" : "early";
}
