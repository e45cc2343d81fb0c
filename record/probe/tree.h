/*
 * Starting the next role of a tree, and keeping forks apart from roles. Knows nothing of attempts.
 */
#pragma once

#include "record/probe/assignment.h"

/*
 * For a fork of a role: writes `word` (as long as "run") over the word in its own argv, so that it is never taken for
 * the role, not even when the role is dead. `verb` is the role's argv[ARG_VERB].
 */
void tree_step_aside(char *verb, const char *word);

/*
 * Starts the role after assignment->role by fork and exec of argv[0] with the same argv but for role and nonce
 * (docs/DECISION.md 1.4): a child as our child, a grandchild detached (in a session that it does not lead, and not our
 * child). What fails becomes one line on stderr. A role that starts nothing is left as it is.
 */
void tree_start_next(const struct assignment *assignment, char **argv);
