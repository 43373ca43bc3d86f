/* Objects are added, changed and deleted: the model follows, and pods that may fit now are requeued. */
#include "support/engine_fixture.h"

#include "engine/inputs.h"

#define SECOND NS_PER_SECOND

/* Passes each loaded object to the engine. */
static void add_to_engine(struct fixture *f, enum api_kind kind, struct meta *object)
{
    struct engine_fixture *e = container_of(f, struct engine_fixture, f);
    bool is_kept = engine_set_object(&e->engine, kind, object, object, e->now_ns);
    assert_true(is_kept || kind == KIND_POD);
    if (kind == KIND_POD)
        f->last_pod = is_kept ? cluster_find_pod(&f->cluster, object->namespace, object->name) : NULL;
}

static void begin_as(struct engine_fixture *e, int minor)
{
    engine_fixture_init_as(e, minor, NULL,
                           &(struct engine_options){ .slowest = PATH_INDEX, .now_ns = 1000 * SECOND });
    e->f.add = add_to_engine;
}

static void begin(struct engine_fixture *e)
{
    begin_as(e, RELEASE_DEFAULT);
}

static enum queue_place place_of(const struct engine_fixture *e, const char *pod)
{
    const struct queued_pod *entry = queue_find(&e->engine.queue, fixture_pod(&e->f, pod));
    return entry ? entry->place : QUEUE_NOWHERE;
}

static void assert_place(const struct engine_fixture *e, const char *pod, enum queue_place want)
{
    if (place_of(e, pod) != want)
        fail_msg("%s is %s, want %s", pod, queue_place_names[place_of(e, pod)], queue_place_names[want]);
}

/* Decides until no pod is left; placed pods are reported as bound. */
static void settle(struct engine_fixture *e)
{
    struct decision decision;
    while (engine_step(&e->engine, e->now_ns, &decision))
        if (decision.row != ROW_NONE)
            engine_pod_bound(&e->engine, decision.pod, e->now_ns);
}

#define NODE(name, cpu, more) \
    "{kind: Node, metadata: {name: " name "}, status: {allocatable: {cpu: " cpu \
    ", memory: 8Gi, pods: 20}}" more "}"
#define POD(name, cpu, more) \
    "{kind: Pod, metadata: {name: " name ", uid: u-" name \
    "}, spec: {containers: [{name: c, resources: {requests: {cpu: " cpu "}}}]" more "}}"

/* ---- nodes ---- */
static void test_nodes(void **state)
{
    (void)state;
    struct engine_fixture e;
    begin(&e);
    fixture_load(&e.f, NODE("a", "1", ""));
    fixture_load(&e.f, POD("big", "2", ""));
    settle(&e);
    assert_place(&e, "big", QUEUE_UNSCHEDULABLE);
    fixture_load(&e.f, NODE("b", "1", "")); /* equally small */
    fixture_load(&e.f, NODE("a", "1500m", ""));
    assert_place(&e, "big", QUEUE_UNSCHEDULABLE);
    fixture_load(&e.f, NODE("a", "4", ", spec: {unschedulable: true}"));
    assert_place(&e, "big", QUEUE_BACKOFF);
    settle(&e);
    assert_place(&e, "big", QUEUE_UNSCHEDULABLE); /* too small, or closed */
    e.now_ns += 20 * SECOND;
    fixture_load(&e.f, NODE("a", "4", ""));
    assert_place(&e, "big", QUEUE_ACTIVE);
    settle(&e);
    assert_place(&e, "big", QUEUE_NOWHERE);
    assert_int_equal(fixture_pod(&e.f, "big")->row, fixture_row(&e.f, "a"));
    engine_remove_object(&e.engine, KIND_NODE, STR(""), STR("b"), e.now_ns);
    engine_remove_object(&e.engine, KIND_NODE, STR(""), STR("b"), e.now_ns);
    assert_int_equal(e.f.cluster.live_nodes, 1);
    engine_fixture_release(&e);
}

/* Without nodes no plugin rejects the pod: it is requeued after a while. */
static void test_first_node(void **state)
{
    (void)state;
    struct engine_fixture e;
    begin(&e);
    fixture_load(&e.f, POD("early", "1", ""));
    settle(&e);
    assert_place(&e, "early", QUEUE_ERROR_BACKOFF);
    fixture_load(&e.f, NODE("a", "1", ""));
    e.now_ns = queue_next_due(&e.engine.queue);
    settle(&e);
    assert_place(&e, "early", QUEUE_NOWHERE);
    engine_fixture_release(&e);
}

