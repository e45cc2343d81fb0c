#include "record/lineage.h"

#include "record/proc.h"

#include <unistd.h>

#define TRIES 8        /* a line changes while it is read when somebody in it ends */
#define LENGTH_MAX 256 /* members are nearly always children of members */

/* Reads the line once. False: it changed meanwhile. */
static bool line_read(const struct members *members, pid_t pid, uint64_t *out)
{
    struct proc_stat stat, above, again;

    *out = 0;
    if (!proc_stat_read(pid, &stat))
        return true;
    for (uint64_t start_time = stat.start_time, length = 0; length < LENGTH_MAX; length++) {
        pid_t parent = (pid_t)stat.parent_pid;
        const struct member *known = members_find(members, parent);

        *out = parent == getpid() ? start_time : 0;
        if (parent == getpid() || parent <= 1)
            return true;
        /* Who loses a parent gets another one: with the same one before and after, the number was the parent's. */
        if (!proc_stat_read(parent, &above) || !proc_stat_read(pid, &again) || again.parent_pid != stat.parent_pid ||
            again.start_time != stat.start_time)
            return false;
        if (known != NULL && known->start_time == above.start_time) {
            *out = start_time;
            return true;
        }
        pid = parent;
        stat = above;
    }
    return true;
}

uint64_t lineage_start_time(const struct members *members, pid_t pid)
{
    uint64_t start_time = 0;

    for (int i = 0; i < TRIES && !line_read(members, pid, &start_time); i++)
        start_time = 0;
    return start_time;
}
