/* The plugins of an extension point: the defaults, and every way to change them. */
#include "support/test.h"

#include "unit/config/catalog.h"

static const struct {
    const char *name, *config;
    enum extension_point point;
    const char *want; /* names in order, with their weights */
} merged[] = {
    { "defaults", "", POINT_FILTER,
      "NodeName NodeUnschedulable TaintToleration NodeAffinity NodePorts NodeResourcesFit "
      "VolumeRestrictions NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread "
      "InterPodAffinity DynamicResources NodeDeclaredFeatures" },
    { "defaults", "", POINT_SCORE,
      "TaintToleration:3 NodeAffinity:2 NodeResourcesFit:1 VolumeBinding:1 PodTopologySpread:2 "
      "InterPodAffinity:2 DynamicResources:2 NodeResourcesBalancedAllocation:1 ImageLocality:1" },
    { "defaults", "", POINT_PRE_ENQUEUE, "SchedulingGates DynamicResources DefaultPreemption" },
    { "defaults", "", POINT_POST_FILTER, "DynamicResources DefaultPreemption" },
    { "defaults", "", POINT_PLACEMENT_SCORE, "NodeResourcesFit:1" },
    { "a plugin is disabled everywhere",
      "profiles:\n"
      "- plugins:\n"
      "    multiPoint:\n"
      "      disabled: [{name: NodePorts}]\n",
      POINT_PRE_FILTER,
      "NodeName NodeUnschedulable TaintToleration NodeAffinity NodeResourcesFit VolumeRestrictions "
      "NodeVolumeLimits VolumeBinding "
      "VolumeZone PodTopologySpread InterPodAffinity DynamicResources NodeDeclaredFeatures" },
    { "a plugin is disabled everywhere",
      "profiles:\n"
      "- plugins:\n"
      "    multiPoint:\n"
      "      disabled: [{name: NodePorts}]\n",
      POINT_FILTER,
      "NodeName NodeUnschedulable TaintToleration NodeAffinity NodeResourcesFit "
      "VolumeRestrictions NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread "
      "InterPodAffinity DynamicResources NodeDeclaredFeatures" },
    { "a plugin is disabled at one point",
      "profiles:\n"
      "- plugins:\n"
      "    score:\n"
      "      disabled: [{name: ImageLocality}, {name: TaintToleration}]\n",
      POINT_SCORE,
      "NodeAffinity:2 NodeResourcesFit:1 VolumeBinding:1 PodTopologySpread:2 "
      "InterPodAffinity:2 DynamicResources:2 NodeResourcesBalancedAllocation:1" },
    { "all are disabled at one point",
      "profiles:\n"
      "- plugins:\n"
      "    score:\n"
      "      disabled: [{name: '*'}]\n",
      POINT_SCORE, "" },
    { "all are disabled at one point",
      "profiles:\n"
      "- plugins:\n"
      "    score:\n"
      "      disabled: [{name: '*'}]\n",
      POINT_PRE_SCORE,
      "TaintToleration NodeAffinity NodeResourcesFit VolumeBinding PodTopologySpread "
      "InterPodAffinity NodeResourcesBalancedAllocation" },
    { "all are disabled, some come back in the user's order",
      "profiles:\n"
      "- plugins:\n"
      "    score:\n"
      "      disabled: [{name: '*'}]\n"
      "      enabled: [{name: NodeAffinity, weight: 7}, {name: ImageLocality}]\n",
      POINT_SCORE, "NodeAffinity:7 ImageLocality:1" },
    { "a point's own weight wins, and none means 1",
      "profiles:\n"
      "- plugins:\n"
      "    score:\n"
      "      enabled: [{name: NodeAffinity}, {name: TaintToleration, weight: 9}]\n",
      POINT_SCORE,
      "NodeAffinity:1 TaintToleration:9 NodeResourcesFit:1 VolumeBinding:1 PodTopologySpread:2 "
      "InterPodAffinity:2 DynamicResources:2 NodeResourcesBalancedAllocation:1 ImageLocality:1" },
    { "disabled and enabled at one point: first, with the new weight",
      "profiles:\n"
      "- plugins:\n"
      "    score:\n"
      "      disabled: [{name: ImageLocality}]\n"
      "      enabled: [{name: ImageLocality, weight: 5}]\n",
      POINT_SCORE,
      "TaintToleration:3 NodeAffinity:2 NodeResourcesFit:1 VolumeBinding:1 PodTopologySpread:2 "
      "InterPodAffinity:2 DynamicResources:2 NodeResourcesBalancedAllocation:1 ImageLocality:5" },
    { "multiPoint replaces a default in its place",
      "profiles:\n"
      "- plugins:\n"
      "    multiPoint:\n"
      "      enabled: [{name: TaintToleration, weight: 5}, {name: NodeAffinity}]\n",
      POINT_SCORE,
      "TaintToleration:5 NodeAffinity:1 NodeResourcesFit:1 VolumeBinding:1 PodTopologySpread:2 "
      "InterPodAffinity:2 DynamicResources:2 NodeResourcesBalancedAllocation:1 ImageLocality:1" },
    { "multiPoint replaces a default in its place",
      "profiles:\n"
      "- plugins:\n"
      "    multiPoint:\n"
      "      enabled: [{name: TaintToleration, weight: 5}, {name: NodeAffinity}]\n",
      POINT_FILTER,
      "NodeName NodeUnschedulable TaintToleration NodeAffinity NodePorts NodeResourcesFit "
      "VolumeRestrictions NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread "
      "InterPodAffinity DynamicResources NodeDeclaredFeatures" },
    { "multiPoint from nothing",
      "profiles:\n"
      "- plugins:\n"
      "    multiPoint:\n"
      "      disabled: [{name: '*'}]\n"
      "      enabled: [{name: DefaultBinder}, {name: NodeResourcesFit, weight: 4}, {name: PrioritySort}, "
      "{name: NodeName}]\n",
      POINT_FILTER, "NodeResourcesFit NodeName" },
    { "multiPoint from nothing",
      "profiles:\n"
      "- plugins:\n"
      "    multiPoint:\n"
      "      disabled: [{name: '*'}]\n"
      "      enabled: [{name: DefaultBinder}, {name: NodeResourcesFit, weight: 4}, {name: PrioritySort}, "
      "{name: NodeName}]\n",
      POINT_SCORE, "NodeResourcesFit:4" },
    { "multiPoint from nothing",
      "profiles:\n"
      "- plugins:\n"
      "    multiPoint:\n"
      "      disabled: [{name: '*'}]\n"
      "      enabled: [{name: DefaultBinder}, {name: NodeResourcesFit, weight: 4}, {name: PrioritySort}, "
      "{name: NodeName}]\n",
      POINT_BIND, "DefaultBinder" },
    { "multiPoint from nothing",
      "profiles:\n"
      "- plugins:\n"
      "    multiPoint:\n"
      "      disabled: [{name: '*'}]\n"
      "      enabled: [{name: DefaultBinder}, {name: NodeResourcesFit, weight: 4}, {name: PrioritySort}, "
      "{name: NodeName}]\n",
      POINT_QUEUE_SORT, "PrioritySort" },
    { "multiPoint from nothing",
      "profiles:\n"
      "- plugins:\n"
      "    multiPoint:\n"
      "      disabled: [{name: '*'}]\n"
      "      enabled: [{name: DefaultBinder}, {name: NodeResourcesFit, weight: 4}, {name: PrioritySort}, "
      "{name: NodeName}]\n",
      POINT_PRE_SCORE, "NodeResourcesFit" },
    { "multiPoint from nothing",
      "profiles:\n"
      "- plugins:\n"
      "    multiPoint:\n"
      "      disabled: [{name: '*'}]\n"
      "      enabled: [{name: DefaultBinder}, {name: NodeResourcesFit, weight: 4}, {name: PrioritySort}, "
      "{name: NodeName}]\n",
      POINT_PLACEMENT_SCORE, "NodeResourcesFit:4" },
    { "a plugin that is off by default goes to the end",
      "profiles:\n"
      "- plugins:\n"
      "    multiPoint:\n"
      "      enabled: [{name: GangScheduling}]\n",
      POINT_PRE_ENQUEUE, "SchedulingGates DynamicResources DefaultPreemption GangScheduling" },
    { "a plugin that is off by default goes to the end",
      "profiles:\n"
      "- plugins:\n"
      "    multiPoint:\n"
      "      enabled: [{name: GangScheduling}]\n",
      POINT_PERMIT, "GangScheduling" },
    { "a plugin only at one point",
      "profiles:\n"
      "- plugins:\n"
      "    multiPoint:\n"
      "      disabled: [{name: NodeAffinity}, {name: ImageLocality}]\n"
      "    filter:\n"
      "      enabled: [{name: NodeAffinity}]\n"
      "    score:\n"
      "      enabled: [{name: ImageLocality}]\n",
      POINT_PRE_FILTER,
      "NodeName NodeUnschedulable TaintToleration NodePorts NodeResourcesFit VolumeRestrictions "
      "NodeVolumeLimits VolumeBinding VolumeZone "
      "PodTopologySpread InterPodAffinity DynamicResources NodeDeclaredFeatures" },
    { "a plugin only at one point",
      "profiles:\n"
      "- plugins:\n"
      "    multiPoint:\n"
      "      disabled: [{name: NodeAffinity}, {name: ImageLocality}]\n"
      "    filter:\n"
      "      enabled: [{name: NodeAffinity}]\n"
      "    score:\n"
      "      enabled: [{name: ImageLocality}]\n",
      POINT_FILTER,
      "NodeName NodeUnschedulable TaintToleration NodePorts NodeResourcesFit "
      "VolumeRestrictions NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread "
      "InterPodAffinity DynamicResources NodeDeclaredFeatures NodeAffinity" },
    { "a plugin only at one point",
      "profiles:\n"
      "- plugins:\n"
      "    multiPoint:\n"
      "      disabled: [{name: NodeAffinity}, {name: ImageLocality}]\n"
      "    filter:\n"
      "      enabled: [{name: NodeAffinity}]\n"
      "    score:\n"
      "      enabled: [{name: ImageLocality}]\n",
      POINT_SCORE,
      "TaintToleration:3 NodeResourcesFit:1 VolumeBinding:1 PodTopologySpread:2 "
      "InterPodAffinity:2 DynamicResources:2 NodeResourcesBalancedAllocation:1 ImageLocality:1" },
    { "the order of overrides is the point's",
      "profiles:\n"
      "- plugins:\n"
      "    filter:\n"
      "      enabled: [{name: NodePorts}, {name: NodeName}, {name: TaintToleration}]\n",
      POINT_FILTER,
      "NodePorts NodeName TaintToleration NodeUnschedulable NodeAffinity NodeResourcesFit "
      "VolumeRestrictions NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread "
      "InterPodAffinity DynamicResources NodeDeclaredFeatures" },
    { "disabling what is not there",
      "profiles:\n"
      "- plugins:\n"
      "    filter:\n"
      "      disabled: [{name: NoSuchPlugin}]\n",
      POINT_FILTER,
      "NodeName NodeUnschedulable TaintToleration NodeAffinity NodePorts NodeResourcesFit "
      "VolumeRestrictions NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread "
      "InterPodAffinity DynamicResources NodeDeclaredFeatures" },
    { "placement points",
      "profiles:\n"
      "- plugins:\n"
      "    placementGenerate:\n"
      "      enabled: [{name: TopologyPlacementGenerator}]\n"
      "    placementScore:\n"
      "      enabled: [{name: PodGroupPodsCount, weight: 6}]\n",
      POINT_PLACEMENT_GENERATE, "TopologyPlacementGenerator" },
    { "placement points",
      "profiles:\n"
      "- plugins:\n"
      "    placementGenerate:\n"
      "      enabled: [{name: TopologyPlacementGenerator}]\n"
      "    placementScore:\n"
      "      enabled: [{name: PodGroupPodsCount, weight: 6}]\n",
      POINT_PLACEMENT_SCORE, "NodeResourcesFit:1 PodGroupPodsCount:6" },
    { "preemption without preempting",
      "profiles:\n"
      "- plugins:\n"
      "    postFilter:\n"
      "      disabled: [{name: DefaultPreemption}]\n",
      POINT_POST_FILTER, "DynamicResources" },
    { "preemption without preempting",
      "profiles:\n"
      "- plugins:\n"
      "    postFilter:\n"
      "      disabled: [{name: DefaultPreemption}]\n",
      POINT_PRE_ENQUEUE, "SchedulingGates DynamicResources DefaultPreemption" },
};

