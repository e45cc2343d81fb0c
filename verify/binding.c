/*
 * The bindings of the log as a whole, and the order in which the others are checked.
 */
#include "verify/binding.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* A run's life is told once: it starts, ends, and is not both started and not. */
static void binding_check_life(struct binding *binding, const struct ledger_run *run)
{
    static const struct {
        Exhibit__Event__WhatCase kind;
        const char *name;
    } once[] = {{EXHIBIT__EVENT__WHAT_SPAWNED, "Spawned"},
                {EXHIBIT__EVENT__WHAT_SPAWN_FAILED, "SpawnFailed"},
                {EXHIBIT__EVENT__WHAT_RUN_EXIT, "RunExit"}};

    for (size_t i = 0; i < sizeof once / sizeof once[0]; i++) {
        size_t position = 0, count = 0;

        while (ledger_next(run, once[i].kind, &position) != NULL)
            count++;
        if (count > 1)
            finding_add(binding->findings, "run %" PRIu32 " has %zu events %s", run->number, count, once[i].name);
    }
    if (run->exit != NULL && run->spawned == NULL)
        finding_add(binding->findings, "event %" PRIu64 ": run %" PRIu32 " ended and was never started", run->exit->seq,
                    run->number);
    if (run->exit != NULL && run->spawn_failed != NULL)
        finding_add(binding->findings, "event %" PRIu64 ": run %" PRIu32 " ended and could not be started",
                    run->exit->seq, run->number);
}

/* Each nonce is another, so that no message or row can be counted for two runs. */
static void binding_check_nonces(struct binding *binding)
{
    const struct ledger *ledger = &binding->ledger;

    for (size_t i = 0; i < ledger->run_count; i++) {
        for (size_t j = 0; j < i && ledger_is_trial(ledger->runs[i]); j++)
            if (ledger_is_trial(ledger->runs[j]) && strcmp(ledger->runs[i]->nonces[1], ledger->runs[j]->nonces[1]) == 0)
                finding_add(binding->findings, "runs %" PRIu32 " and %" PRIu32 " have the same nonce",
                            ledger->runs[j]->number, ledger->runs[i]->number);
    }
}

/* The controls enclose the strict run, and each run of the probe has its targets looked at around it. */
static void binding_check_order(struct binding *binding, const struct ledger_run *run)
{
    const Exhibit__RunStart *told = ledger_told(run);
    const struct ledger *ledger = &binding->ledger;
    const struct ledger_run *control[2];

    if (!ledger_is_trial(run))
        return;
    for (uint32_t i = 0; told->mode == EXHIBIT__MODE__MODE_STRICT && i < 2; i++) {
        control[i] = ledger_find(ledger, told->kind, told->name, EXHIBIT__MODE__MODE_CONTROL, i + 1);
        if (control[i] != NULL && (control[i]->start->seq < run->start->seq) != (i == 0))
            finding_add(binding->findings,
                        "event %" PRIu64 ": control %" PRIu32 " of %s is on the wrong side of strict",
                        control[i]->start->seq, i + 1, told->name);
    }
    for (int target = 1; !binding->evidence->partial && run->exit != NULL && target < 5; target++) {
        const Exhibit__Event *set = ledger_before(ledger, EXHIBIT__EVENT__WHAT_TARGETS, 0, run->start->seq);
        const Exhibit__Event *before =
            ledger_before(ledger, EXHIBIT__EVENT__WHAT_TARGET_STATE, target, run->start->seq);

        if (set == NULL || before == NULL || before->seq < set->seq ||
            ledger_after(ledger, EXHIBIT__EVENT__WHAT_TARGET_STATE, target, run->exit->seq) == NULL)
            finding_add(binding->findings,
                        "run %" PRIu32 ": target %d was not set and looked at before, or not looked at after",
                        run->number, target);
    }
}

/* Before a run of the probe the targets show what the reset made them. */
static void binding_check_targets(struct binding *binding, const struct ledger_run *run)
{
    const struct ledger *ledger = &binding->ledger;
    const Exhibit__Event *set = ledger_before(ledger, EXHIBIT__EVENT__WHAT_TARGETS, 0, run->start->seq);

    for (int target = 1; ledger_is_trial(run) && set != NULL && target < 4; target++) {
        const Exhibit__Event *state = ledger_before(ledger, EXHIBIT__EVENT__WHAT_TARGET_STATE, target, run->start->seq);
        const Exhibit__Targets *made = set->targets;
        const ProtobufCBinaryData *content = target == 1   ? &made->canary_read
                                             : target == 2 ? &made->canary_link
                                                           : &made->write;
        struct digest digest;

        if (state == NULL || state->seq < set->seq || state->target_state->content_truncated)
            continue;
        digest = digest_of(content->data, content->len);
        if (!evidence_digest_is(&state->target_state->content_sha256, &digest))
            finding_add(binding->findings, "event %" PRIu64 ": target %d does not show what the reset made it",
                        state->seq, target);
    }
}

static void binding_check_log(struct binding *binding)
{
    const Exhibit__RecordingStart *start = binding->ledger.recording_start->recording_start;

    assert(start != NULL);
    if (binding->receipt->run_id.len != RUN_ID_BYTES || !evidence_same(&binding->receipt->run_id, &start->run_id))
        finding_add(binding->findings, "the receipt's run id is not that of the recording");
    for (size_t i = 0; i < binding->ledger.run_count; i++) {
        binding_check_life(binding, binding->ledger.runs[i]);
        binding_check_order(binding, binding->ledger.runs[i]);
        binding_check_targets(binding, binding->ledger.runs[i]);
    }
    binding_check_nonces(binding);
}

int binding_check(struct binding *binding, struct err *err)
{
    binding_check_log(binding);
    if (binding->plan != NULL)
        binding_check_plan(binding);
    if (binding->plan != NULL && binding_check_secrets(binding, err) < 0)
        return err->code;
    if (binding_check_flow(binding, err) < 0)
        return finding_of_error(binding->findings, "the event log", err);
    if (binding_check_content(binding, err) < 0)
        return finding_of_error(binding->findings, "recorded content", err);
    return 0;
}
