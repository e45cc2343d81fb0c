#include "record/census.h"

#include "base/cleanup.h"
#include "record/proc.h"

#include <limits.h>

/* Adds a process, if it lives. */
static int process_count(struct census *census, pid_t pid, struct err *err)
{
    struct proc_stat stat;

    if (!proc_stat_read(pid, &stat))
        return 0;
    if ((stat.state == 'Z' || stat.state == 'X') && stat.thread_count <= 1) /* else its first thread alone has ended */
        return 0;
    if (census->count == census->room) {
        size_t room = census->room == 0 ? 256 : census->room * 2;
        void *grown = reallocarray(census->items, room, sizeof *census->items);

        if (grown == NULL)
            return err_set_errno(err, "memory for a snapshot of %zu processes", room);
        census->items = grown;
        census->room = room;
    }
    census->items[census->count].pid = pid;
    census->items[census->count].parent = (pid_t)stat.parent_pid;
    census->count++;
    return 0;
}

int census_take(struct census *census, struct err *err)
{
    AUTO_DIR DIR *dir = opendir("/proc");
    struct dirent *entry;

    if (dir == NULL)
        return err_set_errno(err, "open /proc");
    while ((entry = readdir(dir)) != NULL) {
        char *end;
        long pid = strtol(entry->d_name, &end, 10);

        if (*end == 0 && pid > 0 && pid <= INT_MAX && process_count(census, (pid_t)pid, err) < 0)
            return err->code;
    }
    return 0;
}

void census_done(struct census *census)
{
    free(census->items);
    *census = (struct census){0};
}
