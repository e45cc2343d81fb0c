#include "record/proc.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "formats/limits.h"
#include "record/host.h"
#include "record/loop.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define OWN_ROUTES_NS 50000000ull
#define NAMESPACES_MOST 33 /* the kernel nests at most 32 */

bool proc_stat_parse(const char *text, size_t size_bytes, struct proc_stat *out)
{
    enum { STATE = 3, PARENT, GROUP, SESSION, THREAD_COUNT = 20, START_TIME = 22 }; /* as proc(5) counts them */
    unsigned long long values[START_TIME + 1] = {0};
    char fields[1024];
    const char *at = memrchr(text, ')', size_bytes); /* the name may hold anything, also ')' */
    size_t left;
    char state;

    if (at == NULL)
        return false;
    left = size_bytes - (size_t)(at + 1 - text);
    if (left >= sizeof fields)
        left = sizeof fields - 1;
    memcpy(fields, at + 1, left);
    fields[left] = 0;
    at = fields + strspn(fields, " ");
    state = *at;
    if (state == 0)
        return false;
    at++;
    for (unsigned field = STATE + 1; field <= START_TIME; field++) {
        char *end;

        values[field] = strtoull(at, &end, 10);
        if (end == at)
            return false;
        at = end;
    }
    *out = (struct proc_stat){.state = state,
                              .parent_pid = (uint32_t)values[PARENT],
                              .group = (uint32_t)values[GROUP],
                              .session = (uint32_t)values[SESSION],
                              .thread_count = (uint32_t)values[THREAD_COUNT],
                              .start_time = values[START_TIME]};
    return true;
}

/* Opens the folder of a process: what is read by way of it is that process's, whoever has the number by then. */
static int folder_open(pid_t pid)
{
    char path[32];

    (void)snprintf(path, sizeof path, "/proc/%d", (int)pid);
    return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Reads a small file into a buffer. Returns its length, or -1. */
static ssize_t small_read(int folder, const char *name, char *to, size_t room_bytes)
{
    AUTO_FD int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
    size_t used = 0;

    if (fd < 0)
        return -1;
    while (used < room_bytes) {
        ssize_t got = read(fd, to + used, room_bytes - used);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        used += (size_t)got;
    }
    return (ssize_t)used;
}

static bool stat_read(int folder, const char *name, struct proc_stat *out)
{
    char text[1024];
    ssize_t size_bytes = small_read(folder, name, text, sizeof text);

    return size_bytes > 0 && proc_stat_parse(text, (size_t)size_bytes, out);
}

bool proc_stat_read(pid_t pid, struct proc_stat *out)
{
    char path[32];

    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    return stat_read(AT_FDCWD, path, out);
}

uint64_t proc_age_ns(uint64_t start_time)
{
    uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK), now_ns;
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    return now_ns / tick_ns > start_time ? now_ns - (start_time + 1) * tick_ns : 0;
}

bool proc_is_gone(pid_t pid, uint64_t start_time)
{
    struct proc_stat stat;

    errno = 0;
    if (!proc_stat_read(pid, &stat)) /* for want of a descriptor, say: that tells nothing about the process */
        return errno == ENOENT || errno == ESRCH;
    if (stat.start_time != start_time)
        return true;
    /* No thread at all: in the middle of an exec by another thread, or of its end; the next look will tell. */
    return (stat.state == 'Z' || stat.state == 'X') && stat.thread_count == 1;
}

/* Copies bytes to a protobuf bytes field. False: out of memory. */
static bool bytes_field_set(ProtobufCBinaryData *field, const void *from, size_t size_bytes)
{
    if (size_bytes == 0)
        return true;
    field->data = malloc(size_bytes);
    if (field->data == NULL)
        return false;
    memcpy(field->data, from, size_bytes);
    field->len = size_bytes;
    return true;
}

/* Where the executable is, as the link says. False: no memory. */
static bool executable_read(int folder, Exhibit__ProcessIdentity *identity)
{
    char target[PATH_MAX];
    ssize_t size_bytes = readlinkat(folder, "exe", target, sizeof target);

    return size_bytes <= 0 || bytes_field_set(&identity->executable, target, (size_t)size_bytes);
}

