/*
 * complete.observers, complete.controls, complete.spoke, complete.outcomes: whether a trial's silence says anything.
 */
#include "replay/roles.h"
#include "replay/rules.h"
#include "replay/runs.h"
#include "replay/words.h"

#include <inttypes.h>
#include <string.h>

enum { EXIT_DELAY_MS = 1000 }; /* of a parent that ends itself, after its last awaited round was due */

/* Whether the run is one of a trial that the oracle names. */
static bool is_of_trial(const struct judged *judged, uint32_t number)
{
    const struct run *run = runs_find(&judged->facts->tables, number);

    for (size_t i = 0; run != NULL && i < judged->oracle->trial_count; i++)
        if (run->start->kind == EXHIBIT__RUN_KIND__RUN_TRIAL &&
            strcmp(judged->oracle->trials[i].name, run->start->name) == 0)
            return true;
    return false;
}

static void check_lost(const struct judged *judged, struct finding *out)
{
    struct span lost = tables_of_kind(&judged->facts->tables, EXHIBIT__EVENT__WHAT_LOST);
    struct span drops = tables_of_kind(&judged->facts->tables, EXHIBIT__EVENT__WHAT_DROPS);

    for (size_t i = 0; i < lost.count; i++) {
        if (lost.events[i]->run != 0 && !is_of_trial(judged, lost.events[i]->run))
            continue;
        finding_tell(out, "an observer lost events");
        finding_event(out, lost.events[i]->seq);
    }
    for (size_t i = 0; i < drops.count; i++)
        if (drops.events[i]->drops->count != 0) {
            finding_tell(out, "a listener dropped %" PRIu64, drops.events[i]->drops->count);
            finding_event(out, drops.events[i]->seq);
        }
}

/* Whether both listeners were asked for their drops in the run. */
static void check_drops(const struct judged *judged, const struct run *run, struct finding *out)
{
    static const Exhibit__Protocol protocols[] = {EXHIBIT__PROTOCOL__PROTOCOL_TCP, EXHIBIT__PROTOCOL__PROTOCOL_UDP};
    struct span drops = tables_of_run(&judged->facts->tables, EXHIBIT__EVENT__WHAT_DROPS, run->number);

    for (size_t i = 0; i < sizeof protocols / sizeof *protocols; i++) {
        bool seen = false;

        for (size_t j = 0; j < drops.count; j++)
            seen |= drops.events[j]->drops->protocol == protocols[i];
        if (seen)
            continue;
        finding_tell(out, "trial %s, strict: the drops of the %s listener were not read", run->start->name,
                     protocols[i] == EXHIBIT__PROTOCOL__PROTOCOL_TCP ? "tcp" : "udp");
        finding_row(out, run, 0, 0);
    }
}

/* The last event of `span` before seq, for TargetState of that target (0: any event), or NULL. */
static const Exhibit__Event *last_before(struct span span, int target, uint64_t seq)
{
    const Exhibit__Event *found = NULL;

    for (size_t i = 0; i < span.count && span.events[i]->seq < seq; i++)
        if (target == 0 || (int)span.events[i]->target_state->target == target)
            found = span.events[i];
    return found;
}

/* The first one after it, in the same way. */
static const Exhibit__Event *first_after(struct span span, int target, uint64_t seq)
{
    for (size_t i = 0; i < span.count; i++)
        if (span.events[i]->seq > seq && (target == 0 || (int)span.events[i]->target_state->target == target))
            return span.events[i];
    return NULL;
}

/* Whether the recorder looked at a target before the run started and after it ended, with no reset between. */
static bool has_states(const struct judged *judged, const struct run *run, int target)
{
    struct span states = tables_of_kind(&judged->facts->tables, EXHIBIT__EVENT__WHAT_TARGET_STATE);
    struct span resets = tables_of_kind(&judged->facts->tables, EXHIBIT__EVENT__WHAT_TARGETS);
    const Exhibit__Event *before = last_before(states, target, run->event->seq), *after, *reset;

    if (before == NULL || run->exit == NULL)
        return false;
    reset = last_before(resets, 0, run->event->seq);
    if (reset != NULL && reset->seq > before->seq)
        return false;
    after = first_after(states, target, run->exit->seq);
    reset = first_after(resets, 0, run->exit->seq);
    return after != NULL && (reset == NULL || reset->seq > after->seq);
}

