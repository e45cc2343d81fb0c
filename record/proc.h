/*
 * Single looks into /proc. A process that is gone is an ordinary answer, not an error. Everything read is hostile text.
 */
#pragma once

#include "base/err.h"
#include "record/executables.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_stat {
    char state; /* 'R', 'S', 'Z', ... */
    uint32_t parent_pid;
    uint32_t group;
    uint32_t session;
    uint32_t thread_count;
    uint64_t start_time; /* clock ticks since boot */
};

/* Reads /proc/PID/stat. False: no such process (any more); out unset. */
bool proc_stat_read(pid_t pid, struct proc_stat *out);

/* Parses the text of such a file (size_bytes of it; need not end in NUL). False: malformed; out unset. */
bool proc_stat_parse(const char *text, size_t size_bytes, struct proc_stat *out);

/* How long ago a process started, to the tick: never more than it is. */
uint64_t proc_age_ns(uint64_t start_time);

/* Whether the process with this identity is gone: no such one, or a zombie of which no thread is left. */
bool proc_is_gone(pid_t pid, uint64_t start_time);

/* Fills in the network namespace and whether anything but the loopback can be reached from it, as far as both are read.
 */
void proc_network_read(pid_t pid, Exhibit__ProcessIdentity *identity);

/*
 * Reads who a process is. Owned by the caller: free with exhibit__process_identity__free_unpacked. NULL: it is gone,
 * was replaced while it was read, or is a zombie; or memory ran out. What cannot be read of a living one stays empty,
 * and so does a digest that waits (executables.h).
 */
Exhibit__ProcessIdentity *proc_identity_read(pid_t pid, struct executables *executables);

/* A number that changes when what a process is changes: by exec, above all. Never 0. */
uint64_t proc_identity_hash(const Exhibit__ProcessIdentity *identity);
