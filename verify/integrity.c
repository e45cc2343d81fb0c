/*
 * Reachability: a bit for each object of the pack, set when a record names it.
 */
#include "verify/integrity.h"

#include "base/cleanup.h"
#include "formats/freeze.h"
#include "formats/stream.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct integrity {
    struct pack *pack;
    const Exhibit__Receipt *receipt;
    const struct plan *plan;
    struct withheld *withheld;
    struct findings *findings;
    uint8_t *named[3]; /* by part; a bit for each object */
    uint64_t seq;      /* of the event being followed; 0: the receipt itself */
};

/* Where a digest stands among a part's objects, or -1. */
static int64_t integrity_index(const struct pack *pack, enum pack_part part, const uint8_t *bytes)
{
    struct digest digest;
    uint32_t number;

    memcpy(digest.bytes, bytes, DIGEST_BYTES);
    return pack_number(pack, part, &digest, &number) ? (int64_t)number : -1;
}

/* Marks an object as named. True: it was not named before. */
static bool integrity_mark_at(struct integrity *integrity, enum pack_part part, int64_t index)
{
    bool before = (integrity->named[part][index / 8] >> (index % 8)) & 1;

    integrity->named[part][index / 8] |= (uint8_t)(1u << (index % 8));
    return !before;
}

/* Marks the object of a digest as named. True: it is there and was not named before. */
static bool integrity_mark(struct integrity *integrity, enum pack_part part, const ProtobufCBinaryData *digest,
                           const char *what)
{
    char hex[2 * DIGEST_BYTES + 1];
    int64_t index;

    assert(part == PACK_OBSERVATION || part == PACK_INPUT);
    if (digest->len != DIGEST_BYTES) {
        finding_add(integrity->findings, "event %" PRIu64 ": the digest of %s is not of %d bytes", integrity->seq, what,
                    DIGEST_BYTES);
        return false;
    }
    index = integrity_index(integrity->pack, part, digest->data);
    if (index >= 0)
        return integrity_mark_at(integrity, part, index);
    hex_encode(digest->data, DIGEST_BYTES, hex);
    finding_add(integrity->findings, "event %" PRIu64 ": %s is missing: there is no object %s", integrity->seq, what,
                hex);
    return false;
}

static void integrity_mark_stream(struct integrity *integrity, const Exhibit__Stream *stream, const char *what)
{
    for (size_t i = 0; stream != NULL && i < stream->n_segments; i++)
        (void)integrity_mark(integrity, PACK_OBSERVATION, &stream->segments[i]->sha256, what);
}

/* FORMAT 7.11 */
static bool integrity_is_local(const struct integrity *integrity, const char *input)
{
    return integrity->plan != NULL && plan_input_is_local(integrity->plan, input);
}

/* FORMAT 7.8. The workspace is always retained; salvage cannot promise any input. */
static bool integrity_is_retained(const struct integrity *integrity, const char *input)
{
    const struct plan *plan = integrity->plan;

    if (integrity->receipt->partial || integrity_is_local(integrity, input))
        return false;
    if (strcmp(input, "workspace") == 0)
        return true;
    for (size_t i = 0; plan != NULL && i < plan->input_count; i++)
        if (plan->inputs[i].retain && strcmp(plan->inputs[i].name, input) == 0)
            return true;
    return false;
}

/*
 * Tells in one finding that files of a source are not there. A pack that was taken out of its store is no bundle, and
 * who has it can do something about it (FORMAT 11.5).
 */
static void integrity_refute_files(struct integrity *integrity, const uint8_t *first, uint64_t count)
{
    const struct digest receipt = pack_receipt(integrity->pack);
    char hex[2 * DIGEST_BYTES + 1], name[2 * DIGEST_BYTES + 1];

    hex_encode(first, DIGEST_BYTES, hex);
    hex_encode(receipt.bytes, DIGEST_BYTES, name);
    finding_add(integrity->findings,
                "event %" PRIu64 ": a retained input's file is missing: there is no object %s (%" PRIu64
                " such files); a pack of a store has inputs in other packs there, and exhibit-record export %.12s "
                "--store DIR -o BUNDLE makes a whole one",
                integrity->seq, hex, count, name);
}

/* A freeze's list on its way. */
struct integrity_list {
    struct integrity *integrity;
    bool check;        /* it was not read before */
    bool mark;         /* it is a source's, */
    bool local;        /* whose contents are kept apart, */
    bool retained;     /* or kept whole */
    uint64_t number;   /* of the entry, from 1 */
    bool is_faulty;    /* one finding is enough */
    struct bytes last; /* path of the entry before */
    struct digest first_missing;
    uint64_t missing_count;
};

