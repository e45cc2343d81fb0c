/*
 * Files in batches: a batch is read and digested by one worker, and emptied by the caller's thread in its turn.
 */
#include "formats/intake.h"

#include "base/cleanup.h"
#include "base/crew.h"
#include "formats/pack_writer.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bounds of a batch: its memory, its work, and how many files are open at once. */
#define BATCH_BYTES (512u << 10)
/* A file up to this size has a batch to itself; and what all batches may hold together then. */
#define ALONE_BYTES (4u << 20)
#define BATCHES_BYTES (2 * ALONE_BYTES)
#define BATCH_FILES 24u
#define BATCH_RING (2 * PACK_GROW_WORKERS + 2)

struct intake_file {
    int fd;             /* -1: closed */
    bool is_whole;      /* digest and size are set; with `keep` the content is in the batch */
    size_t place_bytes; /* of its content in the batch, for room_bytes */
    size_t room_bytes;
    uint64_t size_bytes; /* with the salt, where there is one */
    struct digest digest;
};

struct intake_batch {
    struct crew_job job;
    bool keep;
    const uint8_t *salt;
    uint8_t *content; /* where `keep`; NULL before the first */
    size_t content_bytes;
    uint64_t used_bytes;
    unsigned count;
    struct intake_file files[BATCH_FILES];
    unsigned failed; /* number of the file that could not be read, or BATCH_FILES */
    struct err err;
};

_Static_assert(offsetof(struct intake_batch, job) == 0, "a batch is found by its job");

struct intake {
    struct intake_request request;
    struct crew *own_crew; /* NULL: the pack's, or none yet */
    struct intake_batch *batches[BATCH_RING];
    unsigned oldest, pending, ring_size; /* of the ring; the batch after the pending ones is open */
    size_t content_bytes;                /* of all batches */
};

int intake_new(const struct intake_request *request, struct intake **out, struct err *err)
{
    struct intake *intake = calloc(1, sizeof *intake);

    if (intake == NULL)
        return err_set_errno(err, "memory for an intake");
    intake->request = *request;
    intake->ring_size = 1; /* until there is a crew */
    *out = intake;
    return 0;
}

static void file_close(struct intake_file *file)
{
    if (file->fd >= 0)
        (void)close(file->fd);
    file->fd = -1;
}

static size_t salt_size(const uint8_t *salt)
{
    return salt == NULL ? 0 : INTAKE_SALT_BYTES;
}

/* Reads a file into its room. One that does not fit any more is left to be put by itself. */
static int file_read(struct intake_batch *batch, struct intake_file *file, struct err *err)
{
    uint8_t *to = batch->content + file->place_bytes;
    size_t salt_bytes = salt_size(batch->salt), have = salt_bytes;

    if (salt_bytes > 0)
        memcpy(to, batch->salt, salt_bytes);
    while (have < file->room_bytes) {
        ssize_t got = pread(file->fd, to + have, file->room_bytes - have, (off_t)(have - salt_bytes));

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_set_errno(err, "read at %zu", have);
        if (got == 0)
            break;
        have += (size_t)got;
    }
    file->is_whole = have < file->room_bytes; /* the room has a byte more than the file seemed to */
    if (!file->is_whole)
        return 0;
    file->size_bytes = have;
    file->digest = digest_of(to, have);
    file_close(file);
    return 0;
}

static int file_digest(const struct intake_batch *batch, struct intake_file *file, struct err *err)
{
    size_t salt_bytes = salt_size(batch->salt);
    int code = digest_of_fd_after(batch->salt, salt_bytes, file->fd, &file->digest, &file->size_bytes, err);

    file->size_bytes += salt_bytes;
    file->is_whole = code == 0;
    file_close(file);
    return code;
}

/* Reads and digests a batch, in a worker. */
static void batch_work(struct crew_job *job, unsigned worker)
{
    struct intake_batch *batch = (struct intake_batch *)job;
    int code = 0;

    (void)worker;
    for (unsigned i = 0; i < batch->count && code == 0; i++) {
        struct intake_file *file = &batch->files[i];

        code = batch->keep ? file_read(batch, file, &batch->err) : file_digest(batch, file, &batch->err);
        if (code < 0)
            batch->failed = i;
    }
}

