#include "record/proc.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "formats/digest.h"
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

#define EXECUTABLE_MAX_BYTES (512u << 20) /* a larger one is not hashed: its digest stays empty */
#define HASHED_AT_ONCE 64
#define OWN_ROUTES_NS 50000000ull

bool proc_stat_parse(const char *text, size_t size_bytes, struct proc_stat *out)
{
    struct proc_stat stat;
    char fields[1024];
    const char *end = memrchr(text, ')', size_bytes); /* the name may hold anything, also ')' */
    size_t left;
    int parsed;

    if (end == NULL)
        return false;
    left = size_bytes - (size_t)(end + 1 - text);
    if (left >= sizeof fields)
        left = sizeof fields - 1;
    memcpy(fields, end + 1, left);
    fields[left] = 0;
    parsed = sscanf(fields,
                    " %c %" SCNu32 " %" SCNu32 " %" SCNu32 " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s"
                    " %" SCNu32 " %*s %" SCNu64,
                    &stat.state, &stat.parent_pid, &stat.group, &stat.session, &stat.thread_count, &stat.start_time);
    if (parsed != 6)
        return false;
    *out = stat;
    return true;
}

/* Reads a small file of a process into a buffer. Returns its length, or -1. */
static ssize_t small_read(pid_t pid, const char *name, char *to, size_t room_bytes)
{
    char path[64];
    AUTO_FD int fd = -1;
    size_t used = 0;

    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
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

bool proc_stat_read(pid_t pid, struct proc_stat *out)
{
    char text[1024];
    ssize_t size_bytes = small_read(pid, "stat", text, sizeof text);

    return size_bytes > 0 && proc_stat_parse(text, (size_t)size_bytes, out);
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
    return (stat.state == 'Z' || stat.state == 'X') && stat.thread_count <= 1;
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

/* The digest of an executable, remembered by what names its content, so that a storm of one program hashes it once. */
static bool executable_digest(int fd, const struct stat *stat, struct digest *out)
{
    static struct {
        dev_t device;
        ino_t inode;
        off_t size_bytes;
        struct timespec changed;
        struct digest digest;
    } known[HASHED_AT_ONCE];
    static size_t next;
    uint64_t size_bytes;
    struct err err;

    for (size_t i = 0; i < HASHED_AT_ONCE; i++)
        if (known[i].inode == stat->st_ino && known[i].device == stat->st_dev && known[i].size_bytes == stat->st_size &&
            known[i].changed.tv_sec == stat->st_ctim.tv_sec && known[i].changed.tv_nsec == stat->st_ctim.tv_nsec) {
            *out = known[i].digest;
            return true;
        }
    if (!S_ISREG(stat->st_mode) || stat->st_size > (off_t)EXECUTABLE_MAX_BYTES ||
        digest_of_fd(fd, out, &size_bytes, &err) < 0)
        return false;
    known[next].device = stat->st_dev;
    known[next].inode = stat->st_ino;
    known[next].size_bytes = stat->st_size;
    known[next].changed = stat->st_ctim;
    known[next].digest = *out;
    next = (next + 1) % HASHED_AT_ONCE;
    return true;
}

/* Fills path, device, inode and digest of the executable, as far as they can be read. */
static bool executable_read(pid_t pid, Exhibit__ProcessIdentity *identity)
{
    char path[64], target[PATH_MAX];
    struct stat stat;
    struct digest digest;
    ssize_t size_bytes;

    (void)snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    size_bytes = readlink(path, target, sizeof target);
    if (size_bytes > 0 && !bytes_field_set(&identity->executable, target, (size_t)size_bytes))
        return false;
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &stat) < 0)
        return true;
    identity->executable_device = stat.st_dev;
    identity->executable_inode = stat.st_ino;
    return !executable_digest(fd, &stat, &digest) ||
           bytes_field_set(&identity->executable_sha256, digest.bytes, DIGEST_BYTES);
}

