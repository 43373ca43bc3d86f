/* node_samples.c: see node_samples.h. */
#include "cluster/node_samples.h"

#include <stdlib.h>

#include "api/quantity.h"
#include "api/resource_list.h"
#include "base/duration.h"
#include "cluster/model.h"

static double use_of(const struct resource_list *usage, enum sample_resource resource)
{
    static const struct str names[SAMPLE_RESOURCES] = { STR("cpu"), STR("memory") };
    const struct quantity *amount = resource_list_get(usage, names[resource]);
    if (!amount)
        return -1;
    /* Metrics of processors come in billionths of a core: quantity_milli_value() would round them up. */
    return resource == SAMPLE_CPU
               ? (double)quantity_value(quantity_mul(*amount, quantity_from_int(1000000000))) / 1e6
               : (double)quantity_value(*amount);
}

/* What the source computed itself counts instead. */
static void take_given(struct node_sample *sample, const struct node_metrics *metrics)
{
    list_for(&metrics->statistics, given)
        for (int i = 0; i < STATISTIC_COUNT; i++)
            for (int resource = 0;
                 resource < SAMPLE_RESOURCES && str_eq(given->name, sample_statistic_names[i]); resource++) {
                double value = use_of(&given->usage, (enum sample_resource)resource);
                if (value >= 0)
                    sample->values[resource][i] = value;
            }
}

/* ---- samples ---- */
static int64_t time_of(const struct node_metrics *metrics)
{
    return metrics->timestamp.set ? metrics->timestamp.seconds * NS_PER_SECOND + metrics->timestamp.nanos : 0;
}

/* A source that is asked again before it measured again has nothing new to say; one that goes back begins anew. */
static void take(struct node_sample *sample, const struct node_metrics *metrics)
{
    int64_t at_ns = time_of(metrics);
    if (at_ns < sample->at_ns)
        sample->history.len = 0;
    sample->at_ns = at_ns;
    if (!duration_parse(metrics->window, &sample->window_ns) || sample->window_ns < 0)
        sample->window_ns = 0;
    sample_history_forget(&sample->history, at_ns);
    for (int resource = 0; resource < SAMPLE_RESOURCES; resource++) {
        double value = use_of(&metrics->usage, (enum sample_resource)resource);
        for (int i = 0; i < STATISTIC_COUNT; i++)
            sample->values[resource][i] = -1;
        sample->values[resource][STATISTIC_LATEST] = value;
        sample_history_put(&sample->history, at_ns, (enum sample_resource)resource, value);
        sample_history_compute(&sample->history, (enum sample_resource)resource, sample->values[resource]);
    }
    take_given(sample, metrics);
}

struct node_sample *node_samples_find(const struct cluster *cluster, struct str node)
{
    return strmap_get(&cluster->samples, node);
}

void node_samples_changed(struct cluster *cluster, struct str node, const struct node_metrics *metrics)
{
    struct node_sample *sample = node_samples_find(cluster, node);
    uint32_t row = row_by_name(cluster, node);
    if (metrics) {
        if (!sample)
            sample = strmap_make(&cluster->samples, node, sizeof(*sample));
        take(sample, metrics);
    } else {
        strmap_remove(&cluster->samples, node);
        free(sample);
        sample = NULL;
    }
    if (row == ROW_NONE)
        return;
    cluster->nodes.items[row].sample = sample;
    row_changed(cluster, row); /* what filters said of it may not hold any more */
}

void node_samples_pod_changed(struct cluster *cluster, struct str namespace, struct str name)
{
    const struct pod_info *pod = cluster_find_pod(cluster, namespace, name);
    if (pod && pod->row != ROW_NONE)
        row_changed(cluster, pod->row);
}

void node_samples_release(struct cluster *cluster)
{
    map_for(&cluster->samples, slot)
        free(slot->value);
    strmap_release(&cluster->samples);
}

double node_samples_of_pod(const struct cluster *cluster, const struct pod *pod,
                           enum sample_resource resource)
{
    const struct pod_metrics *metrics =
        cluster_find(cluster, KIND_POD_METRICS, pod->meta.namespace, pod->meta.name);
    double sum = -1;
    if (!metrics)
        return sum;
    list_for(&metrics->containers, container) {
        double value = use_of(&container->usage, resource);
        sum = value < 0 ? sum : sum < 0 ? value : sum + value;
    }
    return sum;
}
