/*
 * Large pages for the first of the heap.
 */
#include "base/heap.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define LARGE_PAGE_BYTES ((uintptr_t)2 << 20)
#define PAGE_BYTES 4096

void heap_begin(void)
{
    uintptr_t now = (uintptr_t)sbrk(0), begin = (now + 2 * LARGE_PAGE_BYTES - 1) / LARGE_PAGE_BYTES * LARGE_PAGE_BYTES;
    void *volatile first; /* or the compiler sees no use in it */

    /* malloc begins a page before the first large one: what it writes there at once would make that one small. */
    (void)sbrk((intptr_t)(begin - PAGE_BYTES - now));
    (void)mallopt(M_TOP_PAD, 2 * LARGE_PAGE_BYTES);
    /* These would follow what is freed, but for the setting above. A segment of a stream (1 MiB) stays in the heap, for
       the next one comes at once; what is larger is given back. */
    (void)mallopt(M_MMAP_THRESHOLD, LARGE_PAGE_BYTES);
    (void)mallopt(M_TRIM_THRESHOLD, 4 * LARGE_PAGE_BYTES);
    first = malloc(1);
    free(first);
    if ((uintptr_t)sbrk(0) >= begin + 2 * LARGE_PAGE_BYTES)                /* no other malloc than libc's */
        (void)madvise((void *)begin, 2 * LARGE_PAGE_BYTES, MADV_HUGEPAGE); /* a wish */
}
