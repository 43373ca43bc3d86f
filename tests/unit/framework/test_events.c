/* Events: their names, which rules they match, and what an update of an object means. */
#include "support/fixture.h"

static struct cluster_event event_of(enum event_resource resource, uint32_t actions)
{
    return (struct cluster_event){ .resource = resource, .actions = actions };
}

static void test_labels(void **state)
{
    (void)state;
    static const struct {
        struct cluster_event event;
        const char *want, *want_37; /* NULL: the same */
    } cases[] = {
        { { .resource = EVENT_NODE, .actions = ACTION_ADD }, "NodeAdd", NULL },
        { { .resource = EVENT_NODE, .actions = ACTION_NODE_LABEL }, "NodeUpdateNodeLabel", NULL },
        { { .resource = EVENT_NODE, .actions = ACTION_NODE_DECLARED_FEATURE },
          "NodeUpdateNodeDeclaredFeature",
          NULL },
        { { .resource = EVENT_ASSIGNED_POD, .actions = ACTION_DELETE }, "AssignedPodDelete", NULL },
        { { .resource = EVENT_UNSCHEDULED_POD, .actions = ACTION_UPDATE },
          "UnschedulablePodUpdate",
          "UnscheduledPodUpdate" },
        { { .resource = EVENT_UNSCHEDULED_POD, .actions = ACTION_POD_GATES_ELIMINATED },
          "UnschedulablePodUpdatePodSchedulingGatesEliminated",
          "UnscheduledPodUpdatePodSchedulingGatesEliminated" },
        { { .resource = EVENT_TARGET_POD, .actions = ACTION_POD_SCALE_UP },
          "TargetPodUpdatePodScaleUp",
          NULL },
        { { .resource = EVENT_NODE, .actions = ACTION_NODE_PREEMPTION_POLICY },
          "NodeUpdateNodePreemptionPolicy",
          NULL },
        { { .resource = EVENT_CSI_NODE, .actions = ACTION_UPDATE }, "storage.k8s.io/CSINodeUpdate", NULL },
        { { .resource = EVENT_RESOURCE_CLAIM, .actions = ACTION_ADD },
          "resource.k8s.io/ResourceClaimAdd",
          NULL },
        { { .resource = EVENT_ANY, .actions = ACTION_ALL }, "*All", NULL },
        { { .resource = EVENT_ANY, .actions = ACTION_ALL, .cause = LABEL_UNSCHEDULABLE_TIMEOUT },
          "UnschedulableTimeout",
          NULL },
        { { .resource = EVENT_ANY, .actions = ACTION_ALL, .cause = LABEL_FORCE_ACTIVATE },
          "ForceActivate",
          NULL },
    };
    struct arena arena = { 0 };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        enum event_label label = event_label(&cases[i].event);
        assert_true(label < LABEL_COUNT);
        assert_str(event_label_text(label, release_of(36), &arena), cases[i].want);
        assert_str(event_label_text(label, release_of(37), &arena),
                   cases[i].want_37 ? cases[i].want_37 : cases[i].want);
    }
    assert_str(event_label_text(LABEL_ATTEMPT_FAILURE, release_of(37), &arena), "ScheduleAttemptFailure");
    assert_str(event_label_text(LABEL_POP_FROM_BACKOFF, release_of(37), &arena), "PopFromBackoffQ");
    arena_release(&arena);
}