static const struct {
    const char *name, *config, *want;
} refused[] = {
    { "unknown plugin at a point",
      "profiles:\n"
      "- plugins:\n"
      "    filter:\n"
      "      enabled: [{name: NoSuchPlugin}]\n",
      "config.yaml:6:17: initializing profiles: creating profile for scheduler name "
      "default-scheduler: FilterPlugin \"NoSuchPlugin\" does not exist; load it with "
      "--plugin FILE.so or --plugin-dir DIR if it is your own" },
    { "misspelled plugin",
      "profiles:\n"
      "- plugins:\n"
      "    score:\n"
      "      enabled: [{name: NodeResourceFit}]\n",
      "config.yaml:6:17: initializing profiles: creating profile for scheduler name "
      "default-scheduler: ScorePlugin \"NodeResourceFit\" does not exist; did you mean NodeResourcesFit? If "
      "it is "
      "your own, --plugin FILE.so or --plugin-dir DIR loads it" },
    { "strategy with other capitals",
      "profiles:\n"
      "- plugins:\n"
      "    score:\n"
      "      enabled: [{name: loadAwareScheduling}]\n",
      "config.yaml:6:17: initializing profiles: creating profile for scheduler name "
      "default-scheduler: ScorePlugin \"loadAwareScheduling\" does not exist; did you mean "
      "LoadAwareScheduling? If it is "
      "your own, --plugin FILE.so or --plugin-dir DIR loads it" },
    { "strategy without the end of its name",
      "profiles:\n"
      "- plugins:\n"
      "    score:\n"
      "      enabled: [{name: LoadBalancing}]\n",
      "config.yaml:6:17: initializing profiles: creating profile for scheduler name "
      "default-scheduler: ScorePlugin \"LoadBalancing\" does not exist; did you mean LoadBalancingPlugin? If "
      "it is "
      "your own, --plugin FILE.so or --plugin-dir DIR loads it" },
    { "strategy with an end that it does not have",
      "profiles:\n"
      "- plugins:\n"
      "    score:\n"
      "      enabled: [{name: LoadAwareSchedulingPlugin}]\n",
      "config.yaml:6:17: initializing profiles: creating profile for scheduler name "
      "default-scheduler: ScorePlugin \"LoadAwareSchedulingPlugin\" does not exist; did you mean "
      "LoadAwareScheduling? If it is "
      "your own, --plugin FILE.so or --plugin-dir DIR loads it" },
    { "misspelled name of another point",
      "profiles:\n"
      "- plugins:\n"
      "    filter:\n"
      "      enabled: [{name: nodeAffinty}]\n",
      "config.yaml:6:17: initializing profiles: creating profile for scheduler name "
      "default-scheduler: FilterPlugin \"nodeAffinty\" does not exist; did you mean NodeAffinity? If it is "
      "your own, --plugin FILE.so or --plugin-dir DIR loads it" },
    { "unknown plugin in multiPoint",
      "profiles:\n"
      "- plugins:\n"
      "    multiPoint:\n"
      "      enabled: [{name: NoSuchPlugin}]\n",
      "config.yaml:6:17: initializing profiles: creating profile for scheduler name "
      "default-scheduler: PreFilterPlugin \"NoSuchPlugin\" does not exist; load it with "
      "--plugin FILE.so or --plugin-dir DIR if it is your own" },
    { "old plugin that nothing covers",
      "profiles:\n"
      "- plugins:\n"
      "    filter:\n"
      "      enabled: [{name: NodeLabel}]\n",
      "config.yaml:6:17: initializing profiles: creating profile for scheduler name "
      "default-scheduler: FilterPlugin \"NodeLabel\" does not exist; load it with "
      "--plugin FILE.so or --plugin-dir DIR if it is your own" },
    { "old scorer where another strategy is set",
      "profiles:\n"
      "- plugins:\n"
      "    score:\n"
      "      enabled: [{name: NodeResourcesMostAllocated}]\n",
      "config.yaml:6:17: initializing profiles: creating profile for scheduler name "
      "default-scheduler: ScorePlugin \"NodeResourcesMostAllocated\" does not exist; load it with "
      "--plugin FILE.so or --plugin-dir DIR if it is your own" },
    { "plugin at a point that it does not have",
      "profiles:\n"
      "- plugins:\n"
      "    filter:\n"
      "      enabled: [{name: ImageLocality}]\n",
      "config.yaml:6:17: initializing profiles: creating profile for scheduler name "
      "default-scheduler: plugin \"ImageLocality\" does not extend FilterPlugin plugin" },
    { "twice at a point",
      "profiles:\n"
      "- plugins:\n"
      "    filter:\n"
      "      enabled: [{name: NodeName}, {name: NodeName}]\n",
      "config.yaml:6:35: initializing profiles: creating profile for scheduler name "
      "default-scheduler: plugin \"NodeName\" already registered as \"FilterPlugin\"" },
    { "twice in multiPoint",
      "profiles:\n"
      "- plugins:\n"
      "    multiPoint:\n"
      "      enabled: [{name: GangScheduling}, {name: GangScheduling}]\n",
      "config.yaml:6:41: initializing profiles: creating profile for scheduler name "
      "default-scheduler: plugin \"GangScheduling\" already registered as \"PermitPlugin\"" },
    { "twice in multiPoint, a default",
      "profiles:\n"
      "- plugins:\n"
      "    multiPoint:\n"
      "      enabled: [{name: NodeName}, {name: NodeName}]\n",
      "config.yaml:6:17: initializing profiles: creating profile for scheduler name "
      "default-scheduler: plugin \"NodeName\" already registered as \"PreFilterPlugin\"" },
    { "twice, once by its other name",
      "profiles:\n"
      "- plugins:\n"
      "    score:\n"
      "      enabled: [{name: NodeAffinity}, {name: NodeAffinityPlugin}]\n",
      "config.yaml:6:39: profiles[0].plugins.score.enabled[1].name: Duplicate value: \"NodeAffinityPlugin\": "
      "it "
      "is another name of NodeAffinity, which the list has already" },
    { "the other name twice",
      "profiles:\n"
      "- plugins:\n"
      "    multiPoint:\n"
      "      enabled: [{name: NodeAffinityPlugin}, {name: NodeAffinityPlugin}]\n",
      "config.yaml:6:45: profiles[0].plugins.multiPoint.enabled[1].name: Duplicate value: "
      "\"NodeAffinityPlugin\": "
      "it is another name of NodeAffinity, which the list has already" },
    { "arguments by both names",
      "profiles:\n"
      "- pluginConfig: [{name: NodeAffinity}, {name: NodeAffinityPlugin}]\n",
      "config.yaml:4:40: profiles[0].pluginConfig[1]: Duplicate value: \"NodeAffinity\"" },
    { "no queue sort",
      "profiles:\n"
      "- plugins:\n"
      "    queueSort:\n"
      "      disabled: [{name: '*'}]\n",
      "config.yaml:5:5: initializing profiles: creating profile for scheduler name "
      "default-scheduler: only one queue sort plugin required for profile with scheduler name "
      "\"default-scheduler\", but got 0" },
    { "no bind",
      "profiles:\n"
      "- plugins:\n"
      "    bind:\n"
      "      disabled: [{name: DefaultBinder}]\n",
      "config.yaml:5:5: initializing profiles: creating profile for scheduler name "
      "default-scheduler: at least one bind plugin is needed for profile with scheduler name "
      "\"default-scheduler\"" },
    { "nothing at all",
      "profiles:\n"
      "- plugins:\n"
      "    multiPoint:\n"
      "      disabled: [{name: '*'}]\n",
      "config.yaml:5:5: initializing profiles: creating profile for scheduler name "
      "default-scheduler: only one queue sort plugin required for profile with scheduler name "
      "\"default-scheduler\", but got 0" },
    { "a negative weight",
      "profiles:\n"
      "- plugins:\n"
      "    score:\n"
      "      enabled: [{name: NodeAffinity, weight: -1}]\n",
      "config.yaml:1:1: initializing profiles: creating profile for scheduler name "
      "default-scheduler: score plugins: total score of Score plugins could overflow" },
    { "an empty name",
      "profiles:\n"
      "- plugins:\n"
      "    filter:\n"
      "      enabled: [{}]\n",
      "config.yaml:6:17: initializing profiles: creating profile for scheduler name "
      "default-scheduler: FilterPlugin \"\" does not exist" },
    { "odd name",
      "profiles:\n"
      "- plugins:\n"
      "    filter:\n"
      "      enabled: [{name: \"a\\\"b\"}]\n",
      "config.yaml:6:17: initializing profiles: creating profile for scheduler name "
      "default-scheduler: FilterPlugin \"a\\\"b\" does not exist; load it with "
      "--plugin FILE.so or --plugin-dir DIR if it is your own" },
    { "queue sort differs",
      "profiles:\n"
      "- schedulerName: a\n"
      "- schedulerName: b\n"
      "  plugins:\n"
      "    queueSort:\n"
      "      enabled: [{name: PrioritySort}]\n",
      "config.yaml:8:7: profiles[1].plugins.queueSort: Invalid value: "
      "{\"Enabled\":[{\"Name\":\"PrioritySort\",\"Weight\":0}],\"Disabled\":null}: must be the same for "
      "all profiles" },
    { "queue sort args differ",
      "profiles:\n"
      "- schedulerName: a\n"
      "- schedulerName: b\n"
      "  pluginConfig: [{name: PrioritySort, args: {z: 1}}]\n",
      "config.yaml:5:3: initializing profiles: different queue sort plugin args for profile \"b\"" },
    { "two queue sorts",
      "profiles:\n"
      "- plugins:\n"
      "    queueSort:\n"
      "      enabled: [{name: PrioritySort}, {name: PrioritySort}]\n",
      "config.yaml:6:7: profiles[0].plugins.queueSort.Enabled: Invalid value: 2: only one "
      "queue sort plugin can be enabled" },
};

