#include "base/spill.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define PIECE_ALIGN_BYTES 65536u /* a multiple of each page size */

static int spill_fd = -1;
static pid_t owner;         /* who opened it: a child would use the same bytes of it */
static uint64_t most_bytes; /* beyond them, the file's next byte is a signal */
static atomic_uint_fast64_t next_at;

static void file_open(void)
{
    const char *folders[] = {secure_getenv("TMPDIR"), "/var/tmp", "/tmp"};
    struct rlimit limit;
    int fd = -1;

    owner = getpid();
    most_bytes = getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur > INT64_MAX ? INT64_MAX : limit.rlim_cur;
    for (size_t i = 0; i < sizeof folders / sizeof *folders && fd < 0; i++)
        if (folders[i] != NULL)
            fd = open(folders[i], O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    spill_fd = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1); /* it must not pass for a stream that was closed */
    (void)close(fd);
}

void spill_prepare(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, file_open);
}

int spill_descriptor(void)
{
    return spill_fd;
}

static size_t piece_bytes(size_t size_bytes)
{
    return (size_bytes + PIECE_ALIGN_BYTES - 1) / PIECE_ALIGN_BYTES * PIECE_ALIGN_BYTES;
}

/* Whether as much again is left on the disk for others: the bundle may be written to it. True where nobody tells. */
static bool is_room_left(size_t size_bytes)
{
    struct statvfs disk;

    return fstatvfs(spill_fd, &disk) < 0 || disk.f_frsize == 0 ||
           disk.f_bavail / 2 >= (size_bytes + disk.f_frsize - 1) / disk.f_frsize;
}

/* A part of the file is used once. What is freed is a hole, so that the file's size alone grows. */
void *spill_new(size_t size_bytes)
{
    size_t whole_bytes = piece_bytes(size_bytes);
    uint64_t at;
    void *memory;

    spill_prepare();
    if (spill_fd < 0 || getpid() != owner || whole_bytes < size_bytes || whole_bytes > most_bytes ||
        !is_room_left(whole_bytes))
        return NULL;
    at = atomic_fetch_add(&next_at, whole_bytes);
    if (at > most_bytes - whole_bytes)
        return NULL;
    memory = mmap(NULL, whole_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, spill_fd, (off_t)at);
    if (memory == MAP_FAILED)
        return NULL;
    /* Else a full disk would be told by a signal, when the memory is written to. */
    if (fallocate(spill_fd, 0, (off_t)at, (off_t)whole_bytes) == 0)
        return memory;
    spill_free(memory, size_bytes); /* a part of it may have been had */
    return NULL;
}

void spill_free(void *memory, size_t size_bytes)
{
    if (getpid() == owner) /* a child's memory is its parent's */
        (void)madvise(memory, piece_bytes(size_bytes), MADV_REMOVE);
    (void)munmap(memory, piece_bytes(size_bytes));
}