/* ---- pods ---- */
static void test_pod_gets_a_node(void **state)
{
    (void)state;
    struct engine_fixture e;
    begin(&e);
    fixture_load(&e.f, NODE("a", "2", ""));
    fixture_load(&e.f, POD("other", "1", ", schedulerName: someone-else"));
    assert_null(e.f.last_pod);
    fixture_load(&e.f, POD("other", "1", ", schedulerName: someone-else, nodeName: a"));
    assert_non_null(e.f.last_pod);
    fixture_load(&e.f, POD("mine", "1", ""));
    fixture_load(&e.f, POD("big", "2", ""));
    fixture_load(&e.f, POD("mine", "1", ", nodeName: a")); /* another scheduler bound it */
    assert_place(&e, "mine", QUEUE_NOWHERE);
    settle(&e);
    assert_place(&e, "big", QUEUE_UNSCHEDULABLE);
    fixture_load(&e.f, POD("mine", "500m", ", nodeName: a")); /* smaller, but not enough */
    settle(&e);
    assert_place(&e, "big", QUEUE_UNSCHEDULABLE);
    engine_remove_pod(&e.engine, fixture_pod(&e.f, "mine"), e.now_ns);
    engine_remove_pod(&e.engine, fixture_pod(&e.f, "other"), e.now_ns);
    assert_place(&e, "big", QUEUE_BACKOFF);
    settle(&e);
    assert_place(&e, "big", QUEUE_NOWHERE);
    engine_fixture_release(&e);
}

/* An assumed pod stays on its node through updates, until it is terminating. */
static void test_update_before_binding(void **state)
{
    (void)state;
    struct engine_fixture e;
    begin(&e);
    fixture_load(&e.f, NODE("a", "1", ""));
    fixture_load(&e.f, POD("first", "1", ""));
    settle(&e);
    fixture_load(&e.f, POD("second", "1", ""));
    settle(&e);
    assert_place(&e, "second", QUEUE_UNSCHEDULABLE);
    fixture_load(&e.f, "{kind: Pod, metadata: {name: first, uid: u-first, labels: {new: label}}, spec: "
                       "{containers: [{name: c, resources: {requests: {cpu: 1}}}]}}");
    assert_int_equal(fixture_pod(&e.f, "first")->row, fixture_row(&e.f, "a"));
    assert_int_equal(e.f.cluster.col.used[RES_CPU][fixture_row(&e.f, "a")], 1000);
    fixture_load(
        &e.f,
        "{kind: Pod, metadata: {name: first, uid: u-first, deletionTimestamp: '2026-01-01T00:00:00Z'}}");
    assert_int_equal(fixture_pod(&e.f, "first")->row, ROW_NONE);
    assert_place(&e, "second", QUEUE_BACKOFF);
    engine_fixture_release(&e);
}

/* A pod that was recreated is another pod, even if its deletion was not seen. */
static void test_recreated(void **state)
{
    (void)state;
    struct engine_fixture e;
    begin(&e);
    fixture_load(&e.f, NODE("a", "1", ""));
    fixture_load(&e.f, POD("p", "1", ", nodeName: a"));
    fixture_load(&e.f, POD("q", "1", ""));
    settle(&e);
    assert_place(&e, "q", QUEUE_UNSCHEDULABLE);
    fixture_load(&e.f, "{kind: Pod, metadata: {name: p, uid: another}, spec: {priority: -1}}");
    assert_place(&e, "p", QUEUE_ACTIVE);
    assert_place(&e, "q", QUEUE_BACKOFF);
    engine_fixture_release(&e);
}

static void test_deleted_while_waiting(void **state)
{
    (void)state;
    struct engine_fixture e;
    struct decision decision;
    begin(&e);
    fixture_load(&e.f, NODE("a", "1", ""));
    fixture_load(&e.f, "{kind: Pod, metadata: {name: p, deletionTimestamp: '2026-01-01T00:00:00Z'}}");
    assert_true(engine_step(&e.engine, e.now_ns, &decision));
    assert_true(decision.is_deleted);
    assert_int_equal(decision.row, ROW_NONE);
    assert_str(decision.message, "skip schedule deleting pod: default/p");
    assert_place(&e, "p", QUEUE_NOWHERE);
    engine_fixture_release(&e);
}

