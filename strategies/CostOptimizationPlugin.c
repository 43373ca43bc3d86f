/* CostOptimizationPlugin.c: prefers the node on which the pod costs least, and keeps pods off nodes that cost too much.
 *
 *     value(x)     = cpu x cores + memory x GiB + gpu x GPUs + other resources: of a pod's requests, or a node's room
 *     price(node)  = on the node, or of its instance type (node_price.h), or value(node), less the spot discount
 *     cost(pod)    = value(pod) x price(node) / value(node)
 *     raw          = cost(pod) with scoreBy: PodCost, price(node) with scoreBy: NodePrice, in millionths
 *     score        = (highest raw - raw) x 100 / highest raw
 *
 * With preferSpotInstances, spot nodes have 50 + score/2 and others score/2. A pod's label cost/ceiling limits the
 * price of its node; cost/spot: never keeps it off spot nodes. */
#include <berth/plugin.h>

#include "at_once.h"
#include "node_price.h"
#include "row_cache.h"

#define GIB (1024.0 * 1024 * 1024)
#define ABSENT -1.0 /* an argument that is not given */

enum { RATES_MAX = 16 };

/* ---- arguments ---- */
struct resource_args {
    struct berth_str name;
    double hourly;
};
struct metric_args {
    double cpu, memory, gpu;
};
struct args {
    struct price_args prices;
    struct metric_args metrics;
    struct berth_strs gpu_resources;
    struct berth_list resources;
    double cpu_hourly, memory_gi_hourly, ceiling_hourly, max_cost;
    struct berth_str score_by;
    bool prefers_spot;
};

static const struct berth_field resource_fields[] = {
    BERTH_FIELD("name", BERTH_STRING, struct resource_args, name),
    BERTH_FIELD("hourly", BERTH_DOUBLE, struct resource_args, hourly),
    { 0 },
};
static const struct berth_field metric_fields[] = {
    BERTH_FIELD("cpu", BERTH_DOUBLE, struct metric_args, cpu),
    BERTH_FIELD("memory", BERTH_DOUBLE, struct metric_args, memory),
    BERTH_FIELD("gpu", BERTH_DOUBLE, struct metric_args, gpu),
    { 0 },
};
static const struct berth_field fields[] = {
    BERTH_NESTED("costMetrics", BERTH_STRUCT, struct args, metrics, metric_fields, struct metric_args),
    BERTH_FIELD("preferSpotInstances", BERTH_BOOL, struct args, prefers_spot),
    BERTH_FIELD("maxCostThreshold", BERTH_DOUBLE, struct args, max_cost),
    BERTH_FIELD("scoreBy", BERTH_STRING, struct args, score_by),
    BERTH_FIELD("gpuResources", BERTH_STRINGS, struct args, gpu_resources),
    PRICE_FIELDS(struct args),
    BERTH_NESTED("resources", BERTH_LIST, struct args, resources, resource_fields, struct resource_args),
    BERTH_FIELD("cpuHourly", BERTH_DOUBLE, struct args, cpu_hourly),
    BERTH_FIELD("memoryGiHourly", BERTH_DOUBLE, struct args, memory_gi_hourly),
    BERTH_FIELD("ceilingHourly", BERTH_DOUBLE, struct args, ceiling_hourly),
    { 0 },
};
static const struct berth_str nvidia = TEXT("nvidia.com/gpu");
static const struct args defaults = {
    .prices = PRICE_DEFAULTS,
    .metrics = { ABSENT, ABSENT, ABSENT },
    .gpu_resources = { &nvidia, 1 },
    .cpu_hourly = ABSENT,
    .memory_gi_hourly = ABSENT,
    .ceiling_hourly = ABSENT,
    .max_cost = ABSENT,
};

/* The price of a resource. */
struct rate {
    double hourly; /* per unit */
    double unit;   /* of what berth_pod_request() counts */
    double allocatable_unit;
    uint32_t resource; /* its number */
    const char *path;  /* of a node's allocatable */
    double least;      /* what a pod that does not request it counts as, in units */
};
struct self {
    const struct args *args;
    bool by_pod;
    double ceiling, max_cost; /* 0: none */
    struct rate rates[RATES_MAX];
    uint32_t rates_len;
    bool said_unfiltered;
    struct row_cache nodes;
};

struct node_cost {
    struct row_entry entry;
    double price, factor; /* price / value */
    bool is_spot;
};

/* ---- init ---- */
static bool is_given(double argument)
{
    return argument != ABSENT;
}

