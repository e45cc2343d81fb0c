/*
 * Plays the chunks of the probe's streams in the log's order, so that the first copy seen of a line is always the one
 * with the lowest sequence number. Holds one segment of each open stream at a time.
 */
#include "verify/spoken.h"

#include "base/cleanup.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One stream of one run, read as its chunks ask for bytes. */
struct spoken_flow {
    size_t run;
    const Exhibit__Stream *stream;
    size_t next_segment;
    struct bytes segment;
    size_t used_bytes;
    uint64_t offset_bytes;
    uint8_t line[LIMIT_LINE_BYTES];
    size_t line_bytes;
    bool line_too_long;
};

struct spoken_reading {
    const struct evidence *evidence;
    struct ledger *ledger;
    struct spoken *all;
    struct spoken_flow **flows; /* LEDGER_STREAMS for each run; NULL until its first chunk */
};

struct digest spoken_proof(const ProtobufCBinaryData *canary, const char *nonce, uint32_t round)
{
    AUTO_BYTES struct bytes text = {0};
    char tail[64];
    struct err err;
    int size = snprintf(tail, sizeof tail, " %s %" PRIu32, nonce, round);

    /* A digest of what there was no memory for would accuse nobody: an all-zero one equals no honest proof. */
    if (bytes_add(&text, canary->data, canary->len, SIZE_MAX, &err) < 0 ||
        bytes_add(&text, tail, (size_t)size, SIZE_MAX, &err) < 0)
        return (struct digest){0};
    return digest_of(text.data, text.size_bytes);
}

static struct spoken_arrival *spoken_slot(struct spoken_arrival *table, size_t slots, const struct digest *line)
{
    size_t at;

    assert(slots > 0 && (slots & (slots - 1)) == 0); /* a mask cuts the digest down to a slot */
    memcpy(&at, line->bytes, sizeof at);
    for (at &= slots - 1; table[at].seq != 0 && !digest_equal(&table[at].line, line);)
        at = (at + 1) & (slots - 1);
    return &table[at];
}

static int spoken_arrive(struct spoken *spoken, const struct spoken_arrival *arrival, struct err *err)
{
    struct spoken_arrival *slot;

    if (spoken->arrival_count * 2 >= spoken->slots) {
        size_t slots = spoken->slots == 0 ? 64 : spoken->slots * 2;
        size_t size_bytes = slots * sizeof(struct spoken_arrival);
        struct bytes memory = {0};
        struct spoken_arrival *grown;

        if (bytes_reserve(&memory, size_bytes, SIZE_MAX - 1, err) < 0)
            return err->code;
        grown = memset(memory.data, 0, size_bytes);
        for (size_t i = 0; i < spoken->slots; i++)
            if (spoken->arrivals[i].seq != 0)
                *spoken_slot(grown, slots, &spoken->arrivals[i].line) = spoken->arrivals[i];
        bytes_done(&spoken->arrival_memory);
        spoken->arrival_memory = memory;
        spoken->arrivals = grown;
        spoken->slots = slots;
    }
    slot = spoken_slot(spoken->arrivals, spoken->slots, &arrival->line);
    if (slot->seq == 0) {
        *slot = *arrival;
        spoken->arrival_count++;
    }
    return 0;
}

/* Marks the proofs of a row that are right: the canaries are what the last reset before the run made them. */
static void spoken_check_proofs(struct spoken_reading *reading, size_t run_index, struct spoken_line *line)
{
    const struct ledger_run *run = reading->ledger->runs[run_index];
    const Exhibit__ProbeAssignment *probe = ledger_told(run)->probe;
    const Exhibit__Event *set = ledger_before(reading->ledger, EXHIBIT__EVENT__WHAT_TARGETS, 0, run->start->seq);
    struct spoken *spoken = &reading->all[run_index];

    for (size_t i = 0; set != NULL && i < probe->n_effects; i++) {
        bool is_link = spoken_effect_index(probe->effects[i]) == SPOKEN_READ_LINK;
        const ProtobufCBinaryData *canary = is_link ? &set->targets->canary_link : &set->targets->canary_read;
        struct digest right;

        if (line->told[i].kind != SPOKEN_PROOF)
            continue;
        right = spoken_proof(canary, run->nonces[line->role], line->round);
        line->told[i].proof_right = memcmp(right.bytes, line->told[i].proof, DIGEST_BYTES) == 0;
        if (line->told[i].proof_right && spoken->right_proofs++ == 0)
            (void)snprintf(spoken->first_proof, sizeof spoken->first_proof, "%s/%" PRIu32, ledger_role_text(line->role),
                           line->round);
    }
}

