/*
 * From rows to attempts: each is looked up in what the host saw. Knows no outcome.
 */
#include "replay/attempts.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "replay/messages.h"
#include "replay/parse.h"
#include "replay/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What one run's attempts are compared with. */
struct evidence {
    const Exhibit__Targets *targets; /* as set last before the run; NULL: never */
    struct digest_run *hash;         /* for proofs */
    uint64_t write_seq;              /* of the state that `written` was read from */
    bool written[ROLE_ROOM][LIMIT_ROUNDS + 1];
};

static const Exhibit__Event *first_after(struct span span, uint64_t seq)
{
    size_t place = span_before(span, seq + 1);

    return place < span.count ? span.events[place] : NULL;
}

static const Exhibit__Event *last_before(struct span span, uint64_t seq)
{
    size_t place = span_before(span, seq);

    return place > 0 ? span.events[place - 1] : NULL;
}

/* The RunExit, or else the first SpawnFailed. NULL: the run has no end. */
static const Exhibit__Event *run_end(const struct tables *tables, const struct run *run)
{
    struct span failed = tables_of_run(tables, EXHIBIT__EVENT__WHAT_SPAWN_FAILED, run->number);

    if (run->exit != NULL)
        return run->exit;
    return failed.count > 0 ? failed.events[0] : NULL;
}

/* Reads which attempts of the run left their line in the target `write`. */
static int read_written(const struct facts *facts, const struct run *run, struct evidence *out, struct err *err)
{
    const Exhibit__Event *end = run_end(&facts->tables, run);
    const Exhibit__Event *state =
        end == NULL ? NULL : first_after(facts->state_of[EXHIBIT__TARGET_NAME__TARGET_WRITE], end->seq);
    AUTO_BYTES struct bytes content = {0};
    const char *at, *newline;
    struct digest digest;
    int code;

    if (state == NULL || !state->target_state->exists ||
        !digest_from(state->target_state->content_sha256.data, state->target_state->content_sha256.len, &digest))
        return 0;
    code = source_object(facts->source, &digest, LIMIT_TARGET_BYTES, &content, err);
    if (code < 0)
        return err_wrap(err, "event %" PRIu64 ": the content of a target", state->seq);
    out->write_seq = state->seq;
    at = (const char *)content.data;
    for (size_t left = content.size_bytes; left > 0 && (newline = memchr(at, '\n', left)) != NULL; at = newline + 1) {
        struct text text = {at, (size_t)(newline - at)};
        struct mark mark;

        left -= text.size_bytes + 1;
        if (text_take(&text, "EXHIBIT1 write ") && text_take_mark(&text, &mark) && text.size_bytes == 0 &&
            mark_is_of_run(&mark, run))
            out->written[mark.role][mark.round] = true;
    }
    return 0;
}

const ProtobufCBinaryData *targets_content(const Exhibit__Targets *targets, Exhibit__TargetName name)
{
    if (name == EXHIBIT__TARGET_NAME__TARGET_CANARY_READ)
        return &targets->canary_read;
    return name == EXHIBIT__TARGET_NAME__TARGET_CANARY_LINK ? &targets->canary_link : &targets->write;
}

Exhibit__TargetName effect_target(enum effect effect)
{
    static const Exhibit__TargetName targets[EFFECT_COUNT] = {
        [EFFECT_READ] = EXHIBIT__TARGET_NAME__TARGET_CANARY_READ,
        [EFFECT_READ_LINK] = EXHIBIT__TARGET_NAME__TARGET_CANARY_LINK,
        [EFFECT_WRITE] = EXHIBIT__TARGET_NAME__TARGET_WRITE,
    };

    return targets[effect];
}

/* Whether the row tells the right proof that its role read the canary. */
static bool row_proves(const struct run *run, const struct row *row, enum effect effect,
                       const struct evidence *evidence)
{
    const ProtobufCBinaryData *content;
    struct digest digest;
    char tail[NONCE_DIGITS + 16];
    int tail_bytes;

    if (row->first->told[effect].kind != TOLD_OK || evidence->targets == NULL)
        return false;
    content = targets_content(evidence->targets, effect_target(effect));
    tail_bytes = snprintf(tail, sizeof tail, " %s %" PRIu32, run->nonces[row->role], row->round);
    digest_run_reset(evidence->hash);
    digest_run_add(evidence->hash, content->data, content->len);
    digest_run_add(evidence->hash, tail, (size_t)tail_bytes);
    digest = digest_run_now(evidence->hash);
    return memcmp(digest.bytes, row->first->proofs[effect], DIGEST_BYTES) == 0;
}

/* DECISION 3.1, own evidence. */
static void find_evidence(const struct facts *facts, const struct run *run, const struct evidence *evidence,
                          struct attempt *attempt)
{
    const struct row *row = attempt->row;
    const struct message *message = NULL;