/* Arguments of the time before costMetrics alone mean what they meant then: the price of the node counts. */
static bool scores_nodes(const struct args *args)
{
    bool is_new = is_given(args->metrics.cpu) || is_given(args->metrics.memory) ||
                  is_given(args->metrics.gpu) || is_given(args->max_cost) || args->prefers_spot;
    bool is_older = args->prices.rows.len || args->resources.len || is_given(args->cpu_hourly) ||
                    is_given(args->memory_gi_hourly) || is_given(args->ceiling_hourly);
    return is_older && !is_new;
}

static double first_given(double a, double b, double otherwise)
{
    return is_given(a) ? a : is_given(b) ? b : otherwise;
}

static int add_rate(struct self *self, const struct berth_env *env, struct berth_str name, struct rate rate,
                    struct berth_error *err)
{
    rate.resource = berth_resource(env->cluster, name.ptr); /* strings of arguments are terminated */
    rate.path = value_allocatable_path(env->arena, name);
    if (rate.resource == UINT32_MAX)
        return berth_fail(err, BERTH_FMT " is not a resource that is scheduled", BERTH_ARG(name));
    if (!price_in_range(rate.hourly))
        return berth_fail(err, "the price of " BERTH_FMT ": expected a number from 0 to 1e9, got %g",
                          BERTH_ARG(name), rate.hourly);
    for (uint32_t i = 0; i < self->rates_len; i++)
        if (self->rates[i].resource == rate.resource) /* the later one counts */
            return self->rates[i].hourly = rate.hourly, 0;
    if (self->rates_len == RATES_MAX)
        return berth_fail(err, "resources: expected prices of at most %d resources", RATES_MAX);
    self->rates[self->rates_len++] = rate;
    return 0;
}

/* Limits reject nothing then: said at the start, or for the first pod that has a limit of its own. */
static void say_unfiltered(struct self *self)
{
    if (!self->said_unfiltered)
        berth_log(0, "CostOptimizationPlugin is not enabled at filter: nodes that it would reject have the "
                     "lowest score instead. Enable it at multiPoint, or at filter and score");
    self->said_unfiltered = true;
}

/* A pod without requests counts as kube-scheduler counts it when it scores: 100m CPU and 200Mi memory. */
static int init_rates(struct self *self, const struct berth_env *env, struct berth_error *err)
{
    static const struct berth_str cpu = TEXT("cpu"), memory = TEXT("memory");
    const struct args *args = env->args;
    const struct resource_args *more = args->resources.items;
    int r = add_rate(self, env, cpu,
                     (struct rate){ .hourly = first_given(args->metrics.cpu, args->cpu_hourly, 0.04),
                                    .unit = 1000,
                                    .allocatable_unit = 1,
                                    .least = 0.1 },
                     err);
    if (r == 0)
        r = add_rate(
            self, env, memory,
            (struct rate){ .hourly = first_given(args->metrics.memory, args->memory_gi_hourly, 0.005),
                           .unit = GIB,
                           .allocatable_unit = GIB,
                           .least = 200.0 / 1024 },
            err);
    const double gpu = first_given(args->metrics.gpu, ABSENT, self->by_pod ? 2.5 : 0);
    for (uint32_t i = 0; i < args->gpu_resources.len && r == 0; i++)
        r = add_rate(self, env, args->gpu_resources.items[i],
                     (struct rate){ .hourly = gpu, .unit = 1, .allocatable_unit = 1 }, err);
    for (uint32_t i = 0; i < args->resources.len && r == 0; i++)
        r = add_rate(self, env, more[i].name,
                     (struct rate){ .hourly = more[i].hourly, .unit = 1, .allocatable_unit = 1 }, err);
    return r;
}

static void fill_node(const void *context, const void *node, struct row_entry *ret)
{
    const struct self *self = context;
    struct node_cost *cost = (struct node_cost *)(void *)ret;
    double value = 0;
    for (uint32_t i = 0; i < self->rates_len; i++)
        value += self->rates[i].hourly * value_allocatable(node, self->rates[i].path) /
                 self->rates[i].allocatable_unit;
    cost->is_spot = value_is_spot(node, self->args->prices.spot_label);
    if (!price_of(&self->args->prices, node, cost->is_spot, &cost->price))
        cost->price = cost->is_spot ? value * (1 - self->args->prices.spot_discount) : value;
    cost->factor = value > 0 ? cost->price / value : 0;
}

static int init_score_by(struct self *self, const struct args *args, struct berth_error *err)
{
    self->by_pod = berth_is(args->score_by, "PodCost");
    if (args->score_by.len && !self->by_pod && !berth_is(args->score_by, "NodePrice"))
        return berth_fail(err, "scoreBy: expected PodCost or NodePrice, got \"" BERTH_FMT "\"",
                          BERTH_ARG(args->score_by));
    if (!args->score_by.len)
        self->by_pod = !scores_nodes(args);
    return 0;
}

