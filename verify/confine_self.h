/*
 * This program's own confinement, entered before it reads hostile bytes. Knows no bundle.
 */
#pragma once

#include <stddef.h>

/*
 * From here on: no privileges gained, no file opened but for reading one of `paths` or what is beneath it, no program,
 * no process, no socket. A path that cannot be opened now is left out, and cannot be opened later. What the kernel does
 * not give is told in `warning` (empty: all is in force). A build with sanitizers gives up only the privileges, since
 * those need /proc and a helper of their own.
 */
void verify_confine_self(const char *const *paths, size_t path_count, char *warning, size_t warning_bytes);
