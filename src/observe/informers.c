/* informers.c: see informers.h. */
#include "observe/informers.h"

#include <stdlib.h>

enum { GATE_ALWAYS = -1, VERSION_DIGITS_MAX = 15 };

/* The kinds that kube-scheduler has informers of, as it names them. */
static const struct {
    enum api_kind kind;
    const char *group, *resource;
    int gate;
} rows[] = {
    { KIND_NAMESPACE, "", "namespaces", GATE_ALWAYS },
    { KIND_NODE, "", "nodes", GATE_ALWAYS },
    { KIND_PVC, "", "persistentvolumeclaims", GATE_ALWAYS },
    { KIND_PV, "", "persistentvolumes", GATE_ALWAYS },
    { KIND_POD, "", "pods", GATE_ALWAYS },
    { KIND_REPLICATION_CONTROLLER, "", "replicationcontrollers", GATE_ALWAYS },
    { KIND_SERVICE, "", "services", GATE_ALWAYS },
    { KIND_REPLICA_SET, "apps", "replicasets", GATE_ALWAYS },
    { KIND_STATEFUL_SET, "apps", "statefulsets", GATE_ALWAYS },
    { KIND_PDB, "policy", "poddisruptionbudgets", GATE_ALWAYS },
    { KIND_DEVICE_CLASS, "resource.k8s.io", "deviceclasss", GATE_ALWAYS },
    { KIND_DEVICE_TAINT_RULE, "resource.k8s.io", "devicetaintrules", FEATURE_DRADeviceTaintRules },
    { KIND_RESOURCE_CLAIM, "resource.k8s.io", "resourceclaims", GATE_ALWAYS },
    { KIND_RESOURCE_SLICE, "resource.k8s.io", "resourceslices", GATE_ALWAYS },
    { KIND_CSI_DRIVER, "storage.k8s.io", "csidrivers", GATE_ALWAYS },
    { KIND_CSI_NODE, "storage.k8s.io", "csinodes", GATE_ALWAYS },
    { KIND_CSI_STORAGE_CAPACITY, "storage.k8s.io", "csistoragecapacitys", GATE_ALWAYS },
    { KIND_STORAGE_CLASS, "storage.k8s.io", "storageclasss", GATE_ALWAYS },
    { KIND_VOLUME_ATTACHMENT, "storage.k8s.io", "volumeattachments", GATE_ALWAYS },
};

struct informers {
    struct {
        struct metric *latency, *queued, *version; /* NULL: no informer */
    } kinds[KIND_COUNT];
};

struct informers *informers_new(struct metrics *metrics, const struct features *features)
{
    if (!features->release->informers_have_metrics)
        return NULL;
    struct informers *informers = xcalloc(1, sizeof(*informers));
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct str labels[] = { STR("kube-scheduler"), str_from(rows[i].group), STR("v1"),
                                      str_from(rows[i].resource) };
        if (rows[i].gate != GATE_ALWAYS && !features->enabled[rows[i].gate])
            continue;
        informers->kinds[rows[i].kind].latency =
            metric_get(metrics, FAMILY_INFORMER_PROCESSING_LATENCY_SECONDS, labels);
        informers->kinds[rows[i].kind].queued = metric_get(metrics, FAMILY_INFORMER_QUEUED_ITEMS, labels);
        informers->kinds[rows[i].kind].version =
            metric_get(metrics, FAMILY_INFORMER_STORE_RESOURCE_VERSION, labels);
    }
    return informers;
}

void informers_free(struct informers *informers)
{
    free(informers);
}

/* A double holds no more digits than that. */
void informers_version(const struct informers *informers, enum api_kind kind, struct str version)
{
    struct metric *metric = informers ? informers->kinds[kind].version : NULL;
    size_t from = version.len > VERSION_DIGITS_MAX ? version.len - VERSION_DIGITS_MAX : 0;
    int64_t number;
    if (metric && str_to_int64(str_slice(version, from, version.len), &number))
        gauge_set(metric, (double)number);
}

void informers_applied(const struct informers *informers, enum api_kind kind, int64_t ns)
{
    struct metric *metric = informers ? informers->kinds[kind].latency : NULL;
    if (metric)
        histogram_observe(metric, (double)ns / 1e9);
}

void informers_publish(const struct informers *informers,
                       size_t (*waiting)(void *context, enum api_kind kind), void *context)
{
    for (int kind = 0; informers && kind < KIND_COUNT; kind++)
        if (informers->kinds[kind].queued)
            gauge_set(informers->kinds[kind].queued, (double)waiting(context, (enum api_kind)kind));
}
