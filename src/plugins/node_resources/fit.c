/* NodeResourcesFit: does the pod fit into what the node has left, and how well?
 *
 * The filter names every resource that is short. A request larger than the whole node can not be helped by evicting
 * pods, so it makes the verdict UnschedulableAndUnresolvable; too many pods alone does not. */
#include "plugins/node_resources/scorer.h"

#include <math.h>

enum { SHAPE_POINTS_MAX = 101 };

struct fit {
    struct scorer scorer;
    enum scoring_type strategy;
    struct shape_point shape[SHAPE_POINTS_MAX]; /* scores already scaled to SCORE_MAX */
    uint32_t shape_len;
    struct str_list ignored, ignored_groups;
};

struct fit_state {
    int64_t requests[SCORER_RESOURCES_MAX]; /* for scoring */
};

static int fit_init(const struct plugin_env *env, void **ret_self, struct error *err)
{
    const struct node_resources_fit_args *args = env->args;
    const struct scoring_strategy *strategy = args->scoring_strategy;
    struct fit *fit = arena_new(env->arena, struct fit);
    fit->strategy = strategy->kind;
    fit->ignored = args->ignored_resources;
    fit->ignored_groups = args->ignored_resource_groups;
    if (strategy->requested_to_capacity_ratio) {
        list_for(&strategy->requested_to_capacity_ratio->shape, point) {
            if (fit->shape_len == SHAPE_POINTS_MAX)
                return error_set(err, -E2BIG, "more than %d points in the shape", SHAPE_POINTS_MAX);
            fit->shape[fit->shape_len++] = (struct shape_point){ point->utilization, point->score * 10 };
        }
    }
    *ret_self = fit;
    return scorer_init(&fit->scorer, env->cluster, strategy->resources.items, strategy->resources.len, false, err);
}

static bool listed(const struct str_list *list, struct str name)
{
    list_for(list, item)
        if (str_eq(*item, name))
            return true;
    return false;
}

static bool is_ignored(const struct fit *fit, struct str name)
{
    if (!fit->ignored.len && !fit->ignored_groups.len)
        return false;
    ptrdiff_t slash = str_find(name, '/');
    struct str group = str_slice(name, 0, slash < 0 ? name.len : (size_t)slash);
    return resource_is_extended(name) && (listed(&fit->ignored, name) || listed(&fit->ignored_groups, group));
}

static struct status fit_pre_filter(struct cycle *cycle, struct node_names *narrow)
{
    (void)cycle;
    (void)narrow;
    return STATUS_OK;
}

