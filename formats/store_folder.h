/*
 * A folder that is a store, or becomes one: its marker (FORMAT 11.2). Knows no pack.
 */
#pragma once

#include "base/err.h"

#include <dirent.h>
#include <stdbool.h>

/* The marker on its way; whoever writes it has it locked. */
#define STORE_MARKER_FRESH ".exhibit-store.partial"

/*
 * Opens the folder; with `make` it is made where it is missing, and made a store where it is empty. Of several that do
 * so at once each finds it made. The caller closes *out_fd. ERR_USAGE: no store; says what to do. ERR_SYSTEM.
 */
int store_folder_open(const char *path, bool make, int *out_fd, struct err *err);

/* Begins to list a folder; closedir is the caller's. NULL: errno says why. */
DIR *store_list_open(int dir_fd);

/* The next name but "." and ".."; valid until the next call. NULL: the end, or an error (errno is not 0 then). */
const char *store_list_next(DIR *dir);
