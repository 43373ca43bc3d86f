/* observer.c: handles are looked up once; counting is a few additions. */
#include "serve/observer.h"

#include <stdlib.h>

#define PUBLISH_EVERY_NS ((int64_t)100 * 1000 * 1000)
enum { ATTEMPT_LABELS = 16 }; /* "1" to "14", and "15+" */

#define RESULTS(X) X(SCHEDULED, "scheduled") X(UNSCHEDULABLE, "unschedulable") X(ERROR, "error")
enum result {
#define X(name, text) RESULT_##name,
    RESULTS(X)
#undef X
        RESULT_COUNT
};
static const struct str result_names[RESULT_COUNT] = {
#define X(name, text) [RESULT_##name] = STR(text),
    RESULTS(X)
#undef X
};

/* Places of the queue as the metric names them. */
static const struct {
    const char *name;
    enum queue_place places[2];
} pending_queues[] = {
    { "active", { QUEUE_ACTIVE, QUEUE_ACTIVE } },
    { "backoff", { QUEUE_BACKOFF, QUEUE_ERROR_BACKOFF } },
    { "unschedulable", { QUEUE_UNSCHEDULABLE, QUEUE_UNSCHEDULABLE } },
    { "gated", { QUEUE_GATED, QUEUE_GATED } },
};
static const char *const incoming_queues[QUEUE_NAME_COUNT] = { "active", "backoff", "unschedulable" };
static const char *const cache_types[] = { "nodes", "pods", "assumed_pods" };

struct profile_metrics {
    struct metric *attempts[RESULT_COUNT], *durations[RESULT_COUNT];
    struct metric *unschedulable[PLUGINS_MAX]; /* made when first needed */
};

struct observer {
    struct metrics *metrics;
    const struct profile *profiles;
    struct profile_metrics *by_profile;
    struct metric *algorithm, *victims, *preemptions, *after_flush, *pod_attempts;
    struct metric *sli[ATTEMPT_LABELS];
    struct metric *pending[ARRAY_SIZE(pending_queues)];
    struct metric *cache[ARRAY_SIZE(cache_types)];
    struct metric *binding;
    struct metric *incoming[QUEUE_NAME_COUNT][LABEL_COUNT]; /* made when first needed, as the next */
    uint64_t counted[QUEUE_NAME_COUNT][LABEL_COUNT];
    struct metric *in_flight[LABEL_COUNT];
    int64_t published_ns;
};

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

static struct metric *get(struct observer *observer, enum family family, const char *label)
{
    struct str value = str_from(label);
    return metric_get(observer->metrics, family, label ? &value : NULL);
}

static void init_profiles(struct observer *observer, const struct engine *engine)
{
    observer->profiles = engine->profiles;
    observer->by_profile = xcalloc(engine->profiles_len, sizeof(*observer->by_profile));
    for (uint32_t p = 0; p < engine->profiles_len; p++)
        for (int r = 0; r < RESULT_COUNT; r++) {
            const struct str labels[] = { result_names[r], engine->profiles[p].scheduler_name };
            struct profile_metrics *own = &observer->by_profile[p];
            own->attempts[r] = metric_get(observer->metrics, FAMILY_SCHEDULE_ATTEMPTS_TOTAL, labels);
            own->durations[r] =
                metric_get(observer->metrics, FAMILY_SCHEDULING_ATTEMPT_DURATION_SECONDS, labels);
        }
}

struct observer *observer_new(struct metrics *metrics, const struct engine *engine)
{
    struct observer *observer = xcalloc(1, sizeof(*observer));
    observer->metrics = metrics;
    init_profiles(observer, engine);
    observer->algorithm = get(observer, FAMILY_SCHEDULING_ALGORITHM_DURATION_SECONDS, NULL);
    observer->victims = get(observer, FAMILY_PREEMPTION_VICTIMS, NULL);
    observer->preemptions = get(observer, FAMILY_PREEMPTION_ATTEMPTS_TOTAL, NULL);
    observer->after_flush = get(observer, FAMILY_POD_SCHEDULED_AFTER_FLUSH_TOTAL, NULL);
    observer->pod_attempts = get(observer, FAMILY_POD_SCHEDULING_ATTEMPTS, NULL);
    observer->binding = get(observer, FAMILY_GOROUTINES, "binding");
    for (size_t i = 0; i < ARRAY_SIZE(pending_queues); i++)
        observer->pending[i] = get(observer, FAMILY_PENDING_PODS, pending_queues[i].name);
    for (size_t i = 0; i < ARRAY_SIZE(cache_types); i++)
        observer->cache[i] = get(observer, FAMILY_CACHE_SIZE, cache_types[i]);
    return observer;
}

void observer_free(struct observer *observer)
{
    if (!observer)
        return;
    free(observer->by_profile);
    free(observer);
}

/* ---- events ---- */
static void count_attempt(struct observer *observer, const struct profile *profile, enum result result,
                          int64_t took_ns)
{
    struct profile_metrics *own = &observer->by_profile[profile - observer->profiles];
    counter_add(own->attempts[result], 1);
    histogram_observe(own->durations[result], seconds(took_ns));
}

