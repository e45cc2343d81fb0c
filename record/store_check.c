/*
 * First every pack by itself, then what each receipt needs: an input counts as there when a whole pack lists it, or a
 * damaged one gives it when it is read.
 */
#include "record/store_check.h"

#include "base/cleanup.h"
#include "formats/claim.h"
#include "formats/store_inputs.h"
#include "record/needs.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct checking {
    const struct store *store;
    struct store_inputs *inputs;
    bool *is_damaged; /* by pack: it was told already */
    void (*progress)(void *context, const char *text);
    FILE *out;
    struct store_check_report *report;
};

/* Writes "WORD NAME: text" as a line, whatever bytes are in it. */
static void line_print(const struct checking *checking, const char *word, const char *name, const char *text)
{
    (void)fprintf(checking->out, "%-8s  ", word);
    text_print_escaped(checking->out, name, strlen(name));
    (void)fputs(": ", checking->out);
    text_print_escaped(checking->out, text, strlen(text));
    (void)fputc('\n', checking->out);
}

static void receipt_write(const struct checking *checking, uint32_t number, char out[2 * DIGEST_BYTES + 1])
{
    const struct digest receipt = store_receipt(checking->store, number);

    hex_encode(receipt.bytes, DIGEST_BYTES, out);
}

/* The text of an error of a pack, without the path before it, which the line begins with. */
static const char *text_of(const struct err *err, const char *name)
{
    const char *at = strstr(err->text, name);

    return at != NULL && strncmp(at + strlen(name), ": ", 2) == 0 ? at + strlen(name) + 2 : err->text;
}

/* Tells what is wrong with a file of the store. */
static void fault_tell(struct checking *checking, const char *name, const struct err *fault)
{
    bool unread = fault->code == ERR_SYSTEM;

    if (unread)
        checking->report->unread_count++;
    else
        checking->report->damaged_count++;
    line_print(checking, unread ? "unread" : "damaged", name, text_of(fault, name));
}

/* ---- every pack by itself ---- */

/* Checks every byte of a pack, or of the local contents beside it. */
static int pack_check_one(const struct checking *checking, uint32_t number, bool local, struct err *err)
{
    struct store_pack open = {.fd = -1};
    struct stat stat;
    int code = local ? store_local_open(checking->store, number, &open, err)
                     : store_pack_open(checking->store, number, true, &open, err);

    if (code < 0)
        return code;
    if (fstat(open.fd, &stat) == 0)
        checking->report->checked_bytes += (uint64_t)stat.st_size;
    code = pack_check(open.pack, err);
    store_pack_close(&open);
    return code;
}

static void packs_check(struct checking *checking)
{
    uint32_t count = checking->report->pack_count;

    for (uint32_t i = 0; i < count; i++) {
        const struct digest receipt = store_receipt(checking->store, i);
        char name[STORE_NAME_BYTES], text[64];
        struct err fault;

        (void)snprintf(text, sizeof text, "pack %" PRIu32 " of %" PRIu32, i + 1, count);
        if (checking->progress != NULL)
            checking->progress(NULL, text);
        if (pack_check_one(checking, i, false, &fault) == 0) {
            store_inputs_trust(checking->inputs, i);
        } else {
            store_pack_name(&receipt, name);
            checking->is_damaged[i] = true;
            fault_tell(checking, name, &fault);
        }
        if (store_has_local(checking->store, i) && pack_check_one(checking, i, true, &fault) < 0) {
            store_local_name(&receipt, name);
            checking->is_damaged[i] = true;
            fault_tell(checking, name, &fault);
        }
    }
}

/* ---- what each receipt needs ---- */

/* What is missing of a receipt's inputs. */
struct gap {
    uint64_t count;
    struct digest first;
};

