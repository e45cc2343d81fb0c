/*
 * What the host sees: targets, listeners, inputs, artifacts. Keeps what section 3 and 5.2 of docs/DECISION.md will ask
 * for. Knows no outcome.
 */
#include "record/judge_state.h"

#include <stdlib.h>
#include <string.h>

static bool canary_is_known(const struct judge *judge, const ProtobufCBinaryData *content)
{
    for (size_t i = 0; i < judge->canary_count; i++)
        if (judge->canaries[i].size_bytes == content->len &&
            memcmp(judge->canaries[i].data, content->data, content->len) == 0)
            return true;
    return content->len == 0; /* nothing can be found everywhere */
}

static int canary_add(struct judge *judge, const ProtobufCBinaryData *content, struct bytes *current, struct err *err)
{
    bytes_done(current);
    if (bytes_add(current, content->data, content->len, LIMIT_EVENT_BYTES, err) < 0)
        return err->code;
    if (canary_is_known(judge, content))
        return 0;
    if (judge_grow(&judge->canaries, &judge->canary_room, judge->canary_count, sizeof *judge->canaries, err) < 0)
        return err->code;
    judge->canaries[judge->canary_count] = (struct bytes){0};
    if (bytes_add(&judge->canaries[judge->canary_count], content->data, content->len, LIMIT_EVENT_BYTES, err) < 0)
        return err->code;
    judge->canary_count++;
    if (content->len > judge->canary_max_bytes)
        judge->canary_max_bytes = content->len;
    return 0;
}

/* Reads the lines that rounds of this run left in the write target. */
static int written_take(struct judge_run *run, const uint8_t *content, size_t size_bytes, struct err *err)
{
    while (size_bytes > 0) {
        const uint8_t *newline = memchr(content, '\n', size_bytes);
        struct judge_written written;

        if (newline == NULL)
            return 0;
        if (judge_mark_parse(run, "write", (const char *)content, (size_t)(newline - content), &written.role,
                             &written.round)) {
            if (judge_grow(&run->written, &run->written_room, run->written_count, sizeof *run->written, err) < 0)
                return err->code;
            run->written[run->written_count++] = written;
        }
        size_bytes -= (size_t)(newline + 1 - content);
        content = newline + 1;
    }
    return 0;
}

static int target_take(struct judge *judge, const Exhibit__TargetState *state, const uint8_t *content,
                       size_t size_bytes, struct err *err)
{
    struct judge_target target = {.known = true,
                                  .exists = state->exists,
                                  .mode = state->mode,
                                  .size_bytes = state->size_bytes,
                                  .inode = state->inode,
                                  .mtime_ns = state->mtime_ns,
                                  .ctime_ns = state->ctime_ns};
    int name = (int)state->target;

    if (name < 1 || name >= JUDGE_TARGETS)
        return 0;
    (void)digest_from(state->content_sha256.data, state->content_sha256.len, &target.content);
    judge->targets[name] = target;
    judge->stale[name] = false;
    for (size_t i = 0; i < judge->run_count; i++) {
        struct judge_run *run = judge->runs[i];

        if ((!run->exited && !run->spawn_failed) || run->after[name].known)
            continue;
        run->after[name] = target;
        if (name == EXHIBIT__TARGET_NAME__TARGET_WRITE && run->kind == EXHIBIT__RUN_KIND__RUN_TRIAL &&
            written_take(run, content, size_bytes, err) < 0)
            return err->code;
    }
    return 0;
}

/* The targets were set anew: what was not looked at until now can not be looked at any more. */
static void reset_take(struct judge *judge)
{
    judge->targets_set = true;
    for (int name = 1; name < JUDGE_TARGETS; name++) {
        judge->stale[name] = true;
        for (size_t i = 0; i < judge->run_count; i++)
            if (judge->runs[i]->exited && !judge->runs[i]->after[name].known)
                judge->runs[i]->unlooked[name] = true;
    }
}

static int message_take(struct judge *judge, const Exhibit__Event *event, struct err *err)
{
    const Exhibit__Message *message = event->message;
    struct judge_message *taken;

    if (judge_grow(&judge->messages, &judge->message_room, judge->message_count, sizeof *judge->messages, err) < 0)
        return err->code;
    taken = &judge->messages[judge->message_count];
    *taken = (struct judge_message){.protocol = message->protocol,
                                    .run = event->run,
                                    .truncated = message->truncated,
                                    .at_ns = event->at_ns,
                                    .seq = event->seq};
    if (bytes_add(&taken->payload, message->payload.data, message->payload.len, LIMIT_EVENT_BYTES, err) < 0)
        return err->code;
    judge->message_count++;
    return 0;
}

static struct judge_input *input_of(struct judge *judge, const char *name, struct err *err)
{
    struct judge_input *input;

    for (size_t i = 0; i < judge->input_count; i++)
        if (strcmp(judge->inputs[i].name, name) == 0)
            return &judge->inputs[i];
    if (judge_grow(&judge->inputs, &judge->input_room, judge->input_count, sizeof *judge->inputs, err) < 0)
        return NULL;
    input = &judge->inputs[judge->input_count];
    *input = (struct judge_input){.name = strdup(name)};
    if (input->name == NULL) {
        err_set_errno(err, "memory for the judge");
        return NULL;
    }
    judge->input_count++;
    return input;
}