/* The files of a source's list: kept whole where the plan says so, and then each must be there. */
static void integrity_mark_file(struct integrity_list *list, const Exhibit__FreezeEntry *entry)
{
    int64_t index;

    if (!S_ISREG(entry->mode) || entry->sha256.len != DIGEST_BYTES)
        return;
    index = integrity_index(list->integrity->pack, PACK_INPUT, entry->sha256.data);
    if (index >= 0)
        (void)integrity_mark_at(list->integrity, PACK_INPUT, index);
    else if (list->retained && list->missing_count++ == 0)
        memcpy(list->first_missing.bytes, entry->sha256.data, DIGEST_BYTES);
}

static int integrity_check_entry(struct integrity_list *list, const Exhibit__FreezeEntry *entry, struct err *err)
{
    const ProtobufCBinaryData *path = &entry->path;
    struct bytes *last = &list->last;
    bool digested = S_ISREG(entry->mode) || S_ISLNK(entry->mode);
    bool fits = entry->sha256.len == 0 || (digested && entry->sha256.len == DIGEST_BYTES);
    size_t shorter = path->len < last->size_bytes ? path->len : last->size_bytes;
    int order = shorter == 0 ? 0 : memcmp(last->data, path->data, shorter);
    bool first = list->number == 1;

    if (first ? path->len > 0 : order > 0 || (order == 0 && last->size_bytes >= path->len)) {
        finding_add(list->integrity->findings,
                    "event %" PRIu64 ": the paths of a freeze do not ascend from its root, at entry %" PRIu64,
                    list->integrity->seq, list->number);
        list->is_faulty = true;
    } else if (!fits) {
        finding_add(list->integrity->findings, "event %" PRIu64 ": entry %" PRIu64 " of a freeze has no fitting digest",
                    list->integrity->seq, list->number);
        list->is_faulty = true;
    }
    last->size_bytes = 0;
    return bytes_add(last, path->data, path->len, LIMIT_FREEZE_BYTES, err);
}

static int integrity_take_entry(void *context, const Exhibit__FreezeEntry *entry, const struct cursor *packed,
                                struct err *err)
{
    struct integrity_list *list = context;

    (void)packed;
    list->number++;
    if (list->check && !list->is_faulty && integrity_check_entry(list, entry, err) < 0)
        return err->code;
    if (list->mark)
        integrity_mark_file(list, entry);
    return list->local ? withheld_follow(list->integrity->withheld, list->integrity->pack, entry,
                                         list->integrity->findings, err)
                       : 0;
}

static int integrity_follow_freeze(struct integrity *integrity, const Exhibit__Freeze *freeze, struct err *err)
{
    bool source = freeze->moment == EXHIBIT__FREEZE_MOMENT__FREEZE_BEFORE;
    bool fresh = integrity_mark(integrity, PACK_OBSERVATION, &freeze->list_sha256, "a freeze's list");
    struct integrity_list list = {.integrity = integrity, .check = fresh, .mark = source};
    struct digest digest;
    int code;

    if ((!fresh && !source) || !digest_from(freeze->list_sha256.data, freeze->list_sha256.len, &digest) ||
        !pack_find(integrity->pack, PACK_OBSERVATION, &digest, NULL))
        return 0;
    list.local = source && integrity_is_local(integrity, freeze->input);
    list.retained = source && integrity_is_retained(integrity, freeze->input);
    code = freeze_read(integrity->pack, &digest, !fresh, integrity_take_entry, &list, err);
    bytes_done(&list.last);
    if (list.local)
        withheld_end(integrity->withheld, freeze->input);
    if (code < 0)
        return err_wrap(err, "event %" PRIu64 ", a freeze's list", integrity->seq);
    if (list.missing_count > 0)
        integrity_refute_files(integrity, list.first_missing.bytes, list.missing_count);
    return 0;
}

static void integrity_follow_start(struct integrity *integrity, const Exhibit__RecordingStart *start)
{
    (void)integrity_mark(integrity, PACK_OBSERVATION, &start->plan_sha256, "the plan");
    (void)integrity_mark(integrity, PACK_OBSERVATION, &start->oracle_sha256, "the oracle");
    if (start->policy_sha256.len > 0)
        (void)integrity_mark(integrity, PACK_OBSERVATION, &start->policy_sha256, "the policy");
}

