/* Small plugins: SchedulingGates, PrioritySort, NodeUnschedulable, NodeName, NodePorts and others. */
#include "support/fixture.h"

extern const struct plugin plugin_scheduling_gates, plugin_priority_sort, plugin_node_unschedulable,
    plugin_node_name, plugin_node_ports, plugin_node_declared_features, plugin_dynamic_resources,
    plugin_default_binder;

#define POD(spec) "{kind: Pod, metadata: {name: p}, spec: {" spec "}}"

struct filter_case {
    const char *name;
    const struct plugin *plugin;
    const char *objects; /* with a node "a" */
    const char *pod;
    enum status_code code;
    const char *reason;
};

#define NODE_A "{kind: Node, metadata: {name: a}}\n---\n"
#define CORDONED "{kind: Node, metadata: {name: a}, spec: {unschedulable: true}}\n---\n"
#define CORDON_REASON "node(s) were unschedulable"
#define NAME_REASON "node(s) didn't match the requested node name"
#define PORTS_REASON "node(s) didn't have free ports for the requested pod ports"
#define FEATURES_REASON "node(s) didn't match Pod's required features"
#define RUNS(ports) \
    "{kind: Pod, metadata: {name: running}, spec: {nodeName: a, containers: [{name: c, ports: [" ports \
    "]}]}}\n---\n"
#define PORTS(ports) POD("containers: [{name: c, ports: [" ports "]}]")
#define DECLARES(list) "{kind: Node, metadata: {name: a}, status: {declaredFeatures: [" list "]}}\n---\n"
#define RESTARTS POD("containers: [{name: c, restartPolicyRules: [{action: RestartAllContainers}]}]")

static const struct filter_case filter_cases[] = {
    { "open node", &plugin_node_unschedulable, NODE_A, POD(""), STATUS_SUCCESS, "" },
    { "cordoned node", &plugin_node_unschedulable, CORDONED, POD(""), STATUS_UNRESOLVABLE, CORDON_REASON },
    { "cordon tolerated", &plugin_node_unschedulable, CORDONED,
      POD("tolerations: [{key: node.kubernetes.io/unschedulable, operator: Exists, effect: NoSchedule}]"),
      STATUS_SUCCESS, "" },
    { "everything tolerated", &plugin_node_unschedulable, CORDONED, POD("tolerations: [{operator: Exists}]"),
      STATUS_SUCCESS, "" },
    { "another effect tolerated", &plugin_node_unschedulable, CORDONED,
      POD("tolerations: [{operator: Exists, effect: NoExecute}]"), STATUS_UNRESOLVABLE, CORDON_REASON },

    { "no node named", &plugin_node_name, NODE_A, POD(""), STATUS_SUCCESS, "" },
    { "this node named", &plugin_node_name, NODE_A, POD("nodeName: a"), STATUS_SUCCESS, "" },
    { "another node named", &plugin_node_name, NODE_A, POD("nodeName: b"), STATUS_UNRESOLVABLE, NAME_REASON },

    { "no ports", &plugin_node_ports, NODE_A RUNS("{hostPort: 80}"), PORTS("{containerPort: 80}"),
      STATUS_SUCCESS, "" },
    { "same port", &plugin_node_ports, NODE_A RUNS("{hostPort: 80}"), PORTS("{hostPort: 80}"),
      STATUS_UNSCHEDULABLE, PORTS_REASON },
    { "same port, other protocol", &plugin_node_ports, NODE_A RUNS("{hostPort: 80}"),
      PORTS("{hostPort: 80, protocol: UDP}"), STATUS_SUCCESS, "" },
    { "same port, other addresses", &plugin_node_ports, NODE_A RUNS("{hostPort: 80, hostIP: 10.0.0.1}"),
      PORTS("{hostPort: 80, hostIP: 10.0.0.2}"), STATUS_SUCCESS, "" },
    { "same port, any address", &plugin_node_ports, NODE_A RUNS("{hostPort: 80, hostIP: 10.0.0.1}"),
      PORTS("{hostPort: 80, hostIP: 0.0.0.0}"), STATUS_UNSCHEDULABLE, PORTS_REASON },
    { "the second port clashes", &plugin_node_ports, NODE_A RUNS("{hostPort: 81}"),
      PORTS("{hostPort: 80}, {hostPort: 81}"), STATUS_UNSCHEDULABLE, PORTS_REASON },

    { "no feature needed", &plugin_node_declared_features, NODE_A, POD(""), STATUS_SUCCESS, "" },
    { "feature missing", &plugin_node_declared_features, NODE_A, RESTARTS, STATUS_UNRESOLVABLE,
      FEATURES_REASON },
    { "feature declared", &plugin_node_declared_features,
      DECLARES("Another, ExtendWebSocketsToKubelet, RestartAllContainersOnContainerExits, Unheard"), RESTARTS,
      STATUS_SUCCESS, "" },
    { "a list out of order is read as far as it is in order", &plugin_node_declared_features,
      DECLARES("UserNamespacesHostNetworkSupport, RestartAllContainersOnContainerExits"), RESTARTS,
      STATUS_UNRESOLVABLE, FEATURES_REASON },
    { "of an init container", &plugin_node_declared_features, NODE_A,
      POD("initContainers: [{name: c, restartPolicyRules: [{action: Restart}, {action: "
          "RestartAllContainers}]}]"),
      STATUS_UNRESOLVABLE, FEATURES_REASON },
    { "user namespace on the host network", &plugin_node_declared_features,
      DECLARES("RestartAllContainersOnContainerExits"), POD("hostNetwork: true, hostUsers: false"),
      STATUS_UNRESOLVABLE, FEATURES_REASON },
    { "host network alone", &plugin_node_declared_features, NODE_A, POD("hostNetwork: true"), STATUS_SUCCESS,
      "" },
};

