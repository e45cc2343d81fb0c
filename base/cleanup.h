/*
 * Ownership by scope: a local marked AUTO_* is released when its scope ends. Initialise it where it is declared.
 */
#pragma once

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free(void *slot)
{
    free(*(void **)slot);
}

static inline void cleanup_fd(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd); /* never retried: on Linux the number is gone even after EINTR */
}

static inline void cleanup_dir(DIR **dir)
{
    if (*dir != NULL)
        (void)closedir(*dir);
}

static inline void cleanup_file(FILE **file)
{
    if (*file != NULL)
        (void)fclose(*file);
}

#define AUTO_FREE __attribute__((cleanup(cleanup_free)))
#define AUTO_FD __attribute__((cleanup(cleanup_fd)))
#define AUTO_DIR __attribute__((cleanup(cleanup_dir)))
#define AUTO_FILE __attribute__((cleanup(cleanup_file)))

/* Hands the descriptor on: the caller owns it now, the local is spent. */
static inline int take_fd(int *fd)
{
    int given = *fd;

    *fd = -1;
    return given;
}

/* Hands the allocation on: the caller owns it now, the local is spent. */
static inline void *take_ptr(void *slot)
{
    void *given = *(void **)slot;

    *(void **)slot = NULL;
    return given;
}
