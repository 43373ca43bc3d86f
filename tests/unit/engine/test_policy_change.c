/* Policies, namespaces and priority classes change while pods wait, are being bound, or run. */
#include "fake_host.h"

#include "engine/binding.h"
#include "plugins/registry.h"

#define MAP(policies) \
    "{kind: ConfigMap, metadata: {name: policies, namespace: system}, data: {p.yaml: \"" policies "\"}}"
#define POLICY(name, spec) \
    "---\\napiVersion: scheduling.k8s.io/v1\\nkind: SchedulingPolicy\\nmetadata: {name: " name \
    "}\\nspec: {" spec "}\\n"
#define LABELLED(policy) ", labels: {scheduling.berth.dev/policy: " policy "}"
#define ON(pool) \
    "nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: " \
    "[{matchExpressions: [{key: pool, " \
    "operator: In, values: [" pool "]}]}]}}"
#define NODE_IN(name, pool) \
    "{kind: Node, metadata: {name: " name ", labels: {pool: " pool \
    "}}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 20}}}"

static struct policy_news last;
static char last_error[sizeof(((struct error *)0)->text)];
static int told;

static void on_policies(void *context, const struct policy_news *news)
{
    (void)context;
    last = *news;
    snprintf(last_error, sizeof(last_error), "%s", news->error ? news->error->text : "");
    told++;
}

static void begin(struct fake_host *h)
{
    host_begin(h, NULL, &builtin_plugins);
    h->e.engine.host.on_policies = on_policies;
    told = 0;
}

static const struct pod *pod_of(const struct fake_host *h, const char *name)
{
    return fixture_pod(&h->e.f, name)->api;
}

/* Conditions are written, backoffs end. */
static void pass(struct fake_host *h)
{
    while (host_open(h, EFFECT_POD_STATUS))
        host_answer(h, host_wants(h, EFFECT_POD_STATUS), ANSWER_DONE);
    host_pass(h, 60 * SECOND);
}

static void test_without_policies(void **state)
{
    (void)state;
    struct fake_host h;
    begin(&h);
    fixture_load(&h.e.f, NODE_IN("a", "red"));
    fixture_load(&h.e.f, POD_WITH("p", "1", "1", LABELLED("x"), ""));
    assert_null(pod_of(&h, "p")->policy);
    assert_null(fixture_pod(&h.e.f, "p")->shared);
    assert_null(h.e.engine.policies);
    host_end(&h);
}

/* Pods that wait are decided by the new policies; a set that means the same changes nothing; a bad one neither. */
static void test_waiting_pods(void **state)
{
    (void)state;
    struct fake_host h;
    begin(&h);
    fixture_load(&h.e.f, NODE_IN("a", "red"));
    fixture_load(&h.e.f, POD_WITH("p", "1", "1", LABELLED("x"), ""));
    fixture_load(&h.e.f, MAP(POLICY("x", ON("blue"))));
    assert_int_equal(last.result, POLICIES_APPLIED);
    assert_int_equal(last.pods, 1);
    assert_str(pod_of(&h, "p")->policy->name, "x");
    host_settle(&h);
    assert_place(&h, "p", QUEUE_UNSCHEDULABLE);
    assert_true(host_has_event(&h, "FailedScheduling", "p"));
    fixture_load(&h.e.f, MAP(POLICY("x", ON("blue")) "# the same"));
    assert_int_equal(last.result, POLICIES_UNCHANGED);
    fixture_load(&h.e.f, MAP(POLICY("x", ON("red")) POLICY("z", "colour: red")));
    assert_int_equal(last.result, POLICIES_REFUSED);
    assert_non_null(strstr(last_error, "p.yaml:10:8: spec.colour: unknown field"));
    assert_int_equal(last.set->len, 1);
    assert_place(&h, "p", QUEUE_UNSCHEDULABLE);
    fixture_load(&h.e.f, MAP(POLICY("x", ON("red"))));
    assert_int_equal(last.result, POLICIES_APPLIED);
    pass(&h);
    struct wanted *bind = host_wants(&h, EFFECT_BIND);
    assert_str(bind->effect.name, "p");
    host_answer(&h, bind, ANSWER_DONE);
    bool named = false;
    vec_for(&h.wanted, wanted)
        named |= (*wanted)->effect.kind == EFFECT_EVENT &&
                 str_is((*wanted)->effect.event.note,
                        "Successfully assigned default/p to a (scheduling policy x)");
    assert_true(named);
    host_end(&h);
}

/* A label that changes is another policy, and the pod is tried again: no hint would know of its affinity. */
static void test_another_label(void **state)
{
    (void)state;
    struct fake_host h;
    begin(&h);
    fixture_load(&h.e.f, NODE_IN("a", "red"));
    fixture_load(&h.e.f, MAP(POLICY("x", ON("blue")) POLICY("z", ON("red"))));
    fixture_load(&h.e.f, POD_WITH("p", "1", "1", LABELLED("x"), ""));
    host_settle(&h);
    assert_place(&h, "p", QUEUE_UNSCHEDULABLE);
    fixture_load(&h.e.f, POD_WITH("p", "2", "1", LABELLED("z"), ""));
    pass(&h);
    assert_str(host_wants(&h, EFFECT_BIND)->effect.name, "p");
    host_end(&h);
}

