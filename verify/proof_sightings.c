/*
 * What the host saw by itself: messages, lines in the write target, changes and traces (DECISION 3.1 and 5.2).
 */
#include "verify/proof.h"

#include "base/cleanup.h"
#include "base/sort.h"
#include "base/table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static int proof_compare_marks(const void *a, const void *b)
{
    const struct proof_mark *left = a, *right = b;
    int order = memcmp(left->mark.nonce, right->mark.nonce, LEDGER_NONCE_DIGITS);

    if (order != 0)
        return order;
    return left->event->seq < right->event->seq ? -1 : left->event->seq > right->event->seq;
}

/* A message has the exact form when its payload is one line of its protocol's verb, and whole. */
static bool proof_read_mark(const Exhibit__Event *event, struct proof_mark *out)
{
    const Exhibit__Message *message = event->message;
    struct cursor text = {message->payload.data, message->payload.len};

    if (message->truncated || text.left_bytes == 0 || text.at[text.left_bytes - 1] != '\n')
        return false;
    text.left_bytes--;
    out->event = event;
    out->udp = message->protocol == EXHIBIT__PROTOCOL__PROTOCOL_UDP;
    if (!out->udp && message->protocol != EXHIBIT__PROTOCOL__PROTOCOL_TCP)
        return false;
    return spoken_mark_parse(out->udp ? "udp" : "tcp", text, &out->mark);
}

static void proof_collect_marks(struct proof *proof)
{
    const struct ledger_list *messages = &proof->ledger.by_kind[EXHIBIT__EVENT__WHAT_MESSAGE];
    struct proof_mark mark;
    struct err err;

    for (size_t i = 0; i < messages->count; i++)
        if (proof_read_mark(messages->items[i], &mark) &&
            table_add(&proof->marks, &proof->mark_count, &mark, sizeof mark, &err) < 0) {
            proof_no_memory(proof);
            return;
        }
    sort_rows(proof->marks, proof->mark_count, sizeof *proof->marks, proof_compare_marks);
}

