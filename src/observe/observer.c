/* observer.c: series are looked up once; counting is a few additions. */
#include "observe/observer.h"

#include <stdlib.h>

#include "base/clock.h"

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

static const char *const claim_results[] = { "success", "failure" };

/* Entities of the queue are pods as long as there are no groups of them. */
#define ENTITY_POD STR("pod")

/* Points at which evaluations by plugin are counted. */
static const struct {
    enum extension_point point;
    enum probe_point name;
} evaluated_points[] = {
    { POINT_PRE_FILTER, PROBE_PRE_FILTER },
    { POINT_FILTER, PROBE_FILTER },
    { POINT_PRE_SCORE, PROBE_PRE_SCORE },
    { POINT_SCORE, PROBE_SCORE },
};

static const char *const point_names[PROBE_POINT_COUNT] = {
#define X(name, text) [PROBE_##name] = text,
    PROBE_POINTS(X)
#undef X
};

#define X(name, text) +1
enum { STATUS_CODE_COUNT = STATUS_CODES(X), PLUGIN_SAMPLE_PERCENT = 10, PLAIN_SHARE = 500 };
static const int64_t PLAIN_AFTER_NS = INT64_C(10000000000);
#undef X

static const char *const goroutine_results[] = { "success", "error" };
static const char *const api_calls[] = {
#define X(name, text) text,
    PROBE_API_CALLS(X)
#undef X
};

/* Of a plugin in a profile. Metrics are made when they are first needed. */
struct plugin_metrics {
    struct metric *unschedulable;
    struct metric *durations[PROBE_POINT_COUNT][STATUS_CODE_COUNT];
    struct metric *(*hints)[HINT_QUEUE + 1]; /* by label */
    /* Evaluations are many and cheap: they are added up here and published from time to time. */
    struct metric *evaluated[PROBE_POINT_COUNT]; /* NULL: it does not take part */
    uint64_t evaluations[PROBE_POINT_COUNT];
};

struct profile_metrics {
    struct metric *attempts[RESULT_COUNT], *durations[RESULT_COUNT];
    struct metric *points[PROBE_POINT_COUNT][STATUS_CODE_COUNT];
    struct plugin_metrics *plugins;
};