static int init(const struct berth_env *env, void **ret_self, struct berth_error *err)
{
    const struct args *args = env->args;
    struct self *self = berth_alloc(env->arena, sizeof(*self));
    self->args = args;
    self->nodes = (struct row_cache){ .size = sizeof(struct node_cost), .fill = fill_node };
    self->ceiling = is_given(args->ceiling_hourly) ? args->ceiling_hourly : 0;
    self->max_cost = is_given(args->max_cost) ? args->max_cost : 0;
    *ret_self = self;
    if (!price_in_range(self->max_cost))
        return berth_fail(err, "maxCostThreshold: expected a number from 0 to 1e9, got %g", self->max_cost);
    if (!price_in_range(self->ceiling))
        return berth_fail(err, "ceilingHourly: expected a number from 0 to 1e9, got %g", self->ceiling);
    int r = price_check(&args->prices, err);
    if (r == 0)
        r = init_score_by(self, args, err);
    if (r == 0)
        r = init_rates(self, env, err);
    if (r == 0 && (self->max_cost > 0 || self->ceiling > 0) && scores_only(env->handle))
        say_unfiltered(self);
    return r;
}

static void release(void *data)
{
    struct self *self = data;
    row_cache_release(&self->nodes);
}

/* ---- the pod ---- */
struct pod_cost {
    struct self *self;
    double value;
    double ceiling;               /* 0: none */
    bool avoids_spot, is_limited; /* nodes are rejected for it */
};

static struct pod_cost read_pod(const struct self *self, const void *pod, const struct berth_pod_info *info)
{
    struct pod_cost cost = { .ceiling = self->ceiling };
    for (uint32_t i = 0; i < self->rates_len; i++) {
        const struct rate *rate = &self->rates[i];
        int64_t amount = berth_pod_request(info, rate->resource);
        cost.value += rate->hourly * (amount > 0 ? (double)amount / rate->unit : rate->least);
    }
    double own;
    if (value_number(berth_object_label(pod, "cost/ceiling"), &own))
        cost.ceiling = own;
    cost.avoids_spot = berth_is(berth_object_label(pod, "cost/spot"), "never");
    cost.is_limited = self->max_cost > 0 || cost.ceiling > 0 || cost.avoids_spot;
    return cost;
}

/* PreFilter and PreScore need not be enabled, so each slot may be the first one. */
static const struct pod_cost *pod_of(struct berth_cycle *cycle)
{
    void **state = berth_cycle_state(cycle);
    if (!*state) {
        struct pod_cost *cost = berth_alloc(berth_cycle_arena(cycle), sizeof(*cost));
        *cost = read_pod(berth_cycle_self(cycle), berth_cycle_pod(cycle), berth_cycle_info(cycle));
        cost->self = berth_cycle_self(cycle);
        row_cache_begin(&cost->self->nodes, berth_cycle_cluster(cycle));
        *state = cost;
    }
    return *state;
}

/* ---- Filter ---- */
static struct berth_status pre_filter(struct berth_cycle *cycle, struct berth_node_names *narrow)
{
    (void)narrow;
    return pod_of(cycle)->is_limited ? BERTH_OK : berth_verdict(BERTH_SKIP);
}

static struct berth_status judge(const struct self *self, const struct pod_cost *pod,
                                 const struct node_cost *node)
{
    if (self->max_cost > 0 && pod->value * node->factor > self->max_cost)
        return BERTH_REJECT(BERTH_UNRESOLVABLE, "node(s) cost more for the pod than maxCostThreshold");
    if (pod->ceiling > 0 && node->price > pod->ceiling)
        return BERTH_REJECT(BERTH_UNRESOLVABLE, "node(s) cost more than the ceiling");
    if (pod->avoids_spot && node->is_spot)
        return BERTH_REJECT(BERTH_UNRESOLVABLE, "node(s) were spot nodes");
    return BERTH_OK;
}

AT_ONCE struct berth_status judge_node(const struct pod_cost *pod, struct berth_node_view node)
{
    return judge(pod->self, pod, row_cache_get(&pod->self->nodes, pod->self, node));
}

FILTER_SLOTS(pod_of, judge_node)

/* ---- Score ---- */
#define TOO_EXPENSIVE INT64_MAX
#define COST_MAX 1e10 /* in millionths, a hundred times as much is still a number of 64 bits */

/* Spot nodes that are preferred are negative: -1 - cost. */
AT_ONCE int64_t node_score(const struct pod_cost *pod, struct berth_node_view node)
{
    struct self *self = pod->self;
    const struct node_cost *there = row_cache_get(&self->nodes, self, node);
    double cost = self->by_pod ? pod->value * there->factor : there->price;
    int64_t raw = cost < COST_MAX ? (int64_t)(cost * 1e6 + 0.5) : (int64_t)(COST_MAX * 1e6);
    if (pod->is_limited && judge(self, pod, there).code) {
        say_unfiltered(self);
        return TOO_EXPENSIVE;
    }
    return self->args->prefers_spot && there->is_spot ? -1 - raw : raw;
}

