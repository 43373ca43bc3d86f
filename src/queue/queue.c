/* queue.c: moves pods between the places. */
#include "queue/queue.h"

#include <stdlib.h>

static bool goes_before(const void *a, const void *b, const void *context)
{
    const struct queued_pod *x = a, *y = b;
    const struct queue *queue = context;
    if (queue->less) {
        if (queue->less(x->pod, y->pod))
            return true;
        if (queue->less(y->pod, x->pod))
            return false;
    }
    return x->arrival < y->arrival;
}

static void active_moved(void *item, size_t at)
{
    ((struct queued_pod *)item)->at = at;
}

void queue_init(struct queue *queue, bool (*less)(const struct pod_info *a, const struct pod_info *b))
{
    *queue = (struct queue){ .less = less };
    queue->active.before = goes_before;
    queue->active.moved = active_moved;
    queue->active.context = queue;
}

static void activate(struct queue *queue, struct queued_pod *entry)
{
    entry->place = QUEUE_ACTIVE;
    heap_push(&queue->active, entry);
}

void queue_add(struct queue *queue, struct pod_info *pod, bool gated)
{
    struct queued_pod *entry = xcalloc(1, sizeof(*entry));
    entry->pod = pod;
    entry->arrival = ++queue->arrivals;
    if (!gated) {
        activate(queue, entry);
        return;
    }
    entry->place = QUEUE_GATED;
    entry->at = queue->gated.len;
    *vec_push(&queue->gated) = entry;
}

struct queued_pod *queue_pop(struct queue *queue)
{
    struct queued_pod *entry = heap_pop(&queue->active);
    if (!entry)
        return NULL;
    entry->place = QUEUE_NOWHERE;
    entry->attempts++;
    return entry;
}

void queue_retry(struct queue *queue, struct queued_pod *entry)
{
    assert(entry->place == QUEUE_NOWHERE);
    activate(queue, entry);
}

void queue_park(struct queue *queue, struct queued_pod *entry)
{
    assert(entry->place == QUEUE_NOWHERE);
    entry->place = QUEUE_UNSCHEDULABLE;
    entry->at = queue->unschedulable.len;
    *vec_push(&queue->unschedulable) = entry;
}

void queue_done(struct queue *queue, struct queued_pod *entry)
{
    (void)queue;
    assert(entry->place == QUEUE_NOWHERE);
    free(entry);
}

void queue_wake_all(struct queue *queue)
{
    vec_for(&queue->unschedulable, entry)
        activate(queue, *entry);
    vec_clear(&queue->unschedulable);
}

void queue_remove(struct queue *queue, const struct pod_info *pod)
{
    for (size_t i = 0; i < queue->active.items.len; i++) {
        struct queued_pod *entry = queue->active.items.items[i];
        if (entry->pod == pod) {
            heap_remove(&queue->active, i);
            free(entry);
            return;
        }
    }
    for (size_t i = 0; i < queue->unschedulable.len; i++) {
        if (queue->unschedulable.items[i]->pod == pod) {
            free(queue->unschedulable.items[i]);
            vec_swap_remove(&queue->unschedulable, i);
            if (i < queue->unschedulable.len)
                queue->unschedulable.items[i]->at = i;
            return;
        }
    }
    for (size_t i = 0; i < queue->gated.len; i++) {
        if (queue->gated.items[i]->pod == pod) {
            free(queue->gated.items[i]);
            vec_swap_remove(&queue->gated, i);
            if (i < queue->gated.len)
                queue->gated.items[i]->at = i;
            return;
        }
    }
}

void queue_release(struct queue *queue)
{
    struct queued_pod *entry;
    while ((entry = heap_pop(&queue->active)))
        free(entry);
    vec_for(&queue->unschedulable, item)
        free(*item);
    vec_for(&queue->gated, item)
        free(*item);
    heap_release(&queue->active);
    vec_release(&queue->unschedulable);
    vec_release(&queue->gated);
}