struct observer {
    struct metrics *metrics;
    struct arena arena;
    bool counts_leaving;            /* victims are counted even if all are leaving already */
    bool counts_calls;              /* SchedulerAsyncAPICalls */
    struct str labels[LABEL_COUNT]; /* texts of enum event_label */
    struct probe probe;
    struct rng rng;       /* of the sample */
    int64_t plain_due_ns; /* then a cycle of the sample may take the plain path */
    struct metric *algorithm, *victims, *preemptions, *after_flush, *pod_attempts;
    struct metric *sli[ATTEMPT_LABELS];
    struct metric *pending[ARRAY_SIZE(pending_queues)], *entities[ARRAY_SIZE(pending_queues)];
    struct metric *cache[ARRAY_SIZE(cache_types)];
    struct metric *binding, *popped;
    struct metric *incoming[QUEUE_NAME_COUNT][LABEL_COUNT], *incoming_entities[QUEUE_NAME_COUNT][LABEL_COUNT];
    uint64_t counted[QUEUE_NAME_COUNT][LABEL_COUNT], counted_entities[QUEUE_NAME_COUNT][LABEL_COUNT];
    struct metric *in_flight[LABEL_COUNT];
    struct metric *events[LABEL_COUNT];
    struct metric *permit_waits[STATUS_CODE_COUNT];
    struct metric *pending_calls[API_CALL_COUNT];
    struct metric *evictions[ARRAY_SIZE(goroutine_results)], *eviction_times[ARRAY_SIZE(goroutine_results)];
    VEC(struct metric *) rejected;   /* gauges of pods by rejecting plugin, of all profiles so far */
    const struct profile *published; /* the profiles of the last publication */
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

/* The metric of a slot, which is empty at first. */
static struct metric *fill(struct observer *observer, struct metric **slot, enum family family,
                           const struct str *labels)
{
    if (!*slot)
        *slot = metric_get(observer->metrics, family, labels);
    return *slot;
}

static void observe(struct observer *observer, struct metric **slot, enum family family,
                    const struct str *labels, int64_t ns)
{
    histogram_observe(fill(observer, slot, family, labels), seconds(ns));
}

/* Counters of evaluations are there from the start. */
static void init_evaluations(struct observer *observer, const struct profile *profile,
                             struct profile_metrics *own)
{
    for (size_t i = 0; i < ARRAY_SIZE(evaluated_points); i++) {
        const struct plugin_order *order = &profile->points[evaluated_points[i].point];
        enum probe_point name = evaluated_points[i].name;
        for (uint32_t k = 0; k < order->len; k++) {
            const struct str labels[] = { str_from(order->items[k]->plugin->name),
                                          str_from(point_names[name]), profile->scheduler_name };
            fill(observer, &own->plugins[order->items[k]->index].evaluated[name],
                 FAMILY_PLUGIN_EVALUATION_TOTAL, labels);
        }
    }
}

static void on_meet(void *context, struct profile *profile)
{
    struct profile_metrics *own = xcalloc(1, sizeof(*own));
    own->plugins = xcalloc(profile->plugins_len, sizeof(*own->plugins));
    init_evaluations(context, profile, own);
    profile->observed = own;
}

static struct profile_metrics *of_profile(const struct profile *profile)
{
    return profile->observed;
}

/* ---- the probe ---- */
static int64_t now_ns(void *context _unused_)
{
    return monotonic_ns();
}

static enum probe_sample on_sample(void *context)
{
    struct observer *observer = context;
    if (rng_below(&observer->rng, 100) >= PLUGIN_SAMPLE_PERCENT)
        return SAMPLE_NONE;
    return monotonic_ns() < observer->plain_due_ns ? SAMPLE_TIMED : SAMPLE_PLAIN;
}

/* However long the plain path takes, all in all it takes one part in so many of the time. */
static void on_plain(void *context, int64_t ns)
{
    ((struct observer *)context)->plain_due_ns = monotonic_ns() + ns * PLAIN_SHARE;
}

static void on_point(void *context, const struct profile *profile, enum probe_point point,
                     enum status_code code, int64_t ns)
{
    struct observer *observer = context;
    struct metric **slot = &of_profile(profile)->points[point][code];
    if (!*slot) {
        const struct str labels[] = { str_from(point_names[point]), str_from(status_code_name(code)),
                                      profile->scheduler_name };
        fill(observer, slot, FAMILY_FRAMEWORK_EXTENSION_POINT_DURATION_SECONDS, labels);
    }
    histogram_observe(*slot, seconds(ns));
}

static void on_plugin(void *context, const struct profile *profile, const struct plugin_instance *instance,
                      enum probe_point point, enum status_code code, uint32_t count, int64_t ns)
{
    struct observer *observer = context;
    struct plugin_metrics *own = &of_profile(profile)->plugins[instance->index];
    const struct str labels[] = { str_from(instance->plugin->name), str_from(point_names[point]),
                                  str_from(status_code_name(code)) };
    struct metric *metric =
        fill(observer, &own->durations[point][code], FAMILY_PLUGIN_EXECUTION_DURATION_SECONDS, labels);
    for (uint32_t i = 0; i < count; i++)
        histogram_observe(metric, seconds(ns) / count);
}

static void on_evaluated(void *context _unused_, const struct profile *profile,
                         const struct plugin_instance *instance, enum probe_point point, uint32_t count)
{
    of_profile(profile)->plugins[instance->index].evaluations[point] += count;
}

static void on_hint(void *context, const struct profile *profile, uint32_t plugin, enum event_label label,
                    enum hint hint, int64_t ns)
{
    struct observer *observer = context;
    struct plugin_metrics *own = &of_profile(profile)->plugins[plugin];
    if (!own->hints)
        own->hints = xcalloc(LABEL_COUNT, sizeof(*own->hints));
    struct metric **slot = &own->hints[label][hint];
    if (!*slot) {
        const struct str labels[] = { str_from(profile->plugins[plugin].plugin->name),
                                      observer->labels[label],
                                      hint == HINT_QUEUE ? STR("Queue") : STR("QueueSkip") };
        fill(observer, slot, FAMILY_QUEUEING_HINT_EXECUTION_DURATION_SECONDS, labels);
    }
    histogram_observe(*slot, seconds(ns));
}

static void on_pre_hint(void *context, const char *plugin, bool narrowed)
{
    const struct str labels[] = { str_from(plugin), narrowed ? STR("narrowed") : STR("all_pods") };
    counter_add(
        metric_get(((struct observer *)context)->metrics, FAMILY_PRE_QUEUEING_HINT_EVALUATIONS_TOTAL, labels),
        1);
}

static void on_event(void *context, enum event_label label, int64_t ns)
{
    struct observer *observer = context;
    observe(observer, &observer->events[label], FAMILY_EVENT_HANDLING_DURATION_SECONDS,
            &observer->labels[label], ns);
}

static void on_permit_wait(void *context, enum status_code code, int64_t ns)
{
    struct observer *observer = context;
    struct str result = str_from(status_code_name(code));
    observe(observer, &observer->permit_waits[code], FAMILY_PERMIT_WAIT_DURATION_SECONDS, &result, ns);
}

static void on_preemption(void *context, bool failed, int64_t ns)
{
    struct observer *observer = context;
    struct str result = str_from(goroutine_results[failed]);
    counter_add(
        fill(observer, &observer->evictions[failed], FAMILY_PREEMPTION_GOROUTINES_EXECUTION_TOTAL, &result),
        1);
    observe(observer, &observer->eviction_times[failed], FAMILY_PREEMPTION_GOROUTINES_DURATION_SECONDS,
            &result, ns);
}

/* One of the two families is that of the release. */
static void on_claim(void *context, bool failed)
{
    struct observer *observer = context;
    const struct str labels[] = { str_from(claim_results[failed]), STR("false"), STR(""), STR("Pod") };
    counter_add(metric_get(observer->metrics, FAMILY_RESOURCECLAIM_CREATES_TOTAL, labels), 1);
    counter_add(metric_get(observer->metrics, FAMILY_RESOURCECLAIM_CREATES_ANYWHERE_TOTAL, labels), 1);
}

static void on_device(void *context, const struct profile *profile, struct str driver, bool has_conditions,
                      enum probe_wait_end end, int64_t ns)
{
    static const struct str ends[] = {
#define X(name, text) [WAIT_END_##name] = STR(text),
        PROBE_WAIT_ENDS(X)
#undef X
    };
    struct metrics *metrics = ((struct observer *)context)->metrics;
    const struct str labels[] = { profile->scheduler_name, driver, ends[end] };
    histogram_observe(metric_get(metrics, FAMILY_DRA_BINDINGCONDITIONS_WAIT_DURATION_SECONDS, labels),
                      seconds(ns));
    if (has_conditions)
        counter_add(metric_get(metrics, FAMILY_DRA_BINDINGCONDITIONS_ALLOCATIONS_TOTAL, labels), 1);
}

static void on_api_call(void *context, enum probe_api_call call, bool failed, int64_t ns)
{
    struct observer *observer = context;
    if (!observer->counts_calls)
        return;
    const struct str labels[] = { str_from(api_calls[call]), str_from(goroutine_results[failed]) };
    counter_add(metric_get(observer->metrics, FAMILY_ASYNC_API_CALL_EXECUTION_TOTAL, labels), 1);
    histogram_observe(metric_get(observer->metrics, FAMILY_ASYNC_API_CALL_EXECUTION_DURATION_SECONDS, labels),
                      seconds(ns));
    fill(observer, &observer->pending_calls[call], FAMILY_PENDING_ASYNC_API_CALLS, labels);
}

static void on_volumes_failed(void *context, enum probe_volume_stage stage)
{
    static const struct str stages[] = {
        [VOLUMES_SEARCHED] = STR("predicate"), [VOLUMES_BOUND] = STR("bind")
    };
    counter_add(metric_get(((struct observer *)context)->metrics, FAMILY_VOLUME_SCHEDULING_STAGE_ERROR_TOTAL,
                           &stages[stage]),
                1);
}

static void publish_evaluations(struct plugin_metrics *own)
{
    for (size_t i = 0; i < ARRAY_SIZE(evaluated_points); i++) {
        enum probe_point name = evaluated_points[i].name;
        if (own->evaluations[name] && own->evaluated[name])
            counter_add(own->evaluated[name], own->evaluations[name]);
        own->evaluations[name] = 0;
    }
}

/* Pods that still wait are counted by the profile that replaces it. */
static void on_forget(void *context _unused_, struct profile *profile)
{
    struct profile_metrics *own = of_profile(profile);
    if (!own)
        return;
    for (uint32_t i = 0; i < profile->plugins_len; i++) {
        publish_evaluations(&own->plugins[i]);
        free(own->plugins[i].hints);
    }
    free(own->plugins);
    free(own);
    profile->observed = NULL;
}

void observer_sampled(const struct profile *profile, uint32_t plugin, uint64_t *ret_calls, int64_t *ret_ns)
{
    const struct profile_metrics *own = of_profile(profile);
    double sum = 0;
    *ret_calls = 0;
    for (int point = 0; own && point < PROBE_POINT_COUNT; point++)
        for (int code = 0; code < STATUS_CODE_COUNT && point != PROBE_PRE_BIND && point != PROBE_BIND;
             code++) {
            const struct metric *metric = own->plugins[plugin].durations[point][code];
            *ret_calls += metric ? histogram_count(metric) : 0;
            sum += metric ? histogram_sum(metric) : 0;
        }
    *ret_ns = (int64_t)(sum * NS_PER_SECOND);
}

const struct probe *observer_probe(const struct observer *observer)
{
    return &observer->probe;
}

/* ---- life ---- */
struct observer *observer_new(struct metrics *metrics, const struct features *features)
{
    struct observer *observer = xcalloc(1, sizeof(*observer));
    observer->metrics = metrics;
    observer->counts_leaving = features->release->leaving_victims_are_counted ||
                               !features->enabled[FEATURE_SchedulerAsyncPreemption];
    observer->counts_calls = features->enabled[FEATURE_SchedulerAsyncAPICalls];
    for (int label = 0; label < LABEL_COUNT; label++)
        observer->labels[label] =
            event_label_text((enum event_label)label, features->release, &observer->arena);
    observer->probe = (struct probe){ .context = observer,
                                      .meet = on_meet,
                                      .forget = on_forget,
                                      .now_ns = now_ns,
                                      .sample = on_sample,
                                      .plain = on_plain,
                                      .point = on_point,
                                      .plugin = on_plugin,
                                      .evaluated = on_evaluated,
                                      .hint = on_hint,
                                      .pre_hint = on_pre_hint,
                                      .event = on_event,
                                      .permit_wait = on_permit_wait,
                                      .preemption = on_preemption,
                                      .claim = on_claim,
                                      .device = on_device,
                                      .api_call = on_api_call,
                                      .volumes_failed = on_volumes_failed };
    rng_seed(&observer->rng, (uint64_t)now_ns(NULL));
    observer->plain_due_ns = monotonic_ns() + PLAIN_AFTER_NS; /* most pods wait when a scheduler starts */
    observer->algorithm = get(observer, FAMILY_SCHEDULING_ALGORITHM_DURATION_SECONDS, NULL);
    observer->victims = get(observer, FAMILY_PREEMPTION_VICTIMS, NULL);
    observer->preemptions = get(observer, FAMILY_PREEMPTION_ATTEMPTS_TOTAL, NULL);
    observer->after_flush = get(observer, FAMILY_POD_SCHEDULED_AFTER_FLUSH_TOTAL, NULL);
    observer->pod_attempts = get(observer, FAMILY_POD_SCHEDULING_ATTEMPTS, NULL);
    observer->binding = get(observer, FAMILY_GOROUTINES, "binding");
    observer->popped = get(observer, FAMILY_INFLIGHT_EVENTS, "PodPopped");
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
    vec_release(&observer->rejected);
    arena_release(&observer->arena);
    free(observer);
}

/* ---- events ---- */
static void count_attempt(struct observer *observer, const struct profile *profile, enum result result,
                          int64_t took_ns)
{
    struct profile_metrics *own = of_profile(profile);
    const struct str labels[] = { result_names[result], profile->scheduler_name };
    counter_add(fill(observer, &own->attempts[result], FAMILY_SCHEDULE_ATTEMPTS_TOTAL, labels), 1);
    observe(observer, &own->durations[result], FAMILY_SCHEDULING_ATTEMPT_DURATION_SECONDS, labels, took_ns);
}

/* In older releases victims that are all leaving anyway are not counted again. */
static bool any_is_evicted(const struct decision *decision)
{
    for (uint32_t i = 0; i < decision->victims_len; i++)
        if (!decision->victims[i]->terminating)
            return true;
    return false;
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
    if (decision->victims_len && (observer->counts_leaving || any_is_evicted(decision)))
        histogram_observe(observer->victims, decision->victims_named);
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
        histogram_observe(sli_of(observer, entry->attempts),
                          seconds(notice->now_ns - entry->first_attempt_ns));
    if (entry->was_flushed)
        counter_add(observer->after_flush, 1);
}

/* ---- states ---- */
static void publish_queue(struct observer *observer, enum family family, enum queue_name name,
                          const uint64_t *counts, uint64_t *counted, struct metric **slots)
{
    for (int label = 0; label < LABEL_COUNT; label++) {
        /* Of entities the last label is their type. */
        const struct str labels[] = { str_from(incoming_queues[name]), observer->labels[label], ENTITY_POD };
        if (counts[label] == counted[label])
            continue;
        counter_add(fill(observer, &slots[label], family, labels), counts[label] - counted[label]);
        counted[label] = counts[label];
    }
}

static void publish_incoming(struct observer *observer, const struct queue *queue)
{
    for (int name = 0; name < QUEUE_NAME_COUNT; name++) {
        publish_queue(observer, FAMILY_QUEUE_INCOMING_PODS_TOTAL, (enum queue_name)name,
                      queue->incoming[name], observer->counted[name], observer->incoming[name]);
        publish_queue(observer, FAMILY_QUEUE_INCOMING_ENTITIES_TOTAL, (enum queue_name)name,
                      queue->incoming_entities[name], observer->counted_entities[name],
                      observer->incoming_entities[name]);
    }
}

static void publish_in_flight(struct observer *observer, const struct queue *queue)
{
    size_t counts[LABEL_COUNT] = { 0 };
    uint32_t popped = 0;
    queue_count_flight_events(queue, counts);
    list_for_each(&queue->in_flight, const struct queued_pod, entry, flight)
        popped++;
    gauge_set(observer->popped, popped);
    for (int label = 0; label < LABEL_COUNT; label++)
        if (observer->in_flight[label] || counts[label])
            gauge_set(
                fill(observer, &observer->in_flight[label], FAMILY_INFLIGHT_EVENTS, &observer->labels[label]),
                (double)counts[label]);
}

static void publish_rejected(struct observer *observer, const struct profile *profile, uint32_t plugin,
                             uint32_t count)
{
    struct plugin_metrics *own = &of_profile(profile)->plugins[plugin];
    const struct str labels[] = { str_from(profile->plugins[plugin].plugin->name), profile->scheduler_name };
    if (!own->unschedulable && !count)
        return;
    if (!own->unschedulable)
        *vec_push(&observer->rejected) =
            fill(observer, &own->unschedulable, FAMILY_UNSCHEDULABLE_PODS, labels);
    gauge_set(own->unschedulable, count);
}

/* Variants of a profile have its name, and its plugins by the same index. */
static uint32_t count_rejected(const struct engine *engine, uint32_t profile, uint32_t plugin)
{
    uint32_t count = engine->queue.reasons[profile][plugin];
    for (uint32_t i = profile + 1; i < engine->profiles_len; i++)
        if (engine->profiles[i].variant.len &&
            str_eq(engine->profiles[i].scheduler_name, engine->profiles[profile].scheduler_name))
            count += engine->queue.reasons[i][plugin];
    return count;
}

static void publish_plugins(struct observer *observer, const struct engine *engine)
{
    if (observer->published != engine->profiles) /* gauges of replaced profiles */
        vec_for(&observer->rejected, gauge)
            gauge_set(*gauge, 0);
    observer->published = engine->profiles;
    for (uint32_t p = 0; p < engine->profiles_len; p++)
        for (uint32_t i = 0; i < engine->profiles[p].plugins_len; i++) {
            publish_evaluations(&of_profile(&engine->profiles[p])->plugins[i]);
            if (!engine->profiles[p].variant.len)
                publish_rejected(observer, &engine->profiles[p], i, count_rejected(engine, p, i));
        }
}

/* Whether pods have ever come into the queue at that place of pending_queues, as far as they are counted. */
static bool has_had_pods(const struct queue *queue, size_t name)
{
    for (int label = 0; name < QUEUE_NAME_COUNT && label < LABEL_COUNT; label++)
        if (queue->incoming[name][label])
            return true;
    return false;
}

/* A pod counts as assumed until the watch says that it is bound, also when its binding is done; a node as long as pods
 * are on it, also when it is gone. */
static void publish_cache(struct observer *observer, const struct engine *engine)
{
    size_t counts[ARRAY_SIZE(cache_types)] = { engine->cluster->rows_by_name.len,
                                               engine->cluster->placed_pods, engine->cluster->assumed_pods };
    for (size_t i = 0; i < ARRAY_SIZE(cache_types); i++)
        gauge_set(observer->cache[i], (double)counts[i]);
    gauge_set(observer->binding, (double)engine_bindings(engine));
    for (size_t i = 0; i < ARRAY_SIZE(pending_queues); i++) {
        const enum queue_place *places = pending_queues[i].places;
        size_t count = engine->queue.counts[places[0]];
        if (places[1] != places[0])
            count += engine->queue.counts[places[1]];
        gauge_set(observer->pending[i], (double)count);
        const struct str labels[] = { str_from(pending_queues[i].name), ENTITY_POD };
        if (count || observer->entities[i] || has_had_pods(&engine->queue, i))
            gauge_set(fill(observer, &observer->entities[i], FAMILY_QUEUED_ENTITIES, labels), (double)count);
    }
}

/* Bindings do not wait for one another. */
static void publish_calls(struct observer *observer, const struct engine *engine)
{
    struct str label = str_from(api_calls[API_CALL_STATUS]);
    struct metric **gauge = &observer->pending_calls[API_CALL_STATUS];
    if (observer->counts_calls && (*gauge || engine->statuses.turns))
        gauge_set(fill(observer, gauge, FAMILY_PENDING_ASYNC_API_CALLS, &label), engine->statuses.turns);
}

int64_t observer_publish(struct observer *observer, const struct engine *engine, int64_t wall_ns)
{
    if (wall_ns - observer->published_ns < PUBLISH_EVERY_NS)
        return observer->published_ns + PUBLISH_EVERY_NS;
    observer->published_ns = wall_ns;
    publish_cache(observer, engine);
    publish_incoming(observer, &engine->queue);
    publish_in_flight(observer, &engine->queue);
    publish_plugins(observer, engine);
    publish_calls(observer, engine);
    return INT64_MAX;
}