static int freeze_take(struct judge *judge, struct judge_run *run, const Exhibit__Freeze *freeze, struct err *err)
{
    struct digest digest;
    struct judge_input *input;

    if (!digest_from(freeze->list_sha256.data, freeze->list_sha256.len, &digest))
        return 0;
    if (freeze->moment == EXHIBIT__FREEZE_MOMENT__FREEZE_RUN_BEFORE && run != NULL && !run->has_frozen_before) {
        run->frozen_before = digest;
        run->has_frozen_before = true;
    }
    if (freeze->moment == EXHIBIT__FREEZE_MOMENT__FREEZE_RUN_AFTER && run != NULL && !run->has_frozen_after) {
        run->frozen_after = digest;
        run->has_frozen_after = true;
        judge->listing_run = run->number;
    }
    if (freeze->moment < 1 || freeze->moment > EXHIBIT__FREEZE_MOMENT__FREEZE_AFTER_STRICT)
        return 0;
    input = input_of(judge, freeze->input, err);
    if (input == NULL)
        return err->code;
    if (!input->has[freeze->moment]) {
        input->lists[freeze->moment] = digest;
        input->has[freeze->moment] = true;
    }
    return 0;
}

static int artifact_take(struct judge *judge, struct judge_run *run, const Exhibit__Event *event,
                         const uint8_t *content, size_t size_bytes, struct err *err)
{
    AUTO_BYTES struct bytes packed = {0};
    struct judge_digits digits = {0};
    size_t canary_count = run->exited ? run->canary_count : judge->canary_count;
    Exhibit__Artifact *copy;

    for (size_t i = 0; run->mode == EXHIBIT__MODE__MODE_STRICT && size_bytes > 0 && i < canary_count; i++)
        if (!run->leaked &&
            memmem(content, size_bytes, judge->canaries[i].data, judge->canaries[i].size_bytes) != NULL) {
            run->leaked = true;
            run->leaked_seq = event->seq;
        }
    if (run->mode == EXHIBIT__MODE__MODE_STRICT)
        judge_proofs_search(judge, run, &digits, content, size_bytes, event->seq);
    if (run->kind != EXHIBIT__RUN_KIND__RUN_CASE && run->kind != EXHIBIT__RUN_KIND__RUN_LAUNCHER)
        return 0;
    if (bytes_reserve(&packed, exhibit__artifact__get_packed_size(event->artifact), LIMIT_EVENT_BYTES, err) < 0 ||
        judge_grow(&run->artifacts, &run->artifact_room, run->artifact_count, sizeof(Exhibit__Artifact *), err) < 0)
        return err->code;
    packed.size_bytes = exhibit__artifact__pack(event->artifact, packed.data);
    copy = exhibit__artifact__unpack(NULL, packed.size_bytes, packed.data);
    if (copy == NULL)
        return err_set_errno(err, "memory for the judge");
    run->artifacts[run->artifact_count++] = copy;
    return 0;
}

/* Keeps the place of the first of a kind. */
static void first_note(uint64_t *first_seq, const Exhibit__Event *event)
{
    if (*first_seq == 0)
        *first_seq = event->seq;
}

int judge_evidence_take(struct judge *judge, struct judge_run *run, const Exhibit__Event *event, const uint8_t *payload,
                        size_t payload_bytes, struct err *err)
{
    switch (event->what_case) {
    case EXHIBIT__EVENT__WHAT_TARGETS:
        reset_take(judge);
        if (canary_add(judge, &event->targets->canary_read, &judge->canary_read, err) < 0)
            return err->code;
        return canary_add(judge, &event->targets->canary_link, &judge->canary_link, err);
    case EXHIBIT__EVENT__WHAT_TARGET_STATE:
        return target_take(judge, event->target_state, payload, payload_bytes, err);
    case EXHIBIT__EVENT__WHAT_FREEZE:
        return freeze_take(judge, run, event->freeze, err);
    case EXHIBIT__EVENT__WHAT_MESSAGE:
        if (run != NULL && event->message->protocol <= EXHIBIT__PROTOCOL__PROTOCOL_UDP)
            first_note(&run->messaged_seq[event->message->protocol], event);
        return message_take(judge, event, err);
    case EXHIBIT__EVENT__WHAT_ACCEPT:
        if (run != NULL)
            first_note(&run->accepted_seq, event);
        return 0;
    case EXHIBIT__EVENT__WHAT_FILE_EVENT:
        if (run != NULL && event->file_event->target < JUDGE_TARGETS)
            first_note(&run->touched_seq[event->file_event->target], event);
        return 0;
    case EXHIBIT__EVENT__WHAT_DROPS:
        if (event->drops->count > 0)
            first_note(&judge->dropped_seq, event);
        if (run != NULL && event->drops->protocol <= EXHIBIT__PROTOCOL__PROTOCOL_UDP)
            run->drops_seen[event->drops->protocol] = true;
        return 0;
    case EXHIBIT__EVENT__WHAT_LOST:
        first_note(run == NULL ? &judge->lost_seq : &run->lost_seq, event);
        return 0;
    case EXHIBIT__EVENT__WHAT_ARTIFACT:
        return run == NULL ? 0 : artifact_take(judge, run, event, payload, payload_bytes, err);
    default:
        return 0;
    }
}
