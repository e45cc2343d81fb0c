/*
 * Reads a bundle of one recording with short streams, of trials of the role parent alone; anything else ends the
 * program.
 */
#include "base.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ALL_BYTES (64u << 20)

struct reading {
    struct base *base;
    enum variant variant;
    struct pack *pack;
    Exhibit__Event **events;
    size_t room;
};

_Noreturn void base_fail(const char *what, const char *why)
{
    (void)fprintf(stderr, "spread: %s: %s\n", what, why);
    exit(2);
}

static void must(int code, const char *what, const struct err *err)
{
    if (code < 0)
        base_fail(what, err->text);
}

static void *grown(void *from, size_t count, size_t size_bytes)
{
    void *to = reallocarray(from, count, size_bytes);

    if (to == NULL)
        base_fail("memory", "none is left");
    return to;
}

static size_t add_pair(struct base *base, const void *old, size_t size_bytes)
{
    struct pair *pair;

    if (size_bytes > sizeof pair->old)
        base_fail("the bundle", "a longer text than expected");
    base->pairs = grown(base->pairs, base->pair_count + 1, sizeof *pair);
    pair = &base->pairs[base->pair_count];
    *pair = (struct pair){.size_bytes = size_bytes, .digest_of = SIZE_MAX};
    memcpy(pair->old, old, size_bytes);
    memcpy(pair->new, old, size_bytes);
    return base->pair_count++;
}

void proof_make(const struct bytes *canary, const char *nonce, unsigned round, char *out)
{
    struct bytes text = {0};
    struct err err = {0};
    struct digest digest;
    char end[64];
    int length = snprintf(end, sizeof end, " %s %u", nonce, round);

    must(bytes_add(&text, canary->data, canary->size_bytes, ALL_BYTES, &err), "memory", &err);
    must(bytes_add(&text, end, (size_t)length, ALL_BYTES, &err), "memory", &err);
    digest = digest_of(text.data, text.size_bytes);
    hex_encode(digest.bytes, DIGEST_BYTES, out);
    bytes_done(&text);
}

/* ---- reading ---- */

static int take_event(void *context, const Exhibit__Event *event, struct err *err)
{
    struct reading *reading = context;
    struct bytes packed = {0};
    ProtobufCMessage *message = NULL;

    if (event->what_case == EXHIBIT__EVENT__WHAT_LOG_LINK) /* a log that is made anew has one segment */
        return 0;
    must(message_pack(&event->base, LIMIT_EVENT_BYTES, &packed, err), "an event", err);
    must(message_unpack(&exhibit__event__descriptor, packed.data, packed.size_bytes, &message, err), "an event", err);
    bytes_done(&packed);
    reading->events = grown(reading->events, reading->base->event_count + 1, sizeof(Exhibit__Event *));
    reading->events[reading->base->event_count++] = (Exhibit__Event *)message;
    return 0;
}

static size_t find_object(const struct base *base, const ProtobufCBinaryData *digest)
{
    for (size_t i = 0; i < base->object_count; i++)
        if (digest->len == DIGEST_BYTES && memcmp(base->objects[i].digest.bytes, digest->data, DIGEST_BYTES) == 0)
            return i;
    return SIZE_MAX;
}

static void read_part(struct pack *pack, enum pack_part part, struct base_object **out, size_t *out_count)
{
    struct err err = {0};

    *out_count = pack_object_count(pack, part);
    *out = grown(NULL, *out_count + 1, sizeof **out);
    for (uint32_t i = 0; i < *out_count; i++) {
        struct base_object *object = &(*out)[i];

        *object = (struct base_object){.digest = pack_object_at(pack, part, i).digest};
        must(pack_read(pack, part, &object->digest, ALL_BYTES, &object->content.bytes, &err), "an object", &err);
    }
}

/* Takes what is made anew out of the objects. */
static void drop_object(struct base *base, const uint8_t *digest)
{
    ProtobufCBinaryData data = {DIGEST_BYTES, (uint8_t *)digest};
    size_t found = find_object(base, &data);

    if (found == SIZE_MAX)
        base_fail("the bundle", "an object is missing");
    bytes_done(&base->objects[found].content.bytes);
    base->objects[found] = base->objects[--base->object_count];
}

