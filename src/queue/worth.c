/* worth.c: asks the hints of plugins; remembers what happens while pods are in flight.
 *
 * Whoever will reject a pod in flight is not known yet. The reference keeps all events with their objects until the pod
 * comes back; here every plugin that has a rule is asked when the event comes, and a bit per plugin is kept. When the
 * pod itself changes meanwhile, answers about the old version are worth nothing: they all count as yes. */
#include "queue/worth.h"

#include "base/bitmap.h"
#include "framework/probe.h"
#include "queue/rooms.h"

bool worth_looking(const struct queue *queue, const struct cluster_event *event)
{
    if (event_is_wildcard(event))
        return true;
    for (uint32_t i = 0; i < queue->options.profiles_len; i++)
        if (event_interest_of(&queue->interests[i], event))
            return true;
    return false;
}

bool room_worth_looking(const struct queue *queue, const struct room *room, const struct cluster_event *event)
{
    if (!room->pods.len || event_is_wildcard(event))
        return room->pods.len;
    uint64_t interested = event_interest_of(&queue->interests[room->profile], event);
    if (room->gate != GATE_NONE && !(interested >> room->gate & 1))
        return false;
    uint64_t rejectors = room->unschedulable | room->pending;
    return !rejectors || rejectors & interested;
}

static enum hint ask(struct queue *queue, const struct queued_pod *entry, uint32_t plugin,
                     const struct cluster_event *event)
{
    struct hint_context context = {
        .cluster = queue->options.cluster,
        .info = entry->pod,
        .arena = &queue->scratch,
    };
    const struct profile *profile = &queue->options.profiles[entry->profile];
    int64_t begun_ns = probe_now(profile->probe);
    enum hint hint = event_ask(profile, plugin, &context, entry->pod->api, event);
    if (profile->probe)
        profile->probe->hint(profile->probe->context, profile, plugin, event_label(event), hint,
                             probe_now(profile->probe) - begun_ns);
    return hint;
}

/* A wildcard with a pod is for that pod alone. */
static bool wildcard_is_for(const struct cluster_event *event, const struct queued_pod *entry)
{
    return !event->after || pod_is(event->after, entry->pod->api);
}

enum strategy pod_worth(struct queue *queue, struct queued_pod *entry, const struct cluster_event *event)
{
    uint64_t rejectors = entry->unschedulable | entry->pending;
    enum strategy strategy = STRATEGY_SKIP;
    if (!rejectors)
        return STRATEGY_AFTER_BACKOFF;
    if (event_is_wildcard(event))
        return wildcard_is_for(event, entry) ? STRATEGY_AFTER_BACKOFF : STRATEGY_SKIP;
    uint64_t asked = rejectors & event_interest_of(&queue->interests[entry->profile], event);
    bitmap_for_word(asked, plugin) {
        if (ask(queue, entry, (uint32_t)plugin, event) == HINT_SKIP)
            continue;
        if (entry->pending >> plugin & 1)
            return STRATEGY_AT_ONCE;
        strategy = STRATEGY_AFTER_BACKOFF;
        if (!entry->pending)
            break;
    }
    return strategy;
}

/* ---- in flight ---- */
static void note_for(struct queue *queue, struct queued_pod *entry, const struct cluster_event *event)
{
    if (!entry->pod)
        return;
    if (event_is_wildcard(event)) {
        entry->helped_anyway |= wildcard_is_for(event, entry);
        return;
    }
    uint64_t interested = event_interest_of(&queue->interests[entry->profile], event);
    entry->asked |= interested;
    bitmap_for_word(interested & ~entry->helped, plugin)
        if (ask(queue, entry, (uint32_t)plugin, event) == HINT_QUEUE)
            entry->helped |= (uint64_t)1 << plugin;
}

void flight_note(struct queue *queue, const struct cluster_event *event)
{
    if (!queue->oldest_in_flight)
        return;
    *vec_push(&queue->flight_events) = (uint16_t)event_label(event);
    for (struct queued_pod *entry = queue->oldest_in_flight; entry; entry = entry->next)
        note_for(queue, entry, event);
}

enum strategy flight_worth(const struct queued_pod *entry)
{
    uint64_t rejectors = entry->unschedulable | entry->pending;
    if (!rejectors)
        return STRATEGY_AFTER_BACKOFF;
    if (entry->pending & entry->helped)
        return STRATEGY_AT_ONCE;
    return entry->helped_anyway || rejectors & entry->helped ? STRATEGY_AFTER_BACKOFF : STRATEGY_SKIP;
}

void flight_begin(struct queue *queue, struct queued_pod *entry)
{
    entry->asked = entry->helped = 0;
    entry->helped_anyway = false;
    entry->events_from = queue->flight_events_from + queue->flight_events.len;
    entry->next = NULL;
    entry->previous = queue->newest_in_flight;
    *(entry->previous ? &entry->previous->next : &queue->oldest_in_flight) = entry;
    queue->newest_in_flight = entry;
}

/* Events that no pod in flight has seen begin are forgotten; in bulk, when they are many. */
static void forget_events(struct queue *queue)
{
    enum { BULK = 256, KEPT = 4096 };
    size_t len = queue->flight_events.len;
    size_t old = queue->oldest_in_flight
                     ? (size_t)(queue->oldest_in_flight->events_from - queue->flight_events_from)
                     : len;
    if (old < len && (old < BULK || old < len / 2))
        return;
    if (old < len)
        memmove(queue->flight_events.items, queue->flight_events.items + old, (len - old) * sizeof(uint16_t));
    queue->flight_events_from += old;
    queue->flight_events.len = len - old;
    if (old == len && queue->flight_events.cap > KEPT)
        vec_release(&queue->flight_events);
}

bool flight_is_on(const struct queue *queue, const struct queued_pod *entry)
{
    return entry->previous || queue->oldest_in_flight == entry;
}

void flight_end(struct queue *queue, struct queued_pod *entry)
{
    if (!flight_is_on(queue, entry))
        return;
    *(entry->previous ? &entry->previous->next : &queue->oldest_in_flight) = entry->next;
    *(entry->next ? &entry->next->previous : &queue->newest_in_flight) = entry->previous;
    entry->previous = entry->next = NULL;
    forget_events(queue);
}

void queue_count_flight_events(const struct queue *queue, size_t counts[LABEL_COUNT])
{
    if (!queue->oldest_in_flight)
        return;
    size_t from = (size_t)(queue->oldest_in_flight->events_from - queue->flight_events_from);
    for (size_t i = from; i < queue->flight_events.len; i++)
        counts[queue->flight_events.items[i]]++;
}
