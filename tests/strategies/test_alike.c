/* test_alike.c: with each strategy the plain path, the scan and the index make the same decisions.
 *
 *     seed ──▶ nodes, samples, pods ──▶ one engine per path: the same steps ──▶ the same rows, totals and ties
 *
 * The plain path calls filter and score for each node, the others filter_nodes and score_nodes where a strategy has
 * them. What a strategy keeps depends on what was decided before: one other decision changes all that follow. */
#include "support/engine_fixture.h"

#include <dlfcn.h>
#include <fcntl.h>

#include "abi/loaded.h"
#include "base/log.h"
#include "base/rng.h"
#include "engine/inputs.h"

enum { STEPS = 150, NODES = 130, SEEDS = 3, PERCENTAGE = 60 };

#define ADAPTIVE_ARGS \
    "interval: 10s, window: 1m, minObservations: 3, hysteresis: 0, thresholds: {uneven: 0.1, busy: 0.4, " \
    "pending: 0.1}, weights: [{plugin: ImageLocality, min: 0, max: 9, step: 2}, {plugin: NodeResourcesFit, " \
    "min: 0, max: 50, step: 7}, {plugin: NodeResourcesBalancedAllocation, min: 1, max: 40, step: 9}], " \
    "rules: " \
    "[{when: Pending, plugin: ImageLocality, direction: Up}, {when: Uneven, plugin: NodeResourcesFit, " \
    "direction: Up}, {when: Busy, plugin: NodeResourcesFit, direction: Down}, {when: Idle, plugin: " \
    "NodeResourcesBalancedAllocation, direction: Up}, {when: CPUHeavy, plugin: " \
    "NodeResourcesBalancedAllocation, direction: Up}]"

/* `more`: another strategy beside it. */
static const struct strategy {
    const char *name, *args, *more;
} strategies[] = {
    { "GPUPriorityPlugin", "", NULL },
    { "GPUPriorityPlugin", "strict: true, models: [big, small], modelLabel: model", NULL },
    { "BusinessAffinityPlugin", "together: {podLabel: tier, nodeLabel: zone}", NULL },
    { "CostOptimizationPlugin", "preferSpotInstances: true, spotLabel: spot", NULL },
    { "CostOptimizationPlugin", "maxCostThreshold: 0.04, spotLabel: spot", NULL },
    { "NodeMetadata",
      "metadataKey: number, metadataSource: Label, metadataType: Number, scoringStrategy: Lowest", NULL },
    { "BusinessScorePlugin", "cost: {priceLabel: price}", NULL },
    { "StartThrottle", "maxStarts: 2, window: 20s", NULL },
    { "LoadBalancingPlugin", "", NULL },
    { "LoadAwareScheduling", "", NULL },
    { "LoadAwareScheduling", "usageThresholds: {cpu: 30}, filterExpiredNodeMetrics: false", NULL },
    { "TargetLoadPacking", "", NULL },
    { "LoadVariationRiskBalancing", "", NULL },
    { "LowRiskOverCommitment", "", NULL },
    { "Peaks", "powerModel: Parts, parts: {coresPerSocket: 3}", NULL },
    { "NetworkLatencyPlugin", "topologyKey: zone, appLabels: [tier]", NULL },
    { "NetworkLatencyPlugin", "topologyKey: zone, appLabels: [tier], maxLatencyMs: 9", NULL },
    { "NetworkOverhead", "namespaces: [red]", NULL },
    { "AdaptiveSchedulingPlugin", ADAPTIVE_ARGS, NULL },
    { "LoadAwareScheduling", "", "CostOptimizationPlugin" },
    { "AdaptiveSchedulingPlugin", "interval: 10s, minObservations: 1", "LoadBalancingPlugin" },
};

static struct loaded loaded;

static int load(void **state _unused_)
{
    struct error err;
    if (log_init(&(struct log_options){ .fd = open("/dev/null", O_WRONLY | O_CLOEXEC) }, &err) < 0)
        return -1;
    loaded_init(&loaded, &builtin_plugins);
    for (size_t i = 0; i < ARRAY_SIZE(strategies); i++) {
        char path[512];
        snprintf(path, sizeof(path), "%s/%s.so", STRATEGIES, strategies[i].name);
        void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!handle)
            fail_msg("%s", dlerror());
        if (i && strcmp(strategies[i].name, strategies[i - 1].name) == 0)
            continue;
        if (loaded_add(&loaded, dlsym(handle, "berth_module"), path, &err) < 0 &&
            !strstr(err.text, "already")) /* further down in the list */
            fail_msg("%s", err.text);
    }
    return 0;
}