/* The whole content of a stream that is one segment. */
static size_t stream_object(const struct reading *reading, uint32_t run, Exhibit__StreamName name)
{
    for (size_t i = 0; i < reading->base->event_count; i++) {
        const Exhibit__Event *event = reading->events[i];

        if (event->what_case == EXHIBIT__EVENT__WHAT_STREAM_END && event->run == run &&
            event->stream_end->stream == name && event->stream_end->content->n_segments == 1)
            return find_object(reading->base, &event->stream_end->content->segments[0]->sha256);
    }
    base_fail("the bundle", "a stream of more than one segment, or none");
}

/* What an event stands for. */
static void find_payload(const struct reading *reading, const Exhibit__Event *event, struct base_event *out)
{
    out->object = SIZE_MAX;
    if (event->what_case == EXHIBIT__EVENT__WHAT_CHUNK) {
        out->object = stream_object(reading, event->run, event->chunk->stream);
        out->offset_bytes = event->chunk->offset_bytes;
        out->size_bytes = event->chunk->size_bytes;
        return;
    }
    if (event->what_case == EXHIBIT__EVENT__WHAT_TARGET_STATE)
        out->object = find_object(reading->base, &event->target_state->content_sha256);
    if (event->what_case == EXHIBIT__EVENT__WHAT_ARTIFACT && event->artifact->kept)
        out->object = find_object(reading->base, &event->artifact->sha256);
    if (out->object != SIZE_MAX)
        out->size_bytes = reading->base->objects[out->object].content.bytes.size_bytes;
}

/* ---- variants ---- */

static bool is_strict_of(const struct reading *reading, uint32_t run, Exhibit__RunKind kind)
{
    for (size_t i = 0; i < reading->base->event_count; i++) {
        const Exhibit__Event *event = reading->events[i];

        if (event->what_case == EXHIBIT__EVENT__WHAT_RUN_START && event->run == run)
            return event->run_start->kind == kind && event->run_start->mode == EXHIBIT__MODE__MODE_STRICT;
    }
    return false;
}

/* Changes the errno that a probe in strict mode was told of reading, in every object that holds it. */
static void change_told(struct base *base)
{
    static const char old[] = " read=errno:13 ", new[] = " read=errno:28 "; /* no space left: no denial */

    for (size_t i = 0; i < base->object_count; i++) {
        struct bytes *bytes = &base->objects[i].content.bytes;
        uint8_t *at = memmem(bytes->data, bytes->size_bytes, old, sizeof old - 1);

        if (at == NULL || memcmp(bytes->data, "EXHIBIT1 try ", 13) != 0)
            continue;
        memcpy(at, new, sizeof new - 1);
    }
}

/* Changes one fact. False: this event is not the one. `after` is whether the strict trial is over. */
static bool change_event(const struct reading *reading, Exhibit__Event *event, bool after)
{
    bool of_case = is_strict_of(reading, event->run, EXHIBIT__RUN_KIND__RUN_CASE);
    bool of_trial = is_strict_of(reading, event->run, EXHIBIT__RUN_KIND__RUN_TRIAL);

    switch (reading->variant) {
    case VARIANT_EXIT:
        if (!of_case || event->what_case != EXHIBIT__EVENT__WHAT_RUN_EXIT)
            return false;
        event->run_exit->how_case = EXHIBIT__RUN_EXIT__HOW_EXIT_STATUS;
        event->run_exit->exit_status = 7;
        return true;
    case VARIANT_DROPS:
        if (!of_trial || event->what_case != EXHIBIT__EVENT__WHAT_DROPS)
            return false;
        event->drops->count = 3;
        return true;
    case VARIANT_TOUCHED:
        if (!after || event->what_case != EXHIBIT__EVENT__WHAT_TARGET_STATE ||
            event->target_state->target != EXHIBIT__TARGET_NAME__TARGET_WRITE)
            return false;
        event->target_state->mtime_ns += 1000;
        return true;
    case VARIANT_LEFT:
        if (!of_case || event->what_case != EXHIBIT__EVENT__WHAT_ALL_GONE)
            return false;
        event->all_gone->remaining = 1;
        return true;
    default:
        return true;
    }
}

