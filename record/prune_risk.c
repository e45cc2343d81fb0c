/*
 * Which inputs are at risk, which of them are needed, and whether another pack that is kept has them, too.
 */
#include "record/prune_risk.h"

#include "base/bytes.h"
#include "formats/pack_copy.h"

#include <stdlib.h>
#include <string.h>

/* An input that a dropped pack holds, or may hold. */
struct risk {
    struct digest digest;
    uint32_t owner; /* the first kept pack that needs it, where `is_needed` */
    bool is_listed; /* by the index of a dropped pack */
    bool is_needed;
    bool is_held;  /* a kept pack has it, and its block is what it was */
    bool is_sound; /* so has a dropped one */
};

#define RISKS_MAX_BYTES ((size_t)LIMIT_OBJECTS * sizeof(struct risk))

struct prune_risks {
    const struct store *store; /* borrowed, as the following */
    const bool *dropped;       /* by number */
    struct bytes all;          /* of struct risk, ascending by digest */
    struct err damage;         /* the first in what a dropped pack holds and a kept one needs; ERR_OK: none */
    struct err unread;         /* of a dropped pack of which it is not known what it holds; ERR_OK: none */
    uint32_t number;           /* of the kept pack that is looked at */
};

static struct risk *risks_of(const struct prune_risks *risks)
{
    return (struct risk *)risks->all.data;
}

static size_t risk_count(const struct prune_risks *risks)
{
    return risks->all.size_bytes / sizeof(struct risk);
}

static int risk_order(const void *a, const void *b)
{
    return memcmp(a, b, DIGEST_BYTES);
}

_Static_assert(offsetof(struct risk, digest) == 0, "risks are ordered by their digests");

static struct risk *risk_find(const struct prune_risks *risks, const struct digest *digest)
{
    if (risks->all.size_bytes == 0)
        return NULL;
    return bsearch(digest, risks->all.data, risk_count(risks), sizeof(struct risk), risk_order);
}

static int risk_add(struct prune_risks *risks, const struct digest *digest, bool is_listed, struct err *err)
{
    const struct risk risk = {.digest = *digest, .is_listed = is_listed};

    if (bytes_add(&risks->all, &risk, sizeof risk, RISKS_MAX_BYTES, err) < 0)
        return err_wrap(err, "too much at once: drop fewer receipts");
    return 0;
}

/* Puts the risks in order, each once: listed where one of the equal ones is. */
static void risks_settle(struct prune_risks *risks)
{
    struct risk *list = risks_of(risks);
    size_t kept = 0;

    if (risk_count(risks) > 0)
        qsort(list, risk_count(risks), sizeof *list, risk_order);
    for (size_t i = 0; i < risk_count(risks); i++) {
        if (kept > 0 && digest_equal(&list[kept - 1].digest, &list[i].digest))
            list[kept - 1].is_listed = list[kept - 1].is_listed || list[i].is_listed;
        else
            list[kept++] = list[i];
    }
    risks->all.size_bytes = kept * sizeof *list;
}

/* ---- what is at risk ---- */

/* Lists what the dropped packs hold. */
static int dropped_list(struct prune_risks *risks, struct err *err)
{
    for (uint32_t i = 0; i < store_pack_count(risks->store); i++) {
        struct store_pack from = {.fd = -1};
        int code = 0;

        if (!risks->dropped[i])
            continue;
        if (store_pack_open(risks->store, i, true, &from, &risks->unread) < 0) {
            store_note(risks->store, "%s", risks->unread.text);
            continue;
        }
        for (uint32_t j = 0; code == 0 && j < pack_object_count(from.pack, PACK_INPUT); j++) {
            struct pack_object object = pack_object_at(from.pack, PACK_INPUT, j);

            code = risk_add(risks, &object.digest, true, err);
        }
        store_pack_close(&from);
        if (code < 0)
            return code;
    }
    risks_settle(risks);
    return 0;
}

/* Opens a kept pack and reads what it needs. Nothing may go where that is not known. */
static int kept_open(const struct prune_risks *risks, uint32_t number, struct store_pack *out, struct needs *needs,
                     struct err *err)
{
    const struct digest receipt = store_receipt(risks->store, number);
    char name[STORE_NAME_BYTES];
    int code = store_pack_open(risks->store, number, true, out, err);

    store_pack_name(&receipt, name);
    if (code == 0 && needs_read(out->pack, needs, err) < 0)
        code = err_wrap(err, "%s/%s", store_path(risks->store), name);
    return code < 0 ? err_wrap(err, "nothing is dropped, for it is not known what this receipt needs (name it, too, to "
                                    "drop it)")
                    : 0;
}

/* Marks what a kept pack needs. Of a dropped pack that cannot be read it may be anything. */
static int needs_mark(struct prune_risks *risks, uint32_t number, const struct needs *needs, struct err *err)
{
    size_t added = 0;

    for (size_t i = 0; i < needs_count(needs); i++) {
        struct digest digest = needs_at(needs, i);
        struct risk *risk = risk_find(risks, &digest);

        if (risk != NULL && !risk->is_needed) {
            risk->is_needed = true;
            risk->owner = number;
        } else if (risk == NULL && risks->unread.code != ERR_OK && needs->promises) {
            added++;
        }
    }
    if (added == 0)
        return 0;
    for (size_t i = 0, before = risk_count(risks); i < needs_count(needs); i++) {
        struct digest digest = needs_at(needs, i);

        if ((before == 0 || bsearch(&digest, risks->all.data, before, sizeof(struct risk), risk_order) == NULL) &&
            risk_add(risks, &digest, false, err) < 0)
            return err->code;
    }
    risks_settle(risks);
    return needs_mark(risks, number, needs, err); /* now they are there */
}

