/*
 * Reading the log into a ledger.
 */
#include "verify/ledger.h"

#include "base/table.h"
#include "formats/message.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *ledger_mode_text(Exhibit__Mode mode)
{
    switch (mode) {
    case EXHIBIT__MODE__MODE_BASELINE:
        return "baseline";
    case EXHIBIT__MODE__MODE_STRICT:
        return "strict";
    case EXHIBIT__MODE__MODE_CONTROL:
        return "control";
    default:
        return "?";
    }
}

const char *ledger_role_text(Exhibit__Role role)
{
    switch (role) {
    case EXHIBIT__ROLE__ROLE_PARENT:
        return "parent";
    case EXHIBIT__ROLE__ROLE_CHILD:
        return "child";
    case EXHIBIT__ROLE__ROLE_GRANDCHILD:
        return "grandchild";
    default:
        return "?";
    }
}

static int ledger_list_add(struct ledger_list *list, Exhibit__Event *event, struct err *err)
{
    return table_add(&list->items, &list->count, &event, sizeof event, err);
}

struct ledger_run *ledger_run_numbered(struct ledger *ledger, uint32_t number)
{
    for (size_t i = 0; i < ledger->run_count; i++) {
        size_t at = (ledger->last_run + i) % ledger->run_count;

        if (ledger->runs[at]->number == number) {
            ledger->last_run = at; /* the next event is nearly always of the same run */
            return ledger->runs[at];
        }
    }
    return NULL;
}

/* DECISION 1.3. */
static void ledger_derive_nonces(struct ledger_run *run)
{
    const ProtobufCBinaryData *nonce = &ledger_told(run)->probe->nonce;

    hex_encode(nonce->data, NONCE_BYTES, run->nonces[EXHIBIT__ROLE__ROLE_PARENT]);
    for (int role = EXHIBIT__ROLE__ROLE_CHILD; role <= EXHIBIT__ROLE__ROLE_GRANDCHILD; role++) {
        char text[64];
        int size =
            snprintf(text, sizeof text, "exhibit %s %s", ledger_role_text((Exhibit__Role)role), run->nonces[role - 1]);
        struct digest digest = digest_of(text, (size_t)size);

        hex_encode(digest.bytes, NONCE_BYTES, run->nonces[role]);
    }
}

/* What a trial's rows are counted by must be usable before anything is sized by it. */
static int ledger_check_assignment(const Exhibit__Event *event, struct err *err)
{
    const Exhibit__ProbeAssignment *probe = event->run_start->probe;
    int before = EXHIBIT__ROLE__ROLE_NONE;

    if (probe == NULL || probe->nonce.len != NONCE_BYTES)
        return err_set(err, ERR_FORMAT, "event %" PRIu64 ": a trial's run has no nonce of %d bytes", event->seq,
                       NONCE_BYTES);
    for (size_t i = 0; i < probe->n_roles; i++) {
        int role = (int)probe->roles[i]->role;

        if (role <= before || role > EXHIBIT__ROLE__ROLE_GRANDCHILD)
            return err_set(err, ERR_FORMAT, "event %" PRIu64 ": the roles are not in their order, each once",
                           event->seq);
        if (probe->roles[i]->rounds < 1 || probe->roles[i]->rounds > LIMIT_ROUNDS)
            return err_set(err, ERR_FORMAT, "event %" PRIu64 ": %" PRIu32 " rounds are planned for %s", event->seq,
                           probe->roles[i]->rounds, ledger_role_text((Exhibit__Role)role));
        before = role;
    }
    if (probe->n_effects > LIMIT_EFFECTS || probe->n_ending > LIMIT_STEPS)
        return err_set(err, ERR_FORMAT, "event %" PRIu64 ": too many effects or steps", event->seq);
    return 0;
}

