/*
 * Preloaded into a program: from its first pread() on, the allocation number $FAIL_AT fails, and all after it. With
 * FAIL_AT=0 none fails, and their number goes to stderr when the program ends by exit().
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What glibc calls its own ones. */
void *__libc_malloc(size_t size_bytes);
void *__libc_calloc(size_t count, size_t size_bytes);
void *__libc_realloc(void *old, size_t size_bytes);

static bool armed;
static long counted, fail_at;

static bool fails(void)
{
    if (!armed || ++counted < fail_at || fail_at == 0)
        return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size_bytes)
{
    return fails() ? NULL : __libc_malloc(size_bytes);
}

void *calloc(size_t count, size_t size_bytes)
{
    return fails() ? NULL : __libc_calloc(count, size_bytes);
}

void *realloc(void *old, size_t size_bytes)
{
    return fails() ? NULL : __libc_realloc(old, size_bytes);
}

ssize_t pread64(int fd, void *to, size_t size_bytes, off64_t offset)
{
    const char *at = getenv("FAIL_AT");

    if (!armed)
        fail_at = at == NULL ? 0 : strtol(at, NULL, 10);
    armed = true;
    return syscall(SYS_pread64, fd, to, size_bytes, offset);
}

static void __attribute__((destructor)) tell(void)
{
    if (armed && fail_at == 0)
        (void)dprintf(STDERR_FILENO, "%ld allocations\n", counted);
}