static int by_rank(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* The reference walks scalar resources in no particular order; we name them sorted. */
static struct status shortage(struct cycle *cycle, bool pods, const uint32_t *shorts, uint32_t len, bool unresolvable)
{
    struct str *reasons = arena_array(cycle->arena, struct str, len + 1);
    uint32_t count = 0, fixed;
    if (pods)
        reasons[count++] = STR("Too many pods");
    for (uint32_t number = RES_CPU; number <= RES_EPHEMERAL; number++)
        for (uint32_t i = 0; i < len; i++)
            if (shorts[i] == number)
                reasons[count++] = arena_printf(cycle->arena, "Insufficient " STR_FMT,
                                                STR_ARG(cycle->cluster->resource_names.items[number]));
    fixed = count;
    for (uint32_t i = 0; i < len; i++)
        if (shorts[i] >= RES_SCALAR_FIRST)
            reasons[count++] = arena_printf(cycle->arena, "Insufficient " STR_FMT,
                                            STR_ARG(cycle->cluster->resource_names.items[shorts[i]]));
    qsort(reasons + fixed, count - fixed, sizeof(*reasons), by_rank);
    return (struct status){ .code = unresolvable ? STATUS_UNRESOLVABLE : STATUS_UNSCHEDULABLE,
                            .reasons = reasons,
                            .len = count };
}

static struct status fit_filter(struct cycle *cycle, struct node_view node)
{
    const struct fit *fit = cycle_self(cycle);
    const struct pod_class *cls = cycle->info->class;
    uint32_t shorts[64], len = 0;
    bool unresolvable = false;
    bool pods = node_used(node, RES_PODS) + 1 > node_alloc(node, RES_PODS);
    for (uint32_t i = 0; i < cls->fit_len && len < ARRAY_SIZE(shorts); i++) {
        const struct amount *want = &cls->fit[i];
        bool wanted = want->resource >= RES_SCALAR_FIRST ? want->value != 0 : want->value > 0;
        int64_t there = node_alloc(node, want->resource);
        if (!wanted || want->value <= wrap_add(there, -node_used(node, want->resource)) ||
            (want->resource >= RES_SCALAR_FIRST &&
             is_ignored(fit, cycle->cluster->resource_names.items[want->resource])))
            continue;
        shorts[len++] = want->resource;
        unresolvable |= want->value > there;
    }
    return pods || len ? shortage(cycle, pods, shorts, len, unresolvable) : STATUS_OK;
}

/* ---- scoring ---- */
static struct status fit_pre_score(struct cycle *cycle, struct row_list feasible)
{
    (void)feasible;
    const struct fit *fit = cycle_self(cycle);
    struct fit_state *state = arena_new(cycle->arena, struct fit_state);
    scorer_requests(&fit->scorer, cycle->pod, cycle->arena, state->requests);
    *cycle_state(cycle) = state;
    return STATUS_OK;
}

static int64_t least_allocated(const struct fit *fit, int64_t requested, int64_t capacity)
{
    (void)fit;
    return requested > capacity ? 0 : wrap_div(wrap_mul(wrap_add(capacity, -requested), SCORE_MAX), capacity);
}

static int64_t most_allocated(const struct fit *fit, int64_t requested, int64_t capacity)
{
    (void)fit;
    return wrap_div(wrap_mul(MIN(requested, capacity), SCORE_MAX), capacity);
}

/* A broken line through the points of the shape. */
static int64_t shape_value(const struct fit *fit, int64_t percent)
{
    const struct shape_point *shape = fit->shape;
    for (uint32_t i = 0; i < fit->shape_len; i++) {
        if (percent > shape[i].utilization)
            continue;
        if (i == 0)
            return shape[0].score;
        return shape[i - 1].score + (shape[i].score - shape[i - 1].score) * (percent - shape[i - 1].utilization) /
                                        (shape[i].utilization - shape[i - 1].utilization);
    }
    return fit->shape_len ? shape[fit->shape_len - 1].score : 0;
}

static int64_t capacity_ratio(const struct fit *fit, int64_t requested, int64_t capacity)
{
    return shape_value(fit, requested > capacity ? 100 : wrap_div(wrap_mul(requested, 100), capacity));
}

static int64_t (*const strategies[SCORING_TYPES])(const struct fit *, int64_t, int64_t) = {
    [SCORING_LEAST_ALLOCATED] = least_allocated,
    [SCORING_MOST_ALLOCATED] = most_allocated,
    [SCORING_REQUESTED_TO_CAPACITY] = capacity_ratio,
};

/* The weighted mean over the resources that the node has. */
static int64_t fit_value(const struct fit *fit, const int64_t *requested, const int64_t *allocatable)
{
    bool ratio = fit->strategy == SCORING_REQUESTED_TO_CAPACITY;
    int64_t sum = 0, weights = 0;
    for (uint32_t i = 0; i < fit->scorer.len; i++) {
        if (!allocatable[i])
            continue;
        int64_t score = strategies[fit->strategy](fit, requested[i], allocatable[i]);
        if (ratio && score <= 0)
            continue;
        sum += score * fit->scorer.items[i].weight;
        weights += fit->scorer.items[i].weight;
    }
    if (!weights)
        return 0;
    return ratio ? (int64_t)round((double)sum / (double)weights) : sum / weights;
}

static struct status fit_score(struct cycle *cycle, struct node_view node, int64_t *ret)
{
    const struct fit *fit = cycle_self(cycle);
    const struct fit_state *state = *cycle_state(cycle);
    int64_t requested[SCORER_RESOURCES_MAX], allocated[SCORER_RESOURCES_MAX], allocatable[SCORER_RESOURCES_MAX];
    scorer_node(&fit->scorer, node, state->requests, requested, allocated, allocatable);
    *ret = fit_value(fit, requested, allocatable);
    return STATUS_OK;
}

const struct plugin plugin_node_resources_fit = {
    .name = "NodeResourcesFit",
    .doc = "Filters out nodes that lack a resource that the pod requests; scores by what is left or used.",
    .init = fit_init,
    .pre_filter = fit_pre_filter,
    .filter = fit_filter,
    .pre_score = fit_pre_score,
    .score = fit_score,
};
