/*
 * CLOCK_MONOTONIC in nanoseconds.
 */
#pragma once

#include <stdint.h>
#include <time.h>

#define NS_PER_MS 1000000ull
#define NS_PER_S 1000000000ull

/* Splits a span or a moment. */
static inline struct timespec clock_timespec(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};
}

/* The moment it is. */
static inline uint64_t clock_now_ns(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* Sleeps until a moment; returns at once where it is past. */
static inline void clock_sleep_until(uint64_t moment_ns)
{
    struct timespec moment = clock_timespec(moment_ns);

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &moment, NULL) != 0 && clock_now_ns() < moment_ns)
        ;
}
