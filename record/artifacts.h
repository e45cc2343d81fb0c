/*
 * What a run left in its scratch, file by file. Nothing outside of scratch is read, nothing is followed, nothing
 * blocks.
 */
#pragma once

#include "base/err.h"
#include "formats/pack.h"
#include "proto/exhibit.pb-c.h"
#include "record/secrets.h"

/* What is looked at, and who takes it. All borrowed. */
struct artifacts_request {
    const char *scratch;
    const char *const *skip; /* relative paths that are passed over: the recorder keeps those as streams */
    size_t skip_count;
    bool folders; /* tell of folders too, but for the recorder's own (home, tmp, run) */
    struct pack_writer *pack;
    const struct secrets *secrets; /* that no artifact and no member of one may have: ERR_MISMATCH; NULL: none */
    /* Gets one artifact and its kept content (NULL, 0 where not kept); returns 0 or a negative err_code. */
    int (*take)(void *context, const Exhibit__Artifact *artifact, const void *content, size_t size_bytes,
                struct err *err);
    void *context;
};

/*
 * Walks scratch (sorted by path, memcmp) and hands each non-folder on as an Artifact: regular files of up to
 * LIMIT_ARTIFACT_BYTES are put into the pack as observations (`kept`), those with an archive's name are listed by
 * member as well; others tell why not in `note` (a folder, too large, sparse, not a regular file, changed while read).
 * At most LIMIT_ARTIFACTS: then one Artifact with path "" and a note that says how many were passed over.
 */
int artifacts_collect(const struct artifacts_request *request, struct err *err);
