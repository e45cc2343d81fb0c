/*
 * One thread waits for everything: an epoll loop whose urgent sources are always served first, and the monotonic clock.
 * Knows no process and no format.
 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* One descriptor to wait for. Owned by the caller, at a fixed place from loop_add until loop_remove. */
struct loop_source {
    int fd;
    bool urgent; /* served before all others in each turn: what would be lost if it waited */
    int (*ready)(void *context, uint32_t events, struct err *err); /* 0 or a negative err_code, which ends the turn */
    void *context;
};

/* Owned by the caller, free with loop_free. */
struct loop;

/* NULL: no memory or no descriptor left (errno says which). */
struct loop *loop_new(void);

/* Waits for `events` (EPOLLIN, ...) on the source from now on. ERR_SYSTEM. */
int loop_add(struct loop *loop, struct loop_source *source, uint32_t events, struct err *err);

/*
 * Calls `first` (0 or a negative err_code, which ends the turn) at the beginning of each turn, before whatever is
 * ready: for what nobody need be woken for, but all else is to find done. One at a time; NULL: none any more.
 */
void loop_first(struct loop *loop, int (*first)(void *context, struct err *err), void *context);

/* Forgets the source, also if it is ready in the current turn. Harmless for one that was never added. */
void loop_remove(struct loop *loop, struct loop_source *source);

/* Waits at most timeout_ms (0: not at all) and serves what is ready, once each. The first failure is returned. */
int loop_turn(struct loop *loop, int timeout_ms, struct err *err);

/* Releases it; NULL is harmless. The sources stay the caller's. */
void loop_free(struct loop *loop);

/* CLOCK_MONOTONIC in nanoseconds. Whatever is compared, waited for or put in order is told by it. */
uint64_t clock_now_ns(void);

/*
 * The wall clock in nanoseconds since 1970, for people to read, and as the times of files are told: it jumps, and no
 * judgement may rest on it.
 */
int64_t clock_wall_ns(void);