static int unload(void **state _unused_)
{
    loaded_release(&loaded);
    return 0;
}

/* ---- an engine ---- */
static void add_to_engine(struct fixture *f, enum api_kind kind, struct meta *object)
{
    struct engine_fixture *e = container_of(f, struct engine_fixture, f);
    assert_true(engine_set_object(&e->engine, kind, object, object, e->now_ns));
}

static void begin(struct engine_fixture *e, const struct strategy *strategy, enum decision_path slowest)
{
    char config[4096];
    snprintf(config, sizeof(config),
             "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration, "
             "percentageOfNodesToScore: %d, profiles: [{plugins: {multiPoint: {enabled: [{name: %s, weight: "
             "3}%s%s%s]}}, pluginConfig: [{name: %s, args: {%s}}]}]}",
             PERCENTAGE, strategy->name, strategy->more ? ", {name: " : "",
             strategy->more ? strategy->more : "", strategy->more ? "}" : "", strategy->name, strategy->args);
    engine_fixture_init(
        e, config,
        &(struct engine_options){
            .slowest = slowest, .now_ns = 100000 * NS_PER_SECOND, .seed = 1, .registry = &loaded.registry });
    e->f.add = add_to_engine;
}

static uint32_t below(struct rng *rng, uint32_t end)
{
    return (uint32_t)rng_below(rng, end);
}

static void set_node(struct engine_fixture *e, struct rng *rng, uint32_t number)
{
    static const char *const models[] = { "big", "small", "odd" }, *const zones[] = { "a", "b", "edge" };
    const char *zone = zones[below(rng, 3)];
    fixture_loadf(
        &e->f,
        "{kind: Node, metadata: {name: n%u, labels: {model: %s, zone: %s, topology.kubernetes.io/zone: %s, "
        "topology.kubernetes.io/region: r, number: '%u', spot: '%s', price: '0.%u', node-level: %s}}, "
        "status: {allocatable: {cpu: %u, memory: %uGi, pods: 99, "
        "nvidia.com/gpu: %u}, images: [{names: ['i%u'], sizeBytes: 900000000}]}}",
        number, models[below(rng, 3)], zone, zone, below(rng, 50), below(rng, 3) ? "false" : "true",
        1 + below(rng, 9), below(rng, 2) ? "core" : "other", 4 + below(rng, 9), 4 + below(rng, 30),
        below(rng, 3) ? 0 : 4, below(rng, 3));
}

/* Some are old, some never come. */
static void set_sample(struct engine_fixture *e, struct rng *rng, uint32_t number)
{
    int64_t at_s = e->now_ns / NS_PER_SECOND - (below(rng, 8) ? below(rng, 60) : 400);
    fixture_loadf(&e->f,
                  "{apiVersion: metrics.k8s.io/v1beta1, kind: NodeMetrics, metadata: {name: n%u}, timestamp: "
                  "'1970-01-02T%02u:%02u:%02uZ', window: 30s, usage: {cpu: %um, memory: %uMi}}",
                  number, (unsigned)(at_s / 3600 - 24), (unsigned)(at_s / 60 % 60), (unsigned)(at_s % 60),
                  below(rng, 6000), below(rng, 8000));
}

static void set_pod(struct engine_fixture *e, struct rng *rng, uint32_t number)
{
    static const char *const namespaces[] = { "red", "green", "blue" };
    static const char *const cpus[] = { "100m", "300m", "2" }, *const tiers[] = { "front", "back" };
    const char *tier = tiers[below(rng, 2)];
    uint32_t gpus = below(rng, 5) ? 0 : 1;
    fixture_loadf(&e->f,
                  "{kind: Pod, metadata: {name: p%u, namespace: %s, uid: p%u, labels: {tier: %s, "
                  "appgroup.diktyo.x-k8s.io: shop, appgroup.diktyo.x-k8s.io.workload: %s, "
                  "preferred-zone: %s%s}}, spec: {containers: [{name: c, image: i%u, resources: {requests: "
                  "{cpu: %s, memory: 256Mi, nvidia.com/gpu: %u}, limits: {nvidia.com/gpu: %u}}}]}}",
                  number, namespaces[below(rng, 3)], number, tier, tier, below(rng, 2) ? "a" : "b",
                  below(rng, 4) ? "" : ", business-level: core", below(rng, 3),
                  below(rng, 40) ? cpus[below(rng, 3)] : "90", gpus, gpus);
}

