/* lease_guard.h: the last fence of a lease: no write leaves a thread that was stopped for too long.
 *
 *     may it write? ──yes──▶ (stopped here, for a minute) ──▶ write
 *                                       │
 *                    the lease ends: the kernel sends the thread a signal, which comes before its next step
 *
 * A thread that asks whether the lease is valid can be stopped between the answer and the write that it does because of
 * it, and nothing that it does itself can tell. So a timer of the kernel's, by a clock that runs meanwhile, makes it
 * look shortly before the lease ends. A thread that runs does so in time, and goes on: it has long been told that it
 * may not write. One that looks when the lease has ended was stopped; then the process ends, if writes were on their
 * way. */
#ifndef LIVE_LEASE_GUARD_H
#define LIVE_LEASE_GUARD_H

#include <stdatomic.h>
#include <time.h>

#include "base/error.h"

/* A zeroed one guards nothing. It does not move in memory as long as it guards. */
struct lease_guard {
    bool (*at_risk)(const void *user); /* are writes on their way? Asked in a handler of signals */
    const void *user;
    /* When it is to look, and when the lease ends, by CLOCK_BOOTTIME; 0: never. */
    _Atomic int64_t look_ns, ends_ns;
    atomic_bool guards;
    timer_t timer;
};

/* From now on the calling thread is guarded. */
int lease_guard_begin(struct lease_guard *guard, bool (*at_risk)(const void *user), const void *user,
                      struct error *err);
/* The end moves. From any thread, one at a time; before the beginning, too. */
void lease_guard_move(struct lease_guard *guard, int64_t look_ns, int64_t ends_ns);
/* When the guarded thread has ended, or by itself. */
void lease_guard_end(struct lease_guard *guard);

#endif
