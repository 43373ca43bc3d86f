/* load.c: see load.h. */
#include "load.h"

#include <math.h>
#include <stdlib.h>

/* More than this, in parts of the capacity, is a wrong measurement. */
#define ABSURD_SHARE 2.0

static const char *const resource_names[] = { "cpu", "memory" };
static const char *const capacity_paths[] = { "status.capacity[cpu]", "status.capacity[memory]" };

/* ---- arguments ---- */
const struct berth_field load_provider_fields[] = {
    BERTH_FIELD("type", BERTH_STRING, struct load_provider, type),
    BERTH_FIELD("address", BERTH_STRING, struct load_provider, address),
    BERTH_FIELD("token", BERTH_STRING, struct load_provider, token),
    BERTH_FIELD("insecureSkipVerify", BERTH_BOOL, struct load_provider, insecure_skip_verify),
    { 0 },
};

int load_source_check(const struct load_source *source, const char *plugin, struct berth_error *err)
{
    static const char *const types[] = { "KubernetesMetricsServer", "Prometheus", "SignalFx" };
    bool is_known = !source->provider.type.len || source->watcher_address.len;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        is_known |= berth_is(source->provider.type, types[i]);
    if (!is_known)
        return berth_fail(
            err,
            "metricProvider.type: expected KubernetesMetricsServer, Prometheus or SignalFx, got \"" BERTH_FMT
            "\"",
            BERTH_ARG(source->provider.type));
    if (source->watcher_address.len)
        berth_log(0,
                  "%s: watcherAddress has no effect: berth asks metrics.k8s.io itself, or a Prometheus that "
                  "metricProvider or --samples-prometheus names",
                  plugin);
    else if (berth_is(source->provider.type, "SignalFx"))
        berth_log(0,
                  "%s: metricProvider.type SignalFx is not supported: samples come from metrics.k8s.io; for "
                  "those of "
                  "Prometheus set the type Prometheus",
                  plugin);
    return 0;
}

/* ---- the descriptor ---- */
const char *const load_kinds[] = { "NodeMetrics", NULL };
const char *const load_request_reads[] = { "spec.containers[].resources", "spec.initContainers[].resources",
                                           "spec.overhead", "spec.resources", NULL };

/* ---- the plugin's data ---- */
static const char *const reasons[] = {
    [LOAD_MISSING] = "missing", [LOAD_OLD] = "old", [LOAD_ABSURD] = "absurd"
};

void load_init(struct load *load, const struct berth_env *env, const char *plugin, size_t size,
               load_filler fill, void *self)
{
    static const struct berth_metric_info info = {
        .name = "berth_strategy_samples_unusable_total",
        .help = "Nodes that a strategy judged without their measured use, by the reason.",
        .type = BERTH_COUNTER,
        .labels = { "plugin", "reason" },
    };
    *load = (struct load){
        .plugin = plugin, .expiry_ns = LOAD_EXPIRY_NS, .size = size, .fill = fill, .self = self
    };
    for (int i = 0; i < LOAD_RESOURCES; i++)
        load->numbers[i] = berth_resource(env->cluster, resource_names[i]);
    for (int i = LOAD_MISSING; i < LOAD_STATES; i++) {
        const struct berth_str labels[] = { berth_text(plugin), berth_text(reasons[i]) };
        load->counters[i] = berth_metric_get(&info, labels);
    }
    load->what_if = berth_alloc(env->arena, size);
}

void load_release(void *data)
{
    struct load *load = data;
    free(load->rows);
    load->rows = NULL;
    load->len = 0;
}

void load_refresh(struct load *load, const struct berth_cluster *cluster)
{
    struct berth_rows rows;
    if (load->cluster != cluster)
        load->position = 0;
    load->cluster = cluster;
    bool is_known = berth_node_changes(cluster, &load->position, &rows);
    for (uint32_t i = 0; i < rows.len; i++)
        if (rows.items[i] < load->len)
            load_row_at(load, rows.items[i])->is_filled = false;
    if (!is_known && load->len)
        memset(load->rows, 0, load->len * load->size);
}