static int spoken_take_line(struct spoken_reading *reading, struct spoken_flow *flow, const Exhibit__Event *chunk,
                            struct err *err)
{
    const struct ledger_run *run = reading->ledger->runs[flow->run];
    size_t effects = ledger_told(run)->probe->n_effects;
    struct spoken *spoken = &reading->all[flow->run];
    struct spoken_line line;
    struct spoken_arrival arrival = {.seq = chunk->seq, .at_ns = chunk->at_ns};
    struct spoken_row *row;

    if (!spoken_line_parse(run, (struct cursor){flow->line, flow->line_bytes}, &line))
        return 0;
    arrival.role = line.role;
    arrival.line = digest_of(flow->line, flow->line_bytes);
    if (spoken_arrive(spoken, &arrival, err) < 0)
        return err->code;
    if (line.kind == SPOKEN_TRY)
        return 0;
    row = &spoken->rows[line.role][line.round];
    if (row->seq != 0) {
        row->contested = row->contested || !digest_equal(&row->line, &arrival.line);
        return 0;
    }
    assert(line.round >= 1 && line.round <= spoken->rounds[line.role]);
    spoken_check_proofs(reading, flow->run, &line);
    row->told = calloc(effects + 1, sizeof *row->told);
    if (row->told == NULL)
        return err_set(err, ERR_SYSTEM, "out of memory");
    memcpy(row->told, line.told, effects * sizeof *row->told);
    row->seq = chunk->seq;
    row->at_ns = chunk->at_ns;
    row->line = arrival.line;
    spoken->row_count++;
    spoken->role_rows[line.role]++;
    return 0;
}

static int spoken_take_bytes(struct spoken_reading *reading, struct spoken_flow *flow, const Exhibit__Event *chunk,
                             struct cursor bytes, struct err *err)
{
    while (bytes.left_bytes > 0) {
        const uint8_t *newline = memchr(bytes.at, '\n', bytes.left_bytes);
        size_t size_bytes = newline == NULL ? bytes.left_bytes : (size_t)(newline - bytes.at);
        struct cursor part = bytes;

        /* The newline counts: a line of LIMIT_LINE_BYTES has one byte less before it. */
        if (flow->line_bytes + size_bytes >= LIMIT_LINE_BYTES)
            flow->line_too_long = true;
        (void)cursor_take_bytes(&bytes, size_bytes, &part);
        if (!flow->line_too_long && size_bytes > 0) {
            memcpy(flow->line + flow->line_bytes, part.at, size_bytes);
            flow->line_bytes += size_bytes;
        }
        if (newline == NULL)
            return 0;
        (void)cursor_take_bytes(&bytes, 1, &part);
        if (!flow->line_too_long && spoken_take_line(reading, flow, chunk, err) < 0)
            return err->code;
        flow->line_bytes = 0;
        flow->line_too_long = false;
    }
    return 0;
}

/* Has the next bytes of the flow's stream ready, at most `want`. */
static int spoken_more(struct spoken_reading *reading, struct spoken_flow *flow, uint64_t want, struct cursor *out,
                       struct err *err)
{
    size_t left = flow->segment.size_bytes - flow->used_bytes;

    while (left == 0) {
        const Exhibit__Segment *segment;
        struct digest digest;

        if (flow->next_segment >= flow->stream->n_segments)
            return err_set(err, ERR_FORMAT, "a chunk lies beyond the end of its stream");
        segment = flow->stream->segments[flow->next_segment++];
        if (!digest_from(segment->sha256.data, segment->sha256.len, &digest))
            return err_set(err, ERR_FORMAT, "a segment's digest is not of %d bytes", DIGEST_BYTES);
        if (reading->evidence->object(reading->evidence->source, &digest, LIMIT_SEGMENT_BYTES, &flow->segment, err) < 0)
            return err->code;
        flow->used_bytes = 0;
        left = flow->segment.size_bytes;
    }
    *out = (struct cursor){flow->segment.data + flow->used_bytes, want < left ? (size_t)want : left};
    flow->used_bytes += out->left_bytes;
    return 0;
}

/* The flow that a chunk belongs to; NULL where its stream holds no lines or was not kept to an end. */
static int spoken_flow_of(struct spoken_reading *reading, const Exhibit__Event *event, struct spoken_flow **out,
                          struct err *err)
{
    unsigned name = (unsigned)event->chunk->stream;
    struct ledger_run *run = ledger_run_numbered(reading->ledger, event->run);
    struct spoken_flow **slot;

