#include "record/orphans.h"

#include "base/cleanup.h"
#include "record/census.h"
#include "record/proc.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TRIES 200

/* A child of ours keeps its number until we wait for it: the descriptor is of the process that we looked at. */
static void child_kill(pid_t pid)
{
    struct proc_stat stat;
    AUTO_FD int fd = -1;

    if (!proc_stat_read(pid, &stat) || stat.parent_pid != (uint32_t)getpid())
        return;
    fd = (int)syscall(SYS_pidfd_open, pid, 0u);
    if (fd >= 0)
        (void)syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0u);
}

static void children_kill(void)
{
    struct census census = {0};
    struct err err;

    if (census_take(&census, &err) == 0)
        for (size_t i = 0; i < census.count; i++)
            if (census.items[i].parent == getpid())
                child_kill(census.items[i].pid);
    census_done(&census);
}

int orphans_refuse(struct err *err)
{
    siginfo_t info;

    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD)
        return 0;
    return err_set(err, ERR_USAGE,
                   "it was executed by a process that has children already; start it as a child itself");
}

void orphans_end(void)
{
    static const struct timespec pause = {.tv_nsec = 10000000};

    for (int i = 0; i < TRIES; i++) {
        pid_t ended;

        do
            ended = waitpid(-1, NULL, WNOHANG);
        while (ended > 0);
        if (ended < 0) /* no child is left */
            return;
        children_kill();
        (void)nanosleep(&pause, NULL);
    }
}
