/*
 * Did the observers see, and do the effects work where nothing confines (complete.observers, complete.controls).
 */
#include "verify/proof.h"

#include <inttypes.h>
#include <string.h>

static bool proof_named_in_oracle(const struct proof *proof, const char *trial)
{
    for (size_t t = 0; t < proof->oracle->trial_count; t++)
        if (strcmp(proof->oracle->trials[t].name, trial) == 0)
            return true;
    return false;
}

static void proof_refute_losses(struct proof *proof)
{
    const struct ledger_list *lost = &proof->ledger.by_kind[EXHIBIT__EVENT__WHAT_LOST];
    const struct ledger_list *drops = &proof->ledger.by_kind[EXHIBIT__EVENT__WHAT_DROPS];

    for (size_t i = 0; i < lost->count; i++) {
        const struct ledger_run *run = ledger_run_numbered(&proof->ledger, lost->items[i]->run);

        if (lost->items[i]->run == 0 ||
            (run != NULL && ledger_is_trial(run) && proof_named_in_oracle(proof, ledger_told(run)->name)))
            proof_refute(proof, proof_event_text(lost->items[i]).text, "an observer lost events (event %" PRIu64 ")",
                         lost->items[i]->seq);
    }
    for (size_t i = 0; i < drops->count; i++)
        if (drops->items[i]->drops->count != 0)
            proof_refute(proof, proof_event_text(drops->items[i]).text, "a listener dropped %" PRIu64 " messages",
                         drops->items[i]->drops->count);
}

static void proof_need_drop_counters(struct proof *proof, const struct proof_run *run)
{
    const Exhibit__Event *drops;
    bool tcp = false, udp = false;
    size_t position = 0;

    while ((drops = ledger_next(run->run, EXHIBIT__EVENT__WHAT_DROPS, &position)) != NULL) {
        tcp = tcp || drops->drops->protocol == EXHIBIT__PROTOCOL__PROTOCOL_TCP;
        udp = udp || drops->drops->protocol == EXHIBIT__PROTOCOL__PROTOCOL_UDP;
    }
    if (!tcp || !udp)
        proof_refute(proof, proof_event_text(run->run->start).text, "run %s lacks the drop counter of %s",
                     proof_run_text(run).text, tcp ? "udp" : "tcp");
}

/* On both sides, the state of the target that is nearest to the run stands nearer than any reset. */
static bool proof_looked(const struct proof *proof, const struct proof_run *run, int target)
{
    const struct ledger *ledger = &proof->ledger;
    const Exhibit__Event *exit_event = run->run->exit, *state, *reset;

    if (exit_event == NULL)
        return false;
    state = ledger_before(ledger, EXHIBIT__EVENT__WHAT_TARGET_STATE, target, run->run->start->seq);
    reset = ledger_before(ledger, EXHIBIT__EVENT__WHAT_TARGETS, 0, run->run->start->seq);
    if (state == NULL || (reset != NULL && state->seq < reset->seq))
        return false;
    state = ledger_after(ledger, EXHIBIT__EVENT__WHAT_TARGET_STATE, target, exit_event->seq);
    reset = ledger_after(ledger, EXHIBIT__EVENT__WHAT_TARGETS, 0, exit_event->seq);
    return state != NULL && (reset == NULL || state->seq < reset->seq);
}

/* The targets were looked at on both sides of the run, and every stream of it was read to its end. */
static void proof_need_looks(struct proof *proof, const struct proof_run *run)
{
    const Exhibit__Event *end, *first = run->run->start;
    bool ended[EXHIBIT__STREAM_NAME__STREAM_SCRATCH_GRANDCHILD + 1] = {false};
    size_t position = 0;

    for (int target = EXHIBIT__TARGET_NAME__TARGET_CANARY_READ; target <= EXHIBIT__TARGET_NAME__TARGET_FOLDER; target++)
        if (!proof_looked(proof, run, target))
            proof_refute(proof, proof_event_text(first).text, "target %d lacks a state before or after run %s", target,
                         proof_run_text(run).text);
    while ((end = ledger_next(run->run, EXHIBIT__EVENT__WHAT_STREAM_END, &position)) != NULL)
        if ((size_t)end->stream_end->stream < sizeof ended)
            ended[end->stream_end->stream] = true;
    for (int name = EXHIBIT__STREAM_NAME__STREAM_STDOUT; name < (int)sizeof ended; name++)
        if (!ended[name])
            proof_refute(proof, proof_event_text(first).text, "stream %d of run %s has no end", name,
                         proof_run_text(run).text);
}