/* Puts one file of a batch that was worked on, and says so. */
static int file_finish(struct intake *intake, struct intake_batch *batch, unsigned number, struct err *err)
{
    const struct intake_request *request = &intake->request;
    struct intake_file *file = &batch->files[number];
    int code = 0;

    if (number == batch->failed) {
        *err = batch->err;
        code = err->code;
    } else if (request->keep != NULL && file->is_whole) {
        code = pack_put_digested(request->keep, request->part, batch->content + file->place_bytes,
                                 (size_t)file->size_bytes, &file->digest, err);
    } else if (!file->is_whole) {
        code = pack_put_fd_after(request->keep, request->part, request->salt, salt_size(request->salt), file->fd,
                                 &file->digest, &file->size_bytes, err);
    }
    file_close(file);
    if (code < 0) {
        (void)request->done(request->context, NULL, 0, err);
        return err->code;
    }
    return request->done(request->context, &file->digest, file->size_bytes - salt_size(request->salt), err);
}

/* The crew that the intake uses, or NULL where it needed none so far. */
static struct crew *crew_of(const struct intake *intake)
{
    return intake->request.keep != NULL ? intake->request.keep->grow.crew : intake->own_crew;
}

/* Empties the oldest batch. */
static int collect_one(struct intake *intake, struct err *err)
{
    struct intake_batch *batch = intake->batches[intake->oldest];
    int code = 0;

    if (crew_of(intake) != NULL)
        crew_wait(crew_of(intake), &batch->job);
    for (unsigned i = 0; i < batch->count && code == 0; i++)
        code = file_finish(intake, batch, i, err);
    if (code < 0)
        return code;
    intake->oldest = (intake->oldest + 1) % intake->ring_size;
    intake->pending--;
    return 0;
}

static int collect_all(struct intake *intake, struct err *err)
{
    int code = 0;

    while (code == 0 && intake->pending > 0)
        code = collect_one(intake, err);
    return code;
}

/* Makes sure that there is a crew, and sizes the ring to it. */
static int crew_make(struct intake *intake, struct err *err)
{
    struct crew *crew = crew_of(intake);

    if (crew == NULL && intake->request.keep != NULL)
        crew = pack_grow_crew(&intake->request.keep->grow, err);
    else if (crew == NULL)
        crew = intake->own_crew = crew_new(PACK_GROW_WORKERS);
    if (crew == NULL)
        return err_set(err, ERR_SYSTEM, "no memory for threads");
    if (intake->ring_size == 1) /* nothing is pending yet, and the open batch is the first */
        intake->ring_size = 2 * crew_size(crew) + 2;
    return 0;
}

/* The batch that takes the next file. */
static int open_batch(struct intake *intake, struct intake_batch **out, struct err *err)
{
    struct intake_batch **slot;

    if (intake->pending == intake->ring_size && collect_one(intake, err) < 0)
        return err->code;
    slot = &intake->batches[(intake->oldest + intake->pending) % intake->ring_size];
    if (*slot == NULL) {
        *slot = calloc(1, sizeof **slot);
        if (*slot == NULL)
            return err_set_errno(err, "memory for a batch");
    }
    if ((*slot)->job.done || (*slot)->job.work == NULL) { /* it was emptied, or is new */
        (*slot)->job = (struct crew_job){.work = batch_work};
        (*slot)->keep = intake->request.keep != NULL;
        (*slot)->salt = intake->request.salt;
        (*slot)->failed = BATCH_FILES;
        (*slot)->count = 0;
        (*slot)->used_bytes = 0;
    }
    *out = *slot;
    return 0;
}

static void content_free(struct intake *intake, struct intake_batch *batch)
{
    free(batch->content);
    batch->content = NULL;
    intake->content_bytes -= batch->content_bytes;
    batch->content_bytes = 0;
}

/* Gives the open batch room for a file, for which others may have to be emptied and give theirs back. */
static int content_make(struct intake *intake, struct intake_batch *batch, size_t room_bytes, struct err *err)
{
    size_t wanted_bytes = room_bytes > BATCH_BYTES ? ALONE_BYTES : BATCH_BYTES;

    if (batch->content_bytes >= wanted_bytes)
        return 0;
    content_free(intake, batch);
    while (intake->content_bytes + wanted_bytes > BATCHES_BYTES) {
        unsigned place = intake->oldest;

        for (unsigned i = 1; i < intake->ring_size - intake->pending; i++) { /* those that are empty, first */
            struct intake_batch *idle = intake->batches[(intake->oldest + intake->pending + i) % intake->ring_size];

            if (idle != NULL && idle->content_bytes > 0)
                place = (intake->oldest + intake->pending + i) % intake->ring_size;
        }
        assert(place != intake->oldest || intake->pending > 0);
        if (place == intake->oldest && collect_one(intake, err) < 0)
            return err->code;
        content_free(intake, intake->batches[place]);
    }
    batch->content = malloc(wanted_bytes);
    if (batch->content == NULL)
        return err_set_errno(err, "memory for a batch");
    batch->content_bytes = wanted_bytes;
    intake->content_bytes += wanted_bytes;
    assert(intake->content_bytes <= BATCHES_BYTES);
    return 0;
}

