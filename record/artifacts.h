/*
 * What a run left in its scratch, file by file. Nothing outside of scratch is read, nothing is followed, nothing
 * blocks.
 */
#pragma once

#include "base/err.h"
#include "formats/pack.h"
#include "proto/exhibit.pb-c.h"

/*
 * Walks `scratch` (sorted by path, memcmp) and hands each non-folder on as an Artifact: regular files of up to
 * LIMIT_ARTIFACT_BYTES are put into `pack` as observations (`kept`), those with an archive's name are listed by member
 * as well; others tell why not in `note` (too large, sparse, not a regular file, changed while read). Paths equal to
 * one of `skip` (relative, skip_count of them) are passed over: the recorder keeps those as streams. `take` gets the
 * artifact and the kept content (NULL, 0 where not kept), borrowed during the call, and returns 0 or a negative
 * err_code. At most LIMIT_ARTIFACTS: then one Artifact with path "" and a note that says how many were passed over.
 */
int artifacts_collect(const char *scratch, const char *const *skip, size_t skip_count, struct pack_writer *pack,
                      int (*take)(void *context, const Exhibit__Artifact *artifact, const void *content,
                                  size_t size_bytes, struct err *err),
                      void *context, struct err *err);
