/*
 * First every pack by itself, then what each receipt needs: an input counts as there when a whole pack lists it, or a
 * damaged one gives it when it is read. Small packs are looked at side by side, and told in their order; a large one
 * has all workers for its blocks.
 */
#include "record/store_check.h"

#include "base/cleanup.h"
#include "base/crew.h"
#include "formats/claim.h"
#include "formats/store_inputs.h"
#include "record/needs.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define WORKERS 4u
#define SMALL_BYTES (1u << 20) /* of a file: a worker needs as much, and room for two blocks */
#define RING 16u               /* packs on their way */

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

/* ---- one pack after the other ---- */

/* What is to be found out of a pack by itself, or was. */
struct pack_job {
    struct crew_job job;
    const struct pass *pass;
    uint32_t number;
    bool is_small; /* others are looked at meanwhile */
    bool has_local;
    uint64_t checked_bytes;
    int code, local_code; /* with what is wrong */
    struct err fault, local_fault;
    struct needs needs;
    bool needs_room; /* more than beside others: they are to be read when it is taken */
};

_Static_assert(offsetof(struct pack_job, job) == 0, "a pack is found by its job");

/* One way through all packs. */
struct pass {
    struct checking *checking;
    const char *what;
    void (*look)(struct pack_job *job);                            /* beside others; it changes nothing but the job */
    void (*take)(struct checking *checking, struct pack_job *job); /* in the order of the packs, one at a time */
    struct crew *crew;
    struct pack_job *ring;
    uint32_t taken;
};

static void job_work(struct crew_job *job, unsigned worker)
{
    struct pack_job *pack = (struct pack_job *)job;

    (void)worker;
    pack->pass->look(pack);
}

/* What cannot be looked at is small: why is told soon enough. */
static bool file_is_small(const struct store *store, const char *name)
{
    struct stat stat;

    return fstatat(store_folder(store), name, &stat, AT_SYMLINK_NOFOLLOW) < 0 || stat.st_size < SMALL_BYTES;
}

static void job_fill(struct pack_job *job, const struct pass *pass, uint32_t number)
{
    const struct store *store = pass->checking->store;
    const struct digest receipt = store_receipt(store, number);
    char name[STORE_NAME_BYTES], local[STORE_NAME_BYTES];

    store_pack_name(&receipt, name);
    store_local_name(&receipt, local);
    *job = (struct pack_job){.job.work = job_work, .pass = pass, .number = number};
    job->has_local = store_has_local(store, number);
    job->is_small = file_is_small(store, name) && (!job->has_local || file_is_small(store, local));
}

/* Takes the oldest until at most so many before `next` are on their way. */
static void jobs_take(struct pass *pass, uint32_t next, uint32_t most)
{
    while (next - pass->taken > most) {
        struct pack_job *job = &pass->ring[pass->taken++ % RING];

        if (job->is_small)
            crew_wait(pass->crew, &job->job);
        pass->take(pass->checking, job);
    }
}

static void job_give(struct pass *pass, uint32_t number)
{
    const struct checking *checking = pass->checking;
    struct pack_job *job = &pass->ring[number % RING];
    char text[64];

    jobs_take(pass, number, RING - 1);
    job_fill(job, pass, number);
    if (!job->is_small) /* it gets its own workers, and the room of all */
        jobs_take(pass, number, 0);
    (void)snprintf(text, sizeof text, "%s %" PRIu32 " of %" PRIu32, pass->what, number + 1,
                   checking->report->pack_count);
    if (checking->progress != NULL)
        checking->progress(NULL, text);
    if (job->is_small)
        crew_give(pass->crew, &job->job);
    else
        pass->look(job);
}

/* ERR_SYSTEM: no memory. */
static int pass_make(struct pass pass, struct err *err)
{
    AUTO_FREE struct pack_job *ring = calloc(RING, sizeof *ring);
    uint32_t count = pass.checking->report->pack_count;

    pass.ring = ring;
    pass.crew = crew_new(WORKERS);
    if (ring == NULL || pass.crew == NULL) {
        crew_free(pass.crew);
        return err_set_errno(err, "memory for %" PRIu32 " packs", count);
    }
    for (uint32_t i = 0; i < count; i++)
        job_give(&pass, i);
    jobs_take(&pass, count, 0);
    crew_free(pass.crew);
    return 0;
}

/* ---- every pack by itself ---- */

/* Checks every byte of a pack, or of the local contents beside it. */
static int file_check(struct pack_job *job, bool local, struct err *err)
{
    const struct store *store = job->pass->checking->store;
    struct store_pack open = {.fd = -1};
    struct stat stat;
    int code = local ? store_local_open(store, job->number, &open, err)
                     : store_pack_open(store, job->number, true, &open, err);

    if (code < 0)
        return code;
    if (fstat(open.fd, &stat) == 0)
        job->checked_bytes += (uint64_t)stat.st_size;
    code = job->is_small ? pack_check_alone(open.pack, err) : pack_check(open.pack, err);
    store_pack_close(&open);
    return code;
}

