/* NodeResourcesBalancedAllocation: prefer nodes whose resources the pod leaves used in equal shares.
 *
 * The score compares the node with and without the pod. Pods that request nothing skip it. */
#include "plugins/node_resources/scorer.h"

#include <math.h>

struct balanced_state {
    int64_t requests[SCORER_RESOURCES_MAX];
    bool any; /* does the pod request one of the resources? */
};

static int balanced_init(const struct plugin_env *env, void **ret_self, struct error *err)
{
    const struct node_resources_balanced_args *args = env->args;
    struct scorer *scorer = arena_new(env->arena, struct scorer);
    *ret_self = scorer;
    return scorer_init(scorer, env->cluster, args->resources.items, args->resources.len, true, err);
}

static void balanced_release(void *self)
{
    scorer_release(self);
}

static struct balanced_state *balanced_state(const struct scorer *scorer, const struct pod *pod,
                                             struct arena *arena)
{
    struct balanced_state *state = arena_new(arena, struct balanced_state);
    scorer_requests(scorer, pod, arena, state->requests);
    for (uint32_t i = 0; i < scorer->len; i++)
        state->any |= state->requests[i] != 0;
    return state;
}

static struct status balanced_pre_score(struct cycle *cycle)
{
    struct balanced_state *state = balanced_state(cycle_self(cycle), cycle->pod, cycle->arena);
    *cycle_state(cycle) = state;
    return state->any ? STATUS_OK : STATUS_SKIPPED;
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

/* `pod` is the one to log the amounts for; NULL: none. */
static int64_t balanced_value(const struct scorer *scorer, struct node_view node, const int64_t *requests,
                              const struct pod *pod)
{
    int64_t requested[SCORER_RESOURCES_MAX], allocated[SCORER_RESOURCES_MAX],
        allocatable[SCORER_RESOURCES_MAX];
    scorer_node(scorer, node, requests, requested, allocated, allocatable);
    int64_t with = evenness(requested, allocatable, scorer->len);
    int64_t without = evenness(allocated, allocatable, scorer->len);
    int64_t score = SCORE_MAX / 2 + (SCORE_MAX / 2 + with - without) / 2;
    if (pod)
        scorer_log(scorer, node, pod, "NodeResourcesBalancedAllocation", allocatable, requested, score);
    return score;
}

static struct status balanced_score(struct cycle *cycle, struct node_view node, int64_t *ret)
{
    const struct scorer *scorer = cycle_self(cycle);
    void **slot = cycle_state(cycle);
    if (!*slot) /* the profile runs the plugin at Score alone */
        *slot = balanced_state(scorer, cycle->pod, cycle->arena);
    const struct balanced_state *state = *slot;
    *ret = 0;
    if (!state->any)
        return STATUS_OK;
    if (!scorer->len)
        return reject(STATUS_ERROR, "resources not found");
    *ret = balanced_value(scorer, node, state->requests, cycle->pod);
    return STATUS_OK;
}

/* ---- many rows at once ---- */
static bool rows_prepare(struct table *table, struct table_part *part)
{
    const struct scorer *scorer = part->instance->self;
    struct balanced_state *state = balanced_state(scorer, table->pod->api, &table->arena);
    part->scores = state->any;
    part->state = state;
    part->has_version = scorer->devices;
    return scorer->len > 0 && !scorer_needs_devices(scorer, table->cluster, state->requests);
}

/* Device classes come and go. */
static uint64_t rows_version(const struct table *table, const struct table_part *part)
{
    const struct balanced_state *state = part->state;
    return scorer_needs_devices(part->instance->self, table->cluster, state->requests);
}

/* With two resources the standard deviation is half the difference of the shares. */
VECTOR_LEAF static void add_two(const struct scored_column *a, const struct scored_column *b, int32_t factor,
                                uint32_t len, int32_t *restrict local)
{
    const int64_t *restrict alloc_a = a->allocatable, *restrict taken_a = a->taken;
    const int64_t *restrict alloc_b = b->allocatable, *restrict taken_b = b->taken;
    for (uint32_t row = 0; row < len; row++) {
        double all_a = (double)(alloc_a[row] + (alloc_a[row] == 0)),
               all_b = (double)(alloc_b[row] + (alloc_b[row] == 0));
        double before_a = (double)taken_a[row] / all_a, before_b = (double)taken_b[row] / all_b;
        double after_a = (double)(taken_a[row] + a->request) / all_a;
        double after_b = (double)(taken_b[row] + b->request) / all_b;
        before_a = before_a > 1 ? 1 : before_a;
        before_b = before_b > 1 ? 1 : before_b;
        after_a = after_a > 1 ? 1 : after_a;
        after_b = after_b > 1 ? 1 : after_b;
        int32_t with = (int32_t)((1 - fabs((after_a - after_b) / 2)) * SCORE_MAX);
        int32_t without = (int32_t)((1 - fabs((before_a - before_b) / 2)) * SCORE_MAX);
        local[row] += (SCORE_MAX / 2 + (SCORE_MAX / 2 + with - without) / 2) * factor;
    }
}

static void rows_score(struct table *table, struct table_part *part, struct row_span span)
{
    const struct scorer *scorer = part->instance->self;
    const struct balanced_state *state = part->state;
    struct scored_column columns[SCORER_RESOURCES_MAX];
    uint32_t columns_len;
    if (!span.rows && scorer_columns(scorer, table->cluster, state->requests, columns, &columns_len) &&
        columns_len == 2) {
        add_two(&columns[0], &columns[1], part->weight, span.len, table->local);
        return;
    }
    for (uint32_t i = 0; i < span.len; i++) {
        uint32_t row = span_row(span, i);
        if (!table->rejection[row])
            table->local[row] +=
                (int32_t)balanced_value(scorer, (struct node_view){ table->cluster, row, NULL },
                                        state->requests, NULL) *
                part->weight;
    }
}

static const struct row_forms rows = { .prepare = rows_prepare,
                                       .version = rows_version,
                                       .score = rows_score };

const struct plugin plugin_node_resources_balanced_allocation = {
    .name = "NodeResourcesBalancedAllocation",
    .args = &node_resources_balanced_args_kind,
    .doc = "Prefers nodes on which the pod makes the shares of the resources in use more equal.",
    .reads = RESOURCE_READS,
    .init = balanced_init,
    .release = balanced_release,
    .pre_score = balanced_pre_score,
    .score = balanced_score,
    .rows = &rows,
};
