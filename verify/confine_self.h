/*
 * This program's own confinement, entered before it reads hostile bytes. Knows no bundle.
 */
#pragma once

#include <stddef.h>

/*
 * From here on: no privileges gained, no file opened but for reading beneath the folder source_fd (-1: none at all), no
 * program, no process, no socket. What the kernel does not give is told in `warning` (empty: all is in force). A build
 * with sanitizers gives up only the privileges, since those need /proc and a helper of their own.
 */
void verify_confine_self(int source_fd, char *warning, size_t warning_bytes);
