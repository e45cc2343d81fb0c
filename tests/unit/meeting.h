/*
 * Whether two workers are at work at the same time: one that comes waits for a second one. Where only one works, it
 * waits in vain. A test calls meet() where workers pass, and is linked with --wrap=sched_getaffinity.
 */
#pragma once

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

static unsigned cores; /* that the process seems to have */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t second_came;
    bool wanted, met, in_vain;
    pthread_t starter, first; /* the thread that gives the work, and the worker that came first */
    bool has_first;
} meeting = {.lock = PTHREAD_MUTEX_INITIALIZER, .second_came = PTHREAD_COND_INITIALIZER};

/* The linker puts this before the real one. */
int __wrap_sched_getaffinity(pid_t pid, size_t size_bytes, cpu_set_t *out);

int __wrap_sched_getaffinity(pid_t pid, size_t size_bytes, cpu_set_t *out)
{
    (void)pid;
    memset(out, 0, size_bytes);
    for (unsigned i = 0; i < cores; i++)
        CPU_SET(i, out);
    return 0;
}

static void meet(void)
{
    struct timespec deadline;

    if (!meeting.wanted || pthread_equal(pthread_self(), meeting.starter))
        return;
    (void)clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += 5;
    (void)pthread_mutex_lock(&meeting.lock);
    if (!meeting.has_first) {
        meeting.has_first = true;
        meeting.first = pthread_self();
        while (!meeting.met && !meeting.in_vain)
            meeting.in_vain = pthread_cond_timedwait(&meeting.second_came, &meeting.lock, &deadline) != 0;
    } else if (!meeting.in_vain && !pthread_equal(pthread_self(), meeting.first)) {
        meeting.met = true;
        (void)pthread_cond_broadcast(&meeting.second_came);
    }
    (void)pthread_mutex_unlock(&meeting.lock);
}

/* From now on, until meeting_end, which tells whether two workers were at work at the same time. */
static void meeting_begin(void)
{
    meeting.met = meeting.in_vain = meeting.has_first = false;
    meeting.starter = pthread_self();
    meeting.wanted = true;
}

static bool meeting_end(void)
{
    meeting.wanted = false;
    return meeting.met;
}