/* Whether everything that could have shown a trace was looked at. */
static void check_looks(const struct judged *judged, const struct run *run, struct finding *out)
{
    static const char *const targets[] = {"", "first canary", "second canary", "write target", "folder of the targets"};

    for (int target = 1; target < 5; target++)
        if (!has_states(judged, run, target)) {
            finding_tell(out, "trial %s, strict: the %s was not looked at before and after", run->start->name,
                         targets[target]);
            finding_event(out, run->event->seq);
        }
    for (int stream = EXHIBIT__STREAM_NAME__STREAM_STDOUT; stream < STREAM_ROOM; stream++)
        if (run->ends[stream] == NULL) {
            finding_tell(out, "trial %s, strict: stream %d was not read to its end", run->start->name, stream);
            finding_event(out, run->event->seq);
        }
}

static void check_role(const struct judged *judged, const struct run *run, int role, struct finding *out)
{
    const struct identity *identity = &run->derived->roles[role];
    const char *what = NULL;
    uint64_t seq = identity->first_seq;

    if (identity->contested) {
        what = "has two identities";
    } else if (!identity->found) {
        if (!judged->oracle->identities_required && run_row_count(run, role) > 0)
            return;
        what = "has no identity";
    } else if (!identity->gone) {
        what = "was not seen to be gone";
    } else if (run->first_step != NULL && !role_was_alive(run, role)) {
        what = "was not alive at the first step";
        seq = run->first_step->seq;
    } else if (role_ends_itself(run, role) && identity->gone_seq > run->first_step->seq) {
        what = "ended after the step that is its end";
        seq = run->first_step->seq;
    }
    if (what == NULL)
        return;
    finding_tell(out, "trial %s, strict: %s %s", run->start->name, word_of_role(role), what);
    finding_event(out, seq != 0 ? seq : run->event->seq);
}

int rule_observers(const struct judged *judged, struct finding *out, struct err *err)
{
    (void)err;
    check_lost(judged, out);
    for (size_t i = 0; i < judged->oracle->trial_count; i++) {
        const struct trial *trial = &judged->trials[i];

        if (trial->strict == NULL)
            continue;
        check_drops(judged, trial->strict, out);
        check_looks(judged, trial->strict, out);
        for (int role = 1; role < ROLE_ROOM; role++)
            if (trial->expected->roles[role])
                check_role(judged, trial->strict, role, out);
    }
    return 0;
}

/* The attempt of (role, round 1, effect). NULL: none. */
static const struct attempt *first_attempt(const struct run *run, int role, enum effect effect)
{
    for (size_t i = 0; i < run->derived->attempt_count; i++) {
        const struct attempt *attempt = &run->derived->attempts[i];

        if (attempt->row->role == role && attempt->row->round == 1 && attempt->effect == effect)
            return attempt;
    }
    return NULL;
}

/* Whether one effect of one role was seen to succeed in a control. */
static void check_control(const struct run *run, int role, const char *name, struct finding *out)
{
    int effect = effect_of_word(name, strlen(name));
    const struct attempt *attempt = effect < 0 ? NULL : first_attempt(run, role, (enum effect)effect);
    const char *what = NULL;

    if (attempt == NULL)
        what = "was not tried";
    else if (attempt->row->contested)
        what = "is contested";
    else if (attempt->told.kind != TOLD_OK)
        what = "did not succeed";
    else if (!attempt->own_evidence)
        what = "was not seen by the host";
    else if ((effect == EFFECT_READ || effect == EFFECT_READ_LINK) &&
             run->derived->file_event_seq[effect_target((enum effect)effect)] == 0)
        what = "was not seen on the canary";
    if (what == NULL)
        return;
    finding_tell(out, "trial %s, control %" PRIu32 ": %s of %s %s", run->start->name, run->start->repeat, name,
                 word_of_role(role), what);
    finding_row(out, run, role, 1);
}

