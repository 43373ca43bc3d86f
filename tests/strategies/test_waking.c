/* test_waking.c: a pod that a strategy rejected is tried again exactly when the strategy may accept a node, and what a
 * strategy keeps about a node follows the node.
 *
 * NodeResourcesFit is disabled, so that nothing but the strategy rejects the pod. */
#include "support/engine_fixture.h"

#include <dlfcn.h>

#include "abi/loaded.h"
#include "engine/inputs.h"

#define SECOND NS_PER_SECOND

#define NODE(name, labels, room) \
    "{kind: Node, metadata: {name: " name ", labels: {" labels \
    "}}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: " \
    "20" room "}}}\n---\n"
#define PRICED(name, price) \
    "{kind: Node, metadata: {name: " name ", annotations: {scheduling.berth.dev/hourly-price: '" price \
    "'}}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 20}}}\n---\n"
#define POD(labels, request) \
    "{kind: Pod, metadata: {name: p, uid: u, labels: {" labels \
    "}}, spec: {containers: [{name: c, resources: {requests: " \
    "{cpu: 2, memory: 1Gi" request "}}}]}}\n---\n"
#define GPU ", nvidia.com/gpu: 1"

/* A closed node with a pod that the pod talks to, and an open one far from it. */
#define ZONED(name, zone, more) \
    "{kind: Node, metadata: {name: " name \
    ", labels: {topology.kubernetes.io/region: r, topology.kubernetes.io/zone: " zone "}}, spec: {" more \
    "}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 20}}}\n---\n"
#define FAR ZONED("a", "za", "unschedulable: true") ZONED("b", "zb", "")
#define PLACED(name, labels, on) \
    "{kind: Pod, metadata: {name: " name ", uid: " name ", labels: {" labels "}}, spec: {nodeName: " on \
    ", containers: [{name: c}]}}\n---\n"
#define LATENCY(name, ms) \
    "{kind: ConfigMap, metadata: {name: " name ", namespace: kube-system}, data: {x: za zb " ms "}}\n---\n"
#define SLOW "a higher latency than maxLatencyMs"
#define WEB "appgroup.diktyo.x-k8s.io: shop, appgroup.diktyo.x-k8s.io.workload: web"
#define DB(group) "appgroup.diktyo.x-k8s.io: " group ", appgroup.diktyo.x-k8s.io.workload: db"
#define NEEDS(name, cost) \
    "{kind: AppGroup, metadata: {name: " name \
    ", namespace: default}, spec: {workloads: [{workload: {selector: web}, " \
    "dependencies: [{workload: {selector: db}, maxNetworkCost: " cost "}]}]}}\n---\n"
#define COSTS(name, cost) \
    "{kind: NetworkTopology, metadata: {name: " name \
    ", namespace: default}, spec: {weights: [{name: UserDefined, " \
    "topologyList: [{topologyKey: topology.kubernetes.io/zone, originList: [{origin: zb, costList: " \
    "[{destination: " \
    "za, networkCost: " cost "}]}]}]}]}}\n---\n"
#define TOO_FAR "too far in the network"
#define LATE FAR LATENCY("network-latency", "30") PLACED("other", "app: web", "a") POD("app: web", "")
#define COSTLY FAR NEEDS("shop", "5") COSTS("nt-default", "9") PLACED("db", DB("shop"), "a") POD(WEB, "")