/* Weights are a variant of the profile, for the pods of the policy alone. */
static void test_weights(void **state)
{
    (void)state;
    struct fake_host h;
    begin(&h);
    fixture_load(&h.e.f, NODE_IN("a", "red"));
    fixture_load(&h.e.f, POD_WITH("p", "1", "100", LABELLED("x"), ""));
    fixture_load(&h.e.f, POD_WITH("q", "1", "100", "", ""));
    uint32_t before = h.e.engine.profiles_len;
    fixture_load(&h.e.f, MAP(POLICY("x", "pluginWeights: {ImageLocality: 0, TaintToleration: 7}")));
    assert_int_equal(h.e.engine.profiles_len, before + 1);
    const struct profile *variant = engine_profile(&h.e.engine, pod_of(&h, "p")),
                         *own = engine_profile(&h.e.engine, pod_of(&h, "q"));
    assert_str(variant->variant, "x");
    assert_int_equal(own->variant.len, 0);
    assert_int_equal(profile_find(variant, "TaintToleration")->weight, 7);
    assert_int_equal(profile_find(own, "TaintToleration")->weight, 3);
    assert_int_equal(variant->points[POINT_SCORE].len, own->points[POINT_SCORE].len - 1);
    assert_ptr_equal(profile_find(variant, "NodeAffinity")->self, profile_find(own, "NodeAffinity")->self);
    assert_ptr_not_equal(fixture_pod(&h.e.f, "p")->class, fixture_pod(&h.e.f, "q")->class);
    host_settle(&h);
    /* Another label: another profile decides it. */
    fixture_load(&h.e.f, POD_WITH("p", "2", "1", "", ""));
    assert_int_equal(queue_find(&h.e.engine.queue, fixture_pod(&h.e.f, "p"))->profile, 0);
    pass(&h);
    assert_str(host_wants(&h, EFFECT_BIND)->effect.name, "p");
    engine_remove_object(&h.e.engine, KIND_CONFIG_MAP, STR("system"), STR("policies"), h.e.now_ns);
    assert_int_equal(h.e.engine.profiles_len, before);
    host_end(&h);
}

/* A pod that is being bound gets where it was decided to go. If it does not, the policies in effect count. */
static void test_a_binding_under_way(void **state)
{
    (void)state;
    struct fake_host h;
    begin(&h);
    fixture_load(&h.e.f, NODE_IN("a", "red"));
    fixture_load(&h.e.f, MAP(POLICY("x", ON("red"))));
    fixture_load(&h.e.f, POD_WITH("p", "1", "1", LABELLED("x"), ""));
    host_settle(&h);
    struct wanted *bind = host_wants(&h, EFFECT_BIND);
    const struct pod *decided = pod_of(&h, "p");
    fixture_load(&h.e.f, MAP(POLICY("x", ON("blue"))));
    assert_int_equal(last.result, POLICIES_APPLIED);
    assert_ptr_equal(pod_of(&h, "p"), decided);
    host_answer(&h, bind, ANSWER_REFUSED);
    host_settle(&h);
    assert_ptr_not_equal(pod_of(&h, "p"), decided);
    pass(&h);
    assert_place(&h, "p", QUEUE_UNSCHEDULABLE);
    host_end(&h);
}

/* A pod that runs has the priority of its policy, also after a change. */
static void test_running_pods(void **state)
{
    (void)state;
    struct fake_host h;
    begin(&h);
    fixture_load(&h.e.f, NODE_IN("a", "red"));
    fixture_load(&h.e.f, "{kind: PriorityClass, metadata: {name: high}, value: 1000}");
    fixture_load(&h.e.f, POD_WITH("p", "1", "1", LABELLED("x"), ", nodeName: a"));
    assert_int_equal(fixture_pod(&h.e.f, "p")->priority, 0);
    fixture_load(&h.e.f, MAP(POLICY("x", "priorityClass: high")));
    assert_int_equal(fixture_pod(&h.e.f, "p")->priority, 1000);
    assert_int_equal(host_used_cpu(&h, "a"), 1000);
    fixture_load(&h.e.f, "{kind: PriorityClass, metadata: {name: high}, value: 50}");
    host_settle(&h);
    assert_int_equal(fixture_pod(&h.e.f, "p")->priority, 50);
    fixture_load(&h.e.f, POD_WITH("p", "2", "1", "", ", nodeName: a"));
    assert_int_equal(fixture_pod(&h.e.f, "p")->priority, 0);
    host_end(&h);
}

static void test_namespaces(void **state)
{
    (void)state;
    struct fake_host h;
    begin(&h);
    fixture_load(&h.e.f, NODE_IN("a", "red"));
    fixture_load(&h.e.f, MAP(POLICY("default-policy", ON("blue")) POLICY("x", ON("red"))));
    fixture_load(&h.e.f, POD("p", "1", ""));
    host_settle(&h);
    assert_place(&h, "p", QUEUE_UNSCHEDULABLE);
    fixture_load(&h.e.f,
                 "{kind: Namespace, metadata: {name: default, labels: {scheduling.berth.dev/policy: x}}}");
    pass(&h);
    assert_str(host_wants(&h, EFFECT_BIND)->effect.name, "p");
    host_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_policies),    cmocka_unit_test(test_waiting_pods),
        cmocka_unit_test(test_another_label),       cmocka_unit_test(test_weights),
        cmocka_unit_test(test_a_binding_under_way), cmocka_unit_test(test_running_pods),
        cmocka_unit_test(test_namespaces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
