/*
 * The judge's entry: hands each event to whom it concerns. Knows the binding of a recording and its end, no other rule.
 */
#include "record/judge.h"

#include "record/judge_claim.h"
#include "record/judge_settle.h"
#include "record/judge_state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct judge *judge_new(const struct oracle *oracle)
{
    struct judge *judge = calloc(1, sizeof *judge);

    if (judge != NULL)
        judge->oracle = oracle;
    return judge;
}

/* Takes what the recording is bound to. */
static void start_take(struct judge *judge, const Exhibit__RecordingStart *start)
{
    (void)digest_from(start->oracle_sha256.data, start->oracle_sha256.len, &judge->recorded_oracle);
    judge->started = true;
    judge->network_namespace = start->host == NULL ? 0 : start->host->network_namespace;
    judge->pins_fit = true;
    for (size_t i = 0; i < start->n_pins; i++)
        if (start->pins[i]->seen_sha256.len != start->pins[i]->expected_sha256.len ||
            memcmp(start->pins[i]->seen_sha256.data, start->pins[i]->expected_sha256.data,
                   start->pins[i]->seen_sha256.len) != 0)
            judge->pins_fit = false;
    for (size_t i = 0; i < start->n_binaries; i++)
        if (strcmp(start->binaries[i]->name, "exhibit-probe") == 0)
            judge->has_probe =
                digest_from(start->binaries[i]->sha256.data, start->binaries[i]->sha256.len, &judge->probe);
}

static void stream_end_take(struct judge_run *run, const Exhibit__StreamEnd *end)
{
    if (end->stream >= JUDGE_STREAMS)
        return;
    run->stream_ended[end->stream] = true;
    run->stream_cut[end->stream] = end->how == EXHIBIT__STREAM_END__HOW__HOW_LIMIT;
    run->stream_digest[end->stream] = digest_of("", 0);
    if (end->content != NULL)
        (void)digest_from(end->content->sha256.data, end->content->sha256.len, &run->stream_digest[end->stream]);
}

int judge_take(struct judge *judge, const Exhibit__Event *event, const void *payload, size_t payload_bytes,
               struct err *err)
{
    struct judge_run *run = event->run == 0 ? NULL : judge_run_find(judge, event->run);
    int code;

    judge->event_count++;
    if (judge->listing_run != 0 && event->run != judge->listing_run) {
        judge_run_find(judge, judge->listing_run)->listed = true;
        judge->listing_run = 0;
    }
    /* Whatever comes after the end record takes this back. */
    judge->ended = event->what_case == EXHIBIT__EVENT__WHAT_RECORDING_END &&
                   event->recording_end->event_count == judge->event_count;
    if (event->what_case == EXHIBIT__EVENT__WHAT_RECORDING_START) {
        start_take(judge, event->recording_start);
        return 0;
    }
    if (event->what_case == EXHIBIT__EVENT__WHAT_RUN_START)
        return judge_run_start(judge, event, err);
    if (run != NULL && event->what_case == EXHIBIT__EVENT__WHAT_CHUNK)
        return judge_bytes_take(judge, run, event, payload, payload_bytes, err);
    if (run != NULL && event->what_case == EXHIBIT__EVENT__WHAT_STREAM_END) {
        stream_end_take(run, event->stream_end);
        return 0;
    }
    code = judge_evidence_take(judge, run, event, payload, payload_bytes, err);
    return code == 0 && run != NULL ? judge_process_take(judge, run, event, err) : code;
}

int judge_take_late(struct judge *judge, const Exhibit__Event *event, const void *bytes, size_t size_bytes,
                    struct err *err)
{
    struct judge_run *run = judge_run_find(judge, event->run);

    assert(event->what_case == EXHIBIT__EVENT__WHAT_CHUNK);
    return run == NULL ? 0 : judge_bytes_take(judge, run, event, bytes, size_bytes, err);
}

int judge_finish(struct judge *judge, const struct digest *receipt, Exhibit__Claim **out, struct err *err)
{
    judge_settle(judge);
    return judge_claim_make(judge, receipt, out, err);
}

void judge_free(struct judge *judge)
{
    if (judge == NULL)
        return;
    for (size_t i = 0; i < judge->run_count; i++)
        judge_run_free(judge->runs[i]);
    free(judge->runs);
    for (size_t i = 0; i < judge->message_count; i++)
        bytes_done(&judge->messages[i].payload);
    free(judge->messages);
    for (size_t i = 0; i < judge->canary_count; i++)
        bytes_done(&judge->canaries[i]);
    free(judge->canaries);
    free(judge->proofs);
    for (size_t i = 0; i < judge->input_count; i++)
        free(judge->inputs[i].name);
    free(judge->inputs);
    bytes_done(&judge->canary_read);
    bytes_done(&judge->canary_link);
    free(judge);
}
