/*
 * A whole recording: from a plan and an oracle to a finished pack with its claim.
 */
#pragma once

#include "formats/oracle.h"
#include "formats/plan.h"
#include "proto/exhibit.pb-c.h"

struct recording_request {
    const struct plan *plan;
    const struct oracle *oracle;
    const char *output;      /* must not exist; NULL: a store */
    const char *store;       /* NULL: the output */
    const char *work_parent; /* NULL: the default */
    const char *program_dir; /* where the toolkit's programs are */
    bool snapshots_only;
    void (*progress)(void *context, const char *text); /* NULL: nobody listens */
    void *progress_context;
    void (*note)(const char *text); /* what a store has to say; NULL: nobody listens */
};

/*
 * Makes the recording and gives its claim, owned by the caller: free with exhibit__claim__free_unpacked. Interrupted by
 * SIGINT, SIGTERM, SIGHUP or SIGQUIT it ends everything and writes a pack whose receipt says partial; *out_interrupted
 * tells. ERR_USAGE: nothing was started and nothing is left (but a store that was made stays). Any other failure:
 * everything that was started is ended, no pack is left, and a work folder that could not be removed is named.
 */
int recording_make(const struct recording_request *request, Exhibit__Claim **out, bool *out_interrupted,
                   struct err *err);
