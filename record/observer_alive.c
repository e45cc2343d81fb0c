/*
 * Who of the members is alive, and their end. A process is signalled only where it was proved to be the member.
 */
#include "base/cleanup.h"
#include "record/lineage.h"
#include "record/observer_state.h"
#include "record/proc.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int observer_alive(struct observer *observer, Exhibit__Step *step, struct err *err)
{
    if (observer_tick(observer, err) < 0)
        return err->code;
    step->alive = calloc(observer->members.count + 1, sizeof *step->alive);
    if (step->alive == NULL)
        return err_set_errno(err, "memory for %zu processes", observer->members.count);
    for (size_t i = 0; i < observer->members.count; i++) {
        const struct member *member = &observer->members.items[i];
        Exhibit__AliveProcess *alive;

        if (proc_is_gone(member->pid, member->start_time))
            continue;
        alive = malloc(sizeof *alive);
        if (alive == NULL)
            return err_set_errno(err, "memory for %zu processes", observer->members.count);
        exhibit__alive_process__init(alive);
        alive->pid = (uint32_t)member->pid;
        alive->start_time = member->start_time;
        step->alive[step->n_alive++] = alive;
    }
    return 0;
}

void observer_alive_free(Exhibit__Step *step)
{
    for (size_t i = 0; i < step->n_alive; i++)
        free(step->alive[i]);
    free(step->alive);
    step->alive = NULL;
    step->n_alive = 0;
}

bool observer_has(const struct observer *observer, pid_t pid, uint64_t start_time)
{
    const struct member *member = members_find(&observer->members, pid);

    return member != NULL && member->start_time == start_time;
}

size_t observer_remaining(struct observer *observer)
{
    size_t remaining = 0;

    observer_fresh_look(observer, 0);
    for (size_t i = 0; i < observer->members.count; i++)
        remaining += !proc_is_gone(observer->members.items[i].pid, observer->members.items[i].start_time);
    return remaining;
}

void observer_kill(struct observer *observer)
{
    observer_fresh_look(observer, 0);
    for (size_t i = 0; i < observer->members.count; i++) {
        const struct member *member = &observer->members.items[i];
        AUTO_FD int fd = (int)syscall(SYS_pidfd_open, member->pid, 0u);

        /* Compared after the descriptor is held: from here on the number cannot come to mean another process. */
        if (fd >= 0 && member->start_time != 0 && !proc_is_gone(member->pid, member->start_time) &&
            lineage_start_time(&observer->members, member->pid) == member->start_time)
            (void)syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0u);
    }
}

void observer_reap(struct observer *observer)
{
    siginfo_t info;

    for (;;) {
        info.si_pid = 0;
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0 ||
            info.si_pid == observer->root)
            return; /* the root's zombie holds its group's number: it is waited for when no signal can follow */
        (void)waitpid(info.si_pid, NULL, WNOHANG);
    }
}
