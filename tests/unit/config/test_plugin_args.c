/* The arguments of the built-in plugins: defaults, given values, and errors. */
#include "support/test.h"

#include "base/duration.h"
#include "codec/record_rows.h"
#include "unit/config/catalog.h"

static const struct {
    const char *name, *config, *want;
} refused[] = {
    { "preemption percentage",
      "profiles:\n"
      "- pluginConfig:\n"
      "  - name: DefaultPreemption\n"
      "    args:\n"
      "      minCandidateNodesPercentage: 101\n",
      "config.yaml:7:36: profiles[0].pluginConfig[0].args.minCandidateNodesPercentage: Invalid "
      "value: 101: not in valid range [0, 100]" },
    { "preemption absolute",
      "profiles:\n"
      "- pluginConfig:\n"
      "  - name: DefaultPreemption\n"
      "    args:\n"
      "      minCandidateNodesAbsolute: -1\n",
      "config.yaml:7:34: profiles[0].pluginConfig[0].args.minCandidateNodesAbsolute: Invalid "
      "value: -1: not in valid range [0, inf)" },
    { "preemption nothing",
      "profiles:\n"
      "- pluginConfig:\n"
      "  - name: DefaultPreemption\n"
      "    args:\n"
      "      minCandidateNodesPercentage: 0\n"
      "      minCandidateNodesAbsolute: 0\n",
      "config.yaml:7:36: [profiles[0].pluginConfig[0].args.minCandidateNodesPercentage: "
      "Invalid value: 0: cannot be zero at the same time as minCandidateNodesAbsolute, "
      "profiles[0].pluginConfig[0].args.minCandidateNodesAbsolute: Invalid value: 0: cannot be "
      "zero at the same time as minCandidateNodesPercentage]" },
    { "inter-pod affinity weight",
      "profiles:\n"
      "- pluginConfig:\n"
      "  - name: InterPodAffinity\n"
      "    args:\n"
      "      hardPodAffinityWeight: 101\n",
      "config.yaml:7:30: profiles[0].pluginConfig[0].args.hardPodAffinityWeight: Invalid "
      "value: 101: not in valid range [0, 100]" },
    { "filter timeout",
      "profiles:\n"
      "- pluginConfig:\n"
      "  - name: DynamicResources\n"
      "    args:\n"
      "      filterTimeout: -1s\n",
      "config.yaml:7:22: profiles[0].pluginConfig[0].args.filterTimeout: Invalid value: \"-1s\": "
      "must be zero or positive" },
    { "binding timeout",
      "profiles:\n"
      "- pluginConfig:\n"
      "  - name: DynamicResources\n"
      "    args:\n"
      "      bindingTimeout: 999.5ms\n",
      "config.yaml:7:23: profiles[0].pluginConfig[0].args.bindingTimeout: Invalid value: "
      "\"999.5ms\": must be at least 1 second" },
    { "balanced weight",
      "profiles:\n"
      "- pluginConfig:\n"
      "  - name: NodeResourcesBalancedAllocation\n"
      "    args:\n"
      "      resources: [{name: cpu, weight: 2}]\n",
      "config.yaml:7:39: profiles[0].pluginConfig[0].args.resources[0].weight: Invalid value: "
      "2: must be 1" },
    { "balanced twice",
      "profiles:\n"
      "- pluginConfig:\n"
      "  - name: NodeResourcesBalancedAllocation\n"
      "    args:\n"
      "      resources: [{name: cpu}, {name: cpu}]\n",
      "config.yaml:7:39: profiles[0].pluginConfig[0].args.resources[1].name: Duplicate value: "
      "\"cpu\"" },
    { "fit without type",
      "profiles:\n"
      "- pluginConfig:\n"
      "  - name: NodeResourcesFit\n"
      "    args:\n"
      "      scoringStrategy: {}\n",
      "config.yaml:7:24: initializing profiles: creating profile for scheduler name "
      "default-scheduler: initializing plugin \"NodeResourcesFit\": scoringStrategy.type: "
      "Unsupported value: \"\": supported values: \"LeastAllocated\", \"MostAllocated\", "
      "\"RequestedToCapacityRatio\"" },
    { "fit type",
      "profiles:\n"
      "- pluginConfig:\n"
      "  - name: NodeResourcesFit\n"
      "    args:\n"
      "      scoringStrategy:\n"
      "        type: Most<Allocated\n",
      "config.yaml:8:15: initializing profiles: creating profile for scheduler name "
      "default-scheduler: initializing plugin \"NodeResourcesFit\": scoringStrategy.type: "
      "Unsupported value: \"Most\\u003cAllocated\": supported values: \"LeastAllocated\", "
      "\"MostAllocated\", \"RequestedToCapacityRatio\"" },
    { "fit weight",
      "profiles:\n"
      "- pluginConfig:\n"
      "  - name: NodeResourcesFit\n"
      "    args:\n"
      "      scoringStrategy:\n"
      "        type: LeastAllocated\n"
      "        resources: [{name: cpu, weight: 1}, {name: x.io/a, weight: 101}]\n",
      "config.yaml:9:68: initializing profiles: creating profile for scheduler name "
      "default-scheduler: initializing plugin \"NodeResourcesFit\": "
      "scoringStrategy.resources[1].weight: Invalid value: 101: resource weight of x.io/a not "
      "in valid range (0, 100]" },
    { "fit ratio is missing",
      "profiles:\n"
      "- pluginConfig:\n"
      "  - name: NodeResourcesFit\n"
      "    args:\n"
      "      scoringStrategy:\n"
      "        type: RequestedToCapacityRatio\n",
      "config.yaml:8:9: initializing profiles: creating profile for scheduler name "
      "default-scheduler: initializing plugin \"NodeResourcesFit\": "
      "scoringStrategy.requestedToCapacityRatio: Required value: must be specified when type "
      "is RequestedToCapacityRatio" },
    { "fit ratio is not wanted",
      "profiles:\n"
      "- pluginConfig:\n"
      "  - name: NodeResourcesFit\n"
      "    args:\n"
      "      scoringStrategy:\n"
      "        type: MostAllocated\n"
      "        requestedToCapacityRatio: {}\n",
      "config.yaml:9:35: initializing profiles: creating profile for scheduler name "
      "default-scheduler: initializing plugin \"NodeResourcesFit\": "
      "scoringStrategy.requestedToCapacityRatio: Forbidden: must be nil when type is not "
      "RequestedToCapacityRatio" },
    { "fit shape is empty",
      "profiles:\n"
      "- pluginConfig:\n"
      "  - name: NodeResourcesFit\n"
      "    args:\n"
      "      scoringStrategy:\n"
      "        type: RequestedToCapacityRatio\n"
      "        requestedToCapacityRatio: {}\n",
      "config.yaml:9:35: initializing profiles: creating profile for scheduler name "
      "default-scheduler: initializing plugin \"NodeResourcesFit\": "
      "scoringStrategy.requestedToCapacityRatio.shape: Required value: at least one point must "
      "be specified" },
    { "fit shape",
      "profiles:\n"
      "- pluginConfig:\n"
      "  - name: NodeResourcesFit\n"
      "    args:\n"
      "      scoringStrategy:\n"
      "        type: RequestedToCapacityRatio\n"
      "        requestedToCapacityRatio:\n"
      "          shape: [{utilization: 50, score: 11}, {utilization: 50, score: 0}, {utilization: 101, "
      "score: -1}]\n",
      "config.yaml:10:63: initializing profiles: creating profile for scheduler name "
      "default-scheduler: initializing plugin \"NodeResourcesFit\": "
      "[scoringStrategy.requestedToCapacityRatio.shape[1].utilization: Invalid value: 50: "
      "values must be sorted in increasing order, "
      "scoringStrategy.requestedToCapacityRatio.shape[0].score: Invalid value: 11: not in "
      "valid range [0, 10], scoringStrategy.requestedToCapacityRatio.shape[2].utilization: "
      "Invalid value: 101: not in valid range [0, 100], "
      "scoringStrategy.requestedToCapacityRatio.shape[2].score: Invalid value: -1: not in "
      "valid range [0, 10]]" },
    { "fit ignored resources",
      "profiles:\n"
      "- pluginConfig:\n"
      "  - name: NodeResourcesFit\n"
      "    args:\n"
      "      ignoredResources: [cpu, '']\n",
      "config.yaml:7:31: initializing profiles: creating profile for scheduler name "
      "default-scheduler: initializing plugin \"NodeResourcesFit\": [ignoredResources[1]: "
      "Invalid value: \"\": name part must be non-empty, ignoredResources[1]: Invalid value: \"\": "
      "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and "
      "end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex "
      "used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')]" },
    { "fit ignored groups",
      "profiles:\n"
      "- pluginConfig:\n"
      "  - name: NodeResourcesFit\n"
      "    args:\n"
      "      ignoredResourceGroups: [a/b, -x]\n",
      "config.yaml:7:31: initializing profiles: creating profile for scheduler name "
      "default-scheduler: initializing plugin \"NodeResourcesFit\": [ignoredResourceGroups[0]: "
      "Invalid value: \"a/b\": resource group name can't contain '/', ignoredResourceGroups[1]: "
      "Invalid value: \"-x\": name part must consist of alphanumeric characters, '-', '_' or "
      "'.', and must start and end with an alphanumeric character (e.g. 'MyName',  or "
      "'my.name',  or '123-abc', regex used for validation is "
      "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')]" },
    { "spread with System",
      "profiles:\n"
      "- pluginConfig:\n"
      "  - name: PodTopologySpread\n"
      "    args:\n"
      "      defaultConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]\n",
      "config.yaml:7:7: profiles[0].pluginConfig[0].args.defaultingType: Invalid value: "
      "\"System\": when .defaultConstraints are not empty" },
    { "spread type",
      "profiles:\n"
      "- pluginConfig:\n"
      "  - name: PodTopologySpread\n"
      "    args:\n"
      "      defaultingType: Listed\n",
      "config.yaml:7:23: profiles[0].pluginConfig[0].args.defaultingType: Unsupported value: "
      "\"Listed\": supported values: \"System\", \"List\"" },
    { "spread constraint",
      "profiles:\n"
      "- pluginConfig:\n"
      "  - name: PodTopologySpread\n"
      "    args:\n"
      "      defaultingType: List\n"
      "      defaultConstraints:\n"
      "      - maxSkew: 0\n"
      "        topologyKey: ''\n"
      "        whenUnsatisfiable: ''\n"
      "      - maxSkew: 1\n"
      "        topologyKey: a b\n"
      "        whenUnsatisfiable: Never\n"
      "        labelSelector: {}\n",
      "config.yaml:9:18: [profiles[0].pluginConfig[0].args.defaultConstraints[0].maxSkew: "
      "Invalid value: 0: not in valid range (0, inf), "
      "profiles[0].pluginConfig[0].args.defaultConstraints[0].topologyKey: Required value: can "
      "not be empty, profiles[0].pluginConfig[0].args.defaultConstraints[0].whenUnsatisfiable: "
      "Required value: can not be empty, "
      "profiles[0].pluginConfig[0].args.defaultConstraints[1].topologyKey: Invalid value: \"a "
      "b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start "
      "and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', "
      "regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'), "
      "profiles[0].pluginConfig[0].args.defaultConstraints[1].whenUnsatisfiable: Unsupported "
      "value: \"Never\": supported values: \"DoNotSchedule\", \"ScheduleAnyway\", "
      "profiles[0].pluginConfig[0].args.defaultConstraints[1].labelSelector: Forbidden: "
      "constraint must not define a selector, as they deduced for each pod]" },
    { "spread twice",
      "profiles:\n"
      "- pluginConfig:\n"
      "  - name: PodTopologySpread\n"
      "    args:\n"
      "      defaultingType: List\n"
      "      defaultConstraints:\n"
      "      - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}\n"
      "      - {maxSkew: 2, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}\n",
      "config.yaml:10:9: profiles[0].pluginConfig[0].args.defaultConstraints[1]: Duplicate "
      "value: \"{zone, DoNotSchedule}\"" },
    { "volume timeout",
      "profiles:\n"
      "- pluginConfig:\n"
      "  - name: VolumeBinding\n"
      "    args:\n"
      "      bindTimeoutSeconds: -1\n",
      "config.yaml:7:27: profiles[0].pluginConfig[0].args.bindTimeoutSeconds: Invalid value: "
      "-1: invalid BindTimeoutSeconds, should not be a negative value" },
    { "affinity operator",
      "profiles:\n"
      "- pluginConfig:\n"
      "  - name: NodeAffinity\n"
      "    args:\n"
      "      addedAffinity:\n"
      "        requiredDuringSchedulingIgnoredDuringExecution:\n"
      "          nodeSelectorTerms:\n"
      "          - matchExpressions: [{key: zone, operator: Like}]\n",
      "config.yaml:10:54: "
      "profiles[0].pluginConfig[0].args.addedAffinity.requiredDuringSchedulingIgnoredDuringExec"
      "ution.nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: \"Like\": "
      "supported values: \"In\", \"NotIn\", \"Exists\", \"DoesNotExist\", \"Gt\", \"Lt\"" },
    { "affinity needs values",
      "profiles:\n"
      "- pluginConfig:\n"
      "  - name: NodeAffinity\n"
      "    args:\n"
      "      addedAffinity:\n"
      "        requiredDuringSchedulingIgnoredDuringExecution:\n"
      "          nodeSelectorTerms:\n"
      "          - matchExpressions:\n"
      "            - {key: a, operator: In}\n"
      "            - {key: b, operator: NotIn, values: []}\n",
      "config.yaml:11:15: "
      "[profiles[0].pluginConfig[0].args.addedAffinity.requiredDuringSchedulingIgnoredDuringExe"
      "cution.nodeSelectorTerms[0].matchExpressions[0].values: Invalid value: null: for 'in', "
      "'notin' operators, values set can't be empty, "
      "profiles[0].pluginConfig[0].args.addedAffinity.requiredDuringSchedulingIgnoredDuringExec"
      "ution.nodeSelectorTerms[0].matchExpressions[1].values: Invalid value: []: for 'in', "
      "'notin' operators, values set can't be empty]" },
    { "affinity needs no value, or one",
      "profiles:\n"
      "- pluginConfig:\n"
      "  - name: NodeAffinity\n"
      "    args:\n"
      "      addedAffinity:\n"
      "        requiredDuringSchedulingIgnoredDuringExecution:\n"
      "          nodeSelectorTerms:\n"
      "          - matchExpressions:\n"
      "            - {key: c, operator: Exists, values: [x]}\n"
      "            - {key: d, operator: Gt, values: ['1', '2']}\n"
      "            - {key: e, operator: Lt, values: [x]}\n",
      "config.yaml:11:50: "
      "[profiles[0].pluginConfig[0].args.addedAffinity.requiredDuringSchedulingIgnoredDuringExe"
      "cution.nodeSelectorTerms[0].matchExpressions[0].values: Invalid value: [\"x\"]: values "
      "set must be empty for exists and does not exist, "
      "profiles[0].pluginConfig[0].args.addedAffinity.requiredDuringSchedulingIgnoredDuringExec"
      "ution.nodeSelectorTerms[0].matchExpressions[1].values: Invalid value: [\"1\",\"2\"]: for "
      "'Gt', 'Lt' operators, exactly one value is required, "
      "profiles[0].pluginConfig[0].args.addedAffinity.requiredDuringSchedulingIgnoredDuringExec"
      "ution.nodeSelectorTerms[0].matchExpressions[2].values[0]: Invalid value: \"x\": for 'Gt', "
      "'Lt' operators, the value must be an integer]" },
    { "affinity names",
      "profiles:\n"
      "- pluginConfig:\n"
      "  - name: NodeAffinity\n"
      "    args:\n"
      "      addedAffinity:\n"
      "        preferredDuringSchedulingIgnoredDuringExecution:\n"
      "        - weight: 1\n"
      "          preference:\n"
      "            matchExpressions: [{key: -a, operator: In, values: [-b]}]\n",
      "config.yaml:9:11: "
      "[profiles[0].pluginConfig[0].args.addedAffinity.preferredDuringSchedulingIgnoredDuringEx"
      "ecution[0].matchExpressions[0].key: Invalid value: \"-a\": name part must consist of "
      "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
      "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
      "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'), "
      "profiles[0].pluginConfig[0].args.addedAffinity.preferredDuringSchedulingIgnoredDuringExe"
      "cution[0].matchExpressions[0].values[0][-a]: Invalid value: \"-b\": a valid label must be "
      "an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start "
      "and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', "
      "regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')]" },
    { "affinity fields",
      "profiles:\n"
      "- pluginConfig:\n"
      "  - name: NodeAffinity\n"
      "    args:\n"
      "      addedAffinity:\n"
      "        preferredDuringSchedulingIgnoredDuringExecution:\n"
      "        - weight: 0\n"
      "          preference:\n"
      "            matchFields: [{key: x, operator: Exists}]\n"
      "        - weight: 1\n"
      "          preference:\n"
      "            matchFields: [{key: metadata.name, operator: In, values: [a, b]}, {key: x, operator: "
      "Exists}]\n",
      "config.yaml:12:11: "
      "[profiles[0].pluginConfig[0].args.addedAffinity.preferredDuringSchedulingIgnoredDuringEx"
      "ecution[1].matchFields[0].values: Invalid value: [\"a\",\"b\"]: must have one element, "
      "profiles[0].pluginConfig[0].args.addedAffinity.preferredDuringSchedulingIgnoredDuringExe"
      "cution[1].matchFields[1].operator: Unsupported value: \"Exists\": supported values: \"In\", "
      "\"NotIn\"]" },
    { "unknown argument",
      "profiles:\n"
      "- pluginConfig:\n"
      "  - name: NodeResourcesFit\n"
      "    args:\n"
      "      scoringStrategy:\n"
      "        requestedToCapacityRatio:\n"
      "          shape: [{Score: 2}]\n",
      "config.yaml:9:20: "
      "profiles[0].pluginConfig[0].args.scoringStrategy.requestedToCapacityRatio.shape[0].Score"
      ": unknown field; did you mean \"score\"?" },
    { "unknown field of an API type",
      "profiles:\n"
      "- pluginConfig:\n"
      "  - name: NodeAffinity\n"
      "    args:\n"
      "      addedAffinity:\n"
      "        required: {}\n",
      "config.yaml:8:9: profiles[0].pluginConfig[0].args.addedAffinity.required: unknown field" },
    { "arguments of another plugin",
      "profiles:\n"
      "- pluginConfig:\n"
      "  - name: NodeAffinity\n"
      "    args:\n"
      "      kind: InterPodAffinityArgs\n",
      "config.yaml:7:13: profiles[0].pluginConfig[0].args: args for plugin NodeAffinity were "
      "not of type NodeAffinityArgs.kubescheduler.config.k8s.io, got "
      "InterPodAffinityArgs.kubescheduler.config.k8s.io" },
    { "arguments of another group",
      "profiles:\n"
      "- pluginConfig:\n"
      "  - name: NodeAffinity\n"
      "    args:\n"
      "      apiVersion: example.com/v1\n",
      "config.yaml:7:19: profiles[0].pluginConfig[0].args.apiVersion: expected "
      "\"kubescheduler.config.k8s.io/v1\", got \"example.com/v1\"" },
    { "arguments are no object",
      "profiles:\n"
      "- pluginConfig:\n"
      "  - name: NodeAffinity\n"
      "    args:\n"
      "      - 1\n",
      "config.yaml:7:7: profiles[0].pluginConfig[0].args: expected an object, got a list" },
};

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

