/*
 * Whether a number still means a process of ours: by its line of parents, which no stranger can have, however soon
 * numbers come round. Knows no run and sends nothing.
 */
#pragma once

#include "record/members.h"
#include "record/proc.h"

/*
 * The start time of the process that has this number now, if its line of parents leads to this process (every orphan
 * comes to us, for we are a subreaper) or to a member that is the process it was. 0: it is gone, or a stranger.
 */
uint64_t lineage_start_time(const struct members *members, pid_t pid);

/* The same of a process of whom `seen` was read just now: he may be gone since, where his parent is a member. */
uint64_t lineage_start_time_of(const struct members *members, pid_t pid, const struct proc_stat *seen);
