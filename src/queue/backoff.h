/* backoff.h: how long a pod waits after an attempt in vain, and when the queue looks for pods whose wait is over. */
#ifndef QUEUE_BACKOFF_H
#define QUEUE_BACKOFF_H

#include "queue/queue.h"

#define BACKOFF_WINDOW_NS NS_PER_SECOND

static inline int64_t time_add(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* Is the pod's backoff not over yet? A pod that was not tried has none. */
bool backoff_goes_on(struct queue *queue, struct queued_pod *entry, int64_t now_ns);
/* When backoffs that end at that time are looked at: with the next full second, or with the next of the seconds that
 * began with the queue. */
int64_t backoff_look_after(const struct queue *queue, int64_t time_ns);

#endif