static int ledger_open_run(struct ledger *ledger, Exhibit__Event *event, struct err *err)
{
    const Exhibit__RunStart *told = event->run_start;
    struct ledger_run **runs, *run;

    assert(event->run != 0);
    if (event->what_case != EXHIBIT__EVENT__WHAT_RUN_START)
        return err_set(err, ERR_FORMAT,
                       "DECISION 1.1: event %" PRIu64 " belongs to run %" PRIu32 ", which has not started", event->seq,
                       event->run);
    if (ledger->run_count == LIMIT_RUNS)
        return err_set(err, ERR_LIMIT, "event %" PRIu64 ": more than %d runs", event->seq, LIMIT_RUNS);
    if (told->kind < EXHIBIT__RUN_KIND__RUN_LAUNCHER || told->kind > EXHIBIT__RUN_KIND__RUN_TRIAL ||
        told->mode < EXHIBIT__MODE__MODE_BASELINE || told->mode > EXHIBIT__MODE__MODE_CONTROL)
        return err_set(err, ERR_FORMAT, "event %" PRIu64 ": a run of an unknown kind or mode", event->seq);
    if (ledger_find(ledger, told->kind, told->name, told->mode, told->repeat) != NULL)
        return err_set(err, ERR_FORMAT, "DECISION 1.1: event %" PRIu64 " starts %s/%s %" PRIu32 " a second time",
                       event->seq, told->name, ledger_mode_text(told->mode), told->repeat);
    if (told->kind == EXHIBIT__RUN_KIND__RUN_TRIAL && ledger_check_assignment(event, err) < 0)
        return err->code;
    if (told->kind != EXHIBIT__RUN_KIND__RUN_TRIAL && told->probe != NULL)
        return err_set(err, ERR_FORMAT, "DECISION 1.1: event %" PRIu64 " assigns a probe to a run that is no trial",
                       event->seq);
    runs = reallocarray(ledger->runs, ledger->run_count + 1, sizeof(struct ledger_run *));
    if (runs == NULL)
        return err_set(err, ERR_SYSTEM, "out of memory");
    ledger->runs = runs;
    run = calloc(1, sizeof *run);
    if (run == NULL)
        return err_set(err, ERR_SYSTEM, "out of memory");
    runs[ledger->run_count++] = run;
    run->number = event->run;
    run->start = event;
    if (ledger_is_trial(run))
        ledger_derive_nonces(run);
    return 0;
}

static void ledger_note(struct ledger_run *run, const Exhibit__Event *event)
{
    if (event->what_case == EXHIBIT__EVENT__WHAT_SPAWNED && run->spawned == NULL)
        run->spawned = event;
    if (event->what_case == EXHIBIT__EVENT__WHAT_SPAWN_FAILED && run->spawn_failed == NULL)
        run->spawn_failed = event;
    if (event->what_case == EXHIBIT__EVENT__WHAT_RUN_EXIT && run->exit == NULL)
        run->exit = event;
    if (event->what_case == EXHIBIT__EVENT__WHAT_STREAM_END) {
        unsigned name = (unsigned)event->stream_end->stream;

        if (name < LEDGER_STREAMS && run->ends[name] == NULL)
            run->ends[name] = event->stream_end;
    }
}

/* Bulk facts, and processes that can be no role of a trial, are passed over. */
static bool ledger_wants(const struct ledger *ledger, const struct ledger_run *run, const Exhibit__Event *event)
{
    switch (event->what_case) {
    case EXHIBIT__EVENT__WHAT_CHUNK:
    case EXHIBIT__EVENT__WHAT_PHASE:
    case EXHIBIT__EVENT__WHAT_PROCESS_FORK:
    case EXHIBIT__EVENT__WHAT_PROCESS_EXEC:
        return false;
    case EXHIBIT__EVENT__WHAT_PROCESS_IDENTITY:
        return run != NULL && ledger_is_trial(run) && ledger->has_probe &&
               evidence_digest_is(&event->process_identity->executable_sha256, &ledger->probe);
    case EXHIBIT__EVENT__WHAT_PROCESS_EXIT:
    case EXHIBIT__EVENT__WHAT_PROCESS_GONE:
        return run != NULL && ledger_is_trial(run);
    default:
        return true;
    }
}

static int ledger_open(struct ledger *ledger, const Exhibit__Event *event, struct err *err)
{
    bool first = ledger->event_count == 1;

    if (first != (event->what_case == EXHIBIT__EVENT__WHAT_RECORDING_START))
        return err_set(err, ERR_FORMAT, "event %" PRIu64 ": the RecordingStart is the first event and no other",
                       event->seq);
    if (event->what_case == EXHIBIT__EVENT__WHAT_RUN_START && event->run == 0)
        return err_set(err, ERR_FORMAT, "DECISION 1.1: event %" PRIu64 " starts a run without a number", event->seq);
    for (size_t i = 0; first && i < event->recording_start->n_binaries; i++) {
        const Exhibit__Binary *binary = event->recording_start->binaries[i];

        if (!ledger->has_probe && strcmp(binary->name, "exhibit-probe") == 0)
            ledger->has_probe = digest_from(binary->sha256.data, binary->sha256.len, &ledger->probe);
    }
    return 0;
}

