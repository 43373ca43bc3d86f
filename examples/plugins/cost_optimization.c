/* cost_optimization.c: prefers the cheapest feasible node.
 *
 *     pluginConfig:
 *     - name: CostOptimization
 *       args:
 *         prices:                               # per hour, by node.kubernetes.io/instance-type
 *         - {instanceType: m5.large, hourly: 0.096, spotHourly: 0.035}
 *         cpuHourly: 0.04                       # of types that are not listed: by their capacity,
 *         memoryGiHourly: 0.005                 # and resources: [{name: nvidia.com/gpu, hourly: 2.5}]
 *         spotLabel: node.kubernetes.io/lifecycle    # "spot": the node costs spotHourly, or spotDiscount off
 *         spotDiscount: 0.6
 *         ceilingHourly: 4.0                    # more expensive nodes are never used; 0: no ceiling
 *
 * A pod's label cost/ceiling sets a ceiling of its own; cost/spot: never keeps it off spot nodes. */
#include <berth/plugin.h>
#include <stdlib.h>

struct price {
    struct berth_str type;
    double hourly, spot_hourly;
};
struct rate {
    struct berth_str name;
    double hourly;
};
struct args {
    struct berth_list prices, resources;
    double cpu_hourly, memory_gi_hourly, spot_discount, ceiling_hourly;
    struct berth_str spot_label;
};

static const struct berth_field price_fields[] = {
    BERTH_FIELD("instanceType", BERTH_STRING, struct price, type),
    BERTH_FIELD("hourly", BERTH_DOUBLE, struct price, hourly),
    BERTH_FIELD("spotHourly", BERTH_DOUBLE, struct price, spot_hourly),
    { 0 },
};
static const struct berth_field rate_fields[] = {
    BERTH_FIELD("name", BERTH_STRING, struct rate, name),
    BERTH_FIELD("hourly", BERTH_DOUBLE, struct rate, hourly),
    { 0 },
};
static const struct berth_field fields[] = {
    BERTH_NESTED("prices", BERTH_LIST, struct args, prices, price_fields, struct price),
    BERTH_NESTED("resources", BERTH_LIST, struct args, resources, rate_fields, struct rate),
    BERTH_FIELD("cpuHourly", BERTH_DOUBLE, struct args, cpu_hourly),
    BERTH_FIELD("memoryGiHourly", BERTH_DOUBLE, struct args, memory_gi_hourly),
    BERTH_FIELD("spotDiscount", BERTH_DOUBLE, struct args, spot_discount),
    BERTH_FIELD("ceilingHourly", BERTH_DOUBLE, struct args, ceiling_hourly),
    BERTH_FIELD("spotLabel", BERTH_STRING, struct args, spot_label),
    { 0 },
};
static const struct args defaults = {
    .cpu_hourly = 0.04,
    .memory_gi_hourly = 0.005,
    .spot_discount = 0.6,
    .spot_label = { "node.kubernetes.io/lifecycle", sizeof("node.kubernetes.io/lifecycle") - 1 },
};

static int init(const struct berth_env *env, void **ret_self, struct berth_error *err)
{
    const struct args *args = env->args;
    if (args->spot_discount < 0 || args->spot_discount > 1)
        return berth_fail(err, "spotDiscount: %g is not between 0 and 1", args->spot_discount);
    *ret_self = (void *)args;
    return 0;
}

static bool is_spot(const struct args *args, struct berth_node_view node)
{
    return berth_is(berth_node_label(node, args->spot_label.ptr), "spot");
}

static double amount(struct berth_node_view node, const char *resource)
{
    return (double)berth_node_allocatable(node, berth_resource(node.cluster, resource));
}

static double price_by_size(const struct args *args, struct berth_node_view node)
{
    const struct rate *rates = args->resources.items;
    double sum = amount(node, "cpu") / 1000 * args->cpu_hourly +
                 amount(node, "memory") / (1024.0 * 1024 * 1024) * args->memory_gi_hourly;
    for (uint32_t i = 0; i < args->resources.len; i++)
        sum += rates[i].hourly * amount(node, rates[i].name.ptr);
    return sum;
}

/* The cost of a node per hour. */
static double node_price(const struct args *args, struct berth_node_view node)
{
    struct berth_str type = berth_node_label(node, "node.kubernetes.io/instance-type");
    const struct price *prices = args->prices.items;
    bool spot = is_spot(args, node);
    uint32_t i = 0;
    while (i < args->prices.len && !(type.ptr && berth_eq(prices[i].type, type)))
        i++;
    if (spot && i < args->prices.len && prices[i].spot_hourly > 0)
        return prices[i].spot_hourly;
    double hourly = i < args->prices.len ? prices[i].hourly : price_by_size(args, node);
    return spot ? hourly * (1 - args->spot_discount) : hourly;
}

static double pod_ceiling(const struct args *args, struct berth_str label)
{
    char text[32]; /* strings of objects are not terminated */
    snprintf(text, sizeof(text), BERTH_FMT, BERTH_ARG(label));
    return label.ptr ? strtod(text, NULL) : args->ceiling_hourly;
}

static struct berth_status filter(struct berth_cycle *cycle, struct berth_node_view node)
{
    const struct args *args = berth_cycle_self(cycle);
    double ceiling = pod_ceiling(args, berth_object_label(berth_cycle_pod(cycle), "cost/ceiling"));
    if (ceiling > 0 && node_price(args, node) > ceiling)
        return BERTH_REJECT(BERTH_UNRESOLVABLE, "node(s) cost more than the ceiling");
    if (berth_is(berth_object_label(berth_cycle_pod(cycle), "cost/spot"), "never") && is_spot(args, node))
        return BERTH_REJECT(BERTH_UNRESOLVABLE, "node(s) were spot nodes");
    return BERTH_OK;
}

static struct berth_status score(struct berth_cycle *cycle, struct berth_node_view node, int64_t *ret)
{
    *ret = (int64_t)(node_price(berth_cycle_self(cycle), node) * 1000);
    return BERTH_OK;
}

/* The most expensive node gets 0, a free one would get 100. */
static void normalize(struct berth_cycle *cycle, int64_t *scores, size_t len)
{
    int64_t high = 1;
    (void)cycle;
    for (size_t i = 0; i < len; i++)
        high = scores[i] > high ? scores[i] : high;
    for (size_t i = 0; i < len; i++)
        scores[i] = (high - scores[i]) * BERTH_SCORE_MAX / high;
}

static const struct berth_plugin cost_optimization = {
    .name = "CostOptimization",
    .args = fields,
    .args_size = sizeof(struct args),
    .args_defaults = &defaults,
    .init = init,
    .filter = filter,
    .score = score,
    .normalize = normalize,
};
BERTH_PLUGINS(&cost_optimization)