static int gap_find(const struct checking *checking, uint32_t number, struct gap *out, struct err *err)
{
    struct store_pack open = {.fd = -1};
    struct needs needs = {0};
    int code = store_pack_open(checking->store, number, true, &open, err);

    if (code < 0) /* its observations may be there all the same */
        code = store_pack_open(checking->store, number, false, &open, err);
    if (code < 0)
        return code;
    code = needs_read(open.pack, &needs, err);
    store_pack_close(&open);
    for (size_t i = 0; code == 0 && needs.promises && i < needs_count(&needs); i++) {
        const struct digest digest = needs_at(&needs, i);

        if (!store_inputs_holds(checking->inputs, &digest, STORE_ANY_SIZE) && out->count++ == 0)
            out->first = digest;
    }
    needs_done(&needs);
    return code;
}

/* Tells that a receipt is concerned, and why. */
static void gap_tell(const struct checking *checking, uint32_t number, const struct gap *gap)
{
    char receipt[2 * DIGEST_BYTES + 1], digits[2 * DIGEST_BYTES + 1], where[2 * DIGEST_BYTES + 64] = "no pack has it";
    char text[512];
    uint32_t pack;
    uint64_t size_bytes;

    receipt_write(checking, number, receipt);
    hex_encode(gap->first.bytes, DIGEST_BYTES, digits);
    if (store_inputs_listed(checking->inputs, &gap->first, &pack, &size_bytes)) {
        char name[2 * DIGEST_BYTES + 1];

        receipt_write(checking, pack, name);
        (void)snprintf(where, sizeof where, "%s%s has it damaged", name, STORE_PACK_SUFFIX);
    }
    (void)snprintf(text, sizeof text, "%" PRIu64 " of its inputs cannot be had; the first is %s: %s", gap->count,
                   digits, where);
    line_print(checking, "concerns", receipt, text);
}

static void needs_check(struct checking *checking)
{
    for (uint32_t i = 0; i < checking->report->pack_count; i++) {
        char receipt[2 * DIGEST_BYTES + 1];
        struct gap gap = {0};
        struct err fault;
        int code = gap_find(checking, i, &gap, &fault);

        receipt_write(checking, i, receipt);
        if (code < 0)
            line_print(checking, "concerns", receipt, "what it needs cannot be told");
        else if (gap.count > 0)
            gap_tell(checking, i, &gap);
        else if (checking->is_damaged[i])
            line_print(checking, "concerns", receipt, "it is its own; all inputs that it shares can be had");
        if (code < 0 || gap.count > 0 || checking->is_damaged[i])
            checking->report->concerned_count++;
    }
}

/* ---- what else is in the folder ---- */

static int stray_tell(void *context, const struct store_stray *stray, struct err *err)
{
    const struct checking *checking = context;

    (void)err;
    if (!stray->is_partial)
        line_print(checking, "stray", stray->name,
                   stray->is_local ? "local contents without their recording; they are passed over"
                                   : "not the store's; it is passed over");
    else if (stray->is_left && stray->is_local)
        line_print(checking, "left", stray->name, "local contents of a recording that was killed; remove it");
    else if (stray->is_left)
        line_print(checking, "left", stray->name,
                   "left by a recording that was killed; exhibit-record salvage makes a bundle of it, or remove it");
    return 0;
}

int store_check(const struct store *store, void (*progress)(void *context, const char *text), FILE *out,
                struct store_check_report *report, struct err *err)
{
    AUTO_FREE bool *is_damaged = calloc((size_t)store_pack_count(store) + 1, sizeof *is_damaged);
    struct checking checking = {
        .store = store, .is_damaged = is_damaged, .progress = progress, .out = out, .report = report};

    *report = (struct store_check_report){.pack_count = store_pack_count(store)};
    if (is_damaged == NULL)
        return err_set_errno(err, "memory for %" PRIu32 " packs", report->pack_count);
    if (store_inputs_new(store, LIMIT_STORE_OBJECTS, true, &checking.inputs, err) < 0)
        return err->code;
    packs_check(&checking);
    needs_check(&checking);
    store_inputs_free(checking.inputs);
    return store_strays(store, stray_tell, &checking, err);
}