static int ledger_take(void *context, const Exhibit__Event *event, struct err *err)
{
    struct ledger *ledger = context;
    struct ledger_run *run = event->run == 0 ? NULL : ledger_run_numbered(ledger, event->run);
    ProtobufCMessage *message;
    Exhibit__Event *copy;

    ledger->event_count++;
    if (event->run != ledger->newest_run)
        ledger->elsewhere_seq = ledger->newest_seq;
    ledger->newest_run = event->run;
    ledger->newest_seq = event->seq;
    ledger->ended = event->what_case == EXHIBIT__EVENT__WHAT_RECORDING_END &&
                    event->recording_end->event_count == ledger->event_count;
    if (ledger_open(ledger, event, err) < 0)
        return err->code;
    if (run != NULL && event->what_case == EXHIBIT__EVENT__WHAT_RUN_START)
        return err_set(err, ERR_FORMAT, "DECISION 1.1: event %" PRIu64 " starts run %" PRIu32 " again", event->seq,
                       event->run);
    if (!ledger_wants(ledger, run, event) && (run != NULL || event->run == 0))
        return 0;
    if (message_copy(&ledger->arena, &event->base, &message, err) < 0)
        return err->code;
    copy = (Exhibit__Event *)message;
    if (ledger_list_add(&ledger->all, copy, err) < 0)
        return err->code;
    if ((size_t)copy->what_case < LEDGER_KINDS && ledger_list_add(&ledger->by_kind[copy->what_case], copy, err) < 0)
        return err->code;
    if (ledger->event_count == 1)
        ledger->recording_start = copy;
    if (event->run == 0)
        return 0;
    if (run == NULL) {
        if (ledger_open_run(ledger, copy, err) < 0)
            return err->code;
        run = ledger->runs[ledger->run_count - 1];
    }
    ledger_note(run, copy);
    return ledger_list_add(&run->events, copy, err);
}

int ledger_read(const struct evidence *evidence, struct ledger *out, struct err *err)
{
    int code;

    *out = (struct ledger){0};
    code = evidence->events(evidence->source, ledger_take, out, err);
    if (code < 0)
        return code;
    if (out->recording_start == NULL)
        return err_set(err, ERR_FORMAT, "the log has no event");
    return 0;
}

void ledger_done(struct ledger *ledger)
{
    table_free(ledger->all.items);
    for (size_t i = 0; i < LEDGER_KINDS; i++)
        table_free(ledger->by_kind[i].items);
    arena_done(&ledger->arena);
    for (size_t i = 0; i < ledger->run_count; i++) {
        table_free(ledger->runs[i]->events.items);
        free(ledger->runs[i]);
    }
    free(ledger->runs);
    *ledger = (struct ledger){0};
}

struct ledger_run *ledger_find(const struct ledger *ledger, Exhibit__RunKind kind, const char *name, Exhibit__Mode mode,
                               uint32_t repeat)
{
    for (size_t i = 0; i < ledger->run_count; i++) {
        const Exhibit__RunStart *told = ledger_told(ledger->runs[i]);

        if (told->kind == kind && told->mode == mode && told->repeat == repeat && strcmp(told->name, name) == 0)
            return ledger->runs[i];
    }
    return NULL;
}

const Exhibit__Event *ledger_before(const struct ledger *ledger, Exhibit__Event__WhatCase kind, int target,
                                    uint64_t seq)
{
    const struct ledger_list *list = &ledger->by_kind[kind];
    const Exhibit__Event *found = NULL;

    for (size_t i = 0; i < list->count && list->items[i]->seq < seq; i++)
        if (target == 0 || (int)list->items[i]->target_state->target == target)
            found = list->items[i];
    return found;
}

const Exhibit__Event *ledger_after(const struct ledger *ledger, Exhibit__Event__WhatCase kind, int target, uint64_t seq)
{
    const struct ledger_list *list = &ledger->by_kind[kind];

    for (size_t i = 0; i < list->count; i++)
        if (list->items[i]->seq > seq && (target == 0 || (int)list->items[i]->target_state->target == target))
            return list->items[i];
    return NULL;
}

const Exhibit__Event *ledger_next(const struct ledger_run *run, Exhibit__Event__WhatCase kind, size_t *position)
{
    while (*position < run->events.count) {
        const Exhibit__Event *event = run->events.items[(*position)++];

        if (event->what_case == kind)
            return event;
    }
    return NULL;
}

uint32_t ledger_rounds(const struct ledger_run *run, Exhibit__Role role)
{
    const Exhibit__ProbeAssignment *probe = ledger_told(run)->probe;

    assert(probe != NULL); /* checked when the run was opened */
    for (size_t i = 0; i < probe->n_roles; i++)
        if (probe->roles[i]->role == role)
            return probe->roles[i]->rounds;
    return 0;
}
