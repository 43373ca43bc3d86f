/* Tests of input/admission.c: defaults and rejections for a new pod. */
#include "unit/input/loaded.h"

#include "input/admission.h"

#define CLASS(name, rest) \
    "{kind: PriorityClass, apiVersion: scheduling.k8s.io/v1, metadata: {name: " name "}, " rest "}\n---\n"
#define POD(spec) "{kind: Pod, apiVersion: v1, metadata: {name: p}, spec: {" spec "}}\n---\n"

static void test_priority(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int32_t priority;
    } cases[] = {
        { POD(""), 0 },
        { POD("priority: 7"), 7 },
        { CLASS("c", "value: 5") POD("priorityClassName: c"), 5 },
        { CLASS("c", "value: 5") POD("priorityClassName: c, priority: 6"), 6 },
        { CLASS("d", "value: 9, globalDefault: true") CLASS("e", "value: 3, globalDefault: true") POD(""),
          3 },
        { POD("priorityClassName: system-node-critical"), 2000001000 },
        { POD("priorityClassName: system-cluster-critical"), 2000000000 },
        { POD("priorityClassName: lost"), 0 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct load load;
        struct admission admission;
        load_good(&load, cases[i].text);
        admission_init(&admission, &load);
        struct pod *pod = (struct pod *)load.objects[KIND_POD].items[0];
        admission_prioritize(&admission, pod);
        if (!pod->spec.priority.set || pod->spec.priority.value != cases[i].priority)
            fail_msg("%s: got %d", cases[i].text, pod->spec.priority.value);
        admission_release(&admission);
        load_release(&load);
    }
}

static void test_policy_of_the_class(void **state)
{
    (void)state;
    struct load load;
    struct admission admission;
    load_good(&load, CLASS("c", "value: 5, preemptionPolicy: Never"));
    admission_init(&admission, &load);
    struct pod pod = { .spec = { .priority_class_name = STR("c") } };
    admission_prioritize(&admission, &pod);
    assert_str(pod.spec.preemption_policy, "Never");
    admission_release(&admission);
    load_release(&load);
}

static void test_tolerations(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        uint32_t want;
    } cases[] = {
        { "", 2 },
        { "tolerations: [{operator: Exists}]", 1 },
        { "tolerations: [{operator: Exists, effect: NoSchedule}]", 3 },
        { "tolerations: [{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute}]", 2 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct load load;
        struct admission admission;
        char text[512];
        snprintf(text, sizeof(text), POD("%s"), cases[i].spec);
        load_good(&load, text);
        admission_init(&admission, &load);
        struct pod *pod = (struct pod *)load.objects[KIND_POD].items[0];
        admission_admit(&admission, pod, &load.arena);
        if (pod->spec.tolerations.len != cases[i].want)
            fail_msg("%s: %u tolerations", cases[i].spec, pod->spec.tolerations.len);
        admission_release(&admission);
        load_release(&load);
    }
}

static void test_label_keys(void **state)
{
    (void)state;
    struct load load;
    struct admission admission;
    load_good(&load, "{kind: Pod, apiVersion: v1, metadata: {name: p, labels: {v: '1'}}, spec: "
                     "{topologySpreadConstraints: "
                     "[{maxSkew: 1, topologyKey: k, whenUnsatisfiable: DoNotSchedule, labelSelector: {}, "
                     "matchLabelKeys: [v, absent]}], affinity: {podAffinity: "
                     "{requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: k, labelSelector: {}, "
                     "mismatchLabelKeys: [v]}, {topologyKey: k, matchLabelKeys: [v]}]}}}}");
    admission_init(&admission, &load);
    struct pod *pod = (struct pod *)load.objects[KIND_POD].items[0];
    const struct label_selector *shared = pod->spec.spread.items[0].selector;
    admission_admit(&admission, pod, &load.arena);
    const struct label_selector *merged = pod->spec.spread.items[0].selector;
    assert_int_equal(merged->match_expressions.len, 1);
    assert_int_equal(merged->match_expressions.items[0].op, OP_IN);
    assert_str(merged->match_expressions.items[0].values.items[0], "1");
    assert_int_equal(shared->match_expressions.len, 0); /* the template is unchanged */
    const struct pod_affinity *affinity = pod->spec.affinity->pod;
    assert_int_equal(affinity->required.items[0].selector->match_expressions.items[0].op, OP_NOT_IN);
    assert_null(affinity->required.items[1].selector);
    admission_release(&admission);
    load_release(&load);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_priority),
        cmocka_unit_test(test_policy_of_the_class),
        cmocka_unit_test(test_tolerations),
        cmocka_unit_test(test_label_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
