/*
 * A control group (version 2) for each run, below the recorder's own: membership that no detaching escapes, and a way
 * to end all members at once. Absent on machines that do not give one: that is an answer, not an error.
 */
#pragma once

#include "base/err.h"

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct cgroup {
    int dir_fd; /* -1: none */
    int parent_fd;
    int kill_fd;   /* of its cgroup.kill, from the beginning: the end must not want for a descriptor; -1: none there */
    int events_fd; /* of its cgroup.events */
    char name[64];
};

/* The struct that stands for "none". */
#define CGROUP_NONE ((struct cgroup){.dir_fd = -1, .parent_fd = -1, .kill_fd = -1, .events_fd = -1})

/*
 * Makes a control group called `name`. False: the machine does not give one, or has no descriptor or memory for it,
 * which errno tells (cgroup_wants_room); out is CGROUP_NONE.
 */
bool cgroup_open(const char *name, struct cgroup *out);

/* Whether an errno says that there was no room, and nothing about what the machine gives. */
bool cgroup_wants_room(int errno_value);

/* The folder in which this process's control groups are made. False: the machine gives none. */
bool cgroup_parent(char out[PATH_MAX]);

/* Takes over a control group that is there. False: there is none of that name. */
bool cgroup_adopt(const char *name, struct cgroup *out);

/*
 * Ends all members with SIGKILL, at once, by the kernel's own knowledge of who they are. False: could not, and errno
 * says why (EOPNOTSUPP: CGROUP_NONE, or a kernel before 5.14).
 */
bool cgroup_kill(const struct cgroup *cgroup);

/* Whether the kernel gives that (since 5.14). False for CGROUP_NONE. */
bool cgroup_can_kill(const struct cgroup *cgroup);

/* Whether any process is in it (zombies do not count). False for CGROUP_NONE. */
bool cgroup_is_populated(const struct cgroup *cgroup);

/* Removes it (it must be empty; waits up to 200 ms for the kernel to see that) and closes what is open. */
void cgroup_close(struct cgroup *cgroup);
