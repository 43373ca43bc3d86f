/* prometheus_samples.c: see prometheus_samples.h. */
#include "sync/prometheus_samples.h"

#include <math.h>
#include <stdlib.h>

#include "api/fields.h"
#include "base/duration.h"

static const struct str resource_names[SAMPLE_RESOURCES] = { STR("cpu"), STR("memory") };

/* ---- the past ---- */
void sample_past_take(struct sample_past *past, struct strmap *found)
{
    int64_t newest_ns = 0;
    sample_past_release(past);
    past->nodes = *found;
    *found = (struct strmap){ 0 };
    map_for(&past->nodes, slot) {
        const struct sample_history *history = ((const struct measured *)slot->value)->history;
        if (history->len)
            newest_ns = MAX(newest_ns, history->items[history->len - 1].at_ns);
    }
    past->until_ns = newest_ns + SAMPLES_SPAN_S * NS_PER_SECOND;
}

void sample_past_release(struct sample_past *past)
{
    map_for(&past->nodes, slot) {
        free(((struct measured *)slot->value)->history);
        free(slot->value);
    }
    strmap_release(&past->nodes);
    past->until_ns = 0;
}

/* With what is measured now, and the statistics that follow. */
static void look_back(struct sample_past *past, const struct measured *now, double ret[][STATISTIC_COUNT])
{
    const struct measured *entry = strmap_get(&past->nodes, now->key);
    if (!entry || now->at_ns >= past->until_ns)
        return;
    sample_history_forget(entry->history, now->at_ns);
    for (int i = 0; i < SAMPLE_RESOURCES; i++)
        sample_history_put(entry->history, now->at_ns, (enum sample_resource)i,
                           now->values[i][STATISTIC_LATEST]);
    for (int i = 0; i < SAMPLE_RESOURCES; i++)
        sample_history_compute(entry->history, (enum sample_resource)i, ret[i]);
}

/* ---- objects ---- */
/* Cores have billionths, bytes have none. */
static struct quantity quantity_of(enum sample_resource resource, double value)
{
    double whole = floor(value);
    struct quantity amount = quantity_from_int((int64_t)whole);
    amount.nano = resource == SAMPLE_CPU ? (uint32_t)((value - whole) * 1e9) : 0;
    return amount;
}

/* Of one statistic; empty where nothing is known. */
static struct resource_list usage_of(double values[][STATISTIC_COUNT], int statistic, struct arena *arena)
{
    struct resource_list list = { arena_array(arena, struct resource, SAMPLE_RESOURCES), 0 };
    for (int i = 0; i < SAMPLE_RESOURCES; i++)
        if (values[i][statistic] >= 0)
            list.items[list.len++] =
                (struct resource){ resource_names[i],
                                   quantity_of((enum sample_resource)i, values[i][statistic]) };
    return list;
}

static struct opt_time time_of(int64_t at_ns)
{
    return (struct opt_time){ true, at_ns / NS_PER_SECOND, (int32_t)(at_ns % NS_PER_SECOND) };
}

static struct str window_of(int64_t window_ns, struct arena *arena)
{
    char text[DURATION_TEXT_MAX];
    duration_format(window_ns, text);
    return arena_str(arena, str_from(text));
}

static struct live_object *object_new(enum api_kind kind, size_t bytes, struct str name, struct str namespace)
{
    struct live_object *live = live_object_new();
    arena_reserve(&live->arena, bytes + name.len + namespace.len + DURATION_TEXT_MAX + 24);
    struct meta *meta = arena_zalloc(&live->arena, api_kinds[kind].type->size);
    meta->name = arena_str(&live->arena, name);
    if (namespace.len)
        meta->namespace = arena_str(&live->arena, namespace);
    meta->kind = (uint8_t)kind;
    live->object = (struct object){ .kind = kind,
                                    .ptr = meta,
                                    .meta = meta,
                                    .api_version = api_kinds[kind].api_version,
                                    .kind_name = api_kinds[kind].kind };
    return live;
}

enum { LIST_BYTES = SAMPLE_RESOURCES * sizeof(struct resource) };

struct live_object *prometheus_node_sample(const struct prometheus *prometheus,
                                           const struct measured *measured, struct sample_past *past)
{
    double values[SAMPLE_RESOURCES][STATISTIC_COUNT];
    memcpy(values, measured->values, sizeof(values));
    if (!(values[SAMPLE_CPU][STATISTIC_LATEST] >= 0) && !(values[SAMPLE_MEMORY][STATISTIC_LATEST] >= 0))
        return NULL;
    look_back(past, measured, values);
    for (int i = 0; i < SAMPLE_RESOURCES; i++) /* what a query says of a statistic counts */
        for (int k = STATISTIC_AVERAGE; k < STATISTIC_COUNT; k++)
            if (measured->values[i][k] >= 0)
                values[i][k] = measured->values[i][k];
    struct live_object *live = object_new(KIND_NODE_METRICS,
                                          sizeof(struct node_metrics) + LIST_BYTES +
                                              (STATISTIC_COUNT - 1) * (sizeof(struct statistic) + LIST_BYTES),
                                          measured->key, (struct str){ 0 });
    struct arena *arena = &live->arena;
    struct node_metrics *metrics = live->object.ptr;
    metrics->timestamp = time_of(measured->at_ns);
    metrics->window = window_of(prometheus->queries.nodes.window_ns, arena);
    metrics->usage = usage_of(values, STATISTIC_LATEST, arena);
    metrics->statistics.items = arena_array(arena, struct statistic, STATISTIC_COUNT - 1);
    for (int k = STATISTIC_AVERAGE; k < STATISTIC_COUNT; k++) {
        struct resource_list usage = usage_of(values, k, arena);
        if (usage.len)
            metrics->statistics.items[metrics->statistics.len++] =
                (struct statistic){ sample_statistic_names[k], usage };
    }
    return live;
}

struct live_object *prometheus_pod_sample(const struct prometheus *prometheus,
                                          const struct measured *measured)
{
    struct str name = measured->key, namespace = str_cut(&name, '/');
    double values[SAMPLE_RESOURCES][STATISTIC_COUNT];
    memcpy(values, measured->values, sizeof(values));
    struct live_object *live = object_new(
        KIND_POD_METRICS, sizeof(struct pod_metrics) + sizeof(struct container_metrics) + LIST_BYTES, name,
        namespace);
    struct arena *arena = &live->arena;
    struct pod_metrics *metrics = live->object.ptr;
    metrics->timestamp = time_of(measured->at_ns);
    metrics->window = window_of(prometheus->queries.pods.window_ns, arena);
    metrics->containers.items = arena_new(arena, struct container_metrics);
    metrics->containers.len = 1; /* all of them together */
    metrics->containers.items[0] =
        (struct container_metrics){ STR("pod"), usage_of(values, STATISTIC_LATEST, arena) };
    return live;
}