/* A rule matches an event that it names or includes; the wildcard matches all events. */
static void test_matching(void **state)
{
    (void)state;
    static const struct {
        enum event_resource rule;
        uint32_t actions;
        enum event_resource resource;
        uint32_t happened;
        bool want;
    } cases[] = {
        { EVENT_NODE, ACTION_ADD, EVENT_NODE, ACTION_ADD, true },
        { EVENT_NODE, ACTION_ADD, EVENT_NODE, ACTION_DELETE, false },
        { EVENT_NODE, ACTION_ADD, EVENT_PV, ACTION_ADD, false },
        { EVENT_NODE, ACTION_ADD | ACTION_NODE_LABEL, EVENT_NODE, ACTION_NODE_LABEL, true },
        { EVENT_NODE, ACTION_UPDATE, EVENT_NODE, ACTION_NODE_LABEL, true },
        { EVENT_NODE, ACTION_NODE_LABEL, EVENT_NODE, ACTION_UPDATE,
          false }, /* an update, but not of labels */
        { EVENT_POD, ACTION_UPDATE, EVENT_UNSCHEDULED_POD, ACTION_UPDATE, true },
        { EVENT_POD, ACTION_POD_LABEL | ACTION_DELETE, EVENT_ASSIGNED_POD, ACTION_DELETE, true },
        { EVENT_POD, ACTION_DELETE, EVENT_UNSCHEDULED_POD, ACTION_DELETE, true },
        { EVENT_POD, ACTION_POD_LABEL, EVENT_TARGET_POD, ACTION_POD_LABEL, true },
        { EVENT_UNSCHEDULED_POD, ACTION_POD_LABEL, EVENT_TARGET_POD, ACTION_POD_LABEL, false },
        { EVENT_ASSIGNED_POD, ACTION_DELETE, EVENT_UNSCHEDULED_POD, ACTION_DELETE, false },
        { EVENT_NODE, ACTION_UPDATE & ~ACTION_NODE_LABEL, EVENT_NODE, ACTION_UPDATE, false },
        { EVENT_PVC, ACTION_ADD | ACTION_UPDATE, EVENT_PVC, ACTION_UPDATE, true },
        { EVENT_PVC, ACTION_ADD | ACTION_UPDATE, EVENT_PVC, ACTION_DELETE, false },
        { EVENT_ANY, ACTION_ADD, EVENT_PVC, ACTION_ADD, true },
        { EVENT_ANY, ACTION_ADD, EVENT_PVC, ACTION_DELETE, false },
        { EVENT_ANY, ACTION_ALL, EVENT_PVC, ACTION_DELETE, true },
        { EVENT_NODE, ACTION_ALL, EVENT_ANY, ACTION_ALL, false },
        { EVENT_ANY, ACTION_ALL, EVENT_ANY, ACTION_ALL, true },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct cluster_event event = event_of(cases[i].resource, cases[i].happened);
        if (event_matches(cases[i].rule, cases[i].actions, &event) != cases[i].want)
            fail_msg("case %zu: want %d", i, cases[i].want);
    }
    assert_true(event_is_wildcard(&(struct cluster_event){ .resource = EVENT_ANY, .actions = ACTION_ALL }));
    assert_false(event_is_wildcard(&(struct cluster_event){ .resource = EVENT_ANY, .actions = ACTION_ADD }));
}

/* ---- rules of plugins ---- */
static struct status pass(struct cycle *cycle, struct node_view node)
{
    (void)cycle, (void)node;
    return STATUS_OK;
}

static struct status no_score(struct cycle *cycle, struct node_view node, int64_t *ret)
{
    (void)cycle, (void)node;
    *ret = 0;
    return STATUS_OK;
}

static int hint_calls;

static enum hint skip_hint(const struct hint_context *context, const struct pod *pod,
                           const struct cluster_event *event)
{
    (void)pod, (void)event;
    assert_non_null(arena_alloc(context->arena, 8));
    hint_calls++;
    return HINT_SKIP;
}

static const struct event_rule nodes_only[] = { { EVENT_NODE, ACTION_ADD, skip_hint }, { 0 } };
static const struct event_rule twice[] = { { EVENT_PV, ACTION_ADD | ACTION_UPDATE, skip_hint },
                                           { EVENT_PV, ACTION_UPDATE, NULL },
                                           { EVENT_NODE, ACTION_NODE_TAINT, skip_hint },
                                           { 0 } };
/* The second rule is of 1.36 only; it has no events about the waiting pod itself: its rule is about any that waits. */
static const struct event_rule own[] = { { EVENT_TARGET_POD, ACTION_POD_LABEL, NULL },
                                         { EVENT_POD, ACTION_DELETE, NULL, ANY_POD_RULE },
                                         { 0 } };
static const struct plugin plugin_own = { .name = "Own", .filter = pass, .events = own };
static const struct plugin plugin_nodes = { .name = "Nodes", .filter = pass, .events = nodes_only };
static const struct plugin plugin_twice = { .name = "Twice", .filter = pass, .events = twice };
static const struct plugin plugin_silent = { .name = "Silent", .filter = pass };
static const struct plugin plugin_scorer = { .name = "Scorer", .score = no_score };

