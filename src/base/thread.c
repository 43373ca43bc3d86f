/* thread.c: see thread.h. */
#include "base/thread.h"

#include <errno.h>
#include <signal.h>

#include "base/clock.h"

int thread_start(pthread_t *ret, const char *name, void *(*run)(void *context), void *context)
{
    static const int open[] = { SIGPROF, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (size_t i = 0; i < ARRAY_SIZE(open); i++)
        sigdelset(&blocked, open[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    int r = -pthread_create(ret, NULL, run, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (r == 0)
        pthread_setname_np(*ret, name);
    return r;
}

void monitor_init(struct monitor *monitor)
{
    pthread_condattr_t attributes;
    pthread_mutex_init(&monitor->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&monitor->changed, &attributes);
    pthread_condattr_destroy(&attributes);
}

void monitor_release(struct monitor *monitor)
{
    pthread_cond_destroy(&monitor->changed);
    pthread_mutex_destroy(&monitor->lock);
}

void monitor_lock(struct monitor *monitor)
{
    pthread_mutex_lock(&monitor->lock);
}

void monitor_unlock(struct monitor *monitor)
{
    pthread_mutex_unlock(&monitor->lock);
}

void monitor_wake(struct monitor *monitor)
{
    pthread_cond_broadcast(&monitor->changed);
}

bool monitor_wait(struct monitor *monitor, int64_t until_ns)
{
    if (until_ns == INT64_MAX)
        return pthread_cond_wait(&monitor->changed, &monitor->lock) == 0;
    struct timespec until = { until_ns / NS_PER_S, until_ns % NS_PER_S };
    return pthread_cond_timedwait(&monitor->changed, &monitor->lock, &until) != ETIMEDOUT;
}

void completion_init(struct completion *completion)
{
    monitor_init(&completion->monitor);
    completion->is_done = false;
}

void completion_release(struct completion *completion)
{
    monitor_release(&completion->monitor);
}

/* The lock is held while the condition is signalled: the thread that waits may release all of it right after. */
void completion_done(struct completion *completion)
{
    monitor_lock(&completion->monitor);
    completion->is_done = true;
    monitor_wake(&completion->monitor);
    monitor_unlock(&completion->monitor);
}

bool completion_wait(struct completion *completion, int64_t until_ns)
{
    bool in_time = true;
    monitor_lock(&completion->monitor);
    while (!completion->is_done && in_time)
        in_time = monitor_wait(&completion->monitor, until_ns);
    bool is_done = completion->is_done;
    monitor_unlock(&completion->monitor);
    return is_done;
}
