/* thread.h: starting a thread, and waiting for what another one does.
 *
 *     struct monitor     a lock, and a condition that changes under it
 *     struct completion  one answer, given by one thread and awaited by another
 *
 * All waits are by the monotonic clock (base/clock.h). */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>

#include "base/common.h"

/* A thread with a name of up to 15 characters. It takes no signals but that of a profiler and those of a crash. Returns
 * 0 or a negative errno. */
int thread_start(pthread_t *ret, const char *name, void *(*run)(void *context), void *context);

struct monitor {
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

void monitor_init(struct monitor *monitor);
void monitor_release(struct monitor *monitor);
void monitor_lock(struct monitor *monitor);
void monitor_unlock(struct monitor *monitor);
/* Something changed: all threads that wait look again. With or without the lock. */
void monitor_wake(struct monitor *monitor);
/* With the lock held, which is given up meanwhile. False: until_ns has come; INT64_MAX: never. May return early. */
bool monitor_wait(struct monitor *monitor, int64_t until_ns);

struct completion {
    struct monitor monitor;
    bool is_done;
};

void completion_init(struct completion *completion);
void completion_release(struct completion *completion);
/* Once. What was written before is seen by the thread that waited. */
void completion_done(struct completion *completion);
/* False: until_ns has come first. */
bool completion_wait(struct completion *completion, int64_t until_ns);

#endif
