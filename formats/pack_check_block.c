/*
 * A worker reads and decodes a block, and digests the objects that lie in it whole, and the beginning of one that runs
 * over its end. What came over its own beginning goes on in the part's running digest, block after block. Behind a
 * fault nothing is looked at: the first one is told.
 */
#include "formats/pack_check_block.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#define THREADS_FROM_BYTES (1u << 20) /* of content: less is checked in the time that threads need to start */

/* What a worker keeps for itself. */
struct check_tools {
    ZSTD_DCtx *decoder;
    uint8_t *frame;            /* room for the largest block of the pack */
    uint8_t *content;          /* as much */
    struct digest_run *digest; /* of an object that begins in the block and runs over its end */
};

/* The object that runs over the end of a part's last block so far. */
struct check_run {
    uint32_t next_block; /* whose turn it is */
    struct digest_run *digest;
};

struct block_checks {
    const struct pack *pack; /* borrowed */
    size_t room_bytes;       /* that hold each of its blocks */
    struct crew *crew;
    uint32_t given;       /* blocks so far */
    pthread_mutex_t lock; /* for next_block and first_fault */
    pthread_cond_t turned;
    uint32_t first_fault; /* the lowest place of a block with a fault, or UINT32_MAX */
    struct check_run runs[PACK_PART_COUNT];
    struct check_tools tools[PACK_CHECK_WORKERS];
};

int block_checks_new(const struct pack *pack, unsigned most, struct block_checks **out, struct err *err)
{
    struct block_checks *checks = calloc(1, sizeof *checks);
    bool whole = checks != NULL;
    uint64_t content_bytes = 0;

    assert(most <= PACK_CHECK_WORKERS);
    for (size_t i = 0; i < PACK_PART_COUNT; i++)
        content_bytes += pack->index[i].starts[pack->index[i].block_count];
    if (whole) {
        checks->pack = pack;
        checks->room_bytes = pack_room_bytes(pack);
        checks->first_fault = UINT32_MAX;
        (void)pthread_mutex_init(&checks->lock, NULL);
        (void)pthread_cond_init(&checks->turned, NULL);
        checks->crew = crew_new(content_bytes < THREADS_FROM_BYTES ? 1 : most);
        whole = checks->crew != NULL;
    }
    for (size_t i = 0; whole && i < PACK_PART_COUNT; i++) {
        checks->runs[i].digest = digest_run_new();
        whole = checks->runs[i].digest != NULL;
    }
    for (size_t i = 0; whole && i < PACK_CHECK_WORKERS; i++) {
        checks->tools[i].digest = digest_run_new();
        whole = checks->tools[i].digest != NULL;
    }
    if (!whole) {
        block_checks_free(checks);
        return err_set(err, ERR_SYSTEM, "no memory for a check");
    }
    *out = checks;
    return 0;
}

void block_checks_free(struct block_checks *checks)
{
    if (checks == NULL)
        return;
    crew_free(checks->crew); /* first: its jobs use the rest */
    for (size_t i = 0; i < PACK_PART_COUNT; i++)
        digest_run_free(checks->runs[i].digest);
    for (size_t i = 0; i < PACK_CHECK_WORKERS; i++) {
        ZSTD_freeDCtx(checks->tools[i].decoder);
        free(checks->tools[i].frame);
        free(checks->tools[i].content);
        digest_run_free(checks->tools[i].digest);
    }
    (void)pthread_cond_destroy(&checks->turned);
    (void)pthread_mutex_destroy(&checks->lock);
    free(checks);
}

/* A block as a worker has it: decoded, with its place in the part's content. */
struct open_block {
    struct block_check *check;
    const uint8_t *content;
    uint64_t start, end;
    uint32_t entry_count;
};

/* Compares an object's digest with the one that the journal lists, and the index too. */
static void compare(const struct open_block *open, const struct digest *right, const struct digest *seen)
{
    struct block_check *check = open->check;
    char digits[2 * DIGEST_BYTES + 1];

    if (check->code < 0 || digest_equal(right, seen))
        return;
    hex_encode(right->bytes, DIGEST_BYTES, digits);
    check->code =
        frame_fault(&check->err, ERR_MISMATCH,
                    pack_index_block(&check->checks->pack->index[pack_slot(check->part)], check->number).frame,
                    "FORMAT 4.8: object %s has other content", digits);
}

/* Digests the objects that begin in this block and end in it. Gives where the last of all that end in it ends. */
static uint64_t whole_objects(const struct open_block *open)
{
    uint64_t at = open->check->object_start;

    for (uint32_t i = 0; i < open->entry_count; i++) {
        struct digest right, seen;
        uint64_t size_bytes;

        layout_journal_entry_take(open->check->entries.data + (size_t)i * PACK_JOURNAL_ENTRY_BYTES, &right,
                                  &size_bytes);
        if (at >= open->start) {
            seen = digest_of(open->content + (at - open->start), (size_t)size_bytes);
            compare(open, &right, &seen);
        }
        at += size_bytes;
        assert(at > open->start && at <= open->end); /* pack_check has seen to it */
    }
    return at;
}