static const struct waking {
    const char *what, *plugin, *args;
    const char *objects, *reason, *change;
    bool is_woken, is_placed;
} cases[] = {
    { "a node has no GPU", "GPUPriorityPlugin", "", NODE("a", "", "") POD("", GPU), "had no GPU",
      NODE("b", "", ""), false, false },
    { "a node with GPUs comes", "GPUPriorityPlugin", "", NODE("a", "", "") POD("", GPU), "had no GPU",
      NODE("b", "", GPU), true, true },
    { "a node gets GPUs", "GPUPriorityPlugin", "", NODE("a", "", "") POD("", GPU), "had no GPU",
      NODE("a", "", GPU), true, true },
    { "a node loses its GPUs", "GPUPriorityPlugin", "strict: true", NODE("a", "", GPU) POD("", ""),
      "kept for GPU pods", NODE("a", "", ""), true, true },
    { "a node has more GPUs", "GPUPriorityPlugin", "strict: true", NODE("a", "", GPU) POD("", ""),
      "kept for GPU pods", NODE("a", "", ", nvidia.com/gpu: 2"), false, false },

    { "a node becomes core", "BusinessAffinityPlugin", "", NODE("a", "", "") POD("business-level: core", ""),
      "were not node-level=core", NODE("a", "node-level: core", ""), true, true },
    { "another label changes", "BusinessAffinityPlugin", "",
      NODE("a", "", "") POD("business-level: core", ""), "were not node-level=core",
      NODE("a", "color: red", ""), false, false },
    { "a node leaves the edge", "BusinessAffinityPlugin", "",
      NODE("a", "zone: edge", "") POD("business-type: database", ""), "were zone=edge",
      NODE("a", "zone: b", ""), true, true },
    { "a node at the edge comes", "BusinessAffinityPlugin", "",
      NODE("a", "zone: edge", "") POD("business-type: database", ""), "were zone=edge",
      NODE("b", "zone: edge", ""), false, false },
    { "the pod is no database", "BusinessAffinityPlugin", "",
      NODE("a", "zone: edge", "") POD("business-type: database", ""), "were zone=edge",
      POD("business-type: web", ""), true, true },
    { "another label of the pod changes", "BusinessAffinityPlugin", "",
      NODE("a", "zone: edge", "") POD("business-type: database", ""), "were zone=edge",
      POD("business-type: database, color: red", ""), false, false },

    { "a price falls far enough", "CostOptimizationPlugin", "maxCostThreshold: 1",
      PRICED("a", "50") POD("", ""), "than maxCostThreshold", PRICED("a", "2"), true, true },
    { "a price falls", "CostOptimizationPlugin", "maxCostThreshold: 1", PRICED("a", "50") POD("", ""),
      "than maxCostThreshold", PRICED("a", "49"), false, false },
    { "an expensive node comes", "CostOptimizationPlugin", "maxCostThreshold: 1",
      PRICED("a", "50") POD("", ""), "than maxCostThreshold", PRICED("b", "50"), false, false },
    { "a cheap node comes", "CostOptimizationPlugin", "maxCostThreshold: 1", PRICED("a", "50") POD("", ""),
      "than maxCostThreshold", NODE("b", "", ""), true, true },
    { "the pod may pay more", "CostOptimizationPlugin", "ceilingHourly: 4", PRICED("a", "50") POD("", ""),
      "more than the ceiling", POD("cost/ceiling: '60'", ""), true, true },
    { "the pod may run on spot nodes", "CostOptimizationPlugin", "",
      NODE("a", "karpenter.sh/capacity-type: spot", "") POD("cost/spot: never", ""), "were spot nodes",
      POD("", ""), true, true },
    { "the pod has another label", "CostOptimizationPlugin", "",
      NODE("a", "karpenter.sh/capacity-type: spot", "") POD("cost/spot: never", ""), "were spot nodes",
      POD("cost/spot: never, color: red", ""), false, false },

    { "the latency falls", "NetworkLatencyPlugin", "maxLatencyMs: 10", LATE, SLOW,
      LATENCY("network-latency", "5"), true, true },
    { "another table changes", "NetworkLatencyPlugin", "maxLatencyMs: 10", LATE, SLOW, LATENCY("x", "5"),
      false, false },
    { "a pod of the app comes near", "NetworkLatencyPlugin", "maxLatencyMs: 20", LATE, SLOW,
      PLACED("near", "app: web", "b"), true, true },
    { "a pod of another app comes near", "NetworkLatencyPlugin", "maxLatencyMs: 20", LATE, SLOW,
      PLACED("near", "app: db", "b"), false, false },
    { "the node moves", "NetworkLatencyPlugin", "maxLatencyMs: 10", LATE, SLOW, ZONED("b", "za", ""), true,
      true },
    { "the pod talks to others", "NetworkLatencyPlugin", "maxLatencyMs: 10", LATE, SLOW, POD("app: x", ""),
      true, true },

    { "the limit of the AppGroup rises", "NetworkOverhead", "", COSTLY, TOO_FAR, NEEDS("shop", "9"), true,
      true },
    { "another AppGroup changes", "NetworkOverhead", "", COSTLY, TOO_FAR, NEEDS("x", "9"), false, false },
    { "the cost falls", "NetworkOverhead", "", COSTLY, TOO_FAR, COSTS("nt-default", "5"), true, true },
    { "the cost does not fall enough", "NetworkOverhead", "", COSTLY, TOO_FAR, COSTS("nt-default", "6"), true,
      false },
    { "another topology changes", "NetworkOverhead", "", COSTLY, TOO_FAR, COSTS("x", "5"), false, false },
    { "a pod that it depends on comes near", "NetworkOverhead", "", COSTLY, TOO_FAR,
      PLACED("near", DB("shop"), "b"), true, true },
    { "a pod of another group comes", "NetworkOverhead", "", COSTLY, TOO_FAR, PLACED("near", DB("x"), "b"),
      false, false },
    { "the node moves to the zone", "NetworkOverhead", "", COSTLY, TOO_FAR, ZONED("b", "za", ""), true,
      true },
};

