/*
 * Memory that is not anonymous: pieces of one nameless file, mapped, which the kernel writes out where it needs the
 * room. For large tables, so that what a program takes does not grow with what it reads. Knows nothing of what is in
 * it.
 */
#pragma once

#include <stddef.h>

/*
 * Opens the file: in TMPDIR, /var/tmp or /tmp, whichever takes one first. Who confines himself calls it before; else
 * the first spill_new does. Harmless if called again.
 */
void spill_prepare(void);

/* Its descriptor, on which spill_new calls fallocate() and mmap(); -1: none is open. Borrowed. */
int spill_descriptor(void);

/*
 * Gives size_bytes (at least 1) of zeros, for which there is room on the disk. NULL: no such file is to be had, or it
 * would be too large; the heap is left then. Free with spill_free. May be called by several threads at once.
 */
void *spill_new(size_t size_bytes);

/* Releases what spill_new gave for this size, on the disk, too. */
void spill_free(void *memory, size_t size_bytes);