static void pack_look(struct pack_job *job)
{
    job->code = file_check(job, false, &job->fault);
    job->local_code = job->has_local ? file_check(job, true, &job->local_fault) : 0;
}

static void pack_take(struct checking *checking, struct pack_job *job)
{
    const struct digest receipt = store_receipt(checking->store, job->number);
    char name[STORE_NAME_BYTES];

    checking->report->checked_bytes += job->checked_bytes;
    checking->is_damaged[job->number] = job->code < 0 || job->local_code < 0;
    if (job->code == 0) {
        store_inputs_trust(checking->inputs, job->number);
    } else {
        store_pack_name(&receipt, name);
        fault_tell(checking, name, &job->fault);
    }
    if (job->local_code < 0) {
        store_local_name(&receipt, name);
        fault_tell(checking, name, &job->local_fault);
    }
}

/* ---- what each receipt needs ---- */

static uint64_t observed_bytes(const struct pack *pack)
{
    uint64_t size_bytes = 0;

    for (uint32_t i = 0; i < pack_object_count(pack, PACK_OBSERVATION); i++)
        size_bytes += pack_object_at(pack, PACK_OBSERVATION, i).size_bytes;
    return size_bytes;
}

static void needs_look(struct pack_job *job)
{
    const struct store *store = job->pass->checking->store;
    struct store_pack open = {.fd = -1};
    int code = store_pack_open(store, job->number, true, &open, &job->fault);

    if (code < 0) /* its observations may be there all the same */
        code = store_pack_open(store, job->number, false, &open, &job->fault);
    job->needs_room = code == 0 && job->is_small && observed_bytes(open.pack) > LIMIT_BLOCK_BYTES;
    if (code == 0 && !job->needs_room)
        code = needs_read(open.pack, &job->needs, &job->fault);
    store_pack_close(&open);
    job->code = code;
}

/* What is missing of a receipt's inputs. */
struct gap {
    uint64_t count;
    struct digest first;
};

static void gap_find(const struct checking *checking, const struct needs *needs, struct gap *out)
{
    for (size_t i = 0; needs->promises && i < needs_count(needs); i++) {
        const struct digest digest = needs_at(needs, i);

        if (!store_inputs_holds(checking->inputs, &digest, STORE_ANY_SIZE) && out->count++ == 0)
            out->first = digest;
    }
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

static void needs_take(struct checking *checking, struct pack_job *job)
{
    char receipt[2 * DIGEST_BYTES + 1];
    struct gap gap = {0};
    bool lacks_local = false;

    if (job->needs_room) {
        job->is_small = false;
        needs_look(job);
    }
    if (job->code == 0) {
        gap_find(checking, &job->needs, &gap);
        lacks_local = job->needs.wants_local && !job->has_local;
    }
    needs_done(&job->needs);
    receipt_write(checking, job->number, receipt);
    if (job->code < 0)
        line_print(checking, "concerns", receipt, "what it needs cannot be told");
    else if (gap.count > 0)
        gap_tell(checking, job->number, &gap);
    else if (checking->is_damaged[job->number])
        line_print(checking, "concerns", receipt, "it is its own; all inputs that it shares can be had");
    if (lacks_local)
        line_print(checking, "concerns", receipt,
                   "its local contents are gone: there is no file of its name with " STORE_LOCAL_SUFFIX);
    if (job->code < 0 || gap.count > 0 || lacks_local || checking->is_damaged[job->number])
        checking->report->concerned_count++;
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
    else if (stray->is_left && stray->is_copy)
        line_print(checking, "left", stray->name, "left by a prune that was killed; the next prune removes it");
    else if (stray->is_left)
        line_print(
            checking, "left", stray->name,
            "left by a recording that was killed; exhibit-record salvage, with this store, makes a bundle of it, "
            "or remove it");
    return 0;
}

int store_check(const struct store *store, void (*progress)(void *context, const char *text), FILE *out,
                struct store_check_report *report, struct err *err)
{
    AUTO_FREE bool *is_damaged = calloc((size_t)store_pack_count(store) + 1, sizeof *is_damaged);
    struct checking checking = {
        .store = store, .is_damaged = is_damaged, .progress = progress, .out = out, .report = report};
    int code;

    *report = (struct store_check_report){.pack_count = store_pack_count(store)};
    if (is_damaged == NULL)
        return err_set_errno(err, "memory for %" PRIu32 " packs", report->pack_count);
    if (store_inputs_new(store, LIMIT_STORE_OBJECTS, true, &checking.inputs, err) < 0)
        return err->code;
    code = pass_make((struct pass){.checking = &checking, .what = "pack", .look = pack_look, .take = pack_take}, err);
    if (code == 0)
        code = pass_make(
            (struct pass){.checking = &checking, .what = "receipt", .look = needs_look, .take = needs_take}, err);
    store_inputs_free(checking.inputs);
    return code < 0 ? code : store_strays(store, stray_tell, &checking, err);
}