int rule_controls(const struct judged *judged, struct finding *out, struct err *err)
{
    (void)err;
    for (size_t i = 0; i < judged->oracle->trial_count; i++) {
        const struct trial *trial = &judged->trials[i];

        for (size_t j = 0; j < trial->expected->effect_count; j++) {
            for (int role = 1; role < ROLE_ROOM && trial->controls[0] != NULL; role++)
                if (trial->expected->roles[role])
                    check_control(trial->controls[0], role, trial->expected->effects[j], out);
            if (trial->controls[1] != NULL)
                check_control(trial->controls[1], EXHIBIT__ROLE__ROLE_PARENT, trial->expected->effects[j], out);
        }
    }
    return 0;
}

/* DECISION 5.4: when, in milliseconds of the plan, cancel.quiet has listened for long enough. */
static uint64_t heard_until_ms(const Exhibit__ProbeAssignment *probe, uint32_t grace_ms)
{
    uint64_t sum_ms = grace_ms;

    for (size_t i = 0; i < probe->n_ending; i++) {
        const Exhibit__StepPlan *plan = probe->ending[i];

        sum_ms += plan->after_ms;
        if (i == 0 && plan->after_rounds > 0)
            sum_ms += (uint64_t)(plan->after_rounds - 1) * probe->interval_ms;
        if (i == 0 && plan->target == EXHIBIT__STEP_TARGET__STEP_PARENT_EXIT)
            sum_ms += EXIT_DELAY_MS;
    }
    return sum_ms;
}

/* Whether silence after the ending says anything: somebody was still to speak, and to live. */
static void check_silence(const struct judged *judged, const struct run *run, struct finding *out)
{
    const Exhibit__ProbeAssignment *probe = run->start->probe;
    uint64_t until_ms = heard_until_ms(probe, judged->oracle->grace_ms), due_ms = 0;

    for (size_t i = 0; i < probe->n_roles; i++)
        if (probe->roles[i]->role == EXHIBIT__ROLE__ROLE_GRANDCHILD)
            due_ms = (uint64_t)(probe->roles[i]->rounds - 1) * probe->interval_ms;
    if (due_ms > until_ms && probe->lifetime_ms > until_ms)
        return;
    finding_tell(out, "trial %s, strict: no round was planned for after the ending, so its silence proves nothing",
                 run->start->name);
    finding_event(out, run->event->seq);
}

int rule_spoke(const struct judged *judged, struct finding *out, struct err *err)
{
    (void)err;
    for (size_t i = 0; i < judged->oracle->trial_count; i++) {
        const struct trial *trial = &judged->trials[i];

        for (int role = 1; role < ROLE_ROOM && trial->strict != NULL; role++)
            if (trial->expected->roles[role] && run_row_count(trial->strict, role) == 0) {
                finding_tell(out, "trial %s, strict: %s left no row", trial->expected->name, word_of_role(role));
                finding_row(out, trial->strict, 0, 0);
            }
        if (trial->strict != NULL && trial->strict->first_step != NULL)
            check_silence(judged, trial->strict, out);
    }
    return 0;
}

int rule_outcomes(const struct judged *judged, struct finding *out, struct err *err)
{
    (void)err;
    for (size_t i = 0; i < judged->oracle->trial_count; i++) {
        const struct run *run = judged->trials[i].strict;

        for (size_t j = 0; run != NULL && j < run->derived->attempt_count; j++) {
            const struct attempt *attempt = &run->derived->attempts[j];

            if (attempt->outcome != OUTCOME_UNDETERMINED)
                continue;
            finding_tell(out, "trial %s, strict: %s of %s, round %" PRIu32 ", is undetermined%s", run->start->name,
                         word_of_effect((int)attempt->effect), word_of_role(attempt->row->role), attempt->row->round,
                         attempt->row->contested ? " (its copies differ)" : "");
            finding_row(out, run, attempt->row->role, attempt->row->round);
        }
    }
    return 0;
}