static void load(struct loaded *loaded, const char *plugin)
{
    char path[512];
    struct error err;
    snprintf(path, sizeof(path), STRATEGIES "/%s.so", plugin);
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        fail_msg("%s", dlerror());
    loaded_init(loaded, &builtin_plugins);
    if (loaded_add(loaded, dlsym(handle, "berth_module"), path, &err) < 0)
        fail_msg("%s", err.text);
}

/* Passes each loaded object to the engine. */
static void add_to_engine(struct fixture *f, enum api_kind kind, struct meta *object)
{
    struct engine_fixture *e = container_of(f, struct engine_fixture, f);
    assert_true(engine_set_object(&e->engine, kind, object, object, e->now_ns));
}

static void begin(struct engine_fixture *e, int minor, const struct loaded *loaded, const struct waking *test)
{
    char config[1024];
    snprintf(
        config, sizeof(config),
        "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration, profiles: [{plugins: "
        "{multiPoint: {disabled: [{name: NodeResourcesFit}], enabled: [{name: %s}]}}, pluginConfig: [{name: "
        "%s, args: "
        "{%s}}]}]}",
        test->plugin, test->plugin, test->args);
    engine_fixture_init_as(e, minor, config,
                           &(struct engine_options){ .slowest = PATH_INDEX,
                                                     .now_ns = 1000 * SECOND,
                                                     .registry = &loaded->registry });
    e->f.add = add_to_engine;
}

static void try_case(int minor, const struct waking *test)
{
    struct engine_fixture e;
    struct loaded loaded;
    struct decision decision;
    load(&loaded, test->plugin);
    begin(&e, minor, &loaded, test);
    fixture_load(&e.f, test->objects);
    decision = engine_fixture_step(&e);
    if (decision.row != ROW_NONE || !str_contains(decision.message, str_from(test->reason)))
        fail_msg("%s: " STR_FMT, test->what, STR_ARG(decision.message));
    e.now_ns += 60 * SECOND; /* no backoff is left */
    fixture_load(&e.f, test->change);
    bool is_woken = engine_step(&e.engine, e.now_ns, &decision);
    if (is_woken != test->is_woken)
        fail_msg("%s: the pod is %s", test->what, is_woken ? "tried again" : "not tried again");
    if (is_woken && (decision.row != ROW_NONE) != test->is_placed)
        fail_msg("%s: " STR_FMT, test->what, STR_ARG(decision.message));
    engine_fixture_release(&e);
    loaded_release(&loaded);
}

static void test_waking(void **state _unused_)
{
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        try_case(36, &cases[i]);
        try_case(RELEASE_DEFAULT, &cases[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_waking) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