    *out = NULL;
    if (run == NULL || !ledger_is_trial(run) || name >= LEDGER_STREAMS || run->ends[name] == NULL ||
        run->ends[name]->content == NULL)
        return 0;
    if (name != EXHIBIT__STREAM_NAME__STREAM_STDOUT && name < EXHIBIT__STREAM_NAME__STREAM_SCRATCH_PARENT)
        return 0;
    slot = &reading->flows[reading->ledger->last_run * LEDGER_STREAMS + name];
    if (*slot == NULL) {
        *slot = calloc(1, sizeof **slot);
        if (*slot == NULL)
            return err_set(err, ERR_SYSTEM, "out of memory");
        (*slot)->run = reading->ledger->last_run;
        (*slot)->stream = run->ends[name]->content;
    }
    *out = *slot;
    return 0;
}

/* Gives back the memory of a stream that is at its end; a chunk that follows all the same finds no segment left. */
static void spoken_close(struct spoken_reading *reading, const Exhibit__Event *event)
{
    unsigned name = (unsigned)event->stream_end->stream;
    struct spoken_flow *flow;

    if (name >= LEDGER_STREAMS || ledger_run_numbered(reading->ledger, event->run) == NULL)
        return;
    flow = reading->flows[reading->ledger->last_run * LEDGER_STREAMS + name];
    if (flow == NULL)
        return;
    bytes_done(&flow->segment);
    flow->used_bytes = 0;
    flow->next_segment = flow->stream->n_segments;
}

static int spoken_take_event(void *context, const Exhibit__Event *event, struct err *err)
{
    struct spoken_reading *reading = context;
    struct spoken_flow *flow = NULL;
    uint64_t left;

    if (event->what_case == EXHIBIT__EVENT__WHAT_STREAM_END)
        spoken_close(reading, event);
    if (event->what_case != EXHIBIT__EVENT__WHAT_CHUNK)
        return 0;
    if (spoken_flow_of(reading, event, &flow, err) < 0)
        return err->code;
    if (flow == NULL)
        return 0;
    if (event->chunk->offset_bytes != flow->offset_bytes)
        return err_set(err, ERR_FORMAT,
                       "event %" PRIu64 ": the chunk begins at %" PRIu64 " where its stream is at %" PRIu64, event->seq,
                       event->chunk->offset_bytes, flow->offset_bytes);
    flow->offset_bytes += event->chunk->size_bytes;
    for (left = event->chunk->size_bytes; left > 0;) {
        struct cursor bytes = {0};

        if (spoken_more(reading, flow, left, &bytes, err) < 0)
            return err_wrap(err, "event %" PRIu64, event->seq);
        left -= bytes.left_bytes;
        if (spoken_take_bytes(reading, flow, event, bytes, err) < 0)
            return err->code;
    }
    return 0;
}

static int spoken_prepare(struct ledger *ledger, struct spoken *all, struct err *err)
{
    for (size_t i = 0; i < ledger->run_count; i++) {
        for (int role = 1; ledger_is_trial(ledger->runs[i]) && role < LEDGER_ROLES; role++) {
            uint32_t rounds = ledger_rounds(ledger->runs[i], (Exhibit__Role)role);

            all[i].rounds[role] = rounds;
            if (rounds == 0)
                continue;
            all[i].rows[role] = calloc(rounds + 1, sizeof(struct spoken_row));
            if (all[i].rows[role] == NULL)
                return err_set(err, ERR_SYSTEM, "out of memory");
        }
    }
    return 0;
}

int spoken_read(const struct evidence *evidence, struct ledger *ledger, struct spoken **out, struct err *err)
{
    size_t flow_count = ledger->run_count * LEDGER_STREAMS;
    struct spoken_reading reading = {.evidence = evidence, .ledger = ledger};
    int code = 0;

    reading.all = calloc(ledger->run_count + 1, sizeof *reading.all);
    reading.flows = calloc(flow_count + 1, sizeof(struct spoken_flow *));
    if (reading.all == NULL || reading.flows == NULL)
        code = err_set(err, ERR_SYSTEM, "out of memory");
    if (code == 0)
        code = spoken_prepare(ledger, reading.all, err);
    if (code == 0)
        code = evidence->events(evidence->source, spoken_take_event, &reading, err);
    for (size_t i = 0; reading.flows != NULL && i < flow_count; i++) {
        if (reading.flows[i] != NULL)
            bytes_done(&reading.flows[i]->segment);
        free(reading.flows[i]);
    }
    free(reading.flows);
    if (code < 0)
        spoken_free(reading.all, ledger->run_count);
    else
        *out = reading.all;
    return code;
}

void spoken_free(struct spoken *all, size_t run_count)
{
    for (size_t i = 0; all != NULL && i < run_count; i++) {
        for (int role = 1; role < LEDGER_ROLES; role++) {
            for (uint32_t round = 0; all[i].rows[role] != NULL && round <= all[i].rounds[role]; round++)
                free(all[i].rows[role][round].told);
            free(all[i].rows[role]);
        }
        bytes_done(&all[i].arrival_memory);
    }
    free(all);
}