static int kept_mark(struct prune_risks *risks, struct err *err)
{
    for (uint32_t i = 0; i < store_pack_count(risks->store); i++) {
        struct store_pack kept = {.fd = -1};
        struct needs needs = {0};
        int code = 0;

        if (risks->dropped[i])
            continue;
        code = kept_open(risks, i, &kept, &needs, err);
        if (code == 0)
            code = needs_mark(risks, i, &needs, err);
        store_pack_close(&kept);
        needs_done(&needs);
        if (code < 0)
            return code;
    }
    return 0;
}

/* ---- what is held all the same ---- */

static bool is_sought(void *context, const struct digest *digest)
{
    const struct risk *risk = risk_find(context, digest);

    return risk != NULL && risk->is_needed && !risk->is_held;
}

static void mark_held(void *context, const struct digest *digest)
{
    risk_find(context, digest)->is_held = true;
}

/* Puts the pack that is looked at before a fault in it. */
static int fault_place(const struct prune_risks *risks, struct err *err)
{
    const struct digest receipt = store_receipt(risks->store, risks->number);
    char name[STORE_NAME_BYTES];

    store_pack_name(&receipt, name);
    return err_wrap(err, "%s/%s", store_path(risks->store), name);
}

static void damage_note(void *context, const struct err *err)
{
    struct prune_risks *risks = context;
    struct err fault = *err;

    (void)fault_place(risks, &fault);
    store_note(risks->store, "%s", fault.text);
    if (risks->dropped[risks->number] && risks->damage.code == ERR_OK)
        risks->damage = fault;
}

static void mark_sound(void *context, const struct digest *digest)
{
    risk_find(context, digest)->is_sound = true;
}

/* Looks at what is to be moved, before anything is changed. */
static int moves_look(struct prune_risks *risks, struct err *err)
{
    const struct pack_wish wish = {.wants = is_sought, .damaged = damage_note, .context = risks};
    const struct digest nothing = digest_of("", 0);

    for (uint32_t i = 0; i < store_pack_count(risks->store); i++) {
        struct store_pack from = {.fd = -1};
        struct err fault;
        int code;

        if (!risks->dropped[i] || store_pack_open(risks->store, i, true, &from, &fault) < 0)
            continue;
        risks->number = i;
        code = pack_sound(from.pack, PACK_INPUT, &wish, mark_sound, err);
        store_pack_close(&from);
        if (code < 0)
            return fault_place(risks, err);
    }
    for (size_t i = 0; i < risk_count(risks); i++) {
        const struct risk *risk = &risks_of(risks)[i];

        if (!risk->is_needed || risk->is_held || risk->is_sound || !risk->is_listed ||
            digest_equal(&risk->digest, &nothing))
            continue;
        if (risks->damage.code == ERR_OK) /* it was looked at just now */
            return err_set(err, ERR_SYSTEM, "nothing is dropped: a pack of %s could not be read again",
                           store_path(risks->store));
        *err = risks->damage;
        return err_wrap(err, "nothing is dropped, for a receipt that is kept needs this");
    }
    return 0;
}

static int kept_look(struct prune_risks *risks, struct err *err)
{
    const struct pack_wish wish = {.wants = is_sought, .damaged = damage_note, .context = risks};
    const struct digest nothing = digest_of("", 0);
    struct risk *empty = risk_find(risks, &nothing);

    for (uint32_t i = 0; i < store_pack_count(risks->store); i++) {
        struct store_pack kept = {.fd = -1};
        int code = 0;

        if (risks->dropped[i])
            continue;
        risks->number = i;
        code = store_pack_open(risks->store, i, true, &kept, err);
        if (code == 0 && empty != NULL && pack_find(kept.pack, PACK_INPUT, &nothing, NULL))
            empty->is_held = true; /* it is in no block */
        if (code == 0)
            code = pack_sound(kept.pack, PACK_INPUT, &wish, mark_held, err);
        store_pack_close(&kept);
        if (code < 0)
            return fault_place(risks, err);
    }
    return 0;
}

/* What a dropped pack that cannot be read may hold alone would be lost with it. */
static int unread_check(const struct prune_risks *risks, struct err *err)
{
    for (size_t i = 0; risks->unread.code != ERR_OK && i < risk_count(risks); i++) {
        const struct risk *risk = &risks_of(risks)[i];

        if (!risk->is_needed || risk->is_held || risk->is_listed)
            continue;
        *err = risks->unread;
        return err_wrap(err, "nothing is dropped, for a receipt that is kept may need what is in this pack");
    }
    return 0;
}

/* What the pack at `number` is to get. */
int prune_risks_moves(const struct prune_risks *risks, uint32_t number, struct needs *out, struct err *err)
{
    for (size_t i = 0; i < risk_count(risks); i++) {
        const struct risk *risk = &risks_of(risks)[i];

        if (risk->is_needed && !risk->is_held && risk->owner == number && needs_add(out, &risk->digest, err) < 0)
            return err->code;
    }
    needs_settle(out);
    return 0;
}

int prune_risks_new(const struct store *store, const bool *dropped, struct prune_risks **out, struct err *err)
{
    struct prune_risks *risks = calloc(1, sizeof *risks);

    if (risks == NULL)
        return err_set_errno(err, "memory for what is at risk");
    risks->store = store;
    risks->dropped = dropped;
    if (dropped_list(risks, err) < 0 || kept_mark(risks, err) < 0 || kept_look(risks, err) < 0 ||
        unread_check(risks, err) < 0 || moves_look(risks, err) < 0) {
        prune_risks_free(risks);
        return err->code;
    }
    *out = risks;
    return 0;
}

void prune_risks_free(struct prune_risks *risks)
{
    if (risks == NULL)
        return;
    bytes_done(&risks->all);
    free(risks);
}
