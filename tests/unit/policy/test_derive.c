/* The pod that is decided: its own spec, and what its policy adds. The object itself stays as it is. */
#include "read.h"

#include "api/labels.h"

#define REQUIRED(terms) \
    "nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [" terms "]}}"
#define IS(key, value) "{matchExpressions: [{key: " key ", operator: In, values: [" value "]}]}"

struct case_ {
    struct fixture f;
    struct policies policies;
    struct scheduler_config config;
    struct profile_config profile;
};

static void begin(struct case_ *c, const char *spec)
{
    *c = (struct case_){ .profile = { .scheduler_name = STR("default-scheduler") } };
    FIXTURE_BARE(&c->f);
    c->config.profiles.items = &c->profile;
    c->config.profiles.len = 1;
    policies_init(&c->policies, &c->f.cluster, &c->config);
    char text[2048];
    snprintf(text, sizeof(text), POLICY("default-policy", "%s"), spec);
    struct policy_set *set = must_read(text);
    policies_use(&c->policies, set);
    policy_set_unref(set);
}

static void end(struct case_ *c)
{
    policies_release(&c->policies);
    fixture_release(&c->f);
}

static const struct pod *derived(struct case_ *c, const char *spec)
{
    fixture_loadf(&c->f, "{kind: Pod, metadata: {name: p, labels: {app: web}}, spec: {%s}}", spec);
    return c->f.last_pod->api;
}

/* Two alternatives of the pod and two of the policy: all four combinations, and no others. */
static void test_required_affinity(void **state)
{
    (void)state;
    struct case_ c;
    begin(&c, REQUIRED(IS("zone", "a") ", " IS("disk", "ssd")));
    const struct pod *pod =
        derived(&c, "affinity: {" REQUIRED(IS("gpu", "x") ", " IS("gpu", "v") ", {}") "}");
    const struct node_selector *selector = pod->spec.affinity->node->required;
    static const char *const zones[] = { "a", "b" }, *const disks[] = { "ssd", "hdd" },
                             *const gpus[] = { "x", "v", "z" };
    assert_int_equal(selector->terms.len, 4); /* an empty term matches nothing */
    for (int z = 0; z < 2; z++)
        for (int d = 0; d < 2; d++)
            for (int g = 0; g < 3; g++) {
                struct pair labels[] = { { STR("disk"), str_from(disks[d]) },
                                         { STR("gpu"), str_from(gpus[g]) },
                                         { STR("zone"), str_from(zones[z]) } };
                bool want = (z == 0 || d == 0) && g < 2;
                assert_int_equal(node_selector_matches(selector, STR("n"), &(struct str_map){ labels, 3 }),
                                 want);
            }
    assert_int_equal(pod_info_object(c.f.last_pod)->spec.affinity->node->required->terms.len, 3);
    end(&c);
}

static void test_affinity_of_the_policy_alone(void **state)
{
    (void)state;
    struct case_ c;
    begin(&c, REQUIRED(IS("zone", "a")));
    assert_int_equal(derived(&c, "")->spec.affinity->node->required->terms.len, 1);
    assert_null(pod_info_object(c.f.last_pod)->spec.affinity);
    const struct pod *pod =
        derived(&c, "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
                    "[{topologyKey: zone, labelSelector: {}}]}}");
    assert_non_null(pod->spec.affinity->pod);
    assert_int_equal(pod->spec.affinity->node->required->terms.len, 1);
    end(&c);
}

static void test_lists(void **state)
{
    (void)state;
    struct case_ c;
    begin(
        &c,
        "tolerations: [{key: spot, operator: Exists}], nodeAffinity: "
        "{preferredDuringSchedulingIgnoredDuringExecution: "
        "[{weight: 80, preference: " IS(
            "type",
            "fast") "}]}, topologySpreadConstraints: "
                    "[{maxSkew: 5, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {}}, "
                    "{maxSkew: 6, topologyKey: rack, whenUnsatisfiable: DoNotSchedule, labelSelector: {}}]");
    const struct pod *pod =
        derived(&c, "tolerations: [{key: own}], affinity: {nodeAffinity: "
                    "{preferredDuringSchedulingIgnoredDuringExecution: "
                    "[{weight: 1, preference: " IS(
                        "a", "b") "}]}}, topologySpreadConstraints: "
                                  "[{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}, "
                                  "{maxSkew: 2, topologyKey: rack, whenUnsatisfiable: ScheduleAnyway}]");
    assert_int_equal(pod->spec.tolerations.len, 2);
    assert_str(pod->spec.tolerations.items[1].key, "spot");
    assert_int_equal(pod->spec.affinity->node->preferred.len, 2);
    assert_int_equal(pod->spec.affinity->node->preferred.items[1].weight, 80);
    assert_int_equal(pod->spec.spread.len, 3); /* its own one for zones counts */
    assert_int_equal(pod->spec.spread.items[0].max_skew, 1);
    assert_int_equal(pod->spec.spread.items[2].max_skew, 6);
    assert_int_equal(pod_info_object(c.f.last_pod)->spec.tolerations.len, 1);
    end(&c);
}

static void test_priority(void **state)
{
    (void)state;
    struct case_ c;
    begin(&c, "priorityClass: batch");
    assert_int_equal(derived(&c, "priority: 7")->spec.priority.value, 7); /* there is no such class */
    fixture_load(&c.f, "{kind: PriorityClass, metadata: {name: batch}, value: -5, preemptionPolicy: Never}");
    assert_false(policies_is_current(&c.policies, c.f.last_pod));
    const struct pod *pod = derived(&c, "priority: 7");
    assert_int_equal(pod->spec.priority.value, -5);
    assert_str(pod->spec.preemption_policy, "Never");
    assert_int_equal(c.f.last_pod->priority, -5);
    assert_true(policies_is_current(&c.policies, c.f.last_pod));
    end(&c);
}

static void test_other_schedulers(void **state)
{
    (void)state;
    struct case_ c;
    begin(&c, "tolerations: [{operator: Exists}]");
    const struct pod *pod = derived(&c, "schedulerName: another");
    assert_null(pod->policy);
    assert_ptr_equal(pod, pod_info_object(c.f.last_pod));
    end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_required_affinity),
        cmocka_unit_test(test_affinity_of_the_policy_alone),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_priority),
        cmocka_unit_test(test_other_schedulers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