static void check_resources(const struct resource_weight *resources, uint32_t len)
{
    assert_int_equal(len, 2);
    assert_str(resources[0].name, "cpu");
    assert_str(resources[1].name, "memory");
    assert_true(resources[0].weight == 1 && resources[1].weight == 1);
}

/* Missing, null and empty arguments all mean the defaults. */
static void test_defaults(void **state)
{
    (void)state;
    static const struct {
        const char *config;
    } nothing[] = {
        { "" },
        { "profiles:\n"
          "- pluginConfig:\n"
          "  - {name: DefaultPreemption, args: null}\n"
          "  - {name: NodeResourcesFit}\n"
          "  - {name: VolumeBinding, args: {bindTimeoutSeconds: null, shape: null}}\n"
          "  - {name: NodeAffinity, args: {}}\n" },
        { "profiles:\n"
          "- pluginConfig:\n"
          "  - {name: DynamicResources, args: {filterTimeout: null}}\n"
          "  - {name: PodTopologySpread, args: {defaultingType: '', defaultConstraints: []}}\n" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(nothing); i++) {
        _cleanup_(loaded_release) struct loaded loaded;
        if (loaded_from(&loaded, &stock_env, CONFIG_HEAD, nothing[i].config) < 0)
            fail_msg("%s", loaded.err.text);
        const struct profile_config *profile = &loaded.config.profiles.items[0];
        const struct default_preemption_args *preemption = profile_args(profile, "DefaultPreemption");
        assert_int_equal(preemption->min_candidate_nodes_percentage, 10);
        assert_int_equal(preemption->min_candidate_nodes_absolute, 100);
        const struct dynamic_resources_args *dynamic = profile_args(profile, "DynamicResources");
        assert_true(dynamic->filter_timeout_ns.set && dynamic->binding_timeout_ns.set);
        assert_int_equal(dynamic->filter_timeout_ns.value, 10 * NS_PER_SECOND);
        assert_int_equal(dynamic->binding_timeout_ns.value, 600 * NS_PER_SECOND);
        const struct inter_pod_affinity_args *affinity = profile_args(profile, "InterPodAffinity");
        assert_int_equal(affinity->hard_pod_affinity_weight, 1);
        assert_false(affinity->ignore_preferred_terms_of_existing_pods);
        assert_null(
            ((const struct node_affinity_args *)profile_args(profile, "NodeAffinity"))->added_affinity);
        const struct node_resources_balanced_args *balanced =
            profile_args(profile, "NodeResourcesBalancedAllocation");
        check_resources(balanced->resources.items, balanced->resources.len);
        const struct node_resources_fit_args *fit = profile_args(profile, "NodeResourcesFit");
        assert_int_equal(fit->scoring_strategy->kind, SCORING_LEAST_ALLOCATED);
        check_resources(fit->scoring_strategy->resources.items, fit->scoring_strategy->resources.len);
        const struct pod_topology_spread_args *spread = profile_args(profile, "PodTopologySpread");
        assert_str(spread->defaulting_type, "System");
        assert_int_equal(spread->default_constraints.len, 0);
        const struct volume_binding_args *volumes = profile_args(profile, "VolumeBinding");
        assert_int_equal(volumes->bind_timeout_seconds, 600);
        assert_int_equal(volumes->shape.len, 2); /* from 0: 10 to 100: 0 */
    }
}

static void test_resources(void **state)
{
    (void)state;
    _cleanup_(loaded_release) struct loaded loaded;
    int r =
        loaded_from(&loaded, &stock_env, CONFIG_HEAD,
                    "profiles:\n"
                    "- pluginConfig:\n"
                    "  - name: NodeResourcesFit\n"
                    "    args:\n"
                    "      apiVersion: kubescheduler.config.k8s.io/v1\n"
                    "      kind: NodeResourcesFitArgs\n"
                    "      ignoredResources: [x.io/a, x.io/b]\n"
                    "      ignoredResourceGroups: [y.io]\n"
                    "      scoringStrategy:\n"
                    "        type: RequestedToCapacityRatio\n"
                    "        resources: [{name: x.io/a, weight: 7}, {name: cpu}, {name: memory, weight: 0}]\n"
                    "        requestedToCapacityRatio:\n"
                    "          shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]\n"
                    "  - name: NodeResourcesBalancedAllocation\n"
                    "    args: {resources: [{name: x.io/a}]}\n");
    if (r < 0)
        fail_msg("%s", loaded.err.text);
    const struct node_resources_fit_args *fit =
        profile_args(&loaded.config.profiles.items[0], "NodeResourcesFit");
    const struct scoring_strategy *strategy = fit->scoring_strategy;
    assert_int_equal(fit->ignored_resources.len, 2);
    assert_str(fit->ignored_resource_groups.items[0], "y.io");
    assert_int_equal(strategy->kind, SCORING_REQUESTED_TO_CAPACITY);
    assert_int_equal(strategy->resources.len, 3);
    assert_int_equal(strategy->resources.items[0].weight, 7);
    assert_int_equal(strategy->resources.items[1].weight, 1);
    assert_int_equal(strategy->resources.items[2].weight, 1);
    assert_int_equal(strategy->requested_to_capacity_ratio->shape.len, 2);
    assert_int_equal(strategy->requested_to_capacity_ratio->shape.items[1].utilization, 100);
    assert_int_equal(strategy->requested_to_capacity_ratio->shape.items[1].score, 10);
    const struct node_resources_balanced_args *balanced =
        profile_args(&loaded.config.profiles.items[0], "NodeResourcesBalancedAllocation");
    assert_int_equal(balanced->resources.len, 1);
    assert_int_equal(balanced->resources.items[0].weight, 1);
}

static void test_api_types(void **state)
{
    (void)state;
    _cleanup_(loaded_release) struct loaded loaded;
    int r = loaded_from(
        &loaded, &stock_env, CONFIG_HEAD,
        "profiles:\n"
        "- pluginConfig:\n"
        "  - name: NodeAffinity\n"
        "    args:\n"
        "      addedAffinity:\n"
        "        requiredDuringSchedulingIgnoredDuringExecution:\n"
        "          nodeSelectorTerms:\n"
        "          - matchExpressions: [{key: zone, operator: In, values: [a, b]}]\n"
        "            matchFields: [{key: metadata.name, operator: NotIn, values: [node]}]\n"
        "          - {}\n"
        "        preferredDuringSchedulingIgnoredDuringExecution:\n"
        "        - weight: 3\n"
        "          preference: {matchExpressions: [{key: gen, operator: Gt, values: ['5']}]}\n"
        "  - name: PodTopologySpread\n"
        "    args:\n"
        "      defaultingType: List\n"
        "      defaultConstraints:\n"
        "      - {maxSkew: 2, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, minDomains: 3,\n"
        "         nodeAffinityPolicy: Ignore, nodeTaintsPolicy: Honor, matchLabelKeys: [k]}\n");
    if (r < 0)
        fail_msg("%s", loaded.err.text);
    const struct profile_config *profile = &loaded.config.profiles.items[0];
    const struct node_affinity *affinity =
        ((const struct node_affinity_args *)profile_args(profile, "NodeAffinity"))->added_affinity;
    assert_int_equal(affinity->required->terms.len, 2);
    const struct node_selector_term *term = &affinity->required->terms.items[0];
    assert_int_equal(term->match_expressions.items[0].op, OP_IN);
    assert_int_equal(term->match_expressions.items[0].values.len, 2);
    assert_int_equal(term->match_fields.items[0].op, OP_NOT_IN);
    assert_int_equal(affinity->preferred.items[0].weight, 3);
    assert_int_equal(affinity->preferred.items[0].preference.match_expressions.items[0].op, OP_GT);
    const struct pod_topology_spread_args *spread = profile_args(profile, "PodTopologySpread");
    const struct spread_constraint *constraint = &spread->default_constraints.items[0];
    assert_int_equal(constraint->max_skew, 2);
    assert_str(constraint->topology_key, "zone");
    assert_str(constraint->when_unsatisfiable, "ScheduleAnyway");
    assert_true(constraint->min_domains.set && constraint->min_domains.value == 3);
    assert_str(constraint->node_affinity_policy, "Ignore");
    assert_str(constraint->node_taints_policy, "Honor");
    assert_int_equal(constraint->match_label_keys.len, 1);
    assert_null(constraint->selector);
}

struct own_args {
    int32_t limit;
    struct str_list zones;
};

#define T struct own_args
static const struct record_field own_fields[] = {
    F("limit", 0, INT32, limit),
    F("zones", 0, STRS, zones),
};
TYPE(own)
#undef T

/* A plugin that is not built in reads its arguments with its own table. */
static void test_own_table(void **state)
{
    (void)state;
    _cleanup_(loaded_release) struct loaded loaded;
    assert_int_equal(loaded_from(&loaded, &stock_env, CONFIG_HEAD,
                                 "profiles:\n"
                                 "- pluginConfig:\n"
                                 "  - name: Own\n"
                                 "    args: {zones: [a, b]}\n"
                                 "  - name: Wrong\n"
                                 "    args: {zone: a}\n"),
                     0);
    const struct profile_config *profile = &loaded.config.profiles.items[0];
    const struct plugin_args *given = profile_plugin_args(profile, STR("Own"));
    struct own_args args = { .limit = 5 };
    assert_null(given->typed);
    assert_int_equal(config_read(given->doc, given->raw, &own_type, NULL, &loaded.arena, &args, &loaded.err),
                     0);
    assert_int_equal(args.limit, 5);
    assert_str(args.zones.items[1], "b");
    given = profile_plugin_args(profile, STR("Wrong"));
    assert_int_equal(config_read(given->doc, given->raw, &own_type, NULL, &loaded.arena, &args, &loaded.err),
                     -EINVAL);
    assert_string_equal(loaded.err.text, "config.yaml:8:12: zone: unknown field; did you mean \"zones\"?");
}

/* Without StorageCapacityScoring, which is on from 1.37 on, there is no shape of volumes. */
static void test_no_shape(void **state _unused_)
{
    static const char *const shapes[][2] = {
        { "[{utilization: 0, score: 10}]", "[{\"Utilization\":0,\"Score\":10}]" },
        { "[]", "[]" },
    };
    struct features features;
    features_default(&features, release_of(36), 0);
    const struct config_env env = { .catalog = &stock_catalog, .features = &features };
    for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
        char config[256], want[512];
        snprintf(config, sizeof(config),
                 "profiles:\n- pluginConfig:\n  - name: VolumeBinding\n    args:\n      shape: %s\n",
                 shapes[i][0]);
        snprintf(
            want, sizeof(want),
            "config.yaml:7:14: profiles[0].pluginConfig[0].args.shape: Invalid value: %s: unexpected field "
            "`shape`, remove it or turn on the feature gate StorageCapacityScoring",
            shapes[i][1]);
        struct loaded loaded;
        assert_int_equal(loaded_from(&loaded, &env, CONFIG_HEAD, config), -EINVAL);
        assert_string_equal(loaded.err.text, want);
        loaded_release(&loaded);
    }
}

