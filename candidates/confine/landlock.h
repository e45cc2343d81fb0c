/*
 * The policy's grants as a Landlock domain of the calling process. Knows paths and the kernel's Landlock calls, and
 * nothing of system call filters.
 */
#pragma once

#include "candidates/confine/policy.h"

/*
 * Puts the calling process, for good, into a domain in which it can reach only what the policy grants, and neither
 * bind nor connect TCP at all. Needs no_new_privs to be set. ERR_SYSTEM says what the kernel lacks, which call failed
 * or which path that is not optional is missing; the process is then not confined and must not go on.
 */
int landlock_enter(const struct policy *policy, struct err *err);
