/* Tests of input/daemon.c: which nodes get a pod of a DaemonSet. */
#include "unit/input/loaded.h"

#include "input/daemon.h"

#define NODE "{kind: Node, apiVersion: v1, metadata: {name: a, labels: {disk: ssd}}"
#define POD "{kind: Pod, apiVersion: v1, metadata: {name: p}, spec: "

static void test_wants(void **state)
{
    (void)state;
    static const struct {
        const char *node, *spec;
        bool want;
    } cases[] = {
        { NODE "}", "{}", true },
        { NODE "}", "{nodeSelector: {disk: ssd}}", true },
        { NODE "}", "{nodeSelector: {disk: hdd}}", false },
        { NODE "}", "{nodeName: a}", true },
        { NODE "}", "{nodeName: b}", false },
        { NODE ", spec: {unschedulable: true}}", "{}", true },
        { NODE ", spec: {taints: [{key: k, effect: NoSchedule}]}}", "{}", false },
        { NODE ", spec: {taints: [{key: k, effect: NoExecute}]}}", "{}", false },
        { NODE ", spec: {taints: [{key: k, effect: PreferNoSchedule}]}}", "{}", true },
        { NODE ", spec: {taints: [{key: k, effect: NoSchedule}]}}",
          "{tolerations: [{key: k, operator: Exists}]}", true },
        { NODE ", spec: {taints: [{key: node.kubernetes.io/disk-pressure, effect: NoSchedule}]}}", "{}",
          true },
        { NODE ", spec: {taints: [{key: node.kubernetes.io/not-ready, effect: NoSchedule}]}}", "{}", false },
        { NODE ", spec: {taints: [{key: node.kubernetes.io/network-unavailable, effect: NoSchedule}]}}", "{}",
          false },
        { NODE ", spec: {taints: [{key: node.kubernetes.io/network-unavailable, effect: NoSchedule}]}}",
          "{hostNetwork: true}", true },
        { NODE "}",
          "{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
          "[{matchFields: [{key: metadata.name, operator: In, values: [b]}]}]}}}}",
          false },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct load load;
        char text[1024];
        snprintf(text, sizeof(text), "%s\n---\n" POD "%s}", cases[i].node, cases[i].spec);
        load_good(&load, text);
        struct pod *pod = (struct pod *)load.objects[KIND_POD].items[0];
        daemon_tolerations(&pod->spec, &load.arena);
        bool got = daemon_wants_node(&pod->spec, (const struct node *)load.objects[KIND_NODE].items[0]);
        if (got != cases[i].want)
            fail_msg("%s on %s: got %d", cases[i].spec, cases[i].node, got);
        load_release(&load);
    }
}

static void test_pin(void **state)
{
    (void)state;
    struct load load;
    load_good(&load,
              POD "{affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
                  "[{topologyKey: k}]}, nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: "
                  "[{weight: 1, preference: {}}]}}}}");
    struct pod *pod = (struct pod *)load.objects[KIND_POD].items[0];
    const struct affinity *before = pod->spec.affinity;
    assert_true(str_empty(daemon_node(pod)));
    daemon_pin(&pod->spec, STR("n1"), &load.arena);
    assert_str(daemon_node(pod), "n1");
    assert_ptr_equal(pod->spec.affinity->pod_anti, before->pod_anti);
    assert_int_equal(pod->spec.affinity->node->preferred.len, 1);
    assert_null(before->node->required); /* the template is unchanged */
    daemon_pin(&pod->spec, STR("n2"), &load.arena);
    assert_str(daemon_node(pod), "n2");
    load_release(&load);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wants),
        cmocka_unit_test(test_pin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