    switch (attempt->effect) {
    case EFFECT_READ:
    case EFFECT_READ_LINK:
        attempt->own_evidence = row_proves(run, row, attempt->effect, evidence);
        attempt->evidence_seq = attempt->own_evidence ? row->first->seq : 0;
        break;
    case EFFECT_WRITE:
        attempt->own_evidence = evidence->written[row->role][row->round];
        attempt->evidence_seq = attempt->own_evidence ? evidence->write_seq : 0;
        break;
    case EFFECT_TCP:
    case EFFECT_UDP:
        message = messages_of_round(
            facts, attempt->effect == EFFECT_TCP ? EXHIBIT__PROTOCOL__PROTOCOL_TCP : EXHIBIT__PROTOCOL__PROTOCOL_UDP,
            run, row->role, row->round);
        attempt->own_evidence = message != NULL;
        attempt->evidence_seq = message == NULL ? 0 : message->seq;
        break;
    case EFFECT_COUNT:
        break;
    }
}

static bool same_data(const ProtobufCBinaryData *a, const ProtobufCBinaryData *b)
{
    return a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

/* DECISION 5.2: which targets are not as they were. */
static void find_changes(const struct facts *facts, struct run *run)
{
    for (int target = 1; target < TARGET_ROOM && run->exit != NULL; target++) {
        const Exhibit__Event *before = last_before(facts->state_of[target], run->event->seq);
        const Exhibit__Event *after = first_after(facts->state_of[target], run->exit->seq);
        const Exhibit__TargetState *a, *b;

        if (before == NULL || after == NULL)
            continue;
        a = before->target_state;
        b = after->target_state;
        if (a->exists != b->exists || a->mode != b->mode || a->size_bytes != b->size_bytes || a->inode != b->inode ||
            a->mtime_ns != b->mtime_ns || a->ctime_ns != b->ctime_ns ||
            !same_data(&a->content_sha256, &b->content_sha256))
            run->derived->changed_seq[target] = after->seq;
    }
}

/* The first event that is a trace of the effect (DECISION 3.1); 0: none. */
static uint64_t find_trace(const struct facts *facts, const struct run *run, enum effect effect)
{
    Exhibit__Protocol protocol =
        effect == EFFECT_TCP ? EXHIBIT__PROTOCOL__PROTOCOL_TCP : EXHIBIT__PROTOCOL__PROTOCOL_UDP;
    struct span accepts = tables_of_run(&facts->tables, EXHIBIT__EVENT__WHAT_ACCEPT, run->number);
    struct span messages = tables_of_run(&facts->tables, EXHIBIT__EVENT__WHAT_MESSAGE, run->number);
    Exhibit__TargetName target = effect_target(effect);

    if (target != EXHIBIT__TARGET_NAME__TARGET_NONE) {
        if (run->derived->file_event_seq[target] != 0)
            return run->derived->file_event_seq[target];
        return effect == EFFECT_WRITE ? run->derived->changed_seq[target] : 0;
    }
    if (effect == EFFECT_TCP && accepts.count > 0)
        return accepts.events[0]->seq;
    for (size_t i = 0; i < messages.count; i++)
        if (messages.events[i]->message->protocol == protocol)
            return messages.events[i]->seq;
    return 0;
}

static void find_file_events(const struct facts *facts, struct run *run)
{
    struct span span = tables_of_run(&facts->tables, EXHIBIT__EVENT__WHAT_FILE_EVENT, run->number);

    for (size_t i = span.count; i-- > 0;) {
        int target = (int)span.events[i]->file_event->target;

        if (target > 0 && target < TARGET_ROOM)
            run->derived->file_event_seq[target] = span.events[i]->seq;
    }
}

/* Makes the attempts from the rows. */
static int make_attempts(struct facts *facts, struct run *run, const struct evidence *evidence, struct err *err)
{
    struct derived *derived = run->derived;
    bool explained[EFFECT_COUNT] = {false};

    derived->attempts =
        arena_take(&facts->tables.arena, (derived->row_count * run->effect_count + 1) * sizeof *derived->attempts);
    if (derived->attempts == NULL)
        return err_set(err, ERR_SYSTEM, "memory for the attempts of %zu rows", derived->row_count);
    for (size_t i = 0; i < derived->row_count; i++)
        for (size_t j = 0; j < run->effect_count; j++) {
            struct attempt *attempt = &derived->attempts[derived->attempt_count++];
            const struct row *row = &derived->rows[i];

            *attempt = (struct attempt){.row = row, .effect = run->effects[j]};
            attempt->told = row->first->told[attempt->effect];
            find_evidence(facts, run, evidence, attempt);
            explained[attempt->effect] |= attempt->own_evidence;
        }
    for (int effect = 0; effect < EFFECT_COUNT; effect++)
        if (!explained[effect])
            derived->unexplained_seq[effect] = find_trace(facts, run, (enum effect)effect);
    return 0;
}

int attempts_derive(struct facts *facts, struct run *run, struct err *err)
{
    AUTO_FREE struct evidence *evidence = calloc(1, sizeof *evidence);
    const Exhibit__Event *targets =
        last_before(tables_of_kind(&facts->tables, EXHIBIT__EVENT__WHAT_TARGETS), run->event->seq);
    int code;

    if (evidence == NULL || (evidence->hash = digest_run_new()) == NULL)
        return err_set(err, ERR_SYSTEM, "memory for a run");
    if (targets != NULL)
        evidence->targets = targets->targets;
    find_file_events(facts, run);
    find_changes(facts, run);
    code = read_written(facts, run, evidence, err);
    if (code == 0)
        code = make_attempts(facts, run, evidence, err);
    digest_run_free(evidence->hash);
    return code;
}