static void print_point(struct strbuf *out, const struct enabled_list *list)
{
    for (uint32_t i = 0; i < list->len; i++) {
        const struct enabled_plugin *plugin = &list->items[i];
        strbuf_printf(out, "%s" STR_FMT, i ? " " : "", STR_ARG(plugin->name));
        if (plugin->weight)
            strbuf_printf(out, ":%d", (int)plugin->weight);
        assert_str(plugin->name, stock_plugins[plugin->index].name);
    }
}

static void test_merged(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(merged); i++) {
        _cleanup_(loaded_release) struct loaded loaded;
        _cleanup_(strbuf_release) struct strbuf got = { 0 };
        if (loaded_from(&loaded, &stock_env, CONFIG_HEAD, merged[i].config) < 0)
            fail_msg("%s: %s", merged[i].name, loaded.err.text);
        print_point(&got, &loaded.config.profiles.items[0].points[merged[i].point]);
        if (!str_is(strbuf_slice(&got), merged[i].want))
            fail_msg("%s: %s: got \"%s\", want \"%s\"", merged[i].name, point_infos[merged[i].point].field,
                     got.text ? got.text : "", merged[i].want);
    }
}

static void test_rejected(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        _cleanup_(loaded_release) struct loaded loaded;
        if (loaded_from(&loaded, &stock_env, CONFIG_HEAD, refused[i].config) != -EINVAL)
            fail_msg("%s: was not refused", refused[i].name);
        if (strcmp(loaded.err.text, refused[i].want) != 0)
            fail_msg("%s: got \"%s\", want \"%s\"", refused[i].name, loaded.err.text, refused[i].want);
    }
}