/* ---- places ---- */

/* Notes each place in some bytes where one of the pairs stands. */
static void find_places(const struct base *base, struct patched *patched)
{
    for (size_t i = 0; i < base->pair_count; i++) {
        const struct pair *pair = &base->pairs[i];
        uint8_t *from = patched->bytes.data, *end = from + patched->bytes.size_bytes, *at;

        for (; from != NULL && (at = memmem(from, (size_t)(end - from), pair->old, pair->size_bytes)) != NULL;
             from = at + 1) {
            patched->places = grown(patched->places, patched->place_count + 1, sizeof *patched->places);
            patched->places[patched->place_count++] = (struct place){(size_t)(at - patched->bytes.data), i};
        }
    }
}

static void find_all_places(struct base *base)
{
    size_t digests = base->pair_count;

    for (size_t level = 0, added = 1; added > 0; level++) { /* an object may name another by its digest */
        added = 0;
        for (size_t i = 0; i < base->object_count; i++) {
            struct patched *content = &base->objects[i].content;
            bool known = content->place_count > 0;
            size_t pair;

            free(content->places);
            content->places = NULL;
            content->place_count = 0;
            find_places(base, content);
            if (known || content->place_count == 0)
                continue;
            pair = add_pair(base, base->objects[i].digest.bytes, DIGEST_BYTES);
            base->pairs[pair].digest_of = i;
            added++;
        }
        if (level > 4)
            base_fail("the bundle", "objects that name objects that name objects");
    }
    if (digests == base->pair_count)
        base_fail("the bundle", "no object holds a nonce");
    for (size_t i = 0; i < base->event_count; i++)
        find_places(base, &base->events[i].rest);
}

/* The pairs of a trial run: its nonce in both forms, and the proofs that rest on it. */
static void add_trial(struct base *base, const Exhibit__RunStart *start, const Exhibit__Targets *targets)
{
    const Exhibit__ProbeAssignment *probe = start->probe;
    const ProtobufCBinaryData *canaries[] = {&targets->canary_read, &targets->canary_link};
    char digits[2 * NONCE_BYTES + 1], proof[2 * DIGEST_BYTES + 1];
    size_t *pairs = base->nonce_pairs[base->nonce_count++];

    if (probe->n_roles != 1 || base->nonce_count > sizeof base->nonce_pairs / sizeof base->nonce_pairs[0])
        base_fail("the bundle", "trials of the role parent alone are expected, and few");
    hex_encode(probe->nonce.data, NONCE_BYTES, digits);
    pairs[0] = add_pair(base, probe->nonce.data, NONCE_BYTES);
    pairs[1] = add_pair(base, digits, strlen(digits));
    for (unsigned round = 1; round <= probe->roles[0]->rounds; round++)
        for (size_t i = 0; i < 2; i++) {
            struct base_proof *made;
            struct err err = {0};

            base->proofs = grown(base->proofs, base->proof_count + 1, sizeof *made);
            made = &base->proofs[base->proof_count++];
            *made = (struct base_proof){.nonce_pair = pairs[1], .round = round};
            must(bytes_add(&made->canary, canaries[i]->data, canaries[i]->len, ALL_BYTES, &err), "memory", &err);
            proof_make(&made->canary, digits, round, proof);
            made->proof_pair = add_pair(base, proof, strlen(proof));
        }
}

