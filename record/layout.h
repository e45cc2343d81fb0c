/*
 * The work folder of a recording: where everything runs in copies, at the same paths in every mode.
 *
 *   WORK/source     an empty workspace, where the plan has none
 *   WORK/box/workspace, scratch (home, tmp and run in it), tools, policy, candidate
 *   WORK/targets    made by record/targets.c, outside of what any policy grants
 */
#pragma once

#include "record/session.h"

/* Where the work folder is made by default: many sandboxes put their own file system over /tmp. */
#define LAYOUT_DEFAULT_PARENT "/var/tmp"

/* The symbolic link that is planted in each copy of the workspace; it leads to the second canary. */
#define LAYOUT_LINK_NAME ".exhibit-link"

/*
 * Fills session->work and the paths below it as layout_make will, but for six letters; makes nothing. `has_policy`:
 * there will be one. ERR_USAGE: `parent` is no folder. ERR_LIMIT: a path that is too long.
 */
int layout_foresee(struct session *session, const char *parent, bool has_policy, struct err *err);

/*
 * Makes a fresh work folder in `parent` (absolute; NULL: /var/tmp), with the tools (the toolkit's probe and
 * exhibit-confine, copied from `program_dir`) the policy bytes (NULL: none) and the files of the candidate's folder,
 * and fills session->work and the paths below it. It is marked as in use (record/stale.h) until layout_remove.
 * ERR_USAGE: `parent` is no folder that can be written. ERR_SYSTEM.
 */
int layout_make(struct session *session, const char *parent, const char *program_dir, const struct bytes *policy,
                struct err *err);

/* Makes workspace and scratch anew: a fresh copy with the link planted, an empty scratch with its folders. */
int layout_reset(struct session *session, struct err *err);

/* The folder that is copied as the workspace: the plan's, or an empty one. Valid as long as the session. */
const char *layout_source(const struct session *session);

/* Removes the whole work folder; it is no longer marked, also where it stays. Harmless where there is none. */
int layout_remove(struct session *session, struct err *err);
