/* queue_log.c: see queue_log.h. */
#include "queue/queue_log.h"

#include "base/bitmap.h"
#include "base/log.h"

void queue_log_gate(const struct queued_pod *entry, struct status status, struct arena *arena)
{
    const struct meta *meta = &entry->pod->api->meta;
    struct log_value pod = log_ref("pod", meta->namespace, meta->name);
    struct log_value plugin = log_str("plugin", str_from(status.plugin->name));
    struct error err;
    if (status.code != STATUS_ERROR) {
        log_info(4, "Status after running PreEnqueue plugin", pod, plugin,
                 log_str("status", status_message(status, arena)));
        return;
    }
    error_set(&err, -EINVAL, STR_FMT, STR_ARG(status_message(status, arena)));
    log_error(&err, "Unexpected error running PreEnqueue plugin", pod, plugin);
}

static const char *const names[] = { [QUEUE_NAME_ACTIVE] = "Active",
                                     [QUEUE_NAME_BACKOFF] = "Backoff",
                                     [QUEUE_NAME_UNSCHEDULABLE] = "Unschedulable" };

void queue_log_entered(const struct queue *queue, const struct queued_pod *entry, enum queue_name name,
                       enum event_label why)
{
    _cleanup_(arena_release) struct arena arena = { 0 };
    const struct release *release = queue->options.cluster->features.release;
    const struct meta *meta = &entry->pod->api->meta;
    bool gated = name == QUEUE_NAME_UNSCHEDULABLE && entry->gate != GATE_NONE;
    struct log_value event = log_str("event", event_label_text(why, release, &arena)),
                     into = log_str("queue", str_from(names[name]));
    if (why == LABEL_ATTEMPT_FAILURE && name == QUEUE_NAME_UNSCHEDULABLE && !gated)
        return; /* queue_log_failed() says it */
    if (release->queues_hold_entities)
        log_info(5,
                 gated ? "Entity moved to an internal scheduling queue, because it is gated"
                       : "Entity moved to an internal scheduling queue",
                 log_str("type", STR("pod")), log_ref("entity", meta->namespace, meta->name), event, into);
    else
        log_info(5,
                 gated ? "Pod moved to an internal scheduling queue, because the pod is gated"
                       : "Pod moved to an internal scheduling queue",
                 log_ref("pod", meta->namespace, meta->name), event, into);
}

static int compare_names(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

void queue_log_failed(const struct queue *queue, const struct queued_pod *entry, enum strategy strategy)
{
    if (!log_shows(3))
        return;
    _cleanup_(arena_release) struct arena arena = { 0 };
    const struct profile *profile = &queue->options.profiles[entry->profile];
    const struct meta *meta = &entry->pod->api->meta;
    enum queue_name name = entry->place == QUEUE_ACTIVE ? QUEUE_NAME_ACTIVE
                           : entry->place == QUEUE_BACKOFF || entry->place == QUEUE_ERROR_BACKOFF
                               ? QUEUE_NAME_BACKOFF
                               : QUEUE_NAME_UNSCHEDULABLE;
    struct str rejecting[PLUGINS_MAX];
    size_t len = 0;
    uint64_t plugins = entry->unschedulable | entry->pending;
    bitmap_for_word(plugins, plugin) /* QUEUE_REJECTED_BY_NONE has no name */
        rejecting[len++] =
            plugin < profile->plugins_len ? str_from(profile->plugins[plugin].plugin->name) : STR("");
    qsort(rejecting, len, sizeof(*rejecting), compare_names);
    log_info(3, "Pod moved to an internal scheduling queue", log_ref("pod", meta->namespace, meta->name),
             log_str("event", event_label_text(LABEL_ATTEMPT_FAILURE,
                                               queue->options.cluster->features.release, &arena)),
             log_str("queue", str_from(names[name])), log_int("schedulingCycle", (int64_t)queue->pops),
             log_int("hint", strategy), log_set("unschedulable plugins", rejecting, len));
}
