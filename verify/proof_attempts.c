/*
 * What came of each attempt, and the lists of a claim that follow from rows, messages and processes
 * (DECISION 3.2, 7.1).
 */
#include "verify/proof.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Errors that a network without any way out gives just as a denial does (DECISION 3.2, 4). */
static bool proof_errno_is_of_no_network(uint32_t number)
{
    static const uint32_t doubtful[] = {111, 101, 113, 100, 99};

    for (size_t i = 0; i < sizeof doubtful / sizeof doubtful[0]; i++)
        if (doubtful[i] == number)
            return true;
    return false;
}

static bool proof_errno_is_listed(const struct oracle_denial *denial, uint32_t number)
{
    for (size_t i = 0; i < denial->errno_count; i++)
        if (denial->errnos[i] == (int)number)
            return true;
    return false;
}

/* What the row told, seen against the oracle's list; `private_enough` where the effect needs no private network. */
static const char *proof_told_outcome(const struct oracle_denial *denial, const struct spoken_told *told,
                                      bool private_enough)
{
    bool denied = false;

    switch (told->kind) {
    case SPOKEN_OK:
    case SPOKEN_PROOF:
        return private_enough ? "diverted" : "undetermined";
    case SPOKEN_ERRNO:
        denied = denial != NULL && proof_errno_is_listed(denial, told->number) &&
                 (private_enough || !proof_errno_is_of_no_network(told->number));
        break;
    case SPOKEN_TIMEOUT:
        denied = denial != NULL && denial->timeout && private_enough;
        break;
    case SPOKEN_SIGNAL:
        denied = denial != NULL && denial->signal;
        break;
    }
    return denied ? "denied" : "undetermined";
}

const char *proof_outcome(const struct proof *proof, const struct proof_run *run, Exhibit__Role role, uint32_t round,
                          size_t at)
{
    const char *name = proof_assignment(run)->effects[at];
    const struct spoken_row *row = &run->spoken->rows[role][round];
    int effect = spoken_effect_index(name);

    assert(row->seq != 0); /* an attempt is one of a row */
    if (proof_own_evidence(run, role, round, at))
        return "reached";
    if (effect >= 0 && run->trace[effect] && !run->explained[effect])
        return "reached";
    if (row->contested)
        return "undetermined";
    return proof_told_outcome(oracle_denial_of(proof->oracle, name), &row->told[at],
                              !spoken_is_network(effect) || proof_network_is_private(proof, &run->roles[role]));
}

/* A text that the claim owns. */
static char *proof_own_text(struct proof *proof, const char *text)
{
    char *copy = strdup(text);

    if (copy == NULL)
        proof_no_memory(proof);
    return copy;
}

static void proof_state_row(struct proof *proof, const struct proof_run *run, Exhibit__Role role, uint32_t round)
{
    const Exhibit__RunStart *told = ledger_told(run->run);
    const struct spoken_row *row = &run->spoken->rows[role][round];

    for (size_t at = 0; at < told->probe->n_effects; at++) {
        Exhibit__AttemptResult *attempt =
            proof_slot(proof, &proof->claim->attempts, &proof->claim->n_attempts, sizeof *attempt);

        if (attempt == NULL)
            return;
        exhibit__attempt_result__init(attempt);
        attempt->trial = proof_own_text(proof, told->name);
        attempt->mode = proof_own_text(proof, ledger_mode_text(told->mode));
        attempt->role = proof_own_text(proof, ledger_role_text(role));
        attempt->round = round;
        attempt->effect = proof_own_text(proof, told->probe->effects[at]);
        attempt->outcome = proof_own_text(proof, proof_outcome(proof, run, role, round, at));
        attempt->errno_value = row->told[at].kind == SPOKEN_ERRNO ? row->told[at].number : 0;
        attempt->at_ns = row->at_ns;
    }
}

static void proof_state_tree(struct proof *proof, const struct proof_run *run)
{
    const Exhibit__RunStart *told = ledger_told(run->run);

    for (size_t i = 0; i < told->probe->n_roles; i++) {
        Exhibit__Role role = told->probe->roles[i]->role;
        const struct proof_role *process = &run->roles[role];
        Exhibit__TreeMember *member = proof_slot(proof, &proof->claim->tree, &proof->claim->n_tree, sizeof *member);

        if (member == NULL)
            return;
        exhibit__tree_member__init(member);
        member->trial = proof_own_text(proof, told->name);
        member->mode = proof_own_text(proof, ledger_mode_text(told->mode));
        member->role = proof_own_text(proof, ledger_role_text(role));
        if (process->identity != NULL) {
            member->pid = process->identity->process_identity->pid;
            member->start_time = process->identity->process_identity->start_time;
        }
        member->ended_by = proof_own_text(proof, proof_ended_by(run, process));
        member->survived_ms = proof_survived_ms(run, process);
    }
}

