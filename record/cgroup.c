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

bool cgroup_adopt(const char *name, struct cgroup *out)
{
    char path[PATH_MAX];
    struct cgroup cgroup = CGROUP_NONE;

    *out = cgroup;
    if (!cgroup_parent(path) || (size_t)snprintf(cgroup.name, sizeof cgroup.name, "%s", name) >= sizeof cgroup.name)
        return false;
    cgroup.parent_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (cgroup.parent_fd < 0)
        return false;
    cgroup.dir_fd = openat(cgroup.parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (cgroup.dir_fd >= 0) {
        *out = cgroup;
        return true;
    }
    (void)close(cgroup.parent_fd);
    return false;
}

bool cgroup_open(const char *name, struct cgroup *out)
{
    char path[PATH_MAX];
    struct cgroup cgroup = CGROUP_NONE;

    *out = cgroup;
    if (!cgroup_parent(path))
        return false;
    if ((size_t)snprintf(cgroup.name, sizeof cgroup.name, "%s", name) >= sizeof cgroup.name)
        return false;
    cgroup.parent_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (cgroup.parent_fd < 0)
        return false;
    if (mkdirat(cgroup.parent_fd, name, 0755) == 0) {
        cgroup.dir_fd = openat(cgroup.parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (cgroup.dir_fd >= 0 && faccessat(cgroup.dir_fd, "cgroup.procs", W_OK, AT_EACCESS) == 0) {
            *out = cgroup;
            return true;
        }
    }
    cgroup_close(&cgroup);
    return false;
}

bool cgroup_kill(const struct cgroup *cgroup)
{
    AUTO_FD int fd = -1;

    errno = EOPNOTSUPP; /* of a run without a control group */
    if (cgroup->dir_fd >= 0)
        fd = openat(cgroup->dir_fd, "cgroup.kill", O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, "1", 1) == 1;
}

bool cgroup_can_kill(const struct cgroup *cgroup)
{
    return cgroup->dir_fd >= 0 && faccessat(cgroup->dir_fd, "cgroup.kill", W_OK, AT_EACCESS) == 0;
}

bool cgroup_is_populated(const struct cgroup *cgroup)
{
    char text[256] = {0};
    AUTO_FD int fd = cgroup->dir_fd < 0 ? -1 : openat(cgroup->dir_fd, "cgroup.events", O_RDONLY | O_CLOEXEC);

    return fd >= 0 && read(fd, text, sizeof text - 1) > 0 && strstr(text, "populated 1") != NULL;
}

void cgroup_close(struct cgroup *cgroup)
{
    static const struct timespec pause = {.tv_nsec = 10000000};

    if (cgroup->dir_fd >= 0)
        (void)close(cgroup->dir_fd);
    if (cgroup->parent_fd >= 0) {
        for (int i = 0; i < 20 && unlinkat(cgroup->parent_fd, cgroup->name, AT_REMOVEDIR) < 0; i++)
            (void)nanosleep(&pause, NULL);
        (void)close(cgroup->parent_fd);
    }
    *cgroup = CGROUP_NONE;
}
