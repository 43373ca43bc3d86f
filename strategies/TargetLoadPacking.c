/* TargetLoadPacking.c: packs pods onto nodes up to a target of CPU use, and spreads them above it, as the plugin of
 * that name in kubernetes-sigs/scheduler-plugins does, with its arguments.
 *
 *     U     = 100 (use + this pod + pods placed after the end of the sample, or up to 60 s before it) / capacity
 *     score = (100 - X) U / X + X           U <= X, the target
 *             X (100 - U) / (100 - X)       X < U <= 100
 *             0                             U > 100, or no usable sample
 *
 * A pod's CPU is, container by container, its limit, or its request times a factor, or a constant; and its overhead. */
#include <math.h>
#include <stdlib.h>

#include "at_once.h"
#include "json_scan.h"
#include "load.h"
#include "pod_amounts.h"

/* A metrics agent reports once in this time. */
#define REPORTING_NS (60 * LOAD_SECOND_NS)

struct args {
    struct load_source source;
    struct berth_str default_requests, multiplier;
    int64_t target;
};
static const struct berth_field fields[] = {
    LOAD_SOURCE_FIELDS(struct args),
    BERTH_FIELD("defaultRequests", BERTH_JSON, struct args, default_requests),
    BERTH_FIELD("defaultRequestsMultiplier", BERTH_STRING, struct args, multiplier),
    BERTH_FIELD("targetUtilization", BERTH_INT, struct args, target),
    { 0 },
};

enum { TARGET_DEFAULT = 40 };
static const struct args defaults = { .multiplier = { "1.5", 3 }, .target = TARGET_DEFAULT };

struct self {
    struct load load; /* the first: load_release() */
    double target, multiplier;
    int64_t default_milli;
};
struct node {
    struct load_row row;
    double used_milli, capacity_milli; /* with fresh pods */
};
struct state {
    struct self *self;
    int64_t now;
    double pod_milli;
};

/* ---- init ---- */
static bool read_default(void *context, const struct berth_str *keys, uint32_t depth, struct berth_str value,
                         bool is_text)
{
    double milli;
    (void)is_text;
    if (depth != 1 || !amount_parse(value, &milli) || milli < 0)
        return false;
    if (berth_is(keys[0], "cpu"))
        *(int64_t *)context = (int64_t)ceil(milli);
    return true;
}

static int read_args(const struct args *args, struct self *self, struct berth_error *err)
{
    self->target = (double)(args->target > 0 ? args->target : TARGET_DEFAULT);
    self->default_milli = args->default_requests.len ? 0 : 1000;
    if (self->target > 100)
        return berth_fail(err, "targetUtilization: expected a number from 1 to 100, got %lld",
                          (long long)args->target);
    if (!json_number(args->multiplier, &self->multiplier) || self->multiplier < 0)
        return berth_fail(
            err, "defaultRequestsMultiplier: expected a number such as \"1.5\", got \"" BERTH_FMT "\"",
            BERTH_ARG(args->multiplier));
    if (args->default_requests.len && !json_scan(args->default_requests, read_default, &self->default_milli))
        return berth_fail(err, "defaultRequests: expected quantities by resource, got " BERTH_FMT,
                          BERTH_ARG(args->default_requests));
    return load_source_check(&args->source, "TargetLoadPacking", err);
}

static void fill(void *self, struct berth_node_view node, const struct load_sample *sample,
                 struct load_row *row);

static int init(const struct berth_env *env, void **ret_self, struct berth_error *err)
{
    struct self *self = berth_alloc(env->arena, sizeof(*self));
    *ret_self = self;
    load_init(&self->load, env, "TargetLoadPacking", sizeof(struct node), fill, self);
    self->load.needs_cpu = true;
    return read_args(env->args, self, err);
}

/* ---- use ---- */
static int64_t container_milli(const struct self *self, const struct berth_pod *pod, uint32_t number)
{
    int64_t milli;
    if (amount_of_container(pod, "containers", number, "limits", "cpu", &milli))
        return milli;
    if (amount_of_container(pod, "containers", number, "requests", "cpu", &milli))
        return (int64_t)round((double)milli * self->multiplier);
    return self->default_milli;
}

static double predicted_milli(const struct self *self, const struct berth_pod *pod)
{
    int64_t milli = amount_overhead(pod, "cpu");
    for (uint32_t i = 0, len = amount_containers(pod, "containers"); i < len; i++)
        milli += container_milli(self, pod, i);
    return (double)milli;
}

static void fill(void *self, struct berth_node_view view, const struct load_sample *sample,
                 struct load_row *row)
{
    struct node *node = (struct node *)(void *)row;
    struct berth_pod_infos pods = berth_node_pods(view);
    node->used_milli = sample->latest[LOAD_CPU];
    node->capacity_milli = sample->capacity[LOAD_CPU];
    for (size_t i = 0; i < pods.len; i++)
        if (load_is_fresh(pods.items[i], sample->at - REPORTING_NS))
            node->used_milli += predicted_milli(self, berth_info_pod(pods.items[i]));
}

/* ---- Score ---- */
static const struct state *state_of(struct berth_cycle *cycle)
{
    void **state = berth_cycle_state(cycle);
    if (!*state) {
        struct state *made = berth_alloc(berth_cycle_arena(cycle), sizeof(*made));
        made->self = berth_cycle_self(cycle);
        made->now = berth_cycle_now(cycle);
        made->pod_milli = predicted_milli(made->self, berth_cycle_pod(cycle));
        load_begin(&made->self->load, berth_cycle_cluster(cycle));
        *state = made;
    }
    return *state;
}

static struct berth_status pre_score(struct berth_cycle *cycle)
{
    state_of(cycle);
    return BERTH_OK;
}

static int64_t score_of(double use, double target)
{
    if (use > 100)
        return 0;
    if (use > target)
        return load_round(target * (100 - use) / (100 - target));
    return load_round((100 - target) * use / target + target);
}

AT_ONCE int64_t node_score(const struct state *state, struct berth_node_view view)
{
    struct self *self = state->self;
    const struct node *node = load_row(&self->load, view);
    double capacity = node->capacity_milli;
    if (!load_usable(&self->load, &node->row, view, state->now))
        return 0;
    double used = node->used_milli + state->pod_milli;
    return score_of(capacity > 0 ? 100 * used / capacity : 0, self->target);
}

SCORE_SLOTS(state_of, node_score)

static const char *const reads[] = { "spec.containers[].resources", "spec.overhead", NULL };

static const struct berth_plugin target_load_packing = {
    .name = "TargetLoadPacking",
    .doc = "Packs pods onto nodes up to a target of measured CPU use, and spreads them above it.",
    .args = fields,
    .args_size = sizeof(struct args),
    .args_defaults = &defaults,
    .init = init,
    .release = load_release,
    .pre_score = pre_score,
    .score = score,
    .score_nodes = score_nodes,
    .reads = reads,
    .kinds = load_kinds,
};

BERTH_PLUGINS(&target_load_packing)
