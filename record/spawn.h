/*
 * Starts one command: own session and process group, own control group, three pipes, nothing inherited. The only place
 * of the toolkit that starts a process.
 */
#pragma once

#include "base/err.h"
#include "record/cgroup.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct spawn_request {
    char *const *argv;        /* NULL-terminated; the first is a path, nothing is looked up and no shell takes over */
    char *const *environment; /* NULL-terminated NAME=value: all that the command gets */
    const char *cwd;
    const struct cgroup *cgroup; /* the command is put there before it executes; may be CGROUP_NONE */
};

struct spawned {
    pid_t pid;
    int pid_fd;                         /* owned */
    int stdin_fd, stdout_fd, stderr_fd; /* the recorder's ends, non-blocking, owned */
    uint64_t start_time;                /* clock ticks since boot */
    const char *failed_stage;           /* NULL: it executes. Else what failed, static; there is no process any more */
    int failed_errno;
};

/*
 * Makes room for the descriptors that a recording may need. Commands still start with the limit that was there before.
 * ERR_SYSTEM: the limit cannot be raised that far.
 */
int spawn_limits_raise(struct err *err);

/*
 * Starts it. A command that cannot be executed is an answer (failed_stage), not an error. ERR_SYSTEM: the recorder
 * itself could not (no descriptor, no process): nothing was started, out is unset. The process is the caller's to wait
 * for.
 */
int spawn_start(const struct spawn_request *request, struct spawned *out, struct err *err);

/*
 * Sends a signal to the group that `leader` leads: our child that nobody has waited for, which began at start_time.
 * Returns 0 or an errno; ESRCH where it is not, or no longer, what it was.
 */
int spawn_group_signal(pid_t leader, uint64_t start_time, int signal_number);