/* Splits the command line at its NULs. */
static bool argv_read(int folder, Exhibit__ProcessIdentity *identity)
{
    AUTO_FREE char *text = malloc(LIMIT_ARGV_BYTES);
    ssize_t size_bytes;
    size_t count = 1;

    if (text == NULL)
        return false;
    size_bytes = small_read(folder, "cmdline", text, LIMIT_ARGV_BYTES);
    if (size_bytes <= 0)
        return true;
    for (ssize_t at = 0; at < size_bytes && count < LIMIT_ARGV_COUNT; at++)
        count += text[at] == 0;
    identity->argv = calloc(count, sizeof *identity->argv);
    if (identity->argv == NULL)
        return false;
    for (ssize_t at = 0; at < size_bytes && identity->n_argv < count;) {
        size_t item_bytes = strnlen(text + at, (size_t)(size_bytes - at));

        if (!bytes_field_set(&identity->argv[identity->n_argv], text + at, item_bytes))
            return false;
        identity->n_argv++;
        at += (ssize_t)item_bytes + 1;
    }
    return true;
}

/* The pids from the line NSpid, outermost first. Returns how many, up to `room`; 0: unreadable. */
static size_t namespace_pids_take(int folder, uint32_t *to, size_t room)
{
    char text[8192];
    ssize_t size_bytes = small_read(folder, "status", text, sizeof text - 1);
    size_t count = 0;
    char *at;

    if (size_bytes <= 0)
        return 0;
    text[size_bytes] = 0;
    at = strstr(text, "\nNSpid:");
    if (at == NULL)
        return 0;
    at += strlen("\nNSpid:");
    while (*at != '\n' && count < room) {
        char *end;
        unsigned long value = strtoul(at, &end, 10);

        if (end == at)
            break;
        to[count++] = (uint32_t)value;
        at = end;
    }
    return count;
}

/* The inode of a namespace, or 0. */
static ino_t namespace_read(int folder, const char *name)
{
    struct stat seen;

    return fstatat(folder, name, &seen, 0) < 0 ? 0 : seen.st_ino;
}

/* The recorder's own pid namespace, if all who are in it have but the number that this /proc shows; else 0. */
static ino_t own_pid_namespace(void)
{
    static bool looked;
    static ino_t own;
    uint32_t pids[2];

    if (!looked) {
        AUTO_FD int folder = folder_open(getpid());

        looked = true;
        if (namespace_pids_take(folder, pids, 2) == 1 && pids[0] == (uint32_t)getpid())
            own = namespace_read(folder, "ns/pid");
    }
    return own;
}

/* The pid in each namespace, outermost first. */
static bool namespace_pids_read(int folder, Exhibit__ProcessIdentity *identity)
{
    ino_t own = own_pid_namespace();
    uint32_t pids[NAMESPACES_MOST] = {identity->pid};
    size_t count = 1;

    if (own == 0 || namespace_read(folder, "ns/pid") != own)
        count = namespace_pids_take(folder, pids, NAMESPACES_MOST);
    if (count == 0)
        return true;
    identity->namespace_pids = malloc(count * sizeof *pids);
    if (identity->namespace_pids == NULL)
        return false;
    memcpy(identity->namespace_pids, pids, count * sizeof *pids);
    identity->n_namespace_pids = count;
    return true;
}

/* Counts the lines of a routing table whose interface (first or last word) is not the loopback. -1: unreadable. */
static int routes_count(int folder, const char *table, bool interface_last)
{
    char text[65536];
    ssize_t size_bytes = small_read(folder, table, text, sizeof text - 1);
    int count = 0, line_number = 0;
    char *line, *rest = text;

    if (size_bytes < 0)
        return -1;
    text[size_bytes] = 0;
    while ((line = strsep(&rest, "\n")) != NULL) {
        char *name;

        line_number++;
        if (*line == 0 || (!interface_last && line_number == 1)) /* IPv4's table has a heading */
            continue;
        if (interface_last) {
            for (size_t end = strlen(line); end > 0 && isspace((unsigned char)line[end - 1]);)
                line[--end] = 0;
            name = strrchr(line, ' ');
            name = name == NULL ? line : name + 1;
        } else {
            line[strcspn(line, " \t")] = 0;
            name = line;
        }
        count += strcmp(name, "lo") != 0;
    }
    return count;
}

