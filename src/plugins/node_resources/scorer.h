/* scorer.h: what NodeResourcesFit and NodeResourcesBalancedAllocation share: a list of resources with weights, what
 * the pod requests of each, and what a node has and has allocated of each. */
#ifndef PLUGINS_NODE_RESOURCES_SCORER_H
#define PLUGINS_NODE_RESOURCES_SCORER_H

#include "config/requests.h"
#include "index/table.h"
#include "plugins/node_resources/args.h"
#include "plugins/node_resources/device_counts.h"

/* What the requests of a pod are made of, also while it is resized. */
#define RESOURCE_READS \
    READS("spec.containers[].resources", "spec.initContainers[].resources", \
          "spec.initContainers[].restartPolicy", "spec.overhead", "spec.resources", \
          "spec.containers[].name", "status.allocatedResources", "status.conditions", \
          "status.containerStatuses", "status.initContainerStatuses", "status.resize", "status.resources")

enum { SCORER_RESOURCES_MAX = 64 };

struct scored_resource {
    uint32_t number; /* of the cluster; UINT32_MAX: one that no node has */
    bool scalar;
    int64_t weight;
};

struct scorer {
    struct scored_resource items[SCORER_RESOURCES_MAX];
    struct str names[SCORER_RESOURCES_MAX];
    uint32_t len;
    bool use_requested; /* what pods request; else with defaults for those that request nothing */
    struct pod_requests_options options;
    struct device_counts *devices; /* NULL: devices do not stand for any of the resources */
};

int scorer_init(struct scorer *scorer, struct cluster *cluster, const struct resource_weight *resources,
                uint32_t len, bool use_requested, struct error *err);
void scorer_release(struct scorer *scorer);
/* Does the score depend on devices that stand for a resource? They are counted by the plain path alone. */
bool scorer_needs_devices(const struct scorer *scorer, const struct cluster *cluster,
                          const int64_t *requests);
/* What the pod requests of each resource. */
void scorer_requests(const struct scorer *scorer, const struct pod *pod, struct arena *arena, int64_t *ret);
/* What each resource of the node is: there in all, taken, taken with the pod. Resources that do not count are 0. */
void scorer_node(const struct scorer *scorer, struct node_view node, const int64_t *requests,
                 int64_t *requested, int64_t *allocated, int64_t *allocatable);

/* With -v=10: what a node's score was made from. */
void scorer_log(const struct scorer *scorer, struct node_view node, const struct pod *pod, const char *name,
                const int64_t *allocatable, const int64_t *requested, int64_t score);

/* ---- many rows at once ---- */
/* One scored resource as columns, with what the pod requests of it. */
struct scored_column {
    const int64_t *allocatable, *taken;
    int64_t request;
    double weight;
};

/* The columns of the resources that count for this pod; false where some need a closer look than doubles allow: a node
 * without the resource, or amounts that a double does not hold exactly. Then nodes are scored one by one. */
bool scorer_columns(const struct scorer *scorer, const struct cluster *cluster, const int64_t *requests,
                    struct scored_column *ret, uint32_t *ret_len);

/* Leaf loops are compiled for wide vectors too, and chosen at start; sanitizers do not get along with that. */
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
    !defined(__clang__)
#define VECTOR_LEAF __attribute__((target_clones("arch=x86-64-v4", "avx2", "default"), optimize("O3")))
#else
#define VECTOR_LEAF
#endif

/* Go's arithmetic on int64: overflow wraps, and the one division that overflows does too. */
static inline int64_t wrap_mul(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}
static inline int64_t wrap_add(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}
static inline int64_t wrap_div(int64_t a, int64_t b)
{
    return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

#endif
