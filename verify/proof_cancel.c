/*
 * Did the tree end when it was told to, and was it quiet afterwards (DECISION 5, cancel.*, and 5.3).
 */
#include "verify/proof.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Where processes are not seen at all, the lines of a role must have come to their end. */
static void proof_need_silence(struct proof *proof, const struct proof_run *run, Exhibit__Role role, uint64_t limit_ns)
{
    for (size_t i = 0; i < run->spoken->slots; i++) {
        const struct spoken_arrival *arrival = &run->spoken->arrivals[i];

        if (arrival->seq == 0 || arrival->role != role || arrival->at_ns <= limit_ns)
            continue;
        proof_refute(proof, proof_event_text(run->last_step).text, "%s of run %s still spoke after the bound",
                     ledger_role_text(role), proof_run_text(run).text);
        return;
    }
}

static void proof_need_end(struct proof *proof, const struct proof_run *run, Exhibit__Role role)
{
    const struct proof_role *process = &run->roles[role];
    uint64_t limit_ns = proof_later(run->last_step->at_ns, proof->oracle->ended_ms);
    struct proof_text where = proof_run_text(run);
    const char *name = ledger_role_text(role);

    if (process->identity == NULL && !proof->oracle->identities_required) {
        proof_need_silence(proof, run, role, limit_ns);
        return;
    }
    if (process->identity == NULL || process->gone == NULL) {
        proof_refute(proof, proof_event_text(run->last_step).text, "%s of run %s was not seen to end", name,
                     where.text);
        return;
    }
    if (process->gone->at_ns > limit_ns)
        proof_refute(proof, proof_event_text(process->gone).text,
                     "%s of run %s was gone %" PRIu64 " ms after the last step, later than %" PRIu32 " ms", name,
                     where.text, proof_survived_ms(run, process), proof->oracle->ended_ms);
    if (!proof_before_self_exit(run, process))
        proof_refute(proof, proof_event_text(process->gone).text, "%s of run %s may have ended by itself", name,
                     where.text);
}

void proof_rule_ended(struct proof *proof)
{
    for (size_t t = 0; t < proof->oracle->trial_count; t++) {
        const struct oracle_trial *trial = &proof->oracle->trials[t];
        struct proof_run *run = proof_strict(proof, trial);
        unsigned before = proof->failures;

        if (run == NULL || run->last_step == NULL)
            continue;
        for (int role = 1; role < LEDGER_ROLES; role++)
            if (trial->roles[role])
                proof_need_end(proof, run, (Exhibit__Role)role);
        run->unended = proof->failures > before;
    }
}

/* Bytes that arrive after their sender's observed end are late, not life. */
static bool proof_is_life(const struct proof_run *run, Exhibit__Role role, uint64_t at_ns, uint64_t limit_ns)
{
    const struct proof_role *process = &run->roles[role];

    if (at_ns <= limit_ns)
        return false;
    return process->identity == NULL || process->gone == NULL || process->gone->at_ns >= at_ns;
}

static void proof_need_quiet(struct proof *proof, const struct proof_run *run)
{
    uint64_t limit_ns = proof_later(run->last_step->at_ns, proof->oracle->grace_ms);
    struct proof_text where = proof_run_text(run);

    for (size_t i = 0; i < run->spoken->slots; i++) {
        const struct spoken_arrival *arrival = &run->spoken->arrivals[i];
        char evidence[32];

        if (arrival->seq == 0 || !proof_is_life(run, arrival->role, arrival->at_ns, limit_ns))
            continue;
        (void)snprintf(evidence, sizeof evidence, "event %" PRIu64, arrival->seq);
        proof_refute(proof, evidence, "a line of %s of run %s arrived after the grace (%s)",
                     ledger_role_text(arrival->role), where.text, evidence);
    }
    for (int role = 1; role < LEDGER_ROLES; role++) {
        size_t count;
        const struct proof_mark *marks = proof_marks_of(proof, run, (Exhibit__Role)role, &count);

        for (size_t i = 0; i < count; i++) {
            if ((int)marks[i].mark.role != role || marks[i].mark.round > run->spoken->rounds[role] ||
                !proof_is_life(run, (Exhibit__Role)role, marks[i].event->at_ns, limit_ns))
                continue;
            proof_refute(proof, proof_event_text(marks[i].event).text,
                         "a message of %s of run %s arrived after the grace", ledger_role_text((Exhibit__Role)role),
                         where.text);
        }
    }
}

void proof_rule_quiet(struct proof *proof)
{
    for (size_t t = 0; t < proof->oracle->trial_count; t++) {
        struct proof_run *run = proof_strict(proof, &proof->oracle->trials[t]);
        unsigned before = proof->failures;

        if (run == NULL || run->last_step == NULL)
            continue;
        proof_need_quiet(proof, run);
        run->loud = proof->failures > before;
    }
}

void proof_state_endings(struct proof *proof)
{
    for (size_t t = 0; t < proof->oracle->trial_count && !proof->failed; t++) {
        const struct proof_run *run = proof_strict(proof, &proof->oracle->trials[t]);
        Exhibit__EndingResult *ending;

        if (run == NULL || run->last_step == NULL)
            continue;
        ending = proof_slot(proof, &proof->claim->endings, &proof->claim->n_endings, sizeof *ending);
        if (ending == NULL)
            return;
        exhibit__ending_result__init(ending);
        ending->ended = !run->unended;
        ending->quiet = !run->loud;
        ending->trial = strdup(proof->oracle->trials[t].name);
        if (ending->trial == NULL)
            proof_no_memory(proof);
    }
}
