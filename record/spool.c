#include "record/spool.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define STRIPE_BYTES                                                                                                   \
    (1u << 20) /* also what a lane's pipe holds, where it may: then one is filled while one is emptied */
#define COPY_BYTES 65536

/* A file that no one else can open, and that is gone with its descriptor. */
static int nameless_open(const char *folder, struct err *err)
{
    char path[PATH_MAX + 32];
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);

    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return fd >= 0 ? fd : err_set_errno(err, "make a file in %s", folder);
    (void)snprintf(path, sizeof path, "%s/spool-XXXXXX", folder); /* a file system without O_TMPFILE */
    fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0)
        return err_set_errno(err, "make a file in %s", folder);
    (void)unlink(path);
    return fd;
}

/* Writes some of what is in the pipe by way of our own memory. As splice(2). */
static ssize_t lane_copy(const struct spool_lane *lane)
{
    char bytes[COPY_BYTES];
    ssize_t got = read(lane->ends[0], bytes, sizeof bytes), done = 0;

    while (done < got) {
        ssize_t put = write(lane->fd, bytes + done, (size_t)(got - done));

        if (put < 0 && errno != EINTR)
            return -1;
        done += put < 0 ? 0 : put;
    }
    return got;
}

/* Writes what is in the pipe into the file. */
static void lane_write(struct crew_job *job, unsigned worker)
{
    struct spool_lane *lane = (struct spool_lane *)job; /* its first member */
    ssize_t put;

    (void)worker;
    do {
        put = splice(lane->ends[0], NULL, lane->fd, NULL, STRIPE_BYTES, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
        if (put < 0 && errno == EINVAL) /* a file system that cannot */
            put = lane_copy(lane);
        if (put > 0)
            lane->written_bytes += (uint64_t)put;
    } while (put > 0 || (put < 0 && errno == EINTR));
    if (put < 0 && errno != EAGAIN)
        lane->error = errno;
}

/* Has what is in the lane's pipe written, when that is not under way. */
static int lane_start(struct spool *spool, struct spool_lane *lane, struct err *err)
{
    if (!crew_is_done(spool->crew, &lane->job))
        return 0;
    if (lane->error != 0) {
        errno = lane->error;
        return err_set_errno(err, "what waits to be kept: write");
    }
    if (lane->written_bytes < lane->put_bytes)
        crew_give(spool->crew, &lane->job);
    return 0;
}

/* Waits until all that was put into the lane is in its file. */
static int lane_settle(struct spool *spool, struct spool_lane *lane, struct err *err)
{
    crew_wait(spool->crew, &lane->job);
    if (lane_start(spool, lane, err) < 0) /* it may have found the pipe empty just before the last bytes came */
        return err->code;
    crew_wait(spool->crew, &lane->job);
    return lane_start(spool, lane, err);
}

/* The lane in which the byte at this place of all is, or will be. */
static struct spool_lane *lane_at(struct spool *spool, uint64_t place)
{
    return &spool->lanes[place / STRIPE_BYTES % SPOOL_LANES];
}

static int spool_open(struct spool *spool, const char *folder, struct err *err)
{
    for (int i = 0; i < SPOOL_LANES; i++)
        spool->lanes[i] = (struct spool_lane){.job = {.work = lane_write, .done = true}, .ends = {-1, -1}, .fd = -1};
    spool->crew = crew_new(SPOOL_LANES);
    if (spool->crew == NULL)
        return err_set_errno(err, "memory for what waits to be kept");
    for (int i = 0; i < SPOOL_LANES; i++) {
        struct spool_lane *lane = &spool->lanes[i];

        lane->fd = nameless_open(folder, err);
        if (lane->fd < 0)
            return err_wrap(err, "what waits to be kept");
        if (pipe2(lane->ends, O_CLOEXEC | O_NONBLOCK) < 0)
            return err_set_errno(err, "what waits to be kept: make a pipe");
        (void)fcntl(lane->ends[1], F_SETPIPE_SZ, STRIPE_BYTES); /* a smaller one does, too */
    }
    return 0;
}

int spool_put_pipe(struct spool *spool, const char *folder, int pipe_fd, uint64_t max_bytes, ssize_t *out_moved,
                   struct err *err)
{
    struct spool_lane *lane = lane_at(spool, spool->put_bytes);
    uint64_t stripe_bytes = STRIPE_BYTES - spool->put_bytes % STRIPE_BYTES;
    size_t wanted = (size_t)(max_bytes < stripe_bytes ? max_bytes : stripe_bytes);
    bool had_room = false;

    if (spool->crew == NULL && spool_open(spool, folder, err) < 0) {
        spool_done(spool);
        return err->code;
    }
    for (;;) {
        *out_moved = splice(pipe_fd, NULL, lane->ends[1], NULL, wanted, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
        if (*out_moved >= 0)
            break;
        if (errno == EINTR)
            continue;
        if (errno != EAGAIN)
            return err_set_errno(err, "what waits to be kept: move");
        if (had_room)
            return 0;
        if (lane_settle(spool, lane, err) < 0) /* it may be this pipe that is full */
            return err->code;
        had_room = true;
    }
    lane->put_bytes += (uint64_t)*out_moved;
    spool->put_bytes += (uint64_t)*out_moved;
    return lane_start(spool, lane, err);
}

int spool_check(struct spool *spool, struct err *err)
{
    for (int i = 0; spool->crew != NULL && i < SPOOL_LANES; i++)
        if (lane_start(spool, &spool->lanes[i], err) < 0)
            return err->code;
    return 0;
}

int spool_take(struct spool *spool, void *to, size_t room_bytes, size_t *out_bytes, struct err *err)
{
    struct spool_lane *lane = lane_at(spool, spool->taken_bytes);
    uint64_t waiting = spool_waiting(spool), in_stripe = spool->taken_bytes % STRIPE_BYTES;
    uint64_t stripe_start = spool->taken_bytes / STRIPE_BYTES / SPOOL_LANES * STRIPE_BYTES;
    uint64_t wanted = waiting < room_bytes ? waiting : room_bytes;

    if (wanted > STRIPE_BYTES - in_stripe)
        wanted = STRIPE_BYTES - in_stripe;
    *out_bytes = (size_t)wanted;
    if (wanted == 0)
        return 0;
    if (lane_settle(spool, lane, err) < 0)
        return err->code;
    if (file_pread_all(lane->fd, to, *out_bytes, stripe_start + in_stripe, err) < 0) {
        err->code = ERR_SYSTEM; /* a file of our own that ends too early is no one's claim */
        return err_wrap(err, "what waits to be kept");
    }
    spool->taken_bytes += wanted;
    return 0;
}

void spool_done(struct spool *spool)
{
    if (spool->crew == NULL)
        return;
    crew_free(spool->crew);
    for (int i = 0; i < SPOOL_LANES; i++) {
        const int fds[] = {spool->lanes[i].ends[0], spool->lanes[i].ends[1], spool->lanes[i].fd};

        for (size_t j = 0; j < sizeof fds / sizeof *fds; j++)
            if (fds[j] >= 0)
                (void)close(fds[j]);
    }
    *spool = (struct spool){0};
}
