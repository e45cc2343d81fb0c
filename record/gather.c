#include "record/gather.h"

#include <stdio.h>
#include <string.h>

int gather_start(struct gather *gather, const struct store *store, const struct needs *needs, struct pack_writer *to,
                 struct err *err)
{
    const struct digest nothing = digest_of("", 0);
    struct digest digest;

    *gather = (struct gather){.store = store, .needs = needs, .to = to};
    if (!needs_have(needs, &nothing) || pack_put_has(to, PACK_INPUT, &nothing))
        return 0;
    gather->counts.object_count++;
    return pack_put(to, PACK_INPUT, "", 0, &digest, err);
}

/* How many are missing, and the first of them. */
static size_t missing_count(const struct gather *gather, struct digest *out_first)
{
    size_t count = 0;

    for (size_t i = 0; i < needs_count(gather->needs); i++) {
        struct digest digest = needs_at(gather->needs, i);

        if (!pack_put_has(gather->to, PACK_INPUT, &digest) && count++ == 0)
            *out_first = digest;
    }
    return count;
}

size_t gather_missing(const struct gather *gather)
{
    struct digest first;

    return missing_count(gather, &first);
}

static bool is_wanted(void *context, const struct digest *digest)
{
    const struct gather *gather = context;

    return needs_have(gather->needs, digest);
}

/* Notes what is wrong with the pack at hand; the first is kept. */
static void fault_take(void *context, const struct err *err)
{
    struct gather *gather = context;
    struct err fault = *err;

    (void)err_wrap(&fault, "%s/%s", store_path(gather->store), gather->place);
    store_note(gather->store, "%s; looking for the same content elsewhere", fault.text);
    if (gather->fault.code == ERR_OK)
        gather->fault = fault;
}

int gather_pack(struct gather *gather, uint32_t number, struct pack *pack, struct err *err)
{
    const struct pack_wish wish = {.wants = is_wanted, .damaged = fault_take, .context = gather};
    const struct digest receipt = store_receipt(gather->store, number);

    store_pack_name(&receipt, gather->place);
    if (pack_copy(pack, PACK_INPUT, &wish, gather->to, &gather->counts, err) < 0)
        return err_wrap(err, "%s/%s", store_path(gather->store), gather->place);
    return 0;
}

int gather_number(struct gather *gather, uint32_t number, struct err *err)
{
    struct store_pack from = {.fd = -1};
    struct err fault;
    int code;

    if (store_pack_open(gather->store, number, true, &from, &fault) < 0) {
        store_note(gather->store, "a pack is passed over: %s", fault.text);
        if (gather->fault.code == ERR_OK)
            gather->fault = fault;
        return 0;
    }
    code = gather_pack(gather, number, from.pack, err);
    store_pack_close(&from);
    return code;
}

int gather_check(const struct gather *gather, struct err *err)
{
    struct digest first = {0};
    size_t count = missing_count(gather, &first);
    char digits[2 * DIGEST_BYTES + 1];

    if (count == 0)
        return 0;
    if (gather->fault.code != ERR_OK) {
        *err = gather->fault;
        return err->code;
    }
    hex_encode(first.bytes, DIGEST_BYTES, digits);
    return err_set(err, ERR_MISMATCH, "%s: no pack has the input %s (%zu are missing); exhibit-record check --store %s",
                   store_path(gather->store), digits, count, store_path(gather->store));
}