static void test_gates(void **state)
{
    (void)state;
    struct engine_fixture e;
    begin(&e);
    fixture_load(&e.f, NODE("a", "1", ""));
    fixture_load(&e.f, POD("p", "1", ", schedulingGates: [{name: one}, {name: two}]"));
    assert_place(&e, "p", QUEUE_GATED);
    fixture_load(&e.f, POD("p", "1", ", schedulingGates: [{name: two}]"));
    assert_place(&e, "p", QUEUE_GATED);
    fixture_load(&e.f, POD("p", "1", ""));
    assert_place(&e, "p", QUEUE_ACTIVE);
    engine_fixture_release(&e);
}

/* ---- nominations ---- */
#define NOMINATED(name, node) \
    "{kind: Pod, metadata: {name: " name ", uid: u-" name \
    "}, spec: {priority: 5, containers: [{name: c, resources: " \
    "{requests: {cpu: 1}}}]}, status: {nominatedNodeName: '" node "'}}"

/* A pod that is gated when it comes holds its nomination since 1.37, before that once it is updated. */
static void test_gated_nomination(void **state)
{
    (void)state;
    for (int minor = 36; minor <= 37; minor++) {
        struct engine_fixture e;
        begin_as(&e, minor);
        fixture_load(&e.f, NODE("a", "1", ""));
        for (int version = 0; version < 2; version++) {
            fixture_loadf(&e.f,
                          "{kind: Pod, metadata: {name: p, labels: {version: '%d'}}, spec: {schedulingGates: "
                          "[{name: g}]}, status: {nominatedNodeName: a}}",
                          version);
            assert_place(&e, "p", QUEUE_GATED);
            assert_int_equal(e.f.last_pod->nominated_row != ROW_NONE, minor == 37 || version == 1);
        }
        engine_fixture_release(&e);
    }
}

#define VERSION(number, labels) \
    "{kind: Pod, metadata: {name: p, uid: u, resourceVersion: '" number "', labels: {" labels "}}}"

/* What the list shows again is no event, and neither is an update of a pod that has its place. */
static void test_updates_in_flight(void **state)
{
    (void)state;
    struct engine_fixture e;
    begin(&e);
    const struct queue *queue = &e.engine.queue;
    fixture_load(&e.f, VERSION("1", ""));
    struct queued_pod *entry = queue_pop(&e.engine.queue);
    fixture_load(&e.f, VERSION("1", ""));
    assert_int_equal(queue->flight_events.len, 0);
    assert_ptr_equal(entry->pod, e.f.last_pod);
    fixture_load(&e.f, VERSION("2", "a: b"));
    assert_int_equal(queue->flight_events.len, 1);
    fixture_load(&e.f, NODE("a", "1", ""));
    assert_int_equal(queue->flight_events.len, 2);
    cluster_place_on(&e.f.cluster, entry->pod, STR("a"));
    fixture_load(&e.f, VERSION("3", "a: c"));
    assert_int_equal(queue->flight_events.len, 2);
    assert_ptr_equal(entry->pod, e.f.last_pod);
    assert_int_not_equal(e.f.last_pod->row, ROW_NONE);
    queue_done(&e.engine.queue, entry);
    engine_fixture_release(&e);
}

static void test_nomination_cleared(void **state)
{
    (void)state;
    struct engine_fixture e;
    begin(&e);
    fixture_load(&e.f, NODE("a", "1", ""));
    fixture_load(&e.f, NOMINATED("next", "a"));
    struct queued_pod *next = queue_pop(&e.engine.queue);
    queue_requeue(&e.engine.queue, next, 0, 0, e.now_ns); /* it waits */
    fixture_load(&e.f, POD("low", "1", ""));
    settle(&e);
    assert_place(&e, "low", QUEUE_UNSCHEDULABLE);
    fixture_load(&e.f, NOMINATED("next", "a"));
    assert_place(&e, "low", QUEUE_UNSCHEDULABLE);
    fixture_load(&e.f, NOMINATED("next", ""));
    assert_place(&e, "low", QUEUE_BACKOFF);
    assert_int_equal(e.f.cluster.nominations, 0);
    engine_fixture_release(&e);
}

