#include "record/spool.h"

#include "base/file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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

int spool_put(struct spool *spool, const char *folder, const void *from, size_t size_bytes, struct err *err)
{
    int code;

    if (spool->fd < 0) {
        code = nameless_open(folder, err);
        if (code < 0)
            return code;
        spool->fd = code;
    }
    code = file_write_all(spool->fd, from, size_bytes, err);
    if (code == 0)
        spool->put_bytes += size_bytes;
    return code < 0 ? err_wrap(err, "what waits to be kept") : 0;
}

ssize_t spool_put_pipe(struct spool *spool, int pipe_fd, size_t max_bytes)
{
    ssize_t put;

    do
        put = splice(pipe_fd, NULL, spool->fd, NULL, max_bytes, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    while (put < 0 && errno == EINTR);
    if (put > 0)
        spool->put_bytes += (uint64_t)put;
    return put;
}

int spool_take(struct spool *spool, void *to, size_t room_bytes, size_t *out_bytes, struct err *err)
{
    uint64_t waiting = spool_waiting(spool);
    size_t wanted = waiting < room_bytes ? (size_t)waiting : room_bytes;

    if (wanted > 0 && file_pread_all(spool->fd, to, wanted, spool->taken_bytes, err) < 0) {
        err->code = ERR_SYSTEM; /* a file of our own that ends too early is no one's claim */
        return err_wrap(err, "what waits to be kept");
    }
    spool->taken_bytes += wanted;
    *out_bytes = wanted;
    return 0;
}

int spool_forget(struct spool *spool, size_t size_bytes, struct err *err)
{
    assert(size_bytes <= spool_waiting(spool));
    spool->put_bytes -= size_bytes;
    if (lseek(spool->fd, (off_t)spool->put_bytes, SEEK_SET) < 0)
        return err_set_errno(err, "go back in what waits to be kept");
    return 0;
}

void spool_done(struct spool *spool)
{
    if (spool->fd >= 0)
        (void)close(spool->fd);
    *spool = SPOOL_NONE;
}
