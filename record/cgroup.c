#include "record/cgroup.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MOUNTS_MAX_BYTES (4u << 20)

/* Finds where cgroup2 is mounted: field 5 of the line of /proc/self/mountinfo whose type is cgroup2. */
static bool mount_find(char *out, size_t room_bytes)
{
    AUTO_BYTES struct bytes mounts = {0};
    AUTO_FD int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
    struct err err;
    char *line, *rest;

    if (fd < 0 || file_read_all(fd, MOUNTS_MAX_BYTES, &mounts, &err) < 0 || mounts.data == NULL)
        return false;
    rest = (char *)mounts.data;
    while ((line = strsep(&rest, "\n")) != NULL) {
        char point[4096];

        if (strstr(line, " - cgroup2 ") == NULL || sscanf(line, "%*s %*s %*s %*s %4095s", point) != 1)
            continue;
        return (size_t)snprintf(out, room_bytes, "%s", point) < room_bytes;
    }
    return false;
}

/* The recorder's own group: the path of the line "0::" of /proc/self/cgroup. */
static bool own_find(char *out, size_t room_bytes)
{
    AUTO_BYTES struct bytes groups = {0};
    AUTO_FD int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
    struct err err;
    char *line, *rest;

    if (fd < 0 || file_read_all(fd, MOUNTS_MAX_BYTES, &groups, &err) < 0 || groups.data == NULL)
        return false;
    rest = (char *)groups.data;
    while ((line = strsep(&rest, "\n")) != NULL)
        if (strncmp(line, "0::", 3) == 0)
            return (size_t)snprintf(out, room_bytes, "%s", line + 3) < room_bytes;
    return false;
}

bool cgroup_parent(char out[PATH_MAX])
{
    char mount[PATH_MAX], own[PATH_MAX];

    return mount_find(mount, sizeof mount) && own_find(own, sizeof own) &&
           snprintf(out, PATH_MAX, "%s%s", mount, own) < PATH_MAX;
}

/* Opens where this process's groups are made. False: the machine gives none, or the name is too long. */
static bool parent_open(const char *name, struct cgroup *out)
{
    char path[PATH_MAX];

    *out = CGROUP_NONE;
    if (!cgroup_parent(path) || (size_t)snprintf(out->name, sizeof out->name, "%s", name) >= sizeof out->name)
        return false;
    out->parent_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return out->parent_fd >= 0;
}

bool cgroup_wants_room(int errno_value)
{
    return errno_value == EMFILE || errno_value == ENFILE || errno_value == ENOMEM;
}

/* Opens the group of that name and its files; cgroup.kill may lack (before Linux 5.14). */
static bool group_open(struct cgroup *cgroup)
{
    cgroup->dir_fd = openat(cgroup->parent_fd, cgroup->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (cgroup->dir_fd < 0)
        return false;
    cgroup->events_fd = openat(cgroup->dir_fd, "cgroup.events", O_RDONLY | O_CLOEXEC);
    if (cgroup->events_fd < 0)
        return false;
    cgroup->kill_fd = openat(cgroup->dir_fd, "cgroup.kill", O_WRONLY | O_CLOEXEC);
    return cgroup->kill_fd >= 0 || !cgroup_wants_room(errno);
}

/* Closes what is open, and leaves the group. */
static void cgroup_leave(struct cgroup *cgroup)
{
    const int fds[] = {cgroup->kill_fd, cgroup->events_fd, cgroup->dir_fd, cgroup->parent_fd};

    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        if (fds[i] >= 0)
            (void)close(fds[i]);
    *cgroup = CGROUP_NONE;
}

bool cgroup_adopt(const char *name, struct cgroup *out)
{
    if (parent_open(name, out) && group_open(out))
        return true;
    cgroup_leave(out);
    return false;
}

bool cgroup_open(const char *name, struct cgroup *out)
{
    int why;

    errno = 0;
    if (!parent_open(name, out) || mkdirat(out->parent_fd, name, 0755) < 0) {
        cgroup_leave(out);
        return false;
    }
    if (group_open(out) && faccessat(out->dir_fd, "cgroup.procs", W_OK, AT_EACCESS) == 0)
        return true;
    why = errno;
    cgroup_close(out);
    errno = why;
    return false;
}

bool cgroup_kill(const struct cgroup *cgroup)
{
    errno = EOPNOTSUPP; /* of a run without a control group, or an older kernel */
    return cgroup->kill_fd >= 0 && write(cgroup->kill_fd, "1", 1) == 1;
}

bool cgroup_can_kill(const struct cgroup *cgroup)
{
    return cgroup->kill_fd >= 0;
}

bool cgroup_is_populated(const struct cgroup *cgroup)
{
    char text[256] = {0};

    return cgroup->events_fd >= 0 && pread(cgroup->events_fd, text, sizeof text - 1, 0) > 0 &&
           strstr(text, "populated 1") != NULL;
}

void cgroup_close(struct cgroup *cgroup)
{
    static const struct timespec pause = {.tv_nsec = 10000000};

    if (cgroup->parent_fd >= 0)
        for (int i = 0; i < 20 && unlinkat(cgroup->parent_fd, cgroup->name, AT_REMOVEDIR) < 0; i++)
            (void)nanosleep(&pause, NULL);
    cgroup_leave(cgroup);
}
