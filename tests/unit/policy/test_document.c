/* Documents: what is read of them, and one sentence with place and field for each thing that is wrong. */
#include "read.h"

static void test_fields(void **state)
{
    (void)state;
    struct policy_set *set =
        must_read(POLICY("p", "resourceWeights: {storage: 20, cpu: 50, memory: 30}, priorityClass: batch, "
                              "pluginWeights: {ImageLocality: 0}, tolerations: [{key: a, operator: Exists}], "
                              "podSelector: {matchLabels: {app: web}}"));
    const struct policy *policy = policy_set_find(set, STR("p"));
    assert_non_null(policy);
    assert_int_equal(policy->spec.resource_weights.len, 3);
    const struct named_weight *weights = policy->spec.resource_weights.items;
    assert_str(weights[2].name, "ephemeral-storage");
    assert_int_equal(weights[2].weight, 20);
    assert_int_equal(policy->spec.plugin_weights.items[0].weight, 0);
    assert_str(policy->spec.priority_class, "batch");
    assert_true(policy->shown.weighs);
    assert_false(policy->is_empty);
    policy_set_unref(set);
}

static void test_empty(void **state)
{
    (void)state;
    static const char *const texts[] = { "", "# nothing\n", "---\n---\n" };
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct policy_set *set = must_read(texts[i]);
        assert_int_equal(set->len, 0);
        policy_set_unref(set);
    }
    struct policy_set *set = must_read(POLICY("p", "podSelector: {}"));
    assert_true(set->items[0].is_empty);
    policy_set_unref(set);
}

static const struct {
    const char *text, *sentence;
} wrong[] = {
    { "[]", "p.yaml:1:1: expected a SchedulingPolicy object, got a list" },
    { "kind: Pod\n", "p.yaml:1:7: kind: expected \"SchedulingPolicy\", got \"Pod\"" },
    { "metadata: {name: a}\n", "p.yaml:1:1: kind: expected \"SchedulingPolicy\", but the field is missing" },
    { "kind: SchedulingPolicy\napiVersion: v1\n",
      "p.yaml:2:13: apiVersion: expected \"scheduling.k8s.io/v1\", got \"v1\"" },
    { POLICY("p", "resourceWeight: {cpu: 1}"),
      "p.yaml:4:8: spec.resourceWeight: unknown field; did you mean \"resourceWeights\"?" },
    { POLICY("p", "resourceWeights: {cpu: many}"),
      "p.yaml:4:31: spec.resourceWeights[cpu]: expected a whole number of 64 bits, got the string" },
    { POLICY("p", "resourceWeights: {cpu: 101}"),
      "p.yaml:4:31: spec.resourceWeights[cpu]: Invalid value: 101: must be between 1 and 100, inclusive" },
    { POLICY("p", "resourceWeights: {cpu: 0}"), "must be between 1 and 100, inclusive" },
    { POLICY("p", "resourceWeights: {storage: 1, ephemeral-storage: 1}"),
      "means ephemeral-storage, which has a weight of its own" },
    { POLICY("p", "resourceWeights: {memroy: 5}"), "p.yaml:4:34: spec.resourceWeights[memroy]: Invalid "
                                                   "value: \"memroy\": must be a standard resource type or "
                                                   "fully qualified" },
    { POLICY("p", "pluginWeights: {StartThrottle: 1}"),
      "spec.pluginWeights[StartThrottle]: Invalid value: \"StartThrottle\": no plugin of this name scores "
      "nodes" },
    { POLICY("p", "pluginWeights: {NodeName: 1}"),
      "p.yaml:4:34: spec.pluginWeights[NodeName]: Invalid value: \"NodeName\": no plugin of this name scores "
      "nodes" },
    { POLICY("p", "pluginWeights: {ImageLocality: -1}"), "must be between 0 and 100, inclusive" },
    { POLICY("''", ""), "p.yaml:3:18: metadata.name: Required value: pods name their policy by it" },
    { POLICY("a/b", ""), "p.yaml:3:18: metadata.name: Invalid value: \"a/b\"" },
    { POLICY("p", "") "---\n" POLICY("p", ""), "p.yaml:6:1: metadata.name: \"p\" is the name of another "
                                               "policy, at ConfigMap system/policies: p.yaml:1" },
    { POLICY("p", "nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: []}}"),
      "must have at least one node selector term" },
    { POLICY("p", "nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
                  "[{matchExpressions: [{key: a, operator: Near}]}]}}"),
      "nodeSelectorTerms[0].matchExpressions[0].operator" },
    { POLICY(
          "p",
          "nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 0, preference: {}}]}"),
      "weight: Invalid value: 0: must be in the range 1-100" },
    { POLICY("p", "tolerations: [{operator: Equal}]"), "operator must be Exists when `key` is empty" },
    { POLICY("p", "tolerations: [{key: a, operator: Exists, effect: Never}]"),
      "spec.tolerations[0].effect: Unsupported value: \"Never\"" },
    { POLICY(
          "p",
          "topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]"),
      "spec.topologySpreadConstraints[0].labelSelector: Required value: a constraint without one counts no "
      "pods" },
    { POLICY("p", "topologySpreadConstraints: [{topologyKey: zone, whenUnsatisfiable: Sometimes, "
                  "labelSelector: {}}]"),
      "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than 0" },
    { POLICY("p", "podSelector: {matchExpressions: [{key: a, operator: Gt}]}"),
      "spec.podSelector: Forbidden" },
    { "a: [", "p.yaml:" },
};

static void test_wrong(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        struct policy_set *set;
        struct error err;
        assert_true(read_text(wrong[i].text, &set, &err) < 0);
        if (!strstr(err.text, wrong[i].sentence))
            fail_msg("%s\n  got %s", wrong[i].sentence, err.text);
        if (strncmp(err.text, "ConfigMap system/policies: ", strlen("ConfigMap system/policies: ")) != 0)
            fail_msg("no place: %s", err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