/* The routing tables of IPv4 beside the usual two, which the list of routes does not show. -1: unreadable. */
static int tables_count(int folder)
{
    char text[65536];
    ssize_t size_bytes = small_read(folder, "net/fib_trie", text, sizeof text - 1);
    int count = 0;

    if (size_bytes < 0)
        return -1;
    text[size_bytes] = 0;
    for (const char *at = text; (at = strstr(at, "Id ")) != NULL; at++)
        count += at == text || at[-1] == '\n';
    return count;
}

/* How many routes and tables a process's network has beyond the loopback. -1: unreadable. */
static int64_t beyond_loopback(int folder)
{
    int ipv4 = routes_count(folder, "net/route", false), ipv6 = routes_count(folder, "net/ipv6_route", true);
    int tables = tables_count(folder);

    if (ipv6 < 0 && access("/proc/self/net/ipv6_route", F_OK) < 0)
        ipv6 = 0; /* a kernel without IPv6 has no such table */
    return ipv4 < 0 || ipv6 < 0 ? -1 : (int64_t)ipv4 + ipv6 + (tables > 0 ? tables : 0);
}

/*
 * The same of the recorder's own network, as it was OWN_ROUTES_NS ago at the most: to be in it is no proof of anything,
 * and nearly all processes are.
 */
static int64_t own_beyond_loopback(void)
{
    static uint64_t read_at_ns;
    static int64_t count;

    if (read_at_ns == 0 || clock_now_ns() - read_at_ns > OWN_ROUTES_NS) {
        AUTO_FD int folder = folder_open(getpid());

        count = beyond_loopback(folder);
        read_at_ns = clock_now_ns();
    }
    return count;
}

static void network_read(int folder, Exhibit__ProcessIdentity *identity)
{
    static ino_t own;
    ino_t network = namespace_read(folder, "ns/net");
    int64_t count;

    if (network == 0)
        return;
    if (own == 0)
        own = host_network_namespace();
    identity->network_namespace = network;
    count = network == own ? own_beyond_loopback() : beyond_loopback(folder);
    if (count < 0)
        return;
    identity->routes_case = EXHIBIT__PROCESS_IDENTITY__ROUTES_ROUTES_BEYOND_LOOPBACK;
    identity->routes_beyond_loopback = (uint32_t)count;
}

void proc_network_read(pid_t pid, Exhibit__ProcessIdentity *identity)
{
    AUTO_FD int folder = folder_open(pid);

    if (folder >= 0)
        network_read(folder, identity);
}

static bool is_alive(int folder, struct proc_stat *out)
{
    return stat_read(folder, "stat", out) && out->state != 'Z' && out->state != 'X';
}

Exhibit__ProcessIdentity *proc_identity_read(pid_t pid, struct executables *executables)
{
    AUTO_FD int folder = folder_open(pid);
    Exhibit__ProcessIdentity *identity;
    struct proc_stat stat;

    if (folder < 0 || !is_alive(folder, &stat))
        return NULL;
    identity = malloc(sizeof *identity);
    if (identity == NULL)
        return NULL;
    exhibit__process_identity__init(identity);
    identity->pid = (uint32_t)pid;
    identity->start_time = stat.start_time;
    identity->parent_pid = stat.parent_pid;
    identity->group = stat.group;
    identity->session = stat.session;
    if (!executable_read(folder, identity) || !executables_identify(executables, folder, identity) ||
        !argv_read(folder, identity) || !namespace_pids_read(folder, identity))
        goto undo;
    network_read(folder, identity);
    /* Who ends meanwhile loses one of them. */
    if ((identity->executable.len == 0 || identity->n_argv == 0 || identity->n_namespace_pids == 0 ||
         identity->routes_case == EXHIBIT__PROCESS_IDENTITY__ROUTES__NOT_SET) &&
        !is_alive(folder, &stat))
        goto undo;
    return identity;

undo:
    exhibit__process_identity__free_unpacked(identity, NULL);
    return NULL;
}

uint64_t proc_identity_hash(const Exhibit__ProcessIdentity *identity)
{
    uint64_t hash = 1469598103934665603u ^ identity->executable_inode ^ identity->executable_device << 32;

    for (size_t i = 0; i < identity->n_argv; i++) {
        for (size_t j = 0; j < identity->argv[i].len; j++)
            hash = (hash ^ identity->argv[i].data[j]) * 1099511628211u;
        hash = (hash ^ 256) * 1099511628211u;
    }
    return hash | 1;
}