static void test_interest(void **state)
{
    (void)state;
    enum { NODES = 1, TWICE = 2, SILENT = 4, OWN = 16 };
    static const struct {
        enum event_resource resource;
        uint32_t actions;
        uint64_t want, want_37;
    } cases[] = {
        { EVENT_NODE, ACTION_ADD, NODES | SILENT, NODES | SILENT },
        { EVENT_NODE, ACTION_NODE_TAINT, NODES | TWICE | SILENT /* included in the rule for new nodes */,
          TWICE | SILENT },
        { EVENT_NODE, ACTION_NODE_LABEL, SILENT, SILENT },
        { EVENT_PV, ACTION_UPDATE, TWICE | SILENT, TWICE | SILENT },
        { EVENT_PV, ACTION_DELETE, SILENT, SILENT },
        { EVENT_ASSIGNED_POD, ACTION_ADD, SILENT, SILENT },
        { EVENT_ASSIGNED_POD, ACTION_DELETE, SILENT | OWN, SILENT },
        { EVENT_UNSCHEDULED_POD, ACTION_DELETE, SILENT | OWN, SILENT },
        { EVENT_UNSCHEDULED_POD, ACTION_POD_LABEL, SILENT | OWN, SILENT },
        { EVENT_TARGET_POD, ACTION_POD_LABEL, SILENT, SILENT | OWN }, /* 1.36 has no such event */
        { EVENT_VOLUME_ATTACHMENT, ACTION_DELETE, 0, 0 },             /* only for plugins that register it */
    };
    for (int minor = 36; minor <= 37; minor++) {
        struct fixture f;
        struct event_interest interest;
        FIXTURE_AS(&f, minor, NULL, &plugin_nodes, &plugin_twice, &plugin_silent, &plugin_scorer,
                   &plugin_own);
        event_interest_init(&interest, &f.profile);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
            struct cluster_event event = event_of(cases[i].resource, cases[i].actions);
            if (event_interest_of(&interest, &event) != (minor == 36 ? cases[i].want : cases[i].want_37))
                fail_msg("case %zu of 1.%d", i, minor);
        }
        fixture_release(&f);
    }
}

static void test_hints(void **state)
{
    (void)state;
    struct fixture f;
    struct arena arena = { 0 };
    FIXTURE_AS(&f, 36, NULL, &plugin_nodes, &plugin_twice, &plugin_silent);
    fixture_load(&f, "{kind: Pod, metadata: {name: p}}");
    struct hint_context context = { .cluster = &f.cluster, .info = f.last_pod, .arena = &arena };
    const struct pod *pod = f.last_pod->api;
    struct cluster_event added = event_of(EVENT_NODE, ACTION_ADD),
                         tainted = event_of(EVENT_NODE, ACTION_NODE_TAINT);
    struct cluster_event volume = event_of(EVENT_PV, ACTION_UPDATE),
                         new_volume = event_of(EVENT_PV, ACTION_ADD);
    hint_calls = 0;
    assert_int_equal(event_hint(&f.profile, 0, &context, pod, &added), HINT_SKIP);
    assert_int_equal(hint_calls, 1);
    assert_int_equal(event_hint(&f.profile, 0, &context, pod, &tainted),
                     HINT_QUEUE); /* no hint is registered */
    assert_int_equal(event_hint(&f.profile, 1, &context, pod, &tainted), HINT_SKIP);
    assert_int_equal(hint_calls, 2);
    assert_int_equal(event_hint(&f.profile, 1, &context, pod, &volume),
                     HINT_QUEUE); /* one of two rules is enough */
    assert_int_equal(event_hint(&f.profile, 1, &context, pod, &new_volume), HINT_SKIP);
    assert_int_equal(event_hint(&f.profile, 2, &context, pod, &added), HINT_QUEUE);
    arena_release(&arena);
    fixture_release(&f);
}

/* ---- updates ---- */
static void assert_actions(struct action_list got, const uint32_t *want)
{
    uint32_t i = 0;
    for (; want[i]; i++)
        if (i >= got.len || got.items[i] != want[i])
            fail_msg("action %u: got %x of %u, want %x", i, i < got.len ? got.items[i] : 0, got.len, want[i]);
    assert_int_equal(got.len, i);
}

#define NODE_PARTS(labels, rest) "{kind: Node, metadata: {name: one, labels: {" labels "}}, " rest "}"

