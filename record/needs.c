/*
 * One way through the event log: the plan says which inputs are retained, the first freezes what is in them. A list is
 * taken entry by entry, so that memory grows with the digests alone.
 */
#include "record/needs.h"

#include "base/cleanup.h"
#include "formats/freeze.h"
#include "formats/stream.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NEEDS_MAX_BYTES ((size_t)LIMIT_OBJECTS * DIGEST_BYTES)

struct reading {
    struct pack *pack;
    struct plan plan;
    bool has_plan;
    struct needs needs;
};

void needs_done(struct needs *needs)
{
    bytes_done(&needs->digests);
    *needs = (struct needs){0};
}

void needs_settle(struct needs *needs)
{
    uint8_t *digests = needs->digests.data;
    size_t kept_bytes = 0;

    if (needs->digests.size_bytes == 0)
        return;
    digest_sort(digests, needs->digests.size_bytes / DIGEST_BYTES, DIGEST_BYTES);
    for (size_t at = 0; at < needs->digests.size_bytes; at += DIGEST_BYTES) {
        if (kept_bytes > 0 && memcmp(digests + kept_bytes - DIGEST_BYTES, digests + at, DIGEST_BYTES) == 0)
            continue;
        memmove(digests + kept_bytes, digests + at, DIGEST_BYTES);
        kept_bytes += DIGEST_BYTES;
    }
    needs->digests.size_bytes = needs->settled_bytes = kept_bytes;
}

int needs_add(struct needs *needs, const struct digest *digest, struct err *err)
{
    /* What is there twice goes before there is twice as much as may be. */
    if (needs->digests.size_bytes >= 2 * needs->settled_bytes + NEEDS_MAX_BYTES / 64)
        needs_settle(needs);
    if (needs->settled_bytes >= NEEDS_MAX_BYTES)
        return err_set(err, ERR_LIMIT, "FORMAT 1.9: more than %u inputs are named", LIMIT_OBJECTS);
    return bytes_add(&needs->digests, digest->bytes, DIGEST_BYTES, 3 * NEEDS_MAX_BYTES, err);
}

bool needs_plan_keeps(const struct plan *plan, const char *input)
{
    if (plan != NULL && plan_input_is_local(plan, input))
        return false; /* kept apart, and withheld */
    if (strcmp(input, "workspace") == 0)
        return true; /* always */
    for (size_t i = 0; plan != NULL && i < plan->input_count; i++)
        if (plan->inputs[i].retain && strcmp(plan->inputs[i].name, input) == 0)
            return true;
    return false;
}

static int entry_take(void *context, const Exhibit__FreezeEntry *entry, const struct cursor *packed, struct err *err)
{
    struct digest digest;

    (void)packed;
    if (!S_ISREG(entry->mode) || !digest_from(entry->sha256.data, entry->sha256.len, &digest))
        return 0;
    return needs_add(context, &digest, err);
}

int needs_add_list(struct needs *needs, const void *list, size_t list_bytes, struct err *err)
{
    return freeze_walk(list, list_bytes, entry_take, needs, err);
}

static int start_take(struct reading *reading, const Exhibit__RecordingStart *start, struct err *err)
{
    AUTO_BYTES struct bytes source = {0};
    struct digest digest;

    if (reading->has_plan || !digest_from(start->plan_sha256.data, start->plan_sha256.len, &digest) ||
        (!reading->needs.promises && !pack_find(reading->pack, PACK_OBSERVATION, &digest, NULL)))
        return 0;
    reading->has_plan = true;
    if (pack_read(reading->pack, PACK_OBSERVATION, &digest, LIMIT_YAML_BYTES, &source, err) < 0 ||
        plan_parse_recorded(source.data, source.size_bytes, &reading->plan, err) < 0) {
        if (err->code == ERR_USAGE) /* nobody who reads it can mend it */
            err->code = ERR_FORMAT;
        return err_wrap(err, "the plan");
    }
    return 0;
}

static int event_take(void *context, const Exhibit__Event *event, struct err *err)
{
    struct reading *reading = context;
    const Exhibit__Freeze *freeze;
    struct digest digest;
    int code = 0;

    if (event->what_case == EXHIBIT__EVENT__WHAT_RECORDING_START)
        return start_take(reading, event->recording_start, err);
    if (event->what_case != EXHIBIT__EVENT__WHAT_FREEZE)
        return 0;
    freeze = event->freeze;
    if (freeze->moment != EXHIBIT__FREEZE_MOMENT__FREEZE_BEFORE ||
        !needs_plan_keeps(reading->has_plan ? &reading->plan : NULL, freeze->input) ||
        !digest_from(freeze->list_sha256.data, freeze->list_sha256.len, &digest))
        return 0;
    if (!reading->needs.promises && !pack_find(reading->pack, PACK_OBSERVATION, &digest, NULL))
        return 0; /* it was cut off, too */
    code = freeze_read(reading->pack, &digest, false, entry_take, &reading->needs, err);
    return code < 0 ? err_wrap(err, "event %" PRIu64 ", the list of %s", event->seq, freeze->input) : 0;
}

static int receipt_take(struct reading *reading, const Exhibit__Receipt *receipt, struct err *err)
{
    struct digest claim, loose;

    reading->needs.promises = !receipt->partial || pack_claim(reading->pack, &claim);
    for (size_t i = 0; i < receipt->n_loose_sha256; i++)
        if (digest_from(receipt->loose_sha256[i].data, receipt->loose_sha256[i].len, &loose) &&
            pack_find(reading->pack, PACK_INPUT, &loose, NULL) && needs_add(&reading->needs, &loose, err) < 0)
            return err->code;
    if (events_read(reading->pack, receipt->events, event_take, reading, err) < 0)
        return err_wrap(err, "the event log");
    needs_settle(&reading->needs);
    reading->needs.wants_local = reading->needs.promises && reading->has_plan && plan_has_local(&reading->plan);
    return 0;
}

int needs_read(struct pack *pack, struct needs *out, struct err *err)
{
    struct reading reading = {.pack = pack};
    AUTO_ARENA struct arena arena = {0};
    const Exhibit__Receipt *receipt = NULL;
    int code = receipt_read(pack, &arena, &receipt, err);

    if (code == 0)
        code = receipt_take(&reading, receipt, err);
    plan_done(&reading.plan);
    if (code < 0) {
        needs_done(&reading.needs);
        return code;
    }
    needs_done(out);
    *out = reading.needs;
    return 0;
}

size_t needs_count(const struct needs *needs)
{
    return needs->digests.size_bytes / DIGEST_BYTES;
}

struct digest needs_at(const struct needs *needs, size_t number)
{
    struct digest digest;

    assert(number < needs_count(needs));
    memcpy(digest.bytes, needs->digests.data + number * DIGEST_BYTES, DIGEST_BYTES);
    return digest;
}

bool needs_have(const struct needs *needs, const struct digest *digest)
{
    return digest_is_among(needs->digests.data, needs_count(needs), digest->bytes);
}
