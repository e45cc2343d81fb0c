/*
 * First the packs that need something get it, then the others go.
 */
#include "record/prune.h"

#include "base/cleanup.h"
#include "formats/store.h"
#include "record/gather.h"
#include "record/prune_risk.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct pruning {
    const struct prune_request *request;
    struct prune_report *report;
    struct store *store;
    bool *dropped; /* by number */
    struct prune_risks *risks;
};

static int dropped_find(struct pruning *pruning, struct err *err)
{
    const struct prune_request *request = pruning->request;

    pruning->dropped = calloc((size_t)store_pack_count(pruning->store) + 1, sizeof *pruning->dropped);
    if (pruning->dropped == NULL)
        return err_set_errno(err, "memory for the packs");
    for (size_t i = 0; i < request->receipt_count; i++) {
        uint32_t number = 0;

        if (store_find(pruning->store, request->receipts[i], &number, err) < 0)
            return err->code;
        pruning->dropped[number] = true;
    }
    return 0;
}

/* ---- moving ---- */

/* Writes all that an open pack has, and what it is to get, to `to`. */
static int pack_fill(struct pruning *pruning, struct pack *own, const char *name, const struct needs *moves,
                     struct pack_writer *to, struct err *err)
{
    const struct pack_wish all = {0};
    struct pack_copied counts = {0};
    struct gather gather;

    if (pack_copy(own, PACK_OBSERVATION, &all, to, &counts, err) < 0 ||
        pack_copy(own, PACK_INPUT, &all, to, &counts, err) < 0)
        return err_wrap(err, "%s/%s", store_path(pruning->store), name);
    if (gather_start(&gather, pruning->store, moves, to, err) < 0)
        return err->code;
    for (uint32_t i = 0; i < store_pack_count(pruning->store) && gather_missing(&gather) > 0; i++)
        if (pruning->dropped[i] && gather_number(&gather, i, err) < 0)
            return err->code;
    return gather_check(&gather, err);
}

static uint64_t size_of(const struct pruning *pruning, const char *name)
{
    struct stat stat;

    return fstatat(store_folder(pruning->store), name, &stat, AT_SYMLINK_NOFOLLOW) < 0 ? 0 : (uint64_t)stat.st_size;
}

/* Replaces the pack at `number` by one of the same receipt that has what it needs. */
static int pack_grow_anew(struct pruning *pruning, uint32_t number, const struct needs *moves, struct err *err)
{
    const struct digest receipt = store_receipt(pruning->store, number);
    char name[STORE_NAME_BYTES];
    struct store_pack own = {.fd = -1};
    struct pack_writer *to = NULL;
    uint64_t before_bytes;
    struct digest claim;
    bool claimed = false;
    int code = store_pack_open(pruning->store, number, true, &own, err);

    store_pack_name(&receipt, name);
    before_bytes = size_of(pruning, name);
    if (code == 0)
        code = pack_writer_new_unnamed(store_folder(pruning->store), name, &to, err);
    if (code == 0)
        code = pack_writer_name(to, name, PACK_NAME_REPLACE, err);
    if (code == 0)
        code = pack_fill(pruning, own.pack, name, moves, to, err);
    if (code == 0) {
        claimed = pack_claim(own.pack, &claim);
        code = pack_writer_finish(to, &receipt, claimed ? &claim : NULL, err);
        to = NULL; /* freed by finishing, also on failure */
    }
    pack_writer_abandon(to);
    store_pack_close(&own);
    if (code < 0)
        return err_wrap(err, "nothing is dropped");
    pruning->report->grown_count++;
    pruning->report->moved_count += needs_count(moves);
    pruning->report->moved_bytes += size_of(pruning, name) - before_bytes;
    return 0;
}

static void progress(const struct pruning *pruning, uint32_t number)
{
    char text[64];

    (void)snprintf(text, sizeof text, "prune: pack %" PRIu32 " of %" PRIu32, number + 1,
                   store_pack_count(pruning->store));
    if (pruning->request->progress != NULL)
        pruning->request->progress(pruning->request->context, text);
}

static int packs_grow(struct pruning *pruning, struct err *err)
{
    for (uint32_t i = 0; i < store_pack_count(pruning->store); i++) {
        struct needs moves = {0};
        int code = pruning->dropped[i] ? 0 : prune_risks_moves(pruning->risks, i, &moves, err);

        progress(pruning, i);
        if (code == 0 && needs_count(&moves) > 0)
            code = pack_grow_anew(pruning, i, &moves, err);
        needs_done(&moves);
        if (code < 0)
            return code;
    }
    return 0;
}

/* ---- dropping ---- */

/* Removes a file that may be missing, and counts it. */
static int file_drop(struct pruning *pruning, const char *name, struct err *err)
{
    uint64_t size_bytes = size_of(pruning, name);

    if (unlinkat(store_folder(pruning->store), name, 0) == 0)
        pruning->report->dropped_bytes += size_bytes;
    else if (errno != ENOENT)
        return err_set_errno(err, "remove %s/%s", store_path(pruning->store), name);
    return 0;
}

/* A pack goes last: as long as it is there, its receipt can be named again. */
static int packs_drop(struct pruning *pruning, struct err *err)
{
    for (uint32_t i = 0; i < store_pack_count(pruning->store); i++) {
        const struct digest receipt = store_receipt(pruning->store, i);
        char name[STORE_NAME_BYTES];

        if (!pruning->dropped[i])
            continue;
        store_local_name(&receipt, name);
        if (file_drop(pruning, name, err) < 0)
            return err->code;
        store_pack_name(&receipt, name);
        if (file_drop(pruning, name, err) < 0)
            return err->code;
        pruning->report->dropped_count++;
    }
    if (fsync(store_folder(pruning->store)) < 0)
        return err_set_errno(err, "fsync %s", store_path(pruning->store));
    return 0;
}

/* Nobody writes while we have the lock: what says partial was left. */
static int stray_take(void *context, const struct store_stray *stray, struct err *err)
{
    const struct pruning *pruning = context;
    const struct store *store = pruning->store;

    (void)err;
    if (!stray->is_left)
        return 0;
    if (!stray->is_copy)
        store_stray_note(store, stray);
    else if (unlinkat(store_folder(store), stray->name, 0) == 0)
        store_note(store, "removed %s/%s, which a prune that was killed had left", store_path(store), stray->name);
    return 0;
}

int prune_make(const struct prune_request *request, struct prune_report *out, struct err *err)
{
    const struct store_request store = {
        .path = request->store, .lock = STORE_EXCLUSIVE, .note = request->note, .context = request->context};
    struct pruning pruning = {.request = request, .report = out};
    int code;

    assert(request->receipt_count > 0);
    *out = (struct prune_report){0};
    code = store_open(&store, &pruning.store, err);
    if (code == 0)
        code = dropped_find(&pruning, err);
    if (code == 0)
        code = store_strays(pruning.store, stray_take, &pruning, err);
    if (code == 0)
        code = prune_risks_new(pruning.store, pruning.dropped, &pruning.risks, err);
    if (code == 0)
        code = packs_grow(&pruning, err);
    if (code == 0)
        code = packs_drop(&pruning, err);
    prune_risks_free(pruning.risks);
    store_close(pruning.store);
    free(pruning.dropped);
    return code;
}
