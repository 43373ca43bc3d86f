/* queue.h: pods that wait, each in one of three places.
 *
 *     active          to be decided, in the order of the profile's QueueSort plugin, then of arrival
 *     unschedulable   tried, and nothing that could help has happened since
 *     gated           held back by a PreEnqueue plugin
 */
#ifndef QUEUE_QUEUE_H
#define QUEUE_QUEUE_H

#include "base/heap.h"
#include "cluster/cluster.h"

enum queue_place { QUEUE_NOWHERE, QUEUE_ACTIVE, QUEUE_UNSCHEDULABLE, QUEUE_GATED };

struct queued_pod {
    struct pod_info *pod;
    enum queue_place place;
    size_t at;        /* in that place */
    uint64_t arrival; /* breaks ties of the QueueSort plugin */
    uint32_t attempts;
};

struct queue {
    struct heap active;
    VEC(struct queued_pod *) unschedulable, gated;
    uint64_t arrivals;
    bool (*less)(const struct pod_info *a,
                 const struct pod_info *b); /* of the QueueSort plugin; may be NULL */
};

void queue_init(struct queue *queue, bool (*less)(const struct pod_info *a, const struct pod_info *b));
void queue_release(struct queue *queue);
/* A new pod, to be tried or gated. The queue keeps a pointer, not a reference. */
void queue_add(struct queue *queue, struct pod_info *pod, bool gated);
/* The next pod to decide, taken out; give it back with queue_retry(), queue_park() or queue_done(). NULL: none. */
struct queued_pod *queue_pop(struct queue *queue);
/* It goes to the active pods again, or waits for something to happen. */
void queue_retry(struct queue *queue, struct queued_pod *entry);
void queue_park(struct queue *queue, struct queued_pod *entry);
void queue_done(struct queue *queue, struct queued_pod *entry);
/* Something happened that may help: everybody who waited is tried again. */
void queue_wake_all(struct queue *queue);
/* The pod is gone; it may wait anywhere, or nowhere. */
void queue_remove(struct queue *queue, const struct pod_info *pod);

#endif
