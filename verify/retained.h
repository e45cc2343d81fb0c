/*
 * A frozen tree compared with a folder as it is now. Reads the folder alone and follows nothing in it.
 */
#pragma once

#include "base/err.h"
#include "proto/exhibit.pb-c.h"
#include "verify/finding.h"

/*
 * Compares paths, types, permission bits, sizes and digests. Each difference is a finding. `root_fd` is borrowed.
 * ERR_SYSTEM: the folder could not be read. ERR_LIMIT: it is nested too deep.
 */
int retained_compare(const Exhibit__FreezeList *list, int root_fd, struct findings *findings, struct err *err);