/* A nomination by this engine stays while the API server has none; it goes with the pod. */
static void test_own_nomination(void **state)
{
    (void)state;
    struct engine_fixture e;
    begin(&e);
    fixture_load(&e.f, NODE("a", "1", ""));
    fixture_load(&e.f, POD("victim", "1", ", nodeName: a"));
    fixture_load(&e.f, POD("high", "1", ", priority: 5"));
    settle(&e);
    struct pod_info *high = fixture_pod(&e.f, "high");
    assert_int_equal(high->nominated_row, fixture_row(&e.f, "a"));
    fixture_load(&e.f, "{kind: Pod, metadata: {name: high, uid: u-high, labels: {new: label}}, spec: "
                       "{priority: 5, containers: "
                       "[{name: c, resources: {requests: {cpu: 1}}}]}}");
    high = fixture_pod(&e.f, "high");
    assert_int_equal(high->nominated_row, fixture_row(&e.f, "a"));
    engine_remove_pod(&e.engine, high, e.now_ns);
    assert_int_equal(e.f.cluster.nominations, 0);
    engine_fixture_release(&e);
}

/* ---- preemption ---- */
static void begin_preemption(struct engine_fixture *e, struct decision *ret)
{
    begin(e);
    fixture_load(&e->f, NODE("a", "2", ""));
    fixture_load(&e->f, POD("one", "1", ", nodeName: a"));
    fixture_load(&e->f, POD("two", "1", ", nodeName: a"));
    fixture_load(&e->f, POD("high", "2", ", priority: 5"));
    assert_true(engine_step(&e->engine, e->now_ns, ret));
    assert_int_equal(ret->victims_len, 2);
    e->now_ns += 20 * SECOND;
}

/* Held until all victims are evicted. */
static void test_preemption_holds_the_pod(void **state)
{
    (void)state;
    struct engine_fixture e;
    struct decision decision;
    begin_preemption(&e, &decision);
    assert_place(&e, "high", QUEUE_UNSCHEDULABLE);
    engine_remove_pod(&e.engine, fixture_pod(&e.f, "one"), e.now_ns);
    assert_place(&e, "high", QUEUE_GATED);
    assert_false(engine_step(&e.engine, e.now_ns, &decision));
    engine_preemption_done(&e.engine, fixture_pod(&e.f, "high"), false, e.now_ns);
    assert_place(&e, "high", QUEUE_ACTIVE); /* one victim is gone: the pod may fit */
    assert_true(engine_step(&e.engine, e.now_ns, &decision));
    assert_int_equal(decision.victims_len, 1);
    engine_preemption_done(&e.engine, fixture_pod(&e.f, "high"), false, e.now_ns);
    assert_place(&e, "high", QUEUE_UNSCHEDULABLE); /* evicted, but not gone */
    e.now_ns += 20 * SECOND;
    engine_remove_pod(&e.engine, fixture_pod(&e.f, "two"), e.now_ns);
    assert_place(&e, "high", QUEUE_ACTIVE);
    assert_true(engine_step(&e.engine, e.now_ns, &decision));
    assert_int_equal(decision.row, fixture_row(&e.f, "a"));
    engine_fixture_release(&e);
}

static void test_preemption_fails(void **state)
{
    (void)state;
    struct engine_fixture e;
    struct decision decision;
    begin_preemption(&e, &decision);
    engine_preemption_done(&e.engine, fixture_pod(&e.f, "high"), true, e.now_ns);
    assert_place(&e, "high", QUEUE_ACTIVE);
    engine_fixture_release(&e);
}

/* The watch may report the end of the last victim before the answer to its eviction. */
static void test_last_victim(void **state)
{
    (void)state;
    struct engine_fixture e;
    struct decision decision;
    begin_preemption(&e, &decision);
    queue_hold_last(&e.engine.queue, fixture_pod(&e.f, "high"), fixture_pod(&e.f, "two"));
    engine_remove_pod(&e.engine, fixture_pod(&e.f, "one"), e.now_ns);
    assert_place(&e, "high", QUEUE_GATED);
    engine_remove_pod(&e.engine, fixture_pod(&e.f, "two"), e.now_ns);
    assert_place(&e, "high", QUEUE_ACTIVE);
    engine_fixture_release(&e);
}

