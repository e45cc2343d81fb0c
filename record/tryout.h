/*
 * One run of a command outside of any recording: what it printed, and how it ended. Nothing is observed and nothing is
 * kept; whatever the command started is ended with it.
 */
#pragma once

#include "base/bytes.h"
#include "formats/plan.h"

#define TRYOUT_KEPT_BYTES (16u << 20) /* of each output; the rest is read and dropped */

struct tryout_request {
    const struct text_list *argv;
    const struct text_list *environment;
    const char *cwd;
    const uint8_t *stdin_bytes;
    size_t stdin_size_bytes;
    uint32_t watchdog_ms;
    const volatile bool *interrupted; /* ends it early */
};

/* All zero before. Release with tryout_done. */
struct tryout {
    uint64_t started_at_ns;   /* when it was seen to execute */
    uint64_t ended_at_ns;     /* when it was seen to end, or was ended */
    const char *failed_stage; /* NULL: it executed. Static */
    int failed_errno;
    bool overran;   /* the watchdog ended it */
    bool by_signal; /* `number` is a signal, not a status */
    uint32_t number;
    struct bytes out, err;
    bool out_is_cut, err_is_cut;
};

/*
 * Runs it. What the command does is never an error. ERR_SYSTEM: nothing could be started. Every child of this process
 * is taken for the command's and is gone afterwards.
 */
int tryout_run(const struct tryout_request *request, struct tryout *out, struct err *err);

/* Releases what is owned. */
void tryout_done(struct tryout *tryout);

#define AUTO_TRYOUT __attribute__((cleanup(tryout_done)))
