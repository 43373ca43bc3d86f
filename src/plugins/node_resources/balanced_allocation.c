/* NodeResourcesBalancedAllocation: prefer nodes whose resources the pod leaves used in equal shares.
 *
 * The score compares the node with and without the pod. Pods that request nothing skip it. */
#include "plugins/node_resources/scorer.h"

#include <math.h>

struct balanced_state {
    int64_t requests[SCORER_RESOURCES_MAX];
};

static int balanced_init(const struct plugin_env *env, void **ret_self, struct error *err)
{
    const struct node_resources_balanced_args *args = env->args;
    struct scorer *scorer = arena_new(env->arena, struct scorer);
    *ret_self = scorer;
    return scorer_init(scorer, env->cluster, args->resources.items, args->resources.len, true, err);
}

static struct status balanced_pre_score(struct cycle *cycle, struct row_list feasible)
{
    (void)feasible;
    const struct scorer *scorer = cycle_self(cycle);
    struct balanced_state *state = arena_new(cycle->arena, struct balanced_state);
    scorer_requests(scorer, cycle->pod, cycle->arena, state->requests);
    bool any = false;
    for (uint32_t i = 0; i < scorer->len; i++)
        any |= state->requests[i] != 0;
    *cycle_state(cycle) = state;
    return any ? STATUS_OK : STATUS_SKIPPED;
}

/* 100 when all shares are equal; less by their standard deviation. */
static int64_t evenness(const int64_t *requested, const int64_t *allocatable, uint32_t len)
{
    double shares[SCORER_RESOURCES_MAX], total = 0, deviation = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < len; i++) {
        if (!allocatable[i])
            continue;
        double share = (double)requested[i] / (double)allocatable[i];
        if (share > 1)
            share = 1;
        total += share;
        shares[count++] = share;
    }
    if (count == 2) {
        deviation = fabs((shares[0] - shares[1]) / 2);
    } else if (count > 2) {
        double mean = total / count, sum = 0;
        for (uint32_t i = 0; i < count; i++)
            sum = sum + (shares[i] - mean) * (shares[i] - mean);
        deviation = sqrt(sum / count);
    }
    return (int64_t)((1 - deviation) * SCORE_MAX);
}

static struct status balanced_score(struct cycle *cycle, struct node_view node, int64_t *ret)
{
    const struct scorer *scorer = cycle_self(cycle);
    const struct balanced_state *state = *cycle_state(cycle);
    int64_t requested[SCORER_RESOURCES_MAX], allocated[SCORER_RESOURCES_MAX], allocatable[SCORER_RESOURCES_MAX];
    if (!scorer->len)
        return reject(STATUS_ERROR, "resources not found");
    scorer_node(scorer, node, state->requests, requested, allocated, allocatable);
    int64_t with = evenness(requested, allocatable, scorer->len);
    int64_t without = evenness(allocated, allocatable, scorer->len);
    *ret = SCORE_MAX / 2 + (SCORE_MAX / 2 + with - without) / 2;
    return STATUS_OK;
}

const struct plugin plugin_node_resources_balanced_allocation = {
    .name = "NodeResourcesBalancedAllocation",
    .doc = "Prefers nodes on which the pod makes the shares of the resources in use more equal.",
    .init = balanced_init,
    .pre_score = balanced_pre_score,
    .score = balanced_score,
};