static void test_node_updates(void **state)
{
    (void)state;
    static const struct {
        const char *before, *after;
        uint32_t want[8];
    } cases[] = {
        { NODE_PARTS("a: b", "spec: {}"), NODE_PARTS("a: b", "spec: {taints: []}"), { 0 } },
        { NODE_PARTS("a: b", ""), NODE_PARTS("a: c", ""), { ACTION_NODE_LABEL } },
        { NODE_PARTS("", "status: {allocatable: {cpu: 1}}"),
          NODE_PARTS("", "status: {allocatable: {cpu: 1000m}}"),
          { 0 } },
        { NODE_PARTS("", "status: {allocatable: {cpu: 1}}"),
          NODE_PARTS("", "status: {allocatable: {cpu: 1, memory: 0}}"),
          { ACTION_NODE_ALLOCATABLE } },
        { NODE_PARTS("", "spec: {unschedulable: true}"), NODE_PARTS("", "spec: {}"), { ACTION_NODE_TAINT } },
        { NODE_PARTS("", "spec: {}"),
          NODE_PARTS("", "spec: {unschedulable: true}"),
          { 0 } }, /* helps no pod */
        { NODE_PARTS("", "spec: {unschedulable: true, taints: [{key: k, effect: NoSchedule}]}"),
          NODE_PARTS("x: z", "spec: {}"),
          { ACTION_NODE_TAINT, ACTION_NODE_LABEL, ACTION_NODE_TAINT } },
        { NODE_PARTS("", "status: {conditions: [{type: Ready, status: 'True'}]}"),
          NODE_PARTS("", "status: {conditions: [{type: Ready, status: 'False'}]}"),
          { ACTION_NODE_CONDITION } },
        { NODE_PARTS("", "status: {conditions: [{type: A, status: x}, {type: B, status: x}]}"),
          NODE_PARTS("", "status: {conditions: [{type: B, status: x}, {type: A, status: x}]}"),
          { 0 } },
        { NODE_PARTS("", ""),
          "{kind: Node, metadata: {name: one, annotations: {a: b}}}",
          { ACTION_NODE_ANNOTATION } },
        { NODE_PARTS("", ""),
          NODE_PARTS("", "status: {declaredFeatures: [A]}"),
          { ACTION_NODE_DECLARED_FEATURE } },
        { NODE_PARTS("", ""),
          "{kind: Node, metadata: {name: one, annotations: {a: b}}, spec: {podPreemptionPolicy: {}}, status: "
          "{declaredFeatures: [A]}}",
          { ACTION_NODE_ANNOTATION, ACTION_NODE_PREEMPTION_POLICY, ACTION_NODE_DECLARED_FEATURE } },
        { NODE_PARTS("", "spec: {podPreemptionPolicy: {disableResizePreemption: [a]}}"),
          NODE_PARTS("", "spec: {podPreemptionPolicy: {disableResizePreemption: [b]}}"),
          { ACTION_NODE_PREEMPTION_POLICY } },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fixture f;
        FIXTURE_BARE_AS(&f, 37);
        fixture_load(&f, cases[i].before);
        const struct node *before = node_api(fixture_view(&f, "one"));
        fixture_load(&f, cases[i].after);
        assert_actions(node_update_actions(&f.cluster.features, before, node_api(fixture_view(&f, "one"))),
                       cases[i].want);
        fixture_release(&f);
    }
}

#define POD_PARTS(labels, spec, status) \
    "{kind: Pod, metadata: {name: p, labels: {" labels "}}, spec: {" spec "}, status: {" status "}}"
#define CPU(amount) "containers: [{name: c, resources: {requests: {cpu: " amount "}}}]"

