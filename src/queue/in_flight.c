/* in_flight.c: see in_flight.h. */
#include "queue/in_flight.h"

#include "base/bitmap.h"

static void note_for(struct queue *queue, struct queued_pod *entry, const struct cluster_event *event)
{
    if (!entry->pod)
        return;
    if (event_is_wildcard(event)) {
        entry->helped_anyway |= hint_eval_wildcard(entry, event);
        return;
    }
    uint64_t interested = event_interest_of(&queue->interests[entry->profile], event);
    entry->interested |= interested;
    bitmap_for_word(interested & ~entry->helped, plugin)
        if (hint_eval_plugin(queue, entry, (uint32_t)plugin, event) == HINT_QUEUE)
            entry->helped |= (uint64_t)1 << plugin;
}

void in_flight_note(struct queue *queue, const struct cluster_event *event)
{
    if (list_empty(&queue->in_flight))
        return;
    *vec_push(&queue->flight_events) = (uint16_t)event_label(event);
    list_for_each(&queue->in_flight, struct queued_pod, entry, flight)
        note_for(queue, entry, event);
}

enum strategy in_flight_strategy(const struct queued_pod *entry)
{
    uint64_t rejectors = entry->unschedulable | entry->pending;
    if (!rejectors)
        return STRATEGY_AFTER_BACKOFF;
    if (entry->pending & entry->helped)
        return STRATEGY_AT_ONCE;
    return entry->helped_anyway || rejectors & entry->helped ? STRATEGY_AFTER_BACKOFF : STRATEGY_SKIP;
}

void in_flight_add(struct queue *queue, struct queued_pod *entry)
{
    entry->interested = entry->helped = 0;
    entry->helped_anyway = false;
    entry->events_from = queue->flight_events_from + queue->flight_events.len;
    list_append(&queue->in_flight, &entry->flight);
}

/* Events that no pod in flight has seen begin are forgotten; in bulk, when they are many. */
static void forget_events(struct queue *queue)
{
    enum { BULK = 256, KEPT = 4096 };
    size_t len = queue->flight_events.len;
    const struct queued_pod *oldest = list_first(&queue->in_flight, struct queued_pod, flight);
    size_t old = oldest ? (size_t)(oldest->events_from - queue->flight_events_from) : len;
    if (old < len && (old < BULK || old < len / 2))
        return;
    if (old < len)
        memmove(queue->flight_events.items, queue->flight_events.items + old, (len - old) * sizeof(uint16_t));
    queue->flight_events_from += old;
    queue->flight_events.len = len - old;
    if (old == len && queue->flight_events.cap > KEPT)
        vec_release(&queue->flight_events);
}

bool in_flight_has(const struct queue *queue, const struct queued_pod *entry)
{
    return list_has(&queue->in_flight, &entry->flight);
}

void in_flight_remove(struct queue *queue, struct queued_pod *entry)
{
    if (!in_flight_has(queue, entry))
        return;
    list_remove(&queue->in_flight, &entry->flight);
    forget_events(queue);
}

void queue_count_flight_events(const struct queue *queue, size_t counts[LABEL_COUNT])
{
    const struct queued_pod *oldest = list_first(&queue->in_flight, struct queued_pod, flight);
    if (!oldest)
        return;
    size_t from = (size_t)(oldest->events_from - queue->flight_events_from);
    for (size_t i = from; i < queue->flight_events.len; i++)
        counts[queue->flight_events.items[i]]++;
}