/* `run` is NULL where there is none: its counts are 0 all the same. */
static void proof_state_counts(struct proof *proof, const char *trial, Exhibit__Mode mode, const struct proof_run *run)
{
    Exhibit__RowCount *rows = proof_slot(proof, &proof->claim->rows, &proof->claim->n_rows, sizeof *rows);
    Exhibit__MessageCount *messages;

    if (rows == NULL)
        return;
    exhibit__row_count__init(rows);
    rows->trial = proof_own_text(proof, trial);
    rows->mode = proof_own_text(proof, ledger_mode_text(mode));
    rows->count = run == NULL ? 0 : run->spoken->row_count;
    messages = proof_slot(proof, &proof->claim->messages, &proof->claim->n_messages, sizeof *messages);
    if (messages == NULL)
        return;
    exhibit__message_count__init(messages);
    messages->trial = proof_own_text(proof, trial);
    messages->mode = proof_own_text(proof, ledger_mode_text(mode));
    messages->tcp = run == NULL ? 0 : run->message_count[0];
    messages->udp = run == NULL ? 0 : run->message_count[1];
}

void proof_state_attempts(struct proof *proof)
{
    static const Exhibit__Mode modes[] = {EXHIBIT__MODE__MODE_BASELINE, EXHIBIT__MODE__MODE_STRICT};

    for (size_t t = 0; t < proof->oracle->trial_count; t++) {
        for (size_t m = 0; m < 2; m++) {
            const char *name = proof->oracle->trials[t].name;
            const struct proof_run *run = proof_find(proof, EXHIBIT__RUN_KIND__RUN_TRIAL, name, modes[m], 1);

            proof_state_counts(proof, name, modes[m], run);
            if (run == NULL)
                continue;
            for (int role = 1; role < LEDGER_ROLES; role++)
                for (uint32_t round = 1; round <= run->spoken->rounds[role]; round++)
                    if (run->spoken->rows[role][round].seq != 0 && !proof->failed)
                        proof_state_row(proof, run, (Exhibit__Role)role, round);
            proof_state_tree(proof, run);
        }
    }
}

/* Judges each attempt of the strict run of each trial. */
static void proof_each_strict_attempt(struct proof *proof, void (*judge)(struct proof *proof, const char *effect,
                                                                         const char *outcome, const char *where))
{
    for (size_t t = 0; t < proof->oracle->trial_count; t++) {
        const struct proof_run *run = proof_strict(proof, &proof->oracle->trials[t]);

        for (int role = 1; run != NULL && role < LEDGER_ROLES; role++) {
            for (uint32_t round = 1; round <= run->spoken->rounds[role]; round++) {
                struct proof_text where = proof_row_text(run, (Exhibit__Role)role, round);
                bool spoken = run->spoken->rows[role][round].seq != 0;

                for (size_t at = 0; spoken && at < proof_assignment(run)->n_effects; at++)
                    judge(proof, proof_assignment(run)->effects[at],
                          proof_outcome(proof, run, (Exhibit__Role)role, round, at), where.text);
            }
        }
    }
}

static void proof_judge_boundary(struct proof *proof, const char *effect, const char *outcome, const char *where)
{
    const struct oracle_denial *denial = oracle_denial_of(proof->oracle, effect);

    if (strcmp(outcome, "reached") == 0)
        proof_refute(proof, where, "%.32s of %s reached its target", effect, where);
    if (strcmp(outcome, "diverted") == 0 && (denial == NULL || !denial->diverted_allowed))
        proof_refute(proof, where, "%.32s of %s was diverted, which the oracle does not allow", effect, where);
}

void proof_rule_attempts(struct proof *proof)
{
    proof_each_strict_attempt(proof, proof_judge_boundary);
}

static void proof_judge_determined(struct proof *proof, const char *effect, const char *outcome, const char *where)
{
    if (strcmp(outcome, "undetermined") == 0)
        proof_refute(proof, where, "%.32s of %s is undetermined", effect, where);
}

void proof_rule_outcomes(struct proof *proof)
{
    proof_each_strict_attempt(proof, proof_judge_determined);
}