void load_begin(struct load *load, const struct berth_cluster *cluster)
{
    load_refresh(load, cluster);
    if (load->is_logged && load->usable && !load->unusable) {
        load->is_logged = false;
        berth_log(0, "%s: the samples of all nodes are usable again", load->plugin);
    }
    load->usable = load->unusable = 0;
}

void load_report(struct load *load, enum load_state state, struct berth_node_view node)
{
    load->unusable++;
    berth_metric_add(load->counters[state], 1);
    if (load->is_logged)
        return;
    load->is_logged = true;
    berth_log(0,
              "%s: the sample of node " BERTH_FMT
              " is %s, so its real use does not count; not logged again until all samples are usable",
              load->plugin, BERTH_ARG(berth_node_name(node)), reasons[state]);
}

/* ---- rows ---- */
static void grow(struct load *load, uint32_t row)
{
    uint32_t len = load->len ? load->len : 64;
    while (len <= row)
        len *= 2;
    char *rows = realloc(load->rows, len * load->size);
    if (!rows)
        abort();
    memset(rows + load->len * load->size, 0, (len - load->len) * load->size);
    load->rows = rows;
    load->len = len;
}

static bool is_absurd(double amount, double capacity)
{
    return !isfinite(amount) || amount > ABSURD_SHARE * capacity;
}

static void read_sample(const struct load *load, struct berth_node_view node, struct load_sample *ret)
{
    const void *object = berth_node_object(node);
    ret->at = berth_node_sampled_at(node);
    ret->window_ns = berth_node_sample_window(node);
    for (int i = 0; i < LOAD_RESOURCES; i++) {
        uint32_t number = load->numbers[i];
        struct berth_value capacity = berth_read("Node", object, capacity_paths[i]);
        ret->allocatable[i] = (double)berth_node_allocatable(node, number);
        ret->capacity[i] = (double)(i == LOAD_CPU ? capacity.milli : capacity.number);
        if (capacity.type != BERTH_AMOUNT || ret->capacity[i] <= 0)
            ret->capacity[i] = ret->allocatable[i];
        ret->latest[i] = berth_node_sample(node, number, BERTH_LATEST);
        ret->average[i] = berth_node_sample(node, number, BERTH_AVERAGE);
        ret->deviation[i] = berth_node_sample(node, number, BERTH_DEVIATION);
        if (!(ret->average[i] >= 0))
            ret->average[i] = ret->latest[i];
    }
}

const void *load_fill(struct load *load, struct berth_node_view node)
{
    struct load_sample sample;
    if (node.row >= load->len)
        grow(load, node.row);
    struct load_row *row =
        node.overlay ? (struct load_row *)(void *)load->what_if : load_row_at(load, node.row);
    read_sample(load, node, &sample);
    row->sampled_at = sample.at;
    row->is_absurd = false;
    for (int i = 0; i < LOAD_RESOURCES; i++)
        row->is_absurd |= is_absurd(sample.latest[i], sample.capacity[i]) ||
                          is_absurd(sample.average[i], sample.capacity[i]);
    row->is_unknown =
        !(sample.latest[LOAD_CPU] >= 0) && (load->needs_cpu || !(sample.latest[LOAD_MEMORY] >= 0));
    load->fill(load->self, node, &sample, row);
    row->is_filled = true;
    return row;
}

void load_fresh_requests(const struct load *load, struct berth_node_view node, int64_t since,
                         double ret[LOAD_RESOURCES])
{
    struct berth_pod_infos pods = berth_node_pods(node);
    ret[LOAD_CPU] = ret[LOAD_MEMORY] = 0;
    for (size_t i = 0; i < pods.len; i++)
        if (load_is_fresh(pods.items[i], since))
            for (int j = 0; j < LOAD_RESOURCES; j++)
                ret[j] += (double)berth_pod_request(pods.items[i], load->numbers[j]);
}