void observer_decision(struct observer *observer, const struct decision *decision, int64_t took_ns)
{
    if (decision->is_deleted)
        return;
    histogram_observe(observer->algorithm, seconds(took_ns));
    if (decision->row == ROW_NONE)
        count_attempt(observer, decision->profile, decision->is_error ? RESULT_ERROR : RESULT_UNSCHEDULABLE,
                      took_ns);
    if (decision->preemption_tried)
        counter_add(observer->preemptions, 1);
    if (decision->victims_len)
        histogram_observe(observer->victims, decision->victims_len);
}

static struct metric *sli_of(struct observer *observer, uint32_t attempts)
{
    char label[16];
    uint32_t at = MIN(attempts, (uint32_t)ATTEMPT_LABELS - 1);
    if (!observer->sli[at]) {
        snprintf(label, sizeof(label), at == ATTEMPT_LABELS - 1 ? "%u+" : "%u", at);
        observer->sli[at] = get(observer, FAMILY_POD_SCHEDULING_SLI_DURATION_SECONDS, label);
    }
    return observer->sli[at];
}

void observer_notice(struct observer *observer, const struct notice *notice)
{
    const struct queued_pod *entry = notice->entry;
    if (notice->kind == NOTICE_BINDING_FAILED) {
        count_attempt(observer, notice->profile, notice->rejected ? RESULT_UNSCHEDULABLE : RESULT_ERROR,
                      notice->took_ns);
        return;
    }
    count_attempt(observer, notice->profile, RESULT_SCHEDULED, notice->took_ns);
    histogram_observe(observer->pod_attempts, entry->attempts);
    if (entry->first_attempt_ns != QUEUE_NEVER)
        histogram_observe(sli_of(observer, entry->attempts), seconds(notice->now_ns - entry->first_attempt_ns));
    if (entry->was_flushed)
        counter_add(observer->after_flush, 1);
}

/* ---- states ---- */
static void publish_incoming(struct observer *observer, const struct queue *queue)
{
    struct arena arena = { 0 };
    for (int name = 0; name < QUEUE_NAME_COUNT; name++)
        for (int label = 0; label < LABEL_COUNT; label++) {
            uint64_t count = queue->incoming[name][label];
            if (count == observer->counted[name][label])
                continue;
            struct metric **metric = &observer->incoming[name][label];
            const struct str labels[] = { str_from(incoming_queues[name]),
                                          event_label_text((enum event_label)label, &arena) };
            if (!*metric)
                *metric = metric_get(observer->metrics, FAMILY_QUEUE_INCOMING_PODS_TOTAL, labels);
            counter_add(*metric, count - observer->counted[name][label]);
            observer->counted[name][label] = count;
        }
    arena_release(&arena);
}

static void publish_in_flight(struct observer *observer, const struct queue *queue)
{
    struct arena arena = { 0 };
    size_t counts[LABEL_COUNT] = { 0 };
    queue_count_flight_events(queue, counts);
    for (int label = 0; label < LABEL_COUNT; label++) {
        struct metric **metric = &observer->in_flight[label];
        struct str text;
        if (!*metric && !counts[label])
            continue;
        text = event_label_text((enum event_label)label, &arena);
        if (!*metric)
            *metric = metric_get(observer->metrics, FAMILY_INFLIGHT_EVENTS, &text);
        gauge_set(*metric, (double)counts[label]);
    }
    arena_release(&arena);
}

static void publish_reasons(struct observer *observer, const struct engine *engine)
{
    for (uint32_t p = 0; p < engine->profiles_len; p++)
        for (uint32_t i = 0; i < engine->profiles[p].plugins_len; i++) {
            uint32_t count = engine->queue.reasons[p][i];
            struct metric **metric = &observer->by_profile[p].unschedulable[i];
            const struct str labels[] = { str_from(engine->profiles[p].plugins[i].plugin->name),
                                          engine->profiles[p].scheduler_name };
            if (!*metric && !count)
                continue;
            if (!*metric)
                *metric = metric_get(observer->metrics, FAMILY_UNSCHEDULABLE_PODS, labels);
            gauge_set(*metric, count);
        }
}

static void publish_cache(struct observer *observer, const struct engine *engine)
{
    size_t counts[ARRAY_SIZE(cache_types)] = { engine->cluster->live_nodes, engine->cluster->pods.len,
                                               engine_bindings(engine) };
    for (size_t i = 0; i < ARRAY_SIZE(cache_types); i++)
        gauge_set(observer->cache[i], (double)counts[i]);
    gauge_set(observer->binding, (double)engine_bindings(engine));
    for (size_t i = 0; i < ARRAY_SIZE(pending_queues); i++) {
        const enum queue_place *places = pending_queues[i].places;
        size_t count = engine->queue.counts[places[0]];
        if (places[1] != places[0])
            count += engine->queue.counts[places[1]];
        gauge_set(observer->pending[i], (double)count);
    }
}

void observer_publish(struct observer *observer, const struct engine *engine, int64_t now_ns)
{
    if (now_ns - observer->published_ns < PUBLISH_EVERY_NS)
        return;
    observer->published_ns = now_ns;
    publish_cache(observer, engine);
    publish_incoming(observer, &engine->queue);
    publish_in_flight(observer, &engine->queue);
    publish_reasons(observer, engine);
}