/* Arguments that depend on feature gates. */
static void test_gates(void **state)
{
    (void)state;
    struct features features;
    features_default(&features, NULL, 0);
    features.enabled[FEATURE_StorageCapacityScoring] = true;
    features.enabled[FEATURE_DRASchedulerFilterTimeout] = false;
    features.enabled[FEATURE_DRADeviceBindingConditions] = false;
    const struct config_env env = { .catalog = &stock_catalog, .features = &features };
    struct loaded loaded;
    assert_int_equal(loaded_from(&loaded, &env, CONFIG_HEAD, ""), 0);
    const struct profile_config *profile = &loaded.config.profiles.items[0];
    const struct volume_binding_args *volumes = profile_args(profile, "VolumeBinding");
    assert_int_equal(volumes->shape.len, 2);
    assert_int_equal(volumes->shape.items[0].score, 10);
    const struct dynamic_resources_args *dynamic = profile_args(profile, "DynamicResources");
    assert_false(dynamic->filter_timeout_ns.set || dynamic->binding_timeout_ns.set);
    loaded_release(&loaded);
    assert_int_equal(
        loaded_from(&loaded, &env, CONFIG_HEAD,
                    "profiles:\n- pluginConfig:\n"
                    "  - {name: DynamicResources, args: {filterTimeout: 1s, bindingTimeout: 1s}}\n"),
        -EINVAL);
    assert_string_equal(
        loaded.err.text,
        "config.yaml:5:52: [profiles[0].pluginConfig[0].args.filterTimeout: Forbidden: "
        "DRASchedulingFilterTimeout "
        "feature gate is disabled, profiles[0].pluginConfig[0].args.bindingTimeout: Forbidden: "
        "DRADeviceBindingConditions or DRAResourceClaimDeviceStatus feature gate is disabled]");
    loaded_release(&loaded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rejected),  cmocka_unit_test(test_defaults),  cmocka_unit_test(test_resources),
        cmocka_unit_test(test_api_types), cmocka_unit_test(test_own_table), cmocka_unit_test(test_gates),
        cmocka_unit_test(test_no_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
