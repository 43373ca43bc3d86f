/* scorer.h: what NodeResourcesFit and NodeResourcesBalancedAllocation share: a list of resources with weights, what
 * the pod asks of each, and what a node has and has given away of each. */
#ifndef PLUGINS_NODE_RESOURCES_SCORER_H
#define PLUGINS_NODE_RESOURCES_SCORER_H

#include "config/plugin_args.h"
#include "framework/plugin.h"

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
};

int scorer_init(struct scorer *scorer, struct cluster *cluster, const struct resource_weight *resources, uint32_t len,
                bool use_requested, struct error *err);
/* What the pod asks of each resource. */
void scorer_requests(const struct scorer *scorer, const struct pod *pod, struct arena *arena, int64_t *ret);
/* What each resource of the node is: there in all, taken, taken with the pod. Resources that do not count are 0. */
void scorer_node(const struct scorer *scorer, struct node_view node, const int64_t *requests, int64_t *requested,
                 int64_t *allocated, int64_t *allocatable);

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
