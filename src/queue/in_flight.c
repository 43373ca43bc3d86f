/* in_flight.c: see in_flight.h. */
#include "queue/in_flight.h"

#include <stdlib.h>

#include "base/bitmap.h"

/* `plugins`: those that can reject the pod, by index. */
static void note_for(struct queue *queue, struct queued_pod *entry, const struct cluster_event *event,
                     uint64_t plugins)
{
    queue->pods_noted++;
    if (!entry->pod)
        return;
    if (event_is_wildcard(event)) {
        entry->helped_anyway |= hint_eval_wildcard(entry, event);
        return;
    }
    uint64_t interested = event_interest_of(&queue->interests[entry->profile], event) & plugins;
    entry->interested |= interested;
    bitmap_for_word(interested & ~entry->helped, plugin)
        if (hint_eval_plugin(queue, entry, (uint32_t)plugin, event) == HINT_QUEUE)
            entry->helped |= (uint64_t)1 << plugin;
}

/* ---- groups ---- */
struct flight_group {
    uint32_t profile;
    uint64_t plugins; /* by index */
    struct list pods; /* struct queued_pod, by `noted` */
    /* By plugin: the number of the last event that it has a rule for, or a rule without a hint; both plus one. */
    uint64_t interested[PLUGINS_MAX], helped[PLUGINS_MAX];
};

static uint64_t event_number(const struct queue *queue)
{
    return queue->flight_events_from + queue->flight_events.len;
}

static struct flight_group *group_for(struct queue *queue, uint32_t profile, uint64_t plugins)
{
    vec_for(&queue->flight_groups, group)
        if ((*group)->profile == profile && (*group)->plugins == plugins)
            return *group;
    struct flight_group *group = xcalloc(1, sizeof(*group));
    group->profile = profile;
    group->plugins = plugins;
    *vec_push(&queue->flight_groups) = group;
    return group;
}

static void leave_group(struct queue *queue, struct queued_pod *entry)
{
    struct flight_group *group = entry->group;
    list_remove(&group->pods, &entry->noted);
    entry->group = NULL;
    for (size_t i = 0; list_empty(&group->pods) && i < queue->flight_groups.len; i++) {
        if (queue->flight_groups.items[i] != group)
            continue;
        vec_swap_remove(&queue->flight_groups, i);
        free(group);
        return;
    }
}

void in_flight_group(struct queue *queue, struct queued_pod *entry, uint64_t plugins)
{
    if (!in_flight_has(queue, entry) || entry->group)
        return;
    list_remove(&queue->noted, &entry->noted);
    entry->group = group_for(queue, entry->profile, plugins);
    entry->grouped_from = event_number(queue);
    list_append(&entry->group->pods, &entry->noted);
}

void in_flight_ungroup(struct queue *queue, struct queued_pod *entry)
{
    if (!entry->group)
        return;
    leave_group(queue, entry);
    list_append(&queue->noted, &entry->noted);
}

void in_flight_catch_up(const struct queue *queue, struct queued_pod *entry)
{
    if (!entry->group)
        return;
    bitmap_for_word(entry->group->plugins, plugin) {
        uint64_t bit = (uint64_t)1 << plugin;
        entry->interested |= entry->group->interested[plugin] > entry->grouped_from ? bit : 0;
        entry->helped |= entry->group->helped[plugin] > entry->grouped_from ? bit : 0;
    }
    entry->grouped_from = event_number(queue);
}

/* ---- events ---- */
static void note_for_group(struct queue *queue, struct flight_group *group, const struct cluster_event *event)
{
    const struct profile *profile = &queue->options.profiles[group->profile];
    uint64_t interested = event_interest_of(&queue->interests[group->profile], event) & group->plugins;
    uint64_t with_hint = 0;
    bitmap_for_word(interested, plugin) {
        group->interested[plugin] =
            event_number(queue); /* the event is in the list already: its number plus one */
        if (event_helps_always(&profile->plugins[plugin], event))
            group->helped[plugin] = event_number(queue);
        else
            with_hint |= (uint64_t)1 << plugin;
    }
    if (with_hint)
        list_for_each(&group->pods, struct queued_pod, entry, noted)
            note_for(queue, entry, event, with_hint);
}

void in_flight_note(struct queue *queue, const struct cluster_event *event)
{
    if (list_empty(&queue->in_flight))
        return;
    *vec_push(&queue->flight_events) = (uint16_t)event_label(event);
    list_for_each(&queue->noted, struct queued_pod, entry, noted)
        note_for(queue, entry, event, UINT64_MAX);
    vec_for(&queue->flight_groups, group) {
        if (!event_is_wildcard(event))
            note_for_group(queue, *group, event);
        else
            list_for_each(&(*group)->pods, struct queued_pod, entry, noted)
                note_for(queue, entry, event, UINT64_MAX);
    }
}

void in_flight_activate(struct queue *queue, struct queued_pod *entry)
{
    const struct cluster_event event = {
        .resource = EVENT_ANY, .actions = ACTION_ALL, .after = entry->pod->api, .cause = LABEL_FORCE_ACTIVATE
    };
    if (!in_flight_has(queue, entry))
        return;
    *vec_push(&queue->flight_events) = (uint16_t)event_label(&event);
    entry->helped_anyway = true;
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
    list_append(&queue->noted, &entry->noted);
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
    in_flight_catch_up(queue, entry);
    if (entry->group)
        leave_group(queue, entry);
    else
        list_remove(&queue->noted, &entry->noted);
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

void in_flight_release(struct queue *queue)
{
    vec_for(&queue->flight_groups, group)
        free(*group);
    vec_release(&queue->flight_groups);
    vec_release(&queue->flight_events);
}
