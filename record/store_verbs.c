#include "record/store_verbs.h"

#include "base/bytes.h"
#include "record/export.h"
#include "record/prune.h"
#include "record/salvage.h"

#include <inttypes.h>
#include <stdio.h>

static int printed(struct err *err)
{
    return fflush(stdout) == 0 ? 0 : err_set_errno(err, "standard output");
}

/* Before anything is printed: nothing is done any more. */
static void progress_none(const struct store_listener *listener)
{
    if (listener->progress != NULL)
        listener->progress(NULL, "");
}

int store_verb_export(const struct args *args, const struct store_listener *listener, struct err *err)
{
    const struct export_request request = {.store = args->store,
                                           .receipt = args->operands[0],
                                           .output = args->output,
                                           .with_local = args->with_local,
                                           .note = listener->note,
                                           .progress = listener->progress};
    struct export_report report;
    char digits[2 * DIGEST_BYTES + 1];
    int code = export_make(&request, &report, err);

    progress_none(listener);
    if (code < 0)
        return code;
    hex_encode(report.receipt.bytes, DIGEST_BYTES, digits);
    (void)printf("%s has receipt %s: %" PRIu64 " objects (%" PRIu64 " of them from other packs), %" PRIu64
                 " blocks as they were, %" PRIu64 " bytes\n",
                 args->output, digits, report.object_count, report.elsewhere_count, report.frame_count,
                 report.file_bytes);
    return printed(err);
}

int store_verb_prune(const struct args *args, const struct store_listener *listener, struct err *err)
{
    const struct prune_request request = {.store = args->store,
                                          .receipts = (const char *const *)args->operands,
                                          .receipt_count = args->operand_count,
                                          .note = listener->note,
                                          .progress = listener->progress};
    struct prune_report report;
    int code = prune_make(&request, &report, err);

    progress_none(listener);
    if (report.grown_count > 0)
        (void)printf("moved %" PRIu64 " objects into %" PRIu32 " packs that need them: %" PRIu64 " bytes\n",
                     report.moved_count, report.grown_count, report.moved_bytes);
    if (code < 0)
        return code;
    (void)printf("dropped %" PRIu32 " packs: %" PRIu64 " bytes, %" PRIu64 " freed\n", report.dropped_count,
                 report.dropped_bytes,
                 report.dropped_bytes > report.moved_bytes ? report.dropped_bytes - report.moved_bytes : 0);
    return printed(err);
}

int store_verb_salvage(const struct args *args, const struct store_listener *listener, struct err *err)
{
    const struct salvage_request request = {
        .from = args->operands[0], .output = args->output, .store = args->store, .note = listener->note};
    struct salvage_report report;

    if (salvage_make(&request, &report, err) < 0)
        return err->code;
    (void)printf("%" PRIu64 " events and %" PRIu64 " objects (%" PRIu64 " of them named by no event) from %" PRIu64
                 " of %" PRIu64 " bytes\n",
                 report.event_count, report.object_count, report.loose_count, report.whole_bytes, report.file_bytes);
    if (args->store != NULL)
        (void)printf("%" PRIu64 " inputs from %s; %" PRIu64 " that it names are nowhere\n", report.store_count,
                     args->store, report.lost_count);
    (void)printf("%s says partial: INCOMPLETE\n", args->output);
    return printed(err);
}