static int integrity_follow(void *context, const Exhibit__Event *event, struct err *err)
{
    struct integrity *integrity = context;

    integrity->seq = event->seq;
    switch (event->what_case) {
    case EXHIBIT__EVENT__WHAT_RECORDING_START:
        integrity_follow_start(integrity, event->recording_start);
        return 0;
    case EXHIBIT__EVENT__WHAT_FREEZE:
        return integrity_follow_freeze(integrity, event->freeze, err);
    case EXHIBIT__EVENT__WHAT_RUN_START:
        integrity_mark_stream(integrity, event->run_start->stdin_stream, "a segment of a run's stdin");
        return 0;
    case EXHIBIT__EVENT__WHAT_STREAM_END:
        integrity_mark_stream(integrity, event->stream_end->content, "a segment of a stream");
        return 0;
    case EXHIBIT__EVENT__WHAT_TARGET_STATE:
        if (event->target_state->content_sha256.len > 0)
            (void)integrity_mark(integrity, PACK_OBSERVATION, &event->target_state->content_sha256,
                                 "a target's content");
        return 0;
    case EXHIBIT__EVENT__WHAT_ARTIFACT:
        if (event->artifact->kept)
            (void)integrity_mark(integrity, PACK_OBSERVATION, &event->artifact->sha256, "a kept artifact");
        return 0;
    default:
        return 0;
    }
}

static void integrity_refute_unnamed(struct integrity *integrity)
{
    static const char *const parts[] = {"", "observation", "input"};

    for (enum pack_part part = PACK_OBSERVATION; part <= PACK_INPUT; part++) {
        for (uint32_t i = 0; i < pack_object_count(integrity->pack, part); i++) {
            char hex[2 * DIGEST_BYTES + 1];

            if ((integrity->named[part][i / 8] >> (i % 8)) & 1)
                continue;
            hex_encode(pack_object_at(integrity->pack, part, i).digest.bytes, DIGEST_BYTES, hex);
            finding_add(integrity->findings, "unreferenced object: no record names the %s %s", parts[part], hex);
        }
    }
}

/* FORMAT 8.3: what salvage found beside the log, in either part. */
static void integrity_mark_loose(struct integrity *integrity)
{
    const Exhibit__Receipt *receipt = integrity->receipt;

    if (receipt->n_loose_sha256 > 0 && !receipt->partial)
        finding_add(integrity->findings, "the receipt: FORMAT 8.3: loose objects, and it is not partial");
    for (size_t i = 0; i < receipt->n_loose_sha256; i++) {
        const ProtobufCBinaryData *digest = &receipt->loose_sha256[i];

        if (i > 0 && memcmp(receipt->loose_sha256[i - 1].data, digest->data, DIGEST_BYTES) >= 0)
            finding_add(integrity->findings, "the receipt: FORMAT 8.3: its loose objects do not ascend");
        if (integrity_index(integrity->pack, PACK_INPUT, digest->data) >= 0)
            (void)integrity_mark(integrity, PACK_INPUT, digest, "a loose object");
        else
            (void)integrity_mark(integrity, PACK_OBSERVATION, digest, "a loose object");
    }
}

static int integrity_walk(struct integrity *integrity, struct err *err)
{
    struct digest receipt = pack_receipt(integrity->pack), claim;
    int code;

    (void)integrity_mark(integrity, PACK_OBSERVATION, &(ProtobufCBinaryData){DIGEST_BYTES, receipt.bytes},
                         "the receipt");
    if (pack_claim(integrity->pack, &claim))
        (void)integrity_mark(integrity, PACK_OBSERVATION, &(ProtobufCBinaryData){DIGEST_BYTES, claim.bytes},
                             "the claim");
    integrity_mark_stream(integrity, integrity->receipt->events, "a segment of the event log");
    integrity_mark_loose(integrity);
    code = events_read(integrity->pack, integrity->receipt->events, integrity_follow, integrity, err);
    if (code < 0)
        return finding_of_error(integrity->findings, "the event log", err);
    integrity_refute_unnamed(integrity);
    return 0;
}

int integrity_of_objects(struct pack *pack, const Exhibit__Receipt *receipt, const struct plan *plan,
                         struct withheld *withheld, struct findings *findings, struct err *err)
{
    struct integrity integrity = {
        .pack = pack, .receipt = receipt, .plan = plan, .withheld = withheld, .findings = findings};
    int code = 0;

    for (enum pack_part part = PACK_OBSERVATION; part <= PACK_INPUT; part++) {
        integrity.named[part] = calloc(pack_object_count(pack, part) / 8 + 1, 1);
        if (integrity.named[part] == NULL)
            code = err_set(err, ERR_SYSTEM, "out of memory");
    }
    if (code == 0)
        code = integrity_walk(&integrity, err);
    free(integrity.named[PACK_OBSERVATION]);
    free(integrity.named[PACK_INPUT]);
    return code;
}
