/* plugin_bench.c: see plugin_bench.h. The medians are compared, so that single disturbances do not count. */
#include "bench/plugin_bench.h"

#include <dlfcn.h>
#include <stdio.h>

#include "abi/loaded.h"
#include "plugins/registry.h"

#define CONFIG_WITH(plugin, args) \
    "{\"apiVersion\":\"kubescheduler.config.k8s.io/v1\",\"kind\":\"KubeSchedulerConfiguration\"," \
    "\"profiles\":[{\"plugins\":{\"multiPoint\":{\"enabled\":[{\"name\":\"" plugin "\"}]}}," \
    "\"pluginConfig\":[{\"name\":\"" plugin "\",\"args\":{" args "}}]}]}"
#define CONFIG(plugin) CONFIG_WITH(plugin, "")

/* With arguments: they match the pods and nodes of the benchmark. */
static const char *const network[] = {
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: network-latency, namespace: kube-system}, data: {x: "
    "zone1 zone2 4}}",
    "{apiVersion: appgroup.diktyo.x-k8s.io/v1alpha1, kind: AppGroup, metadata: {name: shop, namespace: "
    "default}, spec: "
    "{workloads: [{workload: {selector: web}, dependencies: [{workload: {selector: web}, maxNetworkCost: "
    "1000}]}]}}",
    NULL,
};

static const struct {
    const char *what, *config;
    const char *const *objects;
} rows[] = {
    { "loaded only", NULL },
    { "idle (Skip)", CONFIG("Idle") },
    { "no-op filter", CONFIG("Noop") },
    { "no-op scorer", CONFIG("NoopScore") },
    { "GPUPriority", CONFIG("GPUPriorityPlugin") },
    { "BusinessAffinity", CONFIG("BusinessAffinityPlugin") },
    { " with a rule",
      CONFIG_WITH("BusinessAffinityPlugin", "\"rules\":[{\"podLabel\":\"color\",\"effect\":\"Require\","
                                            "\"nodeLabel\":\"kubernetes.io/hostname\"}]") },
    { " a preference",
      CONFIG_WITH("BusinessAffinityPlugin",
                  "\"preferences\":[{\"podLabel\":\"color\",\"nodeLabel\":\"kubernetes.io/hostname\"}]") },
    { "CostOptimization", CONFIG("CostOptimizationPlugin") },
    { " with a limit", CONFIG_WITH("CostOptimizationPlugin", "\"maxCostThreshold\":10") },
    { "NodeMetadata",
      CONFIG_WITH("NodeMetadata", "\"metadataKey\":\"kubernetes.io/hostname\",\"metadataSource\":\"Label\","
                                  "\"metadataType\":\"Number\",\"scoringStrategy\":\"Highest\"") },
    { "BusinessScore", CONFIG("BusinessScorePlugin") },
    { "StartThrottle", CONFIG("StartThrottle") },
    { "LoadBalancing", CONFIG("LoadBalancingPlugin") },
    { "LoadAware", CONFIG("LoadAwareScheduling") },
    { "TargetLoadPacking", CONFIG("TargetLoadPacking") },
    { "LoadVariation", CONFIG("LoadVariationRiskBalancing") },
    { "LowRisk", CONFIG("LowRiskOverCommitment") },
    { "Peaks by parts", CONFIG_WITH("Peaks", "\"powerModel\":\"Parts\"") },
    { "Adaptive", CONFIG_WITH("AdaptiveSchedulingPlugin", "\"hysteresis\":0.1") },
    { " with a move", CONFIG_WITH("AdaptiveSchedulingPlugin",
                                  "\"thresholds\":{\"idle\":0.9},\"weights\":[{\"plugin\":\"ImageLocality\","
                                  "\"min\":0,\"max\":9}],\"rules\":[{\"when\":\"Idle\",\"plugin\":"
                                  "\"ImageLocality\",\"direction\":\"Up\"}]") },
    { "NetworkLatency", CONFIG_WITH("NetworkLatencyPlugin", "\"appLabels\":[\"color\"]"), network },
    { " with a limit", CONFIG_WITH("NetworkLatencyPlugin", "\"appLabels\":[\"color\"],\"maxLatencyMs\":10"),
      network },
    { " by host",
      CONFIG_WITH("NetworkLatencyPlugin",
                  "\"appLabels\":[\"color\"],\"topologyKey\":\"kubernetes.io/hostname\""),
      network },
    { "NetworkOverhead", CONFIG("NetworkOverhead"), network },
};

static bool load(struct loaded *loaded, const char *file)
{
    struct error err;
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    const struct berth_module *module = handle ? dlsym(handle, "berth_module") : NULL;
    if (module && loaded_add(loaded, module, file, &err) >= 0)
        return true;
    printf("plugins: %s\n", module ? err.text : dlerror());
    return false;
}

int plugin_bench(const char *const *files, plugin_measure measure, const uint32_t *nodes, uint32_t len)
{
    struct loaded loaded;
    loaded_init(&loaded, &builtin_plugins);
    for (; *files; files++)
        if (!load(&loaded, *files))
            return 1;
    printf(
        "\n%-18s %7s %9s %9s %9s   (goals: nothing for an idle plugin, 20 ns for a no-op filter, 30 ns for a "
        "strategy)\n",
        "plugin", "nodes", "p50 us", "more us", "ns/node");
    for (uint32_t i = 0; i < len; i++) {
        struct figures without, with;
        if (!measure(&(struct plugin_setup){ 0 }, nodes[i], &without))
            return 1;
        printf("%-18s %7u %9.2f\n", "none", nodes[i], without.p50_us);
        for (size_t k = 0; k < ARRAY_SIZE(rows); k++) {
            if (!measure(&(struct plugin_setup){ &loaded.registry, rows[k].config, rows[k].objects },
                         nodes[i], &with))
                return 1;
            double more = with.p50_us - without.p50_us;
            printf("%-18s %7u %9.2f %9.2f %9.2f\n", rows[k].what, nodes[i], with.p50_us, more,
                   more * 1000 / nodes[i]);
            fflush(stdout);
        }
    }
    loaded_release(&loaded);
    return 0;
}
