#include "record/export_local.h"

#include "base/cleanup.h"
#include "formats/plan.h"
#include "formats/stream.h"
#include "record/leak_check.h"

/* The first event is all that is wanted. */
static int start_take(void *context, const Exhibit__Event *event, struct err *err)
{
    struct digest *plan = context;

    if (event->what_case == EXHIBIT__EVENT__WHAT_RECORDING_START)
        (void)digest_from(event->recording_start->plan_sha256.data, event->recording_start->plan_sha256.len, plan);
    return err_set(err, ERR_USAGE, "enough");
}

/* Whether the plan of a receipt has local inputs. */
static int local_is_wanted(struct pack *own, bool *out, struct err *err)
{
    AUTO_BYTES struct bytes source = {0};
    AUTO_ARENA struct arena arena = {0};
    const Exhibit__Receipt *receipt = NULL;
    struct digest digest = {0};
    struct plan plan = {0};
    int code = receipt_read(own, &arena, &receipt, err);

    if (code < 0)
        return code;
    code = events_read(own, receipt->events, start_take, &digest, err);
    if (code < 0 && code != ERR_USAGE)
        return code;
    if (!pack_find(own, PACK_OBSERVATION, &digest, NULL)) { /* it was cut off before */
        *out = false;
        return 0;
    }
    if (pack_read(own, PACK_OBSERVATION, &digest, LIMIT_YAML_BYTES, &source, err) < 0)
        return err->code;
    code = plan_parse_recorded(source.data, source.size_bytes, &plan, err);
    *out = code == 0 && plan_has_local(&plan);
    plan_done(&plan);
    if (code == ERR_USAGE) /* nobody who reads it can mend it */
        err->code = ERR_FORMAT;
    return code < 0 ? err_wrap(err, "the plan") : 0;
}

int export_local_open(const struct store *store, uint32_t number, struct pack *own, struct export_local *out,
                      struct err *err)
{
    struct digest receipt = store_receipt(store, number);
    bool wanted = false;

    *out = (struct export_local){.open.fd = -1};
    if (local_is_wanted(own, &wanted, err) < 0)
        return err->code;
    if (!wanted)
        return 0;
    store_local_name(&receipt, out->name);
    if (!store_has_local(store, number))
        return err_set(
            err, ERR_MISMATCH,
            "%s/%s: the local contents of this receipt are gone, so that they can neither be taken along nor "
            "be looked for in what leaves",
            store_path(store), out->name);
    return store_local_open(store, number, &out->open, err);
}

int export_local_look(const struct export_local *local, struct pack *own, struct err *err)
{
    int code = local->open.pack == NULL ? 0 : leak_check(own, local->open.pack, LEAK_CHECK_BLOCKS, err);

    return code < 0 && code != ERR_USAGE ? err_wrap(err, "looking for the contents of %s", local->name) : code;
}

int export_local_take(const struct export_local *local, struct pack_writer *to, struct pack_copied *counts,
                      struct err *err)
{
    const struct pack_wish all = {0};

    if (local->open.pack == NULL)
        return 0;
    return pack_copy(local->open.pack, PACK_INPUT, &all, to, counts, err) < 0 ? err_wrap(err, "%s", local->name) : 0;
}

void export_local_close(struct export_local *local)
{
    store_pack_close(&local->open);
}