/* Sends the open batch to work, if there is anything in it. */
static int dispatch(struct intake *intake, struct err *err)
{
    struct intake_batch *batch;

    if (open_batch(intake, &batch, err) < 0)
        return err->code;
    if (batch->count == 0)
        return 0;
    if (crew_make(intake, err) < 0)
        return err->code;
    crew_give(crew_of(intake), &batch->job);
    intake->pending++;
    return 0;
}

/* Puts a file by itself that is too large for a batch, in its turn. */
static int give_large(struct intake *intake, int fd, struct err *err)
{
    const struct intake_request *request = &intake->request;
    struct digest digest;
    uint64_t size_bytes = 0;
    int code = dispatch(intake, err);

    if (code == 0)
        code = collect_all(intake, err);
    if (code < 0)
        return code;
    code = pack_put_fd_after(request->keep, request->part, request->salt, salt_size(request->salt), fd, &digest,
                             &size_bytes, err);
    if (code == 0)
        return request->done(request->context, &digest, size_bytes - salt_size(request->salt), err);
    (void)request->done(request->context, NULL, 0, err);
    return err->code;
}

int intake_give(struct intake *intake, int given_fd, uint64_t size_bytes, struct err *err)
{
    AUTO_FD int fd = given_fd;
    bool keep = intake->request.keep != NULL;
    size_t salt_bytes = salt_size(intake->request.salt);
    bool large = size_bytes >= ALONE_BYTES - salt_bytes;
    size_t room_bytes = keep && !large ? (size_t)size_bytes + salt_bytes + 1 : 0;
    struct intake_batch *batch;

    if (keep && large)
        return give_large(intake, fd, err);
    if (open_batch(intake, &batch, err) < 0)
        return err->code;
    if (batch->count == BATCH_FILES || batch->used_bytes + room_bytes > BATCH_BYTES) {
        if (dispatch(intake, err) < 0 || open_batch(intake, &batch, err) < 0)
            return err->code;
    }
    if (keep && content_make(intake, batch, room_bytes, err) < 0)
        return err->code;
    batch->files[batch->count++] =
        (struct intake_file){.fd = fd, .place_bytes = keep ? (size_t)batch->used_bytes : 0, .room_bytes = room_bytes};
    batch->used_bytes += keep ? room_bytes : size_bytes;
    (void)take_fd(&fd);
    return !keep && batch->used_bytes >= BATCH_BYTES ? dispatch(intake, err) : 0;
}

int intake_finish(struct intake *intake, struct err *err)
{
    struct intake_batch *batch;

    if (intake->pending > 0 || crew_of(intake) != NULL) {
        if (dispatch(intake, err) < 0)
            return err->code;
    } else { /* so few that a thread costs more than it does */
        if (open_batch(intake, &batch, err) < 0)
            return err->code;
        batch_work(&batch->job, 0);
        batch->job.done = true;
        intake->pending++;
    }
    return collect_all(intake, err);
}

void intake_free(struct intake *intake)
{
    if (intake == NULL)
        return;
    for (; intake->pending > 0; intake->pending--) {
        const struct intake_batch *batch = intake->batches[intake->oldest];

        if (crew_of(intake) != NULL)
            crew_wait(crew_of(intake), &batch->job);
        intake->oldest = (intake->oldest + 1) % intake->ring_size;
    }
    crew_free(intake->own_crew);
    for (unsigned i = 0; i < BATCH_RING; i++) {
        struct intake_batch *batch = intake->batches[i];

        for (unsigned j = 0; batch != NULL && j < batch->count; j++)
            file_close(&batch->files[j]);
        if (batch != NULL)
            free(batch->content);
        free(batch);
    }
    free(intake);
}
