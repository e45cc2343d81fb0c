#include "record/lineage.h"

#include <unistd.h>

#define TRIES 8        /* a line changes while it is read when somebody in it ends */
#define LENGTH_MAX 256 /* members are nearly always children of members */

/* Reads the line of a process, of which `stat` was read, once. False: it changed meanwhile. */
static bool line_read(const struct members *members, pid_t pid, struct proc_stat stat, uint64_t *out)
{
    struct proc_stat above, again;

    for (uint64_t start_time = stat.start_time, length = 0; length < LENGTH_MAX; length++) {
        pid_t parent = (pid_t)stat.parent_pid;
        const struct member *known = members_find(members, parent);

        *out = parent == getpid() ? start_time : 0;
        if (parent == getpid() || parent <= 1)
            return true;
        if (!proc_stat_read(parent, &above))
            return false;
        if (known != NULL && known->start_time == above.start_time) { /* known before, there after: so in between */
            *out = start_time;
            return true;
        }
        /* Who loses a parent gets another one: with the same one before and after, the number was the parent's. */
        if (!proc_stat_read(pid, &again) || again.parent_pid != stat.parent_pid || again.start_time != stat.start_time)
            return false;
        pid = parent;
        stat = above;
    }
    return true;
}

uint64_t lineage_start_time_of(const struct members *members, pid_t pid, const struct proc_stat *seen)
{
    struct proc_stat stat = *seen;
    uint64_t start_time = 0;

    for (int i = 0; i < TRIES && !line_read(members, pid, stat, &start_time); i++) {
        start_time = 0;
        if (!proc_stat_read(pid, &stat))
            break;
    }
    return start_time;
}

uint64_t lineage_start_time(const struct members *members, pid_t pid)
{
    struct proc_stat stat;

    return proc_stat_read(pid, &stat) ? lineage_start_time_of(members, pid, &stat) : 0;
}
