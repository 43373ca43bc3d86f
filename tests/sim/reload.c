/* reload.c: see reload.h. Each use of a configuration has an owner, which is released exactly once. */
#include "reload.h"

#include <stdlib.h>
#include <string.h>

#include "plugins/registry.h"

#define HEAD "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"

/* The last one has its own order of plugins. Filters that preemption cannot resolve come first, as in the default: as
 * in kube-scheduler, a pod that lacks resources is not requeued by a label change that would allow preemption. */
static const char *const texts[] = {
    HEAD,
    HEAD "profiles:\n"
         "- schedulerName: first\n"
         "- schedulerName: default-scheduler\n"
         "  plugins:\n"
         "    score:\n"
         "      disabled: [{name: NodeResourcesBalancedAllocation}, {name: ImageLocality}]\n"
         "      enabled: [{name: TaintToleration, weight: 7}]\n",
    HEAD "podInitialBackoffSeconds: 2\n"
         "podMaxBackoffSeconds: 4\n"
         "profiles:\n"
         "- schedulerName: default-scheduler\n"
         "  pluginConfig:\n"
         "  - name: NodeResourcesFit\n"
         "    args: {scoringStrategy: {type: MostAllocated}}\n"
         "  plugins:\n"
         "    multiPoint:\n"
         "      disabled: [{name: '*'}]\n"
         "      enabled: [{name: DynamicResources}, {name: DefaultBinder}, {name: DefaultPreemption},\n"
         "                {name: PrioritySort}, {name: SchedulingGates}, {name: TaintToleration},\n"
         "                {name: NodeAffinity}, {name: NodeName}, {name: NodeUnschedulable}, {name: "
         "VolumeBinding},\n"
         "                {name: VolumeZone}, {name: VolumeRestrictions}, {name: NodeVolumeLimits},\n"
         "                {name: NodeResourcesFit}, {name: NodePorts}, {name: PodTopologySpread},\n"
         "                {name: InterPodAffinity}]\n"
         "- schedulerName: last\n"
         "  percentageOfNodesToScore: 50\n",
};

/* Parsed once, for all runs of the process. */
static const struct scheduler_config *config(struct sim *sim, uint32_t number)
{
    static struct scheduler_config configs[ARRAY_SIZE(texts)];
    static struct arena arena;
    static bool ready;
    if (ready)
        return &configs[number];
    struct plugin_catalog catalog = registry_catalog(&builtin_plugins, &arena);
    const struct config_env env = { .catalog = &catalog };
    struct error err;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        if (config_load_text("reload", strdup(texts[i]), strlen(texts[i]), &env, &arena, &configs[i], NULL,
                             &err) < 0)
            sim_fail(sim, "configuration %zu: %s", i, err.text);
    ready = true;
    return &configs[number];
}

struct engine_setup reload_setup(struct sim *sim)
{
    uint32_t *owner = xmalloc(sizeof(*owner));
    sim->configs_used++;
    *owner = sim->config_now;
    return (struct engine_setup){ .config = config(sim, sim->config_now),
                                  .registry = &builtin_plugins,
                                  .owner = owner };
}

void reload_retired(void *context, void *owner)
{
    struct sim *sim = context;
    sim->configs_used--;
    free(owner);
}

void reload_change(struct sim *sim)
{
    struct error err;
    if (!sim->core.alive || !sim->knobs.reloads)
        return;
    sim->config_now = roll(sim, ARRAY_SIZE(texts));
    sim->reloads++;
    sim_trace(sim, "configuration %u", sim->config_now);
    struct engine_setup setup = reload_setup(sim);
    if (engine_reconfigure(&sim->core.engine, &setup, clock_ns(sim), &err) < 0)
        sim_fail(sim, "the configuration is refused: %s", err.text);
}
