#include "base/file.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

int file_write_all(int fd, const void *from, size_t size_bytes, struct err *err)
{
    const uint8_t *at = from;

    while (size_bytes > 0) {
        ssize_t written = write(fd, at, size_bytes);

        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return err_set_errno(err, "write %zu bytes", size_bytes);
        at += written;
        size_bytes -= (size_t)written;
    }
    return 0;
}

int file_pread_all(int fd, void *to, size_t size_bytes, uint64_t offset, struct err *err)
{
    uint8_t *at = to;

    while (size_bytes > 0) {
        ssize_t got = pread(fd, at, size_bytes, (off_t)offset);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_set_errno(err, "read %zu bytes at %" PRIu64, size_bytes, offset);
        if (got == 0)
            return err_set(err, ERR_FORMAT, "the file ends at %" PRIu64 ", %zu bytes too early", offset, size_bytes);
        at += got;
        size_bytes -= (size_t)got;
        offset += (uint64_t)got;
    }
    return 0;
}

int file_read_all(int fd, size_t max_bytes, struct bytes *out, struct err *err)
{
    AUTO_BYTES struct bytes all = {0};

    for (;;) {
        uint8_t part[65536];
        ssize_t got = read(fd, part, sizeof part);
        int code;

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_set_errno(err, "read");
        if (got == 0)
            break;
        code = bytes_add(&all, part, (size_t)got, max_bytes, err);
        if (code < 0)
            return code;
    }
    bytes_done(out);
    *out = all;
    all = (struct bytes){0};
    return 0;
}

int file_read_path(int dir_fd, const char *path, int no_follow, size_t max_bytes, struct bytes *out, struct err *err)
{
    AUTO_FD int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (no_follow ? O_NOFOLLOW : 0));
    struct stat stat;
    int code;

    if (fd < 0)
        return err_set_errno(err, "open %s", path);
    if (fstat(fd, &stat) < 0)
        return err_set_errno(err, "stat %s", path);
    if (!S_ISREG(stat.st_mode))
        return err_set(err, ERR_USAGE, "%s is not a regular file", path);
    code = file_read_all(fd, max_bytes, out, err);
    return code < 0 ? err_wrap(err, "%s", path) : 0;
}

int file_create(int dir_fd, const char *path, mode_t mode, const void *from, size_t size_bytes, struct err *err)
{
    AUTO_FD int fd = openat(dir_fd, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    int code;

    if (fd < 0)
        return err_set_errno(err, "create %s", path);
    code = file_write_all(fd, from, size_bytes, err);
    if (code < 0)
        return err_wrap(err, "%s", path);
    if (fchmod(fd, mode) < 0) /* open() alone would be subject to the umask */
        return err_set_errno(err, "chmod %s", path);
    return 0;
}

int file_random(void *out, size_t size_bytes, struct err *err)
{
    if (getrandom(out, size_bytes, 0) != (ssize_t)size_bytes) /* whole for up to 256 bytes: getrandom(2) */
        return err_set_errno(err, "getrandom");
    return 0;
}
