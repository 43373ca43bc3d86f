/* hint_eval.c: see hint_eval.h. */
#include "queue/hint_eval.h"

#include "base/bitmap.h"
#include "framework/probe.h"
#include "queue/wait_lists.h"

bool hint_eval_any(const struct queue *queue, const struct cluster_event *event)
{
    if (event_is_wildcard(event))
        return true;
    for (uint32_t i = 0; i < queue->options.profiles_len; i++)
        if (event_interest_of(&queue->interests[i], event))
            return true;
    return false;
}

bool hint_eval_list(const struct queue *queue, const struct wait_list *list,
                    const struct cluster_event *event)
{
    if (!list->pods.len || event_is_wildcard(event))
        return list->pods.len;
    uint64_t interested = event_interest_of(&queue->interests[list->profile], event);
    if (list->gate != GATE_NONE && !(interested >> list->gate & 1))
        return false;
    uint64_t rejectors = list->unschedulable | list->pending;
    return !rejectors || rejectors & interested;
}

#define for_instances(queue, instance) \
    for (uint32_t p_ = 0; p_ < (queue)->options.profiles_len; p_++) \
        for (uint32_t i_ = 0; i_ < (queue)->options.profiles[p_].plugins_len; i_++) \
            for (const struct plugin_instance *instance = &(queue)->options.profiles[p_].plugins[i_]; \
                 instance; instance = NULL)

bool hint_eval_narrows(const struct queue *queue, const struct cluster_event *event)
{
    bool narrows = false;
    if (!queue->options.cluster->features.enabled[FEATURE_SchedulerPreQueueingHints] ||
        event_is_wildcard(event))
        return false;
    for_instances(queue, instance)
    {
        enum narrowing narrowing = event_narrowing(instance, event);
        if (narrowing == EVENT_UNNARROWED)
            continue;
        const struct probe *probe = queue->options.profiles[0].probe;
        if (probe)
            probe->pre_hint(probe->context, instance->plugin->name, narrowing == EVENT_FOR_SOME);
        if (narrowing == EVENT_FOR_ALL)
            return false;
        narrows = true;
    }
    return narrows;
}

bool hint_eval_affects(const struct queue *queue, const struct pod *pod, const struct cluster_event *event)
{
    for_instances(queue, instance) if (event_affects(instance, pod, event)) return true;
    return false;
}

enum hint hint_eval_plugin(struct queue *queue, const struct queued_pod *entry, uint32_t plugin,
                           const struct cluster_event *event)
{
    struct hint_context context = {
        .cluster = queue->options.cluster,
        .info = entry->pod,
        .arena = &queue->scratch,
    };
    const struct profile *profile = &queue->options.profiles[entry->profile];
    int64_t begun_ns = probe_now(profile->probe);
    enum hint hint = event_hint(profile, plugin, &context, entry->pod->api, event);
    if (profile->probe)
        profile->probe->hint(profile->probe->context, profile, plugin, event_label(event), hint,
                             probe_now(profile->probe) - begun_ns);
    return hint;
}

bool hint_eval_wildcard(const struct queued_pod *entry, const struct cluster_event *event)
{
    return !event->after || pod_is(event->after, entry->pod->api);
}

enum strategy hint_eval_pod(struct queue *queue, const struct queued_pod *entry,
                            const struct cluster_event *event)
{
    uint64_t rejectors = entry->unschedulable | entry->pending;
    enum strategy strategy = STRATEGY_SKIP;
    if (!rejectors)
        return STRATEGY_AFTER_BACKOFF;
    if (event_is_wildcard(event))
        return hint_eval_wildcard(entry, event) ? STRATEGY_AFTER_BACKOFF : STRATEGY_SKIP;
    uint64_t interested = rejectors & event_interest_of(&queue->interests[entry->profile], event);
    bitmap_for_word(interested, plugin) {
        if (hint_eval_plugin(queue, entry, (uint32_t)plugin, event) == HINT_SKIP)
            continue;
        if (entry->pending >> plugin & 1)
            return STRATEGY_AT_ONCE;
        strategy = STRATEGY_AFTER_BACKOFF;
        if (!entry->pending)
            break;
    }
    return strategy;
}
