/*
 * Asks the candidate for its version, by the command that its description names.
 */
#pragma once

#include "record/session.h"

/*
 * Runs the version command, if there is one, for at most 5 s, and gives the first line of what it printed (at most 200
 * bytes, printable ASCII; the rest as '?'), owned by the caller (free). "" where there is none or it does not answer:
 * the version is for people. ERR_SYSTEM: no memory or no process.
 */
int version_ask(struct session *session, char **out, struct err *err);