static void test_filter(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(filter_cases); i++) {
        const struct filter_case *c = &filter_cases[i];
        struct fixture f;
        FIXTURE(&f, NULL, c->plugin);
        fixture_load(&f, c->objects);
        fixture_cycle(&f, c->pod);
        struct status status = fixture_filter(&f, "a");
        if (status.code != c->code)
            fail_msg("%s: got %s, want %s", c->name, status_code_name(status.code),
                     status_code_name(c->code));
        assert_status(status, c->code, c->reason);
        fixture_release(&f);
    }
}

/* What came with a release. */
static void test_features_of_a_release(void **state _unused_)
{
    static const struct {
        int minor;
        const char *node, *pod;
        bool fits;
    } cases[] = {
        { 36, NODE_A, POD("containers: [{volumeMounts: [{bindMountOptions: [noexec]}]}]"), true },
        { 37, NODE_A, POD("containers: [{volumeMounts: [{}, {bindMountOptions: [noexec]}]}]"), false },
        { 37, NODE_A, POD("initContainers: [{volumeMounts: [{bindMountOptions: [noexec]}]}]"), false },
        { 37, NODE_A, POD("ephemeralContainers: [{volumeMounts: [{bindMountOptions: [noexec]}]}]"), false },
        { 37, NODE_A, POD("containers: [{volumeMounts: [{name: v}]}]"), true },
        { 37, DECLARES("VolumeBindMountOptions"),
          POD("containers: [{volumeMounts: [{bindMountOptions: [noexec]}]}]"), true },
        /* A list out of order: what the release does not know is passed over in its place. */
        { 36, DECLARES("VolumeBindMountOptions, RestartAllContainersOnContainerExits"), RESTARTS, false },
        { 36, DECLARES("DRAOptionalNodeOperations, RestartAllContainersOnContainerExits"), RESTARTS, true },
        { 37, DECLARES("DRAOptionalNodeOperations, RestartAllContainersOnContainerExits"), RESTARTS, true },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fixture f;
        FIXTURE(&f, NULL, &plugin_node_declared_features);
        features_default(&f.cluster.features, release_of(cases[i].minor), 0);
        fixture_load(&f, cases[i].node);
        fixture_cycle(&f, cases[i].pod);
        if (status_ok(fixture_filter(&f, "a")) != cases[i].fits)
            fail_msg("%zu: 1.%d: %s", i, cases[i].minor, cases[i].pod);
        fixture_release(&f);
    }
}