static void test_pod_updates(void **state)
{
    (void)state;
    static const struct {
        const char *before, *after;
        uint32_t want[8], want_37[8]; /* empty: the same */
    } cases[] = {
        { POD_PARTS("", "", ""), POD_PARTS("", "", ""), { ACTION_UPDATE } },
        { POD_PARTS("a: b", "", ""), POD_PARTS("", "", ""), { ACTION_POD_LABEL } },
        { POD_PARTS("", CPU("2"), ""), POD_PARTS("", CPU("1"), ""), { ACTION_POD_SCALE_DOWN } },
        { POD_PARTS("", CPU("1"), ""),
          POD_PARTS("", CPU("2"), ""),
          { ACTION_UPDATE },
          { ACTION_POD_SCALE_UP } },
        { POD_PARTS("", "schedulingGates: [{name: a}, {name: b}]", ""),
          POD_PARTS("", "schedulingGates: [{name: a}]", ""),
          { ACTION_UPDATE } },
        { POD_PARTS("", "schedulingGates: [{name: a}]", ""),
          POD_PARTS("", "", ""),
          { ACTION_POD_GATES_ELIMINATED } },
        { POD_PARTS("", "", ""), POD_PARTS("", "tolerations: [{key: k}]", ""), { ACTION_POD_TOLERATION } },
        { POD_PARTS("", "", ""),
          POD_PARTS("", "", "resourceClaimStatuses: [{name: a}]"),
          { ACTION_POD_GENERATED_CLAIM } },
        { POD_PARTS("", "", "resourceClaimStatuses: [{name: a}]"),
          POD_PARTS("", "", "resourceClaimStatuses: [{name: a, resourceClaimName: ''}]"),
          { ACTION_POD_GENERATED_CLAIM } },
        { POD_PARTS("", "", ""),
          POD_PARTS("", "", "extendedResourceClaimStatus: {resourceClaimName: c}"),
          { ACTION_POD_GENERATED_CLAIM } },
        { POD_PARTS("", "", "extendedResourceClaimStatus: {resourceClaimName: c}"),
          POD_PARTS(
              "", "",
              "extendedResourceClaimStatus: {resourceClaimName: c, requestMappings: [{containerName: a}]}"),
          { ACTION_POD_GENERATED_CLAIM } },
        { POD_PARTS("", "", "extendedResourceClaimStatus: {resourceClaimName: c}"),
          POD_PARTS("a: b", "", "extendedResourceClaimStatus: {resourceClaimName: c}"),
          { ACTION_POD_LABEL } },
        { POD_PARTS("a: b", CPU("2"), ""),
          POD_PARTS("", "tolerations: [{key: k}]", ""),
          { ACTION_POD_LABEL, ACTION_POD_SCALE_DOWN, ACTION_POD_TOLERATION } },
        { POD_PARTS("", "containers: [{name: c, resources: {requests: {cpu: 1, memory: 1}}}]", ""),
          POD_PARTS("a: b", "containers: [{name: c, resources: {requests: {cpu: 2}}}]", ""),
          { ACTION_POD_LABEL, ACTION_POD_SCALE_DOWN },
          { ACTION_POD_LABEL, ACTION_POD_SCALE_DOWN, ACTION_POD_SCALE_UP } },
    };
    for (size_t i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
        const uint32_t *want = cases[i / 2].want, *want_37 = cases[i / 2].want_37;
        int minor = i % 2 ? 37 : 36;
        struct fixture f;
        FIXTURE_BARE_AS(&f, minor);
        fixture_load(&f, cases[i / 2].before);
        const struct pod *before = f.last_pod->api;
        fixture_load(&f, cases[i / 2].after);
        assert_actions(pod_update_actions(&f.cluster.features, before, f.last_pod->api, &f.arena),
                       minor == 37 && want_37[0] ? want_37 : want);
        fixture_release(&f);
    }
}

static void test_same_pod(void **state)
{
    (void)state;
    struct pod a = { .meta = { .name = STR("a"), .namespace = STR("x"), .uid = STR("1") } };
    struct pod again = { .meta = { .name = STR("a"), .namespace = STR("x"), .uid = STR("2") } };
    struct pod file = { .meta = { .name = STR("a"), .namespace = STR("x") } }, other = file;
    assert_true(pod_is(&a, &a));
    assert_false(pod_is(&a, &again)); /* another pod with the same name */
    assert_false(pod_is(&a, &file));
    assert_true(pod_is(&file, &other));
    other.meta.namespace = STR("y");
    assert_false(pod_is(&file, &other));
    assert_int_equal(pod_event_resource(&a), EVENT_UNSCHEDULED_POD);
    struct features old, new;
    features_default(&old, release_of(36), 0);
    features_default(&new, release_of(37), 0);
    assert_int_equal(pod_own_event_resource(&old, &a), EVENT_UNSCHEDULED_POD);
    assert_int_equal(pod_own_event_resource(&new, &a), EVENT_TARGET_POD);
    a.spec.node_name = STR("n");
    assert_int_equal(pod_event_resource(&a), EVENT_ASSIGNED_POD);
    assert_int_equal(pod_own_event_resource(&new, &a), EVENT_ASSIGNED_POD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_labels),       cmocka_unit_test(test_matching),
        cmocka_unit_test(test_interest),     cmocka_unit_test(test_hints),
        cmocka_unit_test(test_node_updates), cmocka_unit_test(test_pod_updates),
        cmocka_unit_test(test_same_pod),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