static void add_pairs(const struct reading *reading)
{
    struct base *base = reading->base;
    const Exhibit__RecordingStart *start = reading->events[0]->recording_start;
    const Exhibit__Targets *targets = NULL;

    base->run_id = add_pair(base, start->run_id.data, start->run_id.len);
    base->boot_id = add_pair(base, start->host->boot_id, strlen(start->host->boot_id));
    base->name = add_pair(base, start->experiment, strlen(start->experiment));
    for (size_t i = 0; i < base->event_count; i++) {
        if (reading->events[i]->what_case == EXHIBIT__EVENT__WHAT_TARGETS)
            targets = reading->events[i]->targets;
        if (reading->events[i]->what_case == EXHIBIT__EVENT__WHAT_RUN_START &&
            reading->events[i]->run_start->kind == EXHIBIT__RUN_KIND__RUN_TRIAL && targets != NULL)
            add_trial(base, reading->events[i]->run_start, targets);
    }
}

/* The packed event without its number and time, which come first. */
static void pack_rest(Exhibit__Event *event, struct base_event *out)
{
    struct err err = {0};

    out->at_ns = event->at_ns;
    event->seq = 0;
    event->at_ns = 0;
    must(message_pack(&event->base, LIMIT_EVENT_BYTES, &out->rest.bytes, &err), "an event", &err);
}

static void read_events(struct reading *reading)
{
    struct base *base = reading->base;
    bool changed = reading->variant == VARIANT_TOLD || reading->variant == VARIANT_AS_RECORDED;
    bool after = false;

    add_pairs(reading);
    base->events = grown(NULL, base->event_count, sizeof *base->events);
    for (size_t i = 0; i < base->event_count; i++) {
        if (reading->events[i]->what_case == EXHIBIT__EVENT__WHAT_RECORDING_END)
            reading->events[i]->recording_end->event_count = base->event_count;
        base->events[i] = (struct base_event){0};
        find_payload(reading, reading->events[i], &base->events[i]);
    }
    for (size_t i = 0; i < base->event_count && !changed; i++) {
        after = after || (reading->events[i]->what_case == EXHIBIT__EVENT__WHAT_RUN_EXIT &&
                          is_strict_of(reading, reading->events[i]->run, EXHIBIT__RUN_KIND__RUN_TRIAL));
        changed = change_event(reading, reading->events[i], after);
    }
    if (!changed)
        base_fail("the bundle", "it has not the event that is to be changed");
    if (reading->variant == VARIANT_TOLD)
        change_told(base);
    for (size_t i = 0; i < base->event_count; i++) {
        pack_rest(reading->events[i], &base->events[i]);
        exhibit__event__free_unpacked(reading->events[i], NULL);
    }
    free(reading->events);
}

void base_read(const char *path, enum variant variant, struct base *out)
{
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct reading reading = {.base = out, .variant = variant};
    AUTO_ARENA struct arena arena = {0};
    const Exhibit__Receipt *receipt = NULL;
    struct err err = {0};
    struct digest digest;
    size_t oracle;

    *out = (struct base){0};
    must(pack_open(fd, &reading.pack, &err), path, &err);
    must(receipt_read(reading.pack, &arena, &receipt, &err), "the receipt", &err);
    must(events_read(reading.pack, receipt->events, take_event, &reading, &err), "the log", &err);
    read_part(reading.pack, PACK_OBSERVATION, &out->objects, &out->object_count);
    read_part(reading.pack, PACK_INPUT, &out->inputs, &out->input_count);
    oracle = find_object(out, &reading.events[0]->recording_start->oracle_sha256);
    if (oracle == SIZE_MAX)
        base_fail("the bundle", "it has no oracle");
    must(bytes_add(&out->oracle, out->objects[oracle].content.bytes.data, out->objects[oracle].content.bytes.size_bytes,
                   ALL_BYTES, &err),
         "memory", &err);
    digest = pack_receipt(reading.pack);
    drop_object(out, digest.bytes);
    if (pack_claim(reading.pack, &digest))
        drop_object(out, digest.bytes);
    for (size_t i = 0; i < receipt->events->n_segments; i++)
        drop_object(out, receipt->events->segments[i]->sha256.data);
    read_events(&reading);
    find_all_places(out);
    pack_close(reading.pack);
}