/* ---- other objects ---- */
static void test_objects(void **state)
{
    (void)state;
    struct engine_fixture e;
    begin(&e);
    fixture_load(&e.f, NODE("a", "1", ""));
    fixture_load(&e.f, "{kind: Pod, metadata: {name: p}, spec: {volumes: [{name: v, persistentVolumeClaim: "
                       "{claimName: mine}}]}}");
    settle(&e);
    assert_place(&e, "p", QUEUE_UNSCHEDULABLE);
    fixture_load(&e.f, "{kind: PersistentVolumeClaim, metadata: {name: other, namespace: default}}");
    fixture_load(&e.f, "{kind: Service, metadata: {name: s, namespace: default}}");
    assert_place(&e, "p", QUEUE_UNSCHEDULABLE);
    fixture_load(&e.f, "{kind: PersistentVolumeClaim, metadata: {name: mine, namespace: default}, spec: "
                       "{volumeName: pv}}");
    assert_place(&e, "p", QUEUE_BACKOFF);
    settle(&e);
    assert_place(&e, "p", QUEUE_UNSCHEDULABLE); /* the volume does not exist */
    fixture_load(&e.f, "{kind: PersistentVolume, metadata: {name: pv}}");
    assert_place(&e, "p", QUEUE_BACKOFF);
    engine_remove_object(&e.engine, KIND_PV, (struct str){ 0 }, STR("pv"), e.now_ns);
    engine_remove_object(&e.engine, KIND_PV, (struct str){ 0 }, STR("pv"), e.now_ns);
    assert_int_equal(e.f.cluster.pvs.len, 0);
    engine_fixture_release(&e);
}

#define RULE(version, device, key) \
    "{kind: DeviceTaintRule, metadata: {name: r, resourceVersion: '" version \
    "'}, spec: {deviceSelector: {device: " device "}, taint: {key: " key ", effect: NoSchedule}}}"

/* A rule changes slices, if it changes the taints of a device. */
static void test_taint_rules(void **state)
{
    (void)state;
    struct engine_fixture e;
    begin(&e);
    features_default(&e.f.cluster.features, release_of(37), 0);
    fixture_load(&e.f, NODE("a", "1", ""));
    fixture_load(&e.f, "{kind: DeviceClass, metadata: {name: any}}");
    fixture_load(
        &e.f, "{kind: ResourceSlice, metadata: {name: s}, spec: {driver: d, pool: {name: p, generation: 1, "
              "resourceSliceCount: 1}, nodeName: a, devices: [{name: x}]}}");
    fixture_load(&e.f,
                 "{kind: ResourceClaim, metadata: {name: c, namespace: default}, spec: {devices: {requests: "
                 "[{name: r, exactly: {deviceClassName: any, allocationMode: ExactCount, count: 1}}]}}}");
    fixture_load(&e.f, RULE("1", "x", "k"));
    fixture_load(
        &e.f, "{kind: Pod, metadata: {name: p}, spec: {resourceClaims: [{name: c, resourceClaimName: c}]}}");
    settle(&e);
    assert_place(&e, "p", QUEUE_UNSCHEDULABLE);
    fixture_load(&e.f, RULE("2", "x", "k")); /* its status has changed */
    assert_place(&e, "p", QUEUE_UNSCHEDULABLE);
    fixture_load(&e.f, RULE("3", "x", "other"));
    assert_place(&e, "p", QUEUE_BACKOFF);
    e.now_ns += 20 * SECOND;
    settle(&e);
    assert_place(&e, "p", QUEUE_UNSCHEDULABLE);
    engine_remove_object(&e.engine, KIND_DEVICE_TAINT_RULE, (struct str){ 0 }, STR("r"), e.now_ns);
    assert_place(&e, "p", QUEUE_BACKOFF);
    engine_fixture_release(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_first_node),
        cmocka_unit_test(test_pod_gets_a_node),
        cmocka_unit_test(test_update_before_binding),
        cmocka_unit_test(test_recreated),
        cmocka_unit_test(test_deleted_while_waiting),
        cmocka_unit_test(test_gates),
        cmocka_unit_test(test_nomination_cleared),
        cmocka_unit_test(test_gated_nomination),
        cmocka_unit_test(test_updates_in_flight),
        cmocka_unit_test(test_own_nomination),
        cmocka_unit_test(test_preemption_holds_the_pod),
        cmocka_unit_test(test_preemption_fails),
        cmocka_unit_test(test_last_victim),
        cmocka_unit_test(test_objects),
        cmocka_unit_test(test_taint_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