/* Splits the command line at its NULs. */
static bool argv_read(pid_t pid, Exhibit__ProcessIdentity *identity)
{
    AUTO_FREE char *text = malloc(LIMIT_ARGV_BYTES);
    ssize_t size_bytes;

    if (text == NULL)
        return false;
    size_bytes = small_read(pid, "cmdline", text, LIMIT_ARGV_BYTES);
    if (size_bytes <= 0)
        return true;
    identity->argv = calloc(LIMIT_ARGV_COUNT, sizeof *identity->argv);
    if (identity->argv == NULL)
        return false;
    for (ssize_t at = 0; at < size_bytes && identity->n_argv < LIMIT_ARGV_COUNT;) {
        size_t item_bytes = strnlen(text + at, (size_t)(size_bytes - at));

        if (!bytes_field_set(&identity->argv[identity->n_argv], text + at, item_bytes))
            return false;
        identity->n_argv++;
        at += (ssize_t)item_bytes + 1;
    }
    return true;
}

/* The pid in each namespace, outermost first, from the line NSpid. */
static bool namespace_pids_read(pid_t pid, Exhibit__ProcessIdentity *identity)
{
    char text[8192];
    ssize_t size_bytes = small_read(pid, "status", text, sizeof text - 1);
    char *at;

    if (size_bytes <= 0)
        return true;
    text[size_bytes] = 0;
    at = strstr(text, "\nNSpid:");
    if (at == NULL)
        return true;
    at += strlen("\nNSpid:");
    identity->namespace_pids = calloc(33, sizeof *identity->namespace_pids); /* the kernel nests at most 32 */
    if (identity->namespace_pids == NULL)
        return false;
    while (*at != '\n' && identity->n_namespace_pids < 33) {
        char *end;
        unsigned long value = strtoul(at, &end, 10);

        if (end == at)
            break;
        identity->namespace_pids[identity->n_namespace_pids++] = (uint32_t)value;
        at = end;
    }
    return true;
}

/* Counts the lines of a routing table whose interface (first or last word) is not the loopback. -1: unreadable. */
static int routes_count(pid_t pid, const char *table, bool interface_last)
{
    char text[65536];
    ssize_t size_bytes = small_read(pid, table, text, sizeof text - 1);
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
static int tables_count(pid_t pid)
{
    char text[65536];
    ssize_t size_bytes = small_read(pid, "net/fib_trie", text, sizeof text - 1);
    int count = 0;

    if (size_bytes < 0)
        return -1;
    text[size_bytes] = 0;
    for (const char *at = text; (at = strstr(at, "Id ")) != NULL; at++)
        count += at == text || at[-1] == '\n';
    return count;
}

/* How many routes and tables a process's network has beyond the loopback. -1: unreadable. */
static int64_t beyond_loopback(pid_t pid)
{
    int ipv4 = routes_count(pid, "net/route", false), ipv6 = routes_count(pid, "net/ipv6_route", true);
    int tables = tables_count(pid);

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
        count = beyond_loopback(getpid());
        read_at_ns = clock_now_ns();
    }
    return count;
}

void proc_network_read(pid_t pid, Exhibit__ProcessIdentity *identity)
{
    char path[64];
    struct stat stat_buffer;
    int64_t count;

    (void)snprintf(path, sizeof path, "/proc/%d/ns/net", (int)pid);
    if (stat(path, &stat_buffer) < 0)
        return;
    identity->network_namespace = stat_buffer.st_ino;
    count = stat_buffer.st_ino == host_network_namespace() ? own_beyond_loopback() : beyond_loopback(pid);
    if (count < 0)
        return;
    identity->routes_case = EXHIBIT__PROCESS_IDENTITY__ROUTES_ROUTES_BEYOND_LOOPBACK;
    identity->routes_beyond_loopback = (uint32_t)count;
}

Exhibit__ProcessIdentity *proc_identity_read(pid_t pid)
{
    Exhibit__ProcessIdentity *identity;
    struct proc_stat stat;

    if (!proc_stat_read(pid, &stat) || stat.state == 'Z' || stat.state == 'X')
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
    if (!executable_read(pid, identity) || !argv_read(pid, identity) || !namespace_pids_read(pid, identity))
        goto undo;
    proc_network_read(pid, identity);
    /* The parts were read one by one: all of them are of one process only if it is still the same one. */
    if (!proc_stat_read(pid, &stat) || stat.start_time != identity->start_time || stat.state == 'Z')
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