/* NodeName's PreFilter, which 1.37 has. */
static void test_named_node_alone(void **state _unused_)
{
    struct fixture f;
    struct node_names names = { .all = true };
    FIXTURE(&f, NULL, &plugin_node_name);
    fixture_load(&f, NODE_A);
    fixture_cycle(&f, POD(""));
    f.cycle.current = &f.profile.plugins[0];
    assert_status(plugin_node_name.pre_filter(&f.cycle, &names), STATUS_SUCCESS, "");
    assert_true(names.all);
    fixture_cycle(&f, POD("nodeName: b"));
    assert_status(plugin_node_name.pre_filter(&f.cycle, &names), STATUS_SUCCESS, "");
    assert_false(names.all);
    assert_int_equal(names.len, 1);
    assert_str(names.items[0], "b");
    fixture_release(&f);
}

static void test_gates(void **state)
{
    (void)state;
    struct fixture f;
    FIXTURE(&f, NULL, &plugin_scheduling_gates);
    fixture_load(&f, POD(""));
    assert_status(run_pre_enqueue(&f.profile, f.last_pod->api, false, NULL, &f.arena), STATUS_SUCCESS, "");
    fixture_load(&f, POD("schedulingGates: [{name: quota}, {name: example.com/net}]"));
    assert_status(run_pre_enqueue(&f.profile, f.last_pod->api, false, NULL, &f.arena), STATUS_UNRESOLVABLE,
                  "waiting for scheduling gates: [quota example.com/net]");
    fixture_release(&f);
}

static void test_queue_order(void **state)
{
    (void)state;
    struct pod_info high = { .priority = 2000000000 }, low = { .priority = -2000000000 };
    assert_true(plugin_priority_sort.less(NULL, &high, &low));
    assert_false(plugin_priority_sort.less(NULL, &low, &high));
    assert_false(plugin_priority_sort.less(NULL, &low, &low));
}

static void test_devices_score_and_post_filter(void **state)
{
    (void)state;
    struct fixture f;
    struct diagnosis diagnosis;
    struct post_filter_result result;
    int64_t scores[1];
    FIXTURE(&f, NULL, &plugin_dynamic_resources);
    fixture_load(&f, NODE_A);
    fixture_cycle(&f, POD(""));
    diagnosis_init(&diagnosis, &f.cluster, &f.arena);
    assert_status(run_post_filter(&f.cycle, &diagnosis, &result), STATUS_ERROR,
                  "not found"); /* PreFilter was not called */
    fixture_filter(&f, "a");
    assert_true(fixture_scores(&f, (const char *const[]){ "a", NULL }, scores));
    assert_int_equal(scores[0], 0);
    assert_status(run_post_filter(&f.cycle, &diagnosis, &result), STATUS_UNSCHEDULABLE, "");
    diagnosis_release(&diagnosis);
    fixture_release(&f);
}

static void test_binds(void **state)
{
    (void)state;
    struct fixture f;
    FIXTURE(&f, NULL, &plugin_default_binder);
    fixture_load(&f, NODE_A);
    fixture_cycle(&f, POD(""));
    uint32_t resume = 0;
    assert_status(run_bind(&f.cycle, 0, &resume), STATUS_SUCCESS, "");
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filter),
        cmocka_unit_test(test_gates),
        cmocka_unit_test(test_features_of_a_release),
        cmocka_unit_test(test_named_node_alone),
        cmocka_unit_test(test_queue_order),
        cmocka_unit_test(test_devices_score_and_post_filter),
        cmocka_unit_test(test_binds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
