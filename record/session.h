/*
 * What all runs of one recording share. Plain data; each part is owned by record/recording.c and borrowed by the rest.
 */
#pragma once

#include "formats/oracle.h"
#include "formats/plan.h"
#include "record/journal.h"
#include "record/listeners.h"
#include "record/loop.h"
#include "record/observer.h"
#include "record/secrets.h"
#include "record/stale.h"
#include "record/targets.h"
#include "record/tree.h"

#include <limits.h>
#include <stdbool.h>

struct session {
    const struct plan *plan;
    const struct oracle *oracle;
    struct loop *loop;
    struct journal *journal;
    struct observer *observer;
    struct listeners *listeners;
    struct targets *targets;
    char work[PATH_MAX]; /* absolute; holds all of the following */
    char workspace[PATH_MAX];
    char scratch[PATH_MAX];
    char home[PATH_MAX];
    char tools[PATH_MAX];
    char policy[PATH_MAX];                 /* empty: the candidate has none */
    char candidate[PATH_MAX];              /* its folder's files; empty: it is written in the plan */
    char group_prefix[STALE_PREFIX_BYTES]; /* of the names of control groups: unlike that of any other recording */
    int owner_fd;                          /* the lock on the work folder; -1: none */
    struct digest probe;                   /* the probe's executable */
    struct secrets *secrets;               /* NULL: the plan has none */
    struct pack_writer *local;             /* takes the contents of local inputs; NULL: the plan has none */
    uint8_t salt[FREEZE_SALT_BYTES];
    uint32_t run_count; /* numbers given so far */
    bool control_groups;
    volatile bool interrupted;                         /* end everything, write down that it is partial */
    void (*progress)(void *context, const char *text); /* what is being done now; NULL: nobody listens */
    void *progress_context;
};