SCORE_SLOTS(pod_of, node_score)

static void normalize(struct berth_cycle *cycle, int64_t *scores, size_t len)
{
    const struct self *self = berth_cycle_self(cycle);
    int64_t high = 1;
    for (size_t i = 0; i < len; i++) {
        int64_t cost = scores[i] < 0 ? -1 - scores[i] : scores[i];
        if (cost != TOO_EXPENSIVE && cost > high)
            high = cost;
    }
    for (size_t i = 0; i < len; i++) {
        bool is_spot = scores[i] < 0;
        int64_t cost = is_spot ? -1 - scores[i] : scores[i];
        int64_t part = cost == TOO_EXPENSIVE ? 0 : (high - cost) * BERTH_SCORE_MAX / high;
        scores[i] = self->args->prefers_spot ? part / 2 + (is_spot ? BERTH_SCORE_MAX / 2 : 0) : part;
    }
}

/* ---- waking ---- */
static bool accepts(const struct self *self, const struct pod_cost *pod, const void *node)
{
    struct node_cost cost;
    fill_node(self, node, &cost.entry);
    return judge(self, pod, &cost).code == BERTH_SUCCESS;
}

static const struct berth_pod_info *info_of(const struct berth_hint *hint, const void *pod)
{
    return berth_find_pod(berth_hint_cluster(hint), berth_object_namespace(pod), berth_object_name(pod));
}

/* A rejected pod may run on a node that this plugin accepts, and did not accept before. */
static enum berth_hint_answer node_changed(const struct berth_hint *hint, const struct berth_pod *pod,
                                           const struct berth_event *event)
{
    const struct self *self = berth_hint_self(hint);
    struct pod_cost cost = read_pod(self, pod, info_of(hint, pod));
    const void *before = berth_event_before(event);
    bool helps = accepts(self, &cost, berth_event_after(event)) && !(before && accepts(self, &cost, before));
    return helps ? BERTH_HINT_QUEUE : BERTH_HINT_SKIP;
}

/* So may a pod that has become cheaper, or whose labels allow more. */
static enum berth_hint_answer pod_changed(const struct berth_hint *hint, const struct berth_pod *pod,
                                          const struct berth_event *event)
{
    const struct self *self = berth_hint_self(hint);
    const void *before = berth_event_before(event), *after = berth_event_after(event);
    if (!berth_same_pod(pod, after))
        return BERTH_HINT_SKIP;
    if (berth_event_actions(event) & BERTH_POD_SCALE_DOWN)
        return BERTH_HINT_QUEUE;
    struct pod_cost was = read_pod(self, before, NULL), is = read_pod(self, after, NULL);
    bool helps = (was.avoids_spot && !is.avoids_spot) ||
                 (was.ceiling > 0 && (is.ceiling <= 0 || is.ceiling > was.ceiling));
    return helps ? BERTH_HINT_QUEUE : BERTH_HINT_SKIP;
}

static const struct berth_event_rule events[] = {
    { BERTH_EVENT_NODE, BERTH_ADD | BERTH_NODE_LABEL | BERTH_NODE_ANNOTATION | BERTH_NODE_ALLOCATABLE,
      node_changed },
    { BERTH_EVENT_TARGET_POD, BERTH_POD_LABEL | BERTH_POD_SCALE_DOWN, pod_changed },
    { 0 },
};

static const char *const reads[] = { "metadata.labels",
                                     "spec.containers[].resources",
                                     "spec.initContainers[].resources",
                                     "spec.overhead",
                                     "spec.resources",
                                     NULL };

#define DESCRIPTOR(name_) \
    { \
        .name = (name_), \
        .doc = "Prefers the node on which a pod costs least; keeps pods off expensive nodes.", \
        .args = fields, \
        .args_size = sizeof(struct args), \
        .args_defaults = &defaults, \
        .init = init, \
        .release = release, \
        .pre_filter = pre_filter, \
        .filter = filter, \
        .filter_nodes = filter_nodes, \
        .score = score, \
        .score_nodes = score_nodes, \
        .normalize = normalize, \
        .events = events, \
        .reads = reads, \
    }
static const struct berth_plugin cost_optimization = DESCRIPTOR("CostOptimizationPlugin");
static const struct berth_plugin alias = DESCRIPTOR("CostOptimization");

BERTH_PLUGINS(&cost_optimization, &alias)