/* What the network costs, and which pods need which. */
static void set_network(struct engine_fixture *e, struct rng *rng)
{
    fixture_loadf(
        &e->f,
        "{kind: ConfigMap, metadata: {name: network-latency, namespace: kube-system}, data: {x: "
        "\"a b %u\\nb edge %u\\na edge 12\"}}\n---\n"
        "{kind: NetworkTopology, metadata: {name: nt-default, namespace: red}, spec: {weights: "
        "[{name: UserDefined, topologyList: [{topologyKey: topology.kubernetes.io/zone, originList: "
        "[{origin: a, costList: [{destination: b, networkCost: %u}]}, {origin: b, costList: "
        "[{destination: edge, networkCost: %u}]}]}]}]}}\n---\n"
        "{kind: AppGroup, metadata: {name: shop, namespace: red}, spec: {workloads: [{workload: "
        "{selector: front}, dependencies: [{workload: {selector: back}, maxNetworkCost: %u}]}]}}",
        below(rng, 20), below(rng, 20), below(rng, 30), below(rng, 30), below(rng, 30));
}

/* The same for each engine. */
static struct decision step(struct engine_fixture *e, struct rng *rng, uint32_t number)
{
    struct decision decision = { .row = ROW_NONE };
    for (uint32_t i = below(rng, 4); i; i--)
        set_sample(e, rng, below(rng, NODES));
    if (below(rng, 8) == 0)
        set_node(e, rng, below(rng, NODES));
    if (below(rng, 20) == 0)
        set_network(e, rng);
    set_pod(e, rng, number);
    e->now_ns += (int64_t)below(rng, 4) * 7 * NS_PER_SECOND;
    (void)engine_step(&e->engine, e->now_ns, &decision);
    return decision;
}

/* ---- the test ---- */
static void compare(const struct strategy *strategy, uint64_t seed)
{
    struct engine_fixture engines[PATH_COUNT];
    struct rng rngs[PATH_COUNT];
    uint32_t placed = 0;
    for (int path = 0; path < PATH_COUNT; path++) {
        begin(&engines[path], strategy, (enum decision_path)path);
        rng_seed(&rngs[path], seed);
        set_network(&engines[path], &rngs[path]);
        for (uint32_t i = 0; i < NODES; i++) {
            set_node(&engines[path], &rngs[path], i);
            if (i % 10)
                set_sample(&engines[path], &rngs[path], i);
        }
    }
    for (uint32_t number = 0; number < STEPS; number++) {
        struct decision plain = step(&engines[PATH_PLAIN], &rngs[PATH_PLAIN], number);
        placed += plain.row != ROW_NONE;
        for (int path = 1; path < PATH_COUNT; path++) {
            struct decision fast = step(&engines[path], &rngs[path], number);
            if (fast.row != plain.row || fast.total != plain.total || fast.ties != plain.ties ||
                fast.examined != plain.examined || !str_eq(fast.message, plain.message))
                fail_msg("%s {%s}: seed %llu, step %u: %s: row %u, total %lld, %u examined, " STR_FMT
                         "; plain: row %u, total %lld, %u examined, " STR_FMT,
                         strategy->name, strategy->args, (unsigned long long)seed, number,
                         decision_path_names[path], fast.row, (long long)fast.total, fast.examined,
                         STR_ARG(fast.message), plain.row, (long long)plain.total, plain.examined,
                         STR_ARG(plain.message));
        }
    }
    uint64_t plainly = engines[PATH_INDEX].engine.stats.decisions[PATH_PLAIN];
    if (placed < STEPS / 4 || plainly > STEPS / 2)
        fail_msg("%s: %u placed, %llu by the plain path", strategy->name, placed,
                 (unsigned long long)plainly);
    for (int path = 0; path < PATH_COUNT; path++)
        engine_fixture_release(&engines[path]);
}

static void test_all_paths_decide_alike(void **state _unused_)
{
    for (size_t i = 0; i < ARRAY_SIZE(strategies); i++)
        for (uint64_t seed = 1; seed <= SEEDS; seed++)
            compare(&strategies[i], seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_all_paths_decide_alike) };
    return cmocka_run_group_tests(tests, load, unload);
}
