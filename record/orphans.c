#include "record/orphans.h"

#include "base/cleanup.h"
#include "record/proc.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TRIES 200

/* A child of ours keeps its number until we wait for it: the descriptor is of the process that we looked at. */
static void child_kill(void *context, pid_t pid)
{
    struct proc_stat stat;
    AUTO_FD int fd = -1;

    (void)context;
    if (!proc_stat_read(pid, &stat) || stat.parent_pid != (uint32_t)getpid())
        return;
    fd = (int)syscall(SYS_pidfd_open, pid, 0u);
    if (fd >= 0)
        (void)syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0u);
}

void orphans_end(void)
{
    static const struct timespec pause = {.tv_nsec = 10000000};
    struct err err;

    for (int i = 0; i < TRIES; i++) {
        pid_t ended;

        do
            ended = waitpid(-1, NULL, WNOHANG);
        while (ended > 0);
        if (ended < 0) /* no child is left */
            return;
        (void)proc_each(child_kill, NULL, &err);
        (void)nanosleep(&pause, NULL);
    }
}
