/*
 * All that leaves the store goes through one writer, and is there before it is finished.
 */
#include "record/export.h"

#include "formats/store.h"
#include "record/export_local.h"
#include "record/gather.h"
#include "record/output.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

struct exporting {
    const struct export_request *request;
    struct store *store;
    uint32_t number; /* of its own pack */
    struct store_pack own;
    struct needs needs;
    struct output output;
    struct pack_writer *to;
    struct pack_copied observations;
    struct gather inputs;
    struct export_local local;
    struct pack_copied local_counts;
};

/* Finds the receipt, and reads what it needs. */
static int receipt_find(struct exporting *exporting, struct err *err)
{
    const struct export_request *request = exporting->request;
    const struct store_request store = {
        .path = request->store, .lock = STORE_SHARED, .note = request->note, .context = request->context};
    char name[STORE_NAME_BYTES];
    struct digest receipt;

    if (output_check(&exporting->output, &(struct output_request){.file = request->output}, err) < 0 ||
        store_open(&store, &exporting->store, err) < 0 ||
        store_find(exporting->store, request->receipt, &exporting->number, err) < 0 ||
        store_pack_open(exporting->store, exporting->number, true, &exporting->own, err) < 0)
        return err->code;
    receipt = store_receipt(exporting->store, exporting->number);
    store_pack_name(&receipt, name);
    if (needs_read(exporting->own.pack, &exporting->needs, err) < 0)
        return err_wrap(err, "%s/%s", request->store, name);
    return 0;
}

static void progress(const struct exporting *exporting, uint32_t number, const char *what)
{
    char text[128];

    (void)snprintf(text, sizeof text, "export: %s of pack %" PRIu32 " of %" PRIu32, what, number + 1,
                   store_pack_count(exporting->store));
    if (exporting->request->progress != NULL)
        exporting->request->progress(exporting->request->context, text);
}

/* Takes all observations: they are in the receipt's own pack. */
static int observations_take(struct exporting *exporting, struct err *err)
{
    const struct pack_wish all = {0};
    char name[STORE_NAME_BYTES];
    struct digest receipt = store_receipt(exporting->store, exporting->number);

    progress(exporting, exporting->number, "observations");
    store_pack_name(&receipt, name);
    if (pack_copy(exporting->own.pack, PACK_OBSERVATION, &all, exporting->to, &exporting->observations, err) < 0)
        return err_wrap(err, "%s/%s", exporting->request->store, name);
    return 0;
}

/* Takes the inputs that are needed: from its own pack first. *out_own: how many it had. */
static int inputs_take(struct exporting *exporting, uint64_t *out_own, struct err *err)
{
    struct gather *gather = &exporting->inputs;

    progress(exporting, exporting->number, "inputs");
    if (gather_start(gather, exporting->store, &exporting->needs, exporting->to, err) < 0 ||
        gather_pack(gather, exporting->number, exporting->own.pack, err) < 0)
        return err->code;
    *out_own = gather->counts.object_count;
    for (uint32_t i = 0; i < store_pack_count(exporting->store) && gather_missing(gather) > 0; i++) {
        if (i == exporting->number)
            continue;
        progress(exporting, i, "inputs");
        if (gather_number(gather, i, err) < 0)
            return err->code;
    }
    return exporting->needs.promises ? gather_check(gather, err) : 0;
}

static int bundle_write(struct exporting *exporting, struct export_report *out, struct err *err)
{
    struct digest receipt = pack_receipt(exporting->own.pack), claim;
    bool claimed = pack_claim(exporting->own.pack, &claim);
    struct pack_writer *to;
    uint64_t own_count = 0;
    struct stat stat;

    if (export_local_open(exporting->store, exporting->number, exporting->own.pack, &exporting->local, err) < 0 ||
        (!exporting->request->with_local && export_local_look(&exporting->local, exporting->own.pack, err) < 0))
        return err->code;
    if (output_start(&exporting->output, &exporting->to, err) < 0)
        return err_wrap(err, "-o %s", exporting->request->output);
    if (observations_take(exporting, err) < 0 || inputs_take(exporting, &own_count, err) < 0 ||
        (exporting->request->with_local &&
         export_local_take(&exporting->local, exporting->to, &exporting->local_counts, err) < 0))
        return err->code;
    to = exporting->to;
    exporting->to = NULL; /* freed by finishing, also on failure */
    if (pack_writer_finish(to, &receipt, claimed ? &claim : NULL, err) < 0)
        return err->code;
    *out = (struct export_report){
        .receipt = receipt,
        .object_count = exporting->observations.object_count + exporting->inputs.counts.object_count +
                        exporting->local_counts.object_count,
        .elsewhere_count = exporting->inputs.counts.object_count - own_count,
        .frame_count = exporting->observations.frame_count + exporting->inputs.counts.frame_count +
                       exporting->local_counts.frame_count,
    };
    if (fstatat(exporting->output.dir_fd, exporting->output.name, &stat, AT_SYMLINK_NOFOLLOW) == 0)
        out->file_bytes = (uint64_t)stat.st_size;
    return 0;
}

int export_make(const struct export_request *request, struct export_report *out, struct err *err)
{
    struct exporting exporting = {.request = request, .own.fd = -1, .output.dir_fd = -1, .local.open.fd = -1};
    int code = receipt_find(&exporting, err);

    if (code == 0)
        code = bundle_write(&exporting, out, err);
    pack_writer_abandon(exporting.to);
    export_local_close(&exporting.local);
    needs_done(&exporting.needs);
    store_pack_close(&exporting.own);
    store_close(exporting.store);
    output_done(&exporting.output);
    return code;
}
