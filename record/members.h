/*
 * The processes that are known to belong to the current run: found by number in constant time. Knows where none of this
 * comes from.
 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct member {
    pid_t pid;
    uint64_t start_time;        /* clock ticks since boot; 0: never read */
    uint64_t seen_at_ns;        /* when it became known */
    uint64_t looked_at_ns;      /* when its identity was read last; 0: never */
    uint64_t identity_hash;     /* of what its identity was when last read; 0: unread */
    uint64_t network_namespace; /* as its identity told; 0: unread */
    int64_t routes;             /* beyond the loopback, as well; -1: unread */
    bool threaded;              /* it had more than its first thread */
    bool seen_gone;             /* the last time it was looked at */
    bool exit_pending;          /* its first thread ended: whether it did, is not known yet */
    int wait_status;            /* where exit_pending */
};

struct members {
    struct member *items; /* in no order; owned */
    size_t count;
    size_t room;
    uint32_t *place_of; /* by pid: place in items plus 1, or 0; owned */
    size_t pid_count;
};

/* Makes an empty table for all pids of this machine. ERR_SYSTEM. Release with members_done. */
int members_init(struct members *members, struct err *err);

/* The member with this pid, valid until the next add or remove, or NULL. */
struct member *members_find(const struct members *members, pid_t pid);

/* Adds a process, in place of an earlier one of that number. ERR_LIMIT over LIMIT_PROCESSES, ERR_SYSTEM. */
int members_add(struct members *members, const struct member *member, struct err *err);

/* Forgets the process at `place` in items; the last one takes its place. */
void members_remove(struct members *members, size_t place);

/* Forgets all. */
void members_clear(struct members *members);

/* Releases it. */
void members_done(struct members *members);