/* Gates add plugins to the default set. */
static void test_gates(void **state)
{
    (void)state;
    static const struct {
        enum feature gate;
        bool on;
        enum extension_point point;
        const char *want;
    } cases[] = {
        { FEATURE_GenericWorkload, true, POINT_PERMIT, "GangScheduling" },
        { FEATURE_TopologyAwareWorkloadScheduling, true, POINT_PLACEMENT_GENERATE,
          "TopologyPlacementGenerator" },
        { FEATURE_TopologyAwareWorkloadScheduling, true, POINT_PLACEMENT_SCORE,
          "NodeResourcesFit:1 PodGroupPodsCount:1" },
        { FEATURE_DynamicResourceAllocation, false, POINT_RESERVE, "VolumeBinding" },
        { FEATURE_NodeDeclaredFeatures, false, POINT_PRE_BIND, "VolumeBinding DynamicResources" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(loaded_release) struct loaded loaded = { 0 };
        _cleanup_(strbuf_release) struct strbuf got = { 0 };
        struct features features;
        features_default(&features, NULL, 0);
        features.enabled[cases[i].gate] = cases[i].on;
        struct config_env env = { .catalog = &stock_catalog, .features = &features };
        assert_int_equal(config_default(&env, &loaded.arena, &loaded.config, &loaded.err), 0);
        print_point(&got, &loaded.config.profiles.items[0].points[cases[i].point]);
        assert_str(strbuf_slice(&got), cases[i].want);
    }
}

/* What a release has that another has not. */
static const struct {
    int minor;
    const char *config;
    enum extension_point point;
    const char *want; /* the plugins of the point, or the error */
} by_release[] = {
    { 36, "", POINT_FILTER,
      "NodeUnschedulable NodeName TaintToleration NodeAffinity NodePorts NodeResourcesFit "
      "VolumeRestrictions NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread "
      "InterPodAffinity DynamicResources NodeDeclaredFeatures" },
    { 37, "", POINT_FILTER,
      "NodeName NodeUnschedulable TaintToleration NodeAffinity NodePorts NodeResourcesFit "
      "VolumeRestrictions NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread "
      "InterPodAffinity DynamicResources NodeDeclaredFeatures" },
    { 36, "", POINT_PRE_FILTER,
      "NodeAffinity NodePorts NodeResourcesFit VolumeRestrictions NodeVolumeLimits VolumeBinding "
      "VolumeZone PodTopologySpread InterPodAffinity DynamicResources NodeDeclaredFeatures" },
    { 37, "", POINT_PRE_FILTER,
      "NodeName NodeUnschedulable TaintToleration NodeAffinity NodePorts NodeResourcesFit "
      "VolumeRestrictions NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread "
      "InterPodAffinity DynamicResources NodeDeclaredFeatures" },
    { 36, "", POINT_POD_GROUP_POST_FILTER, "" },
    { 37, "", POINT_POD_GROUP_POST_FILTER, "DynamicResources DefaultPreemption" },
    { 36, "profiles: [{plugins: {preFilter: {enabled: [{name: NodeName}]}}}]", POINT_PRE_FILTER,
      "config.yaml:3:45: initializing profiles: creating profile for scheduler name default-scheduler: "
      "plugin \"NodeName\" does not extend PreFilterPlugin plugin" },
    { 36, "profiles: [{plugins: {podGroupPostFilter: {}}}]", POINT_FILTER,
      "config.yaml:3:23: profiles[0].plugins.podGroupPostFilter: unknown field" },
    { 37, "profiles: [{plugins: {podGroupPostFilter: {disabled: [{name: DynamicResources}]}}}]",
      POINT_POD_GROUP_POST_FILTER, "DefaultPreemption" },
    { 37, "profiles: [{plugins: {podGroupPostFilter: {enabled: [{name: NodeName}]}}}]",
      POINT_POD_GROUP_POST_FILTER,
      "config.yaml:3:54: initializing profiles: creating profile for scheduler name default-scheduler: "
      "plugin \"NodeName\" does not extend PodGroupPostFilterPlugin plugin" },
};

static void test_releases(void **state _unused_)
{
    for (size_t i = 0; i < ARRAY_SIZE(by_release); i++) {
        _cleanup_(loaded_release) struct loaded loaded;
        _cleanup_(strbuf_release) struct strbuf got = { 0 };
        struct features features;
        features_default(&features, release_of(by_release[i].minor), 0);
        struct config_env env = { .catalog = &stock_catalog, .features = &features };
        if (loaded_from(&loaded, &env, CONFIG_HEAD, by_release[i].config) < 0)
            strbuf_puts(&got, loaded.err.text);
        else
            print_point(&got, &loaded.config.profiles.items[0].points[by_release[i].point]);
        if (!str_is(strbuf_slice(&got), by_release[i].want))
            fail_msg("%zu: got \"%s\", want \"%s\"", i, got.text ? got.text : "", by_release[i].want);
    }
}

/* Two profiles share only the queue. */
static void test_two_profiles(void **state)
{
    (void)state;
    _cleanup_(loaded_release) struct loaded loaded;
    assert_int_equal(loaded_from(&loaded, &stock_env, CONFIG_HEAD,
                                 "profiles:\n"
                                 "- schedulerName: packing\n"
                                 "  percentageOfNodesToScore: 30\n"
                                 "  pluginConfig:\n"
                                 "  - name: NodeResourcesFit\n"
                                 "    args: {scoringStrategy: {type: MostAllocated}}\n"
                                 "- schedulerName: blind\n"
                                 "  plugins:\n"
                                 "    score: {disabled: [{name: '*'}]}\n"),
                     0);
    const struct profile_config *packing = config_profile(&loaded.config, STR("packing"));
    const struct profile_config *blind = config_profile(&loaded.config, STR("blind"));
    assert_null(config_profile(&loaded.config, STR("default-scheduler")));
    assert_int_equal(packing->points[POINT_SCORE].len, 9);
    assert_int_equal(blind->points[POINT_SCORE].len, 0);
    assert_int_equal(packing->percentage_of_nodes_to_score.value, 30);
    assert_false(blind->percentage_of_nodes_to_score.set);
    const struct node_resources_fit_args *args = profile_args(packing, "NodeResourcesFit");
    assert_int_equal(args->scoring_strategy->kind, SCORING_MOST_ALLOCATED);
    args = profile_args(blind, "NodeResourcesFit");
    assert_int_equal(args->scoring_strategy->kind, SCORING_LEAST_ALLOCATED);
}

/* All profiles must have the same queue sort, however it is configured. */
static void test_other_queue_sort(void **state)
{
    (void)state;
    struct catalog_plugin plugins[ARRAY_SIZE(stock_plugins) + 1];
    memcpy(plugins, stock_plugins, sizeof(stock_plugins));
    plugins[ARRAY_SIZE(stock_plugins)] = (struct catalog_plugin){ "OtherSort", POINT_BIT(POINT_QUEUE_SORT) };
    const struct plugin_catalog catalog = { ARRAY_SIZE(plugins), plugins };
    const struct config_env env = { .catalog = &catalog };
    _cleanup_(loaded_release) struct loaded loaded;
    int r = loaded_from(&loaded, &env, CONFIG_HEAD,
                        "profiles:\n"
                        "- schedulerName: a\n"
                        "- schedulerName: b\n"
                        "  plugins:\n"
                        "    multiPoint: {disabled: [{name: PrioritySort}], enabled: [{name: OtherSort}]}\n");
    assert_int_equal(r, -EINVAL);
    assert_string_equal(loaded.err.text,
                        "config.yaml:5:3: initializing profiles: different queue sort plugins for "
                        "profile \"b\": \"OtherSort\", first: \"PrioritySort\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merged),       cmocka_unit_test(test_rejected),
        cmocka_unit_test(test_gates),        cmocka_unit_test(test_releases),
        cmocka_unit_test(test_two_profiles), cmocka_unit_test(test_other_queue_sort),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