const struct proof_mark *proof_marks_of(const struct proof *proof, const struct proof_run *run, Exhibit__Role role,
                                        size_t *count)
{
    const char *nonce = run->run->nonces[role];
    size_t low = 0, high = proof->mark_count, end;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (memcmp(proof->marks[middle].mark.nonce, nonce, LEDGER_NONCE_DIGITS) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (end = low; end < proof->mark_count; end++)
        if (memcmp(proof->marks[end].mark.nonce, nonce, LEDGER_NONCE_DIGITS) != 0)
            break;
    *count = end - low;
    return *count == 0 ? NULL : &proof->marks[low];
}

static void proof_hear_messages(struct proof *proof, struct proof_run *run, Exhibit__Role role)
{
    size_t count;
    const struct proof_mark *marks = proof_marks_of(proof, run, role, &count);

    for (size_t i = 0; i < count; i++) {
        if (marks[i].mark.role != role || marks[i].mark.round > run->spoken->rounds[role])
            continue;
        run->message_count[marks[i].udp ? 1 : 0]++;
        run->heard[role][marks[i].mark.round] |= (uint8_t)(1u << (marks[i].udp ? SPOKEN_UDP : SPOKEN_TCP));
    }
}

/* Only whole lines count: what stands after the last newline may be the beginning of another text. */
static void proof_hear_writes(struct proof_run *run, const struct bytes *content)
{
    struct cursor rest = {content->data, content->size_bytes}, line;
    struct spoken_mark mark;

    while (rest.left_bytes > 0) {
        const uint8_t *newline = memchr(rest.at, '\n', rest.left_bytes);

        if (newline == NULL)
            return;
        (void)cursor_take_bytes(&rest, (size_t)(newline - rest.at) + 1, &line);
        line.left_bytes--;
        if (spoken_mark_parse("write", line, &mark) && strcmp(mark.nonce, run->run->nonces[mark.role]) == 0 &&
            mark.round <= run->spoken->rounds[mark.role])
            run->heard[mark.role][mark.round] |= (uint8_t)(1u << SPOKEN_WRITE);
    }
}

static void proof_look_into_write(struct proof *proof, struct proof_run *run)
{
    const Exhibit__Event *end = run->run->exit != NULL ? run->run->exit : run->run->spawn_failed, *after;
    AUTO_BYTES struct bytes content = {0};
    struct digest digest;

    if (end == NULL)
        return;
    after =
        ledger_after(&proof->ledger, EXHIBIT__EVENT__WHAT_TARGET_STATE, EXHIBIT__TARGET_NAME__TARGET_WRITE, end->seq);
    if (after == NULL || !after->target_state->exists ||
        !digest_from(after->target_state->content_sha256.data, after->target_state->content_sha256.len, &digest))
        return;
    if (proof->evidence->object(proof->evidence->source, &digest, LIMIT_TARGET_BYTES, &content, proof->err) < 0) {
        (void)err_wrap(proof->err, "%s, content of target write", proof_event_text(after).text);
        proof_give_up(proof);
        return;
    }
    proof_hear_writes(run, &content);
}

static bool proof_states_equal(const Exhibit__TargetState *a, const Exhibit__TargetState *b)
{
    return a->exists == b->exists && a->mode == b->mode && a->size_bytes == b->size_bytes && a->inode == b->inode &&
           a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns &&
           evidence_same(&a->content_sha256, &b->content_sha256);
}

static void proof_find_changes(const struct proof *proof, struct proof_run *run)
{
    for (int target = 1; run->run->exit != NULL && target < PROOF_TARGETS; target++) {
        const Exhibit__Event *before =
            ledger_before(&proof->ledger, EXHIBIT__EVENT__WHAT_TARGET_STATE, target, run->run->start->seq);
        const Exhibit__Event *after =
            ledger_after(&proof->ledger, EXHIBIT__EVENT__WHAT_TARGET_STATE, target, run->run->exit->seq);

        run->changed[target] =
            before != NULL && after != NULL && !proof_states_equal(before->target_state, after->target_state);
    }
}

static void proof_find_traces(struct proof_run *run)
{
    for (size_t i = 0; i < run->run->events.count; i++) {
        const Exhibit__Event *event = run->run->events.items[i];

        if (event->what_case == EXHIBIT__EVENT__WHAT_ACCEPT)
            run->trace[SPOKEN_TCP] = true;
        if (event->what_case == EXHIBIT__EVENT__WHAT_MESSAGE)
            run->trace[event->message->protocol == EXHIBIT__PROTOCOL__PROTOCOL_UDP ? SPOKEN_UDP : SPOKEN_TCP] = true;
        if (event->what_case != EXHIBIT__EVENT__WHAT_FILE_EVENT)
            continue;
        if (event->file_event->target == EXHIBIT__TARGET_NAME__TARGET_CANARY_READ)
            run->trace[SPOKEN_READ] = true;
        if (event->file_event->target == EXHIBIT__TARGET_NAME__TARGET_CANARY_LINK)
            run->trace[SPOKEN_READ_LINK] = true;
        if (event->file_event->target == EXHIBIT__TARGET_NAME__TARGET_WRITE)
            run->trace[SPOKEN_WRITE] = true;
    }
    run->trace[SPOKEN_WRITE] = run->trace[SPOKEN_WRITE] || run->changed[EXHIBIT__TARGET_NAME__TARGET_WRITE];
}

bool proof_own_evidence(const struct proof_run *run, Exhibit__Role role, uint32_t round, size_t at)
{
    int effect = spoken_effect_index(proof_assignment(run)->effects[at]);

    assert(round >= 1 && round <= run->spoken->rounds[role]);
    if (effect == SPOKEN_READ || effect == SPOKEN_READ_LINK)
        return run->spoken->rows[role][round].told[at].proof_right;
    return effect >= 0 && (run->heard[role][round] & (1u << effect)) != 0;
}

/* An attempt is one of a row: what the host heard of a round that left no row explains nothing. */
static void proof_find_explained(struct proof_run *run)
{
    const Exhibit__ProbeAssignment *probe = proof_assignment(run);

    for (int role = 1; role < LEDGER_ROLES; role++) {
        for (uint32_t round = 1; round <= run->spoken->rounds[role]; round++) {
            for (size_t at = 0; run->spoken->rows[role][round].seq != 0 && at < probe->n_effects; at++) {
                int effect = spoken_effect_index(probe->effects[at]);

                if (effect >= 0 && proof_own_evidence(run, (Exhibit__Role)role, round, at))
                    run->explained[effect] = true;
            }
        }
    }
}

void proof_sightings(struct proof *proof)
{
    proof_collect_marks(proof);
    for (size_t i = 0; i < proof->ledger.run_count && !proof->failed; i++) {
        struct proof_run *run = &proof->runs[i];

        if (!ledger_is_trial(run->run))
            continue;
        for (int role = 1; role < LEDGER_ROLES; role++) {
            if (run->spoken->rounds[role] == 0)
                continue;
            run->heard[role] = calloc(run->spoken->rounds[role] + 1, 1);
            if (run->heard[role] == NULL) {
                proof_no_memory(proof);
                return;
            }
            proof_hear_messages(proof, run, (Exhibit__Role)role);
        }
        proof_look_into_write(proof, run);
        proof_find_changes(proof, run);
        proof_find_traces(run);
        proof_find_explained(run);
    }
}