/* Waits for this block's turn in its part's running digest. Blocks are begun in order: the one before goes on. */
static struct check_run *take_turn(const struct block_check *check)
{
    struct block_checks *checks = check->checks;
    struct check_run *run = &checks->runs[pack_slot(check->part)];

    (void)pthread_mutex_lock(&checks->lock);
    while (run->next_block != check->number)
        (void)pthread_cond_wait(&checks->turned, &checks->lock);
    (void)pthread_mutex_unlock(&checks->lock);
    return run;
}

static void pass_turn(const struct block_check *check, struct check_run *run)
{
    struct block_checks *checks = check->checks;

    (void)pthread_mutex_lock(&checks->lock);
    run->next_block++;
    if (check->code < 0 && check->place < checks->first_fault)
        checks->first_fault = check->place;
    (void)pthread_cond_broadcast(&checks->turned);
    (void)pthread_mutex_unlock(&checks->lock);
}

/* Digests what lies in this block of an object that runs over its end, if that begins in it, too: at `rest`. */
static void begin_object(const struct open_block *open, struct digest_run *digest, uint64_t rest)
{
    if (rest < open->start)
        return;
    digest_run_reset(digest);
    digest_run_add(digest, open->content + (rest - open->start), (size_t)(open->end - rest));
}

/* Digests what lies in this block of an object that began before it, and lets the block's own beginning follow. */
static void go_on(const struct open_block *open, struct check_run *run, struct digest_run **begun, uint64_t rest)
{
    const struct block_check *check = open->check;
    struct digest_run *ended = run->digest;

    if (rest < open->start) {
        digest_run_add(run->digest, open->content, (size_t)(open->end - open->start));
        return;
    }
    if (check->object_start < open->start) {
        struct digest right, seen;
        uint64_t size_bytes;

        layout_journal_entry_take(check->entries.data, &right, &size_bytes);
        digest_run_add(ended, open->content, (size_t)(check->object_start + size_bytes - open->start));
        seen = digest_run_now(ended);
        compare(open, &right, &seen);
    }
    run->digest = *begun;
    *begun = ended;
}

/* Reads and decodes the block with the worker's tools. */
static int decode(struct block_check *check, struct check_tools *tools)
{
    const struct pack *pack = check->checks->pack;
    struct layout_block block = pack_index_block(&pack->index[pack_slot(check->part)], check->number);

    if (tools->decoder == NULL)
        tools->decoder = ZSTD_createDCtx();
    if (tools->frame == NULL)
        tools->frame = frame_room_new(check->checks->room_bytes);
    if (tools->content == NULL)
        tools->content = frame_room_new(check->checks->room_bytes);
    if (tools->decoder == NULL || tools->frame == NULL || tools->content == NULL)
        return err_set(&check->err, ERR_SYSTEM, "no memory for a block");
    if (pack_block_decode(pack, &block, tools->decoder, tools->frame, tools->content, &check->err) == 0)
        return 0;
    return pack_block_fault(pack, check->part, check->number, &check->err);
}

/* Whether a block before this one has a fault, so that nothing of this one will be told. */
static bool behind_fault(const struct block_check *check)
{
    struct block_checks *checks = check->checks;
    bool behind;

    (void)pthread_mutex_lock(&checks->lock);
    behind = checks->first_fault < check->place;
    (void)pthread_mutex_unlock(&checks->lock);
    return behind;
}

static void block_work(struct crew_job *job, unsigned worker)
{
    struct block_check *check = (struct block_check *)job;
    struct check_tools *tools = &check->checks->tools[worker];
    const struct pack_index *index = &check->checks->pack->index[pack_slot(check->part)];
    struct open_block open = {.check = check,
                              .start = index->starts[check->number],
                              .end = index->starts[check->number + 1],
                              .entry_count = (uint32_t)(check->entries.size_bytes / PACK_JOURNAL_ENTRY_BYTES)};
    struct check_run *run;
    uint64_t rest = 0;
    bool decoded = false;

    if (!behind_fault(check)) {
        check->code = decode(check, tools);
        decoded = check->code == 0;
    }
    open.content = tools->content;
    if (decoded) {
        rest = whole_objects(&open);
        begin_object(&open, tools->digest, rest);
    }
    run = take_turn(check);
    if (decoded)
        go_on(&open, run, &tools->digest, rest);
    pass_turn(check, run);
}

void block_check_start(struct block_checks *checks, struct block_check *block)
{
    block->job.work = block_work;
    block->checks = checks;
    block->place = checks->given++;
    block->code = 0;
    crew_give(checks->crew, &block->job);
}

int block_check_wait(struct block_check *block, struct err *err)
{
    crew_wait(block->checks->crew, &block->job);
    if (block->code < 0)
        *err = block->err;
    return block->code;
}

_Static_assert(offsetof(struct block_check, job) == 0, "a block is found by its job");
