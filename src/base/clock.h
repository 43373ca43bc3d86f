/* clock.h: clocks of this machine in nanoseconds, and the units of time. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S INT64_C(1000000000)

static inline int64_t clock_now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* By the clock of timers and waits, which never goes back. */
static inline int64_t monotonic_ns(void)
{
    return clock_now_ns(CLOCK_MONOTONIC);
}

#endif