static void proof_need_role(struct proof *proof, const struct proof_run *run, Exhibit__Role role)
{
    const struct proof_role *process = &run->roles[role];
    struct proof_text where = proof_run_text(run);
    const char *name = ledger_role_text(role);

    if (process->conflicting) {
        proof_refute(proof, proof_event_text(run->run->start).text, "%s of run %s has two identities", name,
                     where.text);
        return;
    }
    if (process->identity == NULL) {
        if (proof->oracle->identities_required || run->spoken->role_rows[role] == 0)
            proof_refute(proof, proof_event_text(run->run->start).text, "%s of run %s was not seen as a process", name,
                         where.text);
        return;
    }
    if (process->gone == NULL)
        proof_refute(proof, proof_event_text(process->identity).text, "%s of run %s was not seen to be gone", name,
                     where.text);
    if (process == proof_own_end(run) && process->gone != NULL && process->gone->seq > run->first_step->seq)
        proof_refute(proof, proof_event_text(run->first_step).text, "%s of run %s had not ended at its own step", name,
                     where.text);
    if (run->first_step != NULL && !proof_was_alive(run, process))
        proof_refute(proof, proof_event_text(run->first_step).text, "%s of run %s was not seen alive at the first step",
                     name, where.text);
}

void proof_rule_observers(struct proof *proof)
{
    proof_refute_losses(proof);
    for (size_t t = 0; t < proof->oracle->trial_count; t++) {
        const struct oracle_trial *trial = &proof->oracle->trials[t];
        const struct proof_run *run = proof_strict(proof, trial);

        if (run == NULL)
            continue;
        proof_need_drop_counters(proof, run);
        proof_need_looks(proof, run);
        for (int role = 1; role < LEDGER_ROLES; role++)
            if (trial->roles[role])
                proof_need_role(proof, run, (Exhibit__Role)role);
    }
}

static bool proof_canary_was_touched(const struct proof_run *run, int effect)
{
    Exhibit__TargetName canary =
        effect == SPOKEN_READ ? EXHIBIT__TARGET_NAME__TARGET_CANARY_READ : EXHIBIT__TARGET_NAME__TARGET_CANARY_LINK;
    const Exhibit__Event *event;
    size_t position = 0;

    while ((event = ledger_next(run->run, EXHIBIT__EVENT__WHAT_FILE_EVENT, &position)) != NULL)
        if (event->file_event->target == canary)
            return true;
    return false;
}

/* One effect succeeded unconfined: told by the probe and seen by the recorder. Gives what is missing, or NULL. */
static const char *proof_control_lack(const struct proof_run *run, Exhibit__Role role, const char *effect)
{
    const Exhibit__ProbeAssignment *probe = proof_assignment(run);
    int known = spoken_effect_index(effect);
    const struct spoken_row *row;
    size_t at;

    for (at = 0; at < probe->n_effects; at++)
        if (strcmp(probe->effects[at], effect) == 0)
            break;
    if (run->spoken->rounds[role] == 0 || run->spoken->rows[role][1].seq == 0 || at == probe->n_effects)
        return "was not attempted";
    row = &run->spoken->rows[role][1];
    if (row->contested)
        return "is told in copies that differ";
    if (row->told[at].kind != SPOKEN_OK && row->told[at].kind != SPOKEN_PROOF)
        return "did not succeed";
    if (!proof_own_evidence(run, role, 1, at))
        return "was not seen by the recorder";
    if ((known == SPOKEN_READ || known == SPOKEN_READ_LINK) && !proof_canary_was_touched(run, known))
        return "left no file event";
    return NULL;
}

static void proof_need_control(struct proof *proof, const struct oracle_trial *trial, uint32_t repeat)
{
    const struct proof_run *run =
        proof_find(proof, EXHIBIT__RUN_KIND__RUN_TRIAL, trial->name, EXHIBIT__MODE__MODE_CONTROL, repeat);

    for (int role = 1; run != NULL && role < LEDGER_ROLES; role++) {
        bool needed = repeat == 1 ? trial->roles[role] : role == EXHIBIT__ROLE__ROLE_PARENT;
        struct proof_text where = proof_row_text(run, (Exhibit__Role)role, 1);

        for (size_t i = 0; needed && i < trial->effect_count; i++) {
            const char *lack = proof_control_lack(run, (Exhibit__Role)role, trial->effects[i]);

            if (lack != NULL)
                proof_refute(proof, where.text, "%s of %s %s", trial->effects[i], where.text, lack);
        }
    }
}

void proof_rule_controls(struct proof *proof)
{
    for (size_t t = 0; t < proof->oracle->trial_count; t++)
        for (uint32_t repeat = 1; repeat <= 2; repeat++)
            proof_need_control(proof, &proof->oracle->trials[t], repeat);
}
