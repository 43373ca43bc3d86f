/* Pods whose resize is deferred (InPlacePodVerticalScalingSchedulerPreemption): when they wait, whom they preempt, and
 * that they are never bound, nominated or counted a second time. What kube-scheduler v1.37.1 does was seen in
 * tests/e2e/resize_test.go. */
#include "fake_host.h"

#include "engine/generations.h"

#define GATE FEATURE_InPlacePodVerticalScalingSchedulerPreemption

#define SIZED(name, version, cpu, spec, meta, conditions) \
    "{kind: Pod, metadata: {name: " name ", uid: u-" name ", resourceVersion: '" version "'" meta \
    "}, spec: {containers: [{name: c, resources: {requests: {cpu: " cpu "}}}]" spec \
    "}, status: {conditions: [" conditions \
    "], containerStatuses: [{name: c, allocatedResources: {cpu: 1}, resources: {requests: {cpu: 1}}}]}}"
#define DEFERRED "{type: PodResizePending, status: 'True', reason: Deferred}"
/* It has one cpu, and wants more. */
#define GROWS(version, cpu, node) \
    SIZED("grows", version, cpu, ", nodeName: " node ", priority: 100", "", DEFERRED)
#define GROWN(version, cpu) SIZED("grows", version, cpu, ", nodeName: a, priority: 100", "", "")
#define LOW(name, cpu, node) POD(name, cpu, ", nodeName: " node ", priority: 1")
#define POLICY(list) \
    "{kind: Node, metadata: {name: a}, spec: {podPreemptionPolicy: {disableResizePreemption: " list \
    "}}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 20}}}"

static void begin(struct fake_host *h)
{
    host_begin_gated(h, 37, GATE, NULL, NULL);
    fixture_load(&h->e.f, NODE("a", "4"));
    fixture_load(&h->e.f, NODE("b", "8"));
}

static struct decision decide(struct fake_host *h, const char *pod)
{
    struct decision decision;
    if (!engine_step(&h->e.engine, h->e.now_ns, &decision))
        fail_msg("no pod is decided");
    assert_str(decision.pod->api->meta.name, pod);
    return decision;
}

/* The pod is where it was, counted once; nothing was written about it. */
static void assert_untouched(const struct fake_host *h, int64_t used_cpu)
{
    const struct pod_info *pod = fixture_pod(&h->e.f, "grows");
    assert_int_equal(pod->row, fixture_row(&h->e.f, "a"));
    assert_int_equal(pod->nominated_row, ROW_NONE);
    assert_int_equal(host_used_cpu(h, "a"), used_cpu);
    vec_for(&h->wanted, wanted)
        assert_false(str_is((*wanted)->effect.name, "grows"));
}

static void evict(struct fake_host *h, const char *victim)
{
    host_answer(h, host_wants_of(h, EFFECT_POD_STATUS, victim), ANSWER_DONE);
    host_answer(h, host_wants_of(h, EFFECT_DELETE_POD, victim), ANSWER_DONE);
    assert_true(host_has_event(h, "Preempted", victim));
    engine_remove_pod(&h->e.engine, fixture_pod(&h->e.f, victim), h->e.now_ns);
}

static void test_preempts(void **state)
{
    (void)state;
    struct fake_host h;
    begin(&h);
    fixture_load(&h.e.f, LOW("low", "2", "a"));
    fixture_load(&h.e.f, LOW("elsewhere", "8", "b"));
    fixture_load(&h.e.f, GROWS("1", "3", "a"));
    assert_place(&h, "grows", QUEUE_ACTIVE);
    struct decision decision = decide(&h, "grows");
    assert_str(decision.message,
               "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't satisfy plugin(s) [NodeName]. "
               "preemption: found a potential placement for pod on node a, preempting 1 victims");
    assert_false(decision.resize_fits);
    assert_untouched(&h, 5000);
    evict(&h, "low");
    host_pass(&h, 2 * SECOND); /* the resize has room, which is for the kubelet */
    assert_place(&h, "grows", QUEUE_ERROR_BACKOFF);
    assert_untouched(&h, 3000);
    h.e.now_ns = queue_next_due(&h.e.engine.queue);
    decision = decide(&h, "grows");
    assert_true(decision.is_error && decision.resize_fits);
    assert_str(decision.message, "pod u-grows(default/grows) is in the cache, so can't be assumed");
    fixture_load(&h.e.f, GROWN("2", "3"));
    assert_place(&h, "grows", QUEUE_NOWHERE);
    assert_untouched(&h, 3000);
    host_pass(&h, 600 * SECOND);
    assert_int_equal(host_count(&h, EFFECT_BIND), 0);
    assert_int_equal(host_count(&h, EFFECT_DELETE_POD), 1);
    host_end(&h);
}

/* Without the gate the pod runs, and nothing happens. */
static void test_gate(void **state)
{
    (void)state;
    for (int minor = 36; minor <= 37; minor++) {
        struct fake_host h;
        host_begin_as(&h, minor, NULL, NULL);
        fixture_load(&h.e.f, NODE("a", "4"));
        fixture_load(&h.e.f, LOW("low", "2", "a"));
        fixture_load(&h.e.f, GROWS("1", "3", "a"));
        fixture_load(&h.e.f, GROWS("2", "3", "a"));
        assert_place(&h, "grows", QUEUE_NOWHERE);
        host_settle(&h);
        assert_int_equal(h.wanted.len, 0);
        host_end(&h);
    }
}

/* ---- when it waits ---- */
static void test_comes_and_goes(void **state)
{
    (void)state;
    struct fake_host h;
    begin(&h);
    fixture_load(&h.e.f, POD("equal", "2", ", nodeName: a, priority: 100"));
    fixture_load(&h.e.f, GROWN("1", "3"));
    assert_place(&h, "grows", QUEUE_NOWHERE);
    fixture_load(&h.e.f, GROWS("2", "3", "a")); /* it is deferred now */
    assert_place(&h, "grows", QUEUE_ACTIVE);
    host_settle(&h);
    assert_place(&h, "grows", QUEUE_UNSCHEDULABLE);
    fixture_load(&h.e.f, GROWS("2", "3", "a")); /* listed again */
    assert_place(&h, "grows", QUEUE_UNSCHEDULABLE);
    fixture_load(&h.e.f, GROWS("3", "3", "a")); /* nothing that matters has changed */
    assert_place(&h, "grows", QUEUE_UNSCHEDULABLE);
    fixture_load(&h.e.f, GROWS("4", "2", "a"));
    assert_place(&h, "grows", QUEUE_BACKOFF); /* it wants less */
    fixture_load(&h.e.f, GROWN("5", "2"));
    assert_place(&h, "grows", QUEUE_NOWHERE);
    fixture_load(&h.e.f, GROWS("6", "3", "a"));
    assert_place(&h, "grows", QUEUE_ACTIVE);
    engine_remove_pod(&h.e.engine, fixture_pod(&h.e.f, "grows"), h.e.now_ns);
    assert_int_equal(h.e.engine.queue.entries.len, 0);
    assert_int_equal(host_used_cpu(&h, "a"), 2000);
    host_end(&h);
}

/* One that is being deleted is not decided; one of another scheduler is not queued. */
static void test_not_decided(void **state)
{
    (void)state;
    struct fake_host h;
    begin(&h);
    fixture_load(&h.e.f, LOW("low", "4", "a"));
    fixture_load(&h.e.f,
                 SIZED("other", "1", "3", ", nodeName: a, priority: 9, schedulerName: x", "", DEFERRED));
    assert_place(&h, "other", QUEUE_NOWHERE);
    fixture_load(&h.e.f,
                 SIZED("other", "2", "3", ", nodeName: a, priority: 9, schedulerName: x", "", DEFERRED));
    assert_place(&h, "other", QUEUE_NOWHERE);
    fixture_load(&h.e.f, SIZED("grows", "1", "3", ", nodeName: a, priority: 9",
                               ", deletionTimestamp: '2026-01-01T00:00:00Z'", DEFERRED));
    assert_true(decide(&h, "grows").is_deleted);
    assert_place(&h, "grows", QUEUE_NOWHERE);
    assert_int_equal(host_count(&h, EFFECT_DELETE_POD), 0);
    host_end(&h);
}

/* A pod without a node that says so gets none, and is not told why. */
static void test_without_node(void **state)
{
    (void)state;
    for (uint32_t nodes = 1; nodes <= 2; nodes++) {
        struct fake_host h;
        host_begin_gated(&h, 37, GATE, NULL, NULL);
        fixture_load(&h.e.f, NODE("a", "4"));
        if (nodes == 2)
            fixture_load(&h.e.f, NODE("b", "4"));
        fixture_load(&h.e.f, SIZED("early", "1", "1", "", "", DEFERRED));
        host_pass(&h, 20 * SECOND);
        assert_int_not_equal(host_place(&h, "early"), QUEUE_NOWHERE);
        assert_int_equal(h.wanted.len, 0);
        assert_int_equal(host_used_cpu(&h, "a"), 0);
        host_end(&h);
    }
}

/* ---- what helps ---- */
static void test_hints(void **state)
{
    (void)state;
    static const struct {
        const char *what, *object;
        bool wakes;
    } cases[] = {
        { "its node has more", NODE("a", "6"), true },
        { "another node has more", NODE("b", "9"), false },
        { "a new node", NODE("c", "9"), true }, /* of NodeName, which has no hint */
        { "a pod on its node is smaller", POD_WITH("equal", "2", "1", "", ", nodeName: a, priority: 100"),
          true },
        { "a pod on its node is larger", POD_WITH("equal", "2", "3", "", ", nodeName: a, priority: 100"),
          true },
        { "a pod elsewhere is smaller", POD_WITH("far", "2", "1", "", ", nodeName: b, priority: 100"),
          false },
        { "a pod elsewhere is larger", POD_WITH("far", "2", "3", "", ", nodeName: b, priority: 100"), false },
        { "it wants more", GROWS("2", "3500m", "a"), true },
        { "it wants less", GROWS("2", "2500m", "a"), true },
        { "the policy says what it said", POLICY("[]"), false },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fake_host h;
        begin(&h);
        fixture_load(&h.e.f, POD("equal", "2", ", nodeName: a, priority: 100"));
        fixture_load(&h.e.f, POD("far", "2", ", nodeName: b, priority: 100"));
        fixture_load(&h.e.f, GROWS("1", "3", "a"));
        host_settle(&h);
        assert_place(&h, "grows", QUEUE_UNSCHEDULABLE);
        fixture_load(&h.e.f, cases[i].object);
        if ((host_place(&h, "grows") != QUEUE_UNSCHEDULABLE) != cases[i].wakes)
            fail_msg("%s: it is %s", cases[i].what, queue_place_names[host_place(&h, "grows")]);
        host_end(&h);
    }
}

static void test_deletions(void **state)
{
    (void)state;
    struct fake_host h;
    begin(&h);
    fixture_load(&h.e.f, POD("equal", "2", ", nodeName: a, priority: 100"));
    fixture_load(&h.e.f, POD("far", "2", ", nodeName: b, priority: 100"));
    fixture_load(&h.e.f, GROWS("1", "3", "a"));
    host_settle(&h);
    engine_remove_pod(&h.e.engine, fixture_pod(&h.e.f, "far"), h.e.now_ns);
    assert_place(&h, "grows", QUEUE_UNSCHEDULABLE);
    engine_remove_pod(&h.e.engine, fixture_pod(&h.e.f, "equal"), h.e.now_ns);
    assert_place(&h, "grows", QUEUE_BACKOFF);
    host_end(&h);
}

static void test_policy(void **state)
{
    (void)state;
    struct fake_host h;
    begin(&h);
    fixture_load(&h.e.f, POLICY("[example.com/x]"));
    fixture_load(&h.e.f, LOW("low", "2", "a"));
    fixture_load(&h.e.f, GROWS("1", "3", "a"));
    assert_str(decide(&h, "grows").message,
               "0/2 nodes are available: 1 node had resize preemption disabled, 1 node(s) didn't satisfy "
               "plugin(s) [NodeName]. preemption: 0/2 nodes are available: 2 Preemption is not helpful for "
               "scheduling.");
    fixture_load(&h.e.f, POLICY("[example.com/x, example.com/y]"));
    assert_place(&h, "grows", QUEUE_UNSCHEDULABLE);
    engine_remove_pod(&h.e.engine, fixture_pod(&h.e.f, "low"), h.e.now_ns); /* for which Fit did not wait */
    assert_place(&h, "grows", QUEUE_UNSCHEDULABLE);
    fixture_load(&h.e.f, POLICY("[]"));
    assert_place(&h, "grows", QUEUE_BACKOFF);
    host_end(&h);
}

/* ---- what is judged ---- */
/* Taints, selectors, ports and anti-affinity say nothing about a pod that runs; a full node does. */
static void test_judged(void **state)
{
    (void)state;
    struct fake_host h;
    begin(&h);
    fixture_load(&h.e.f,
                 "{kind: Node, metadata: {name: a}, spec: {unschedulable: true, taints: [{key: k, effect: "
                 "NoExecute}]}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 2}}}");
    fixture_load(&h.e.f, LOW("low", "2", "a"));
    fixture_load(&h.e.f, SIZED("grows", "1", "3",
                               ", nodeName: a, priority: 100, nodeSelector: {zone: z}, volumes: [{name: v, "
                               "persistentVolumeClaim: {claimName: none}}]",
                               "", DEFERRED));
    assert_str(
        decide(&h, "grows").message,
        "0/2 nodes are available: 1 Insufficient cpu, 1 Too many pods, 1 node(s) didn't satisfy "
        "plugin(s) [NodeName]. preemption: found a potential placement for pod on node a, preempting 1 "
        "victims");
    assert_untouched(&h, 5000);
    host_end(&h);
}

/* Resources that are not short for the pod are not looked at: it requests none of them. Extended ones are counted
 * already. */
static void test_resources(void **state)
{
    (void)state;
    struct fake_host h;
    begin(&h);
    fixture_load(&h.e.f,
                 "{kind: Node, metadata: {name: a}, status: {allocatable: {cpu: 4, memory: 1Gi, pods: 9, "
                 "x.io/y: 1}}}");
    fixture_load(
        &h.e.f, "{kind: Pod, metadata: {name: low, uid: u-low}, spec: {nodeName: a, priority: 1, containers: "
                "[{name: c, resources: {requests: {memory: 2Gi, x.io/y: 1}}}]}}");
    fixture_load(&h.e.f,
                 "{kind: Pod, metadata: {name: grows, uid: u-grows}, spec: {nodeName: a, priority: 9, "
                 "containers: [{name: c, resources: {requests: {cpu: 3, x.io/y: 1}}}]}, status: "
                 "{conditions: [" DEFERRED "]}}");
    assert_true(decide(&h, "grows").resize_fits);
    assert_untouched(&h, 3000);
    host_end(&h);
}

/* ---- without SchedulerAsyncPreemption; another configuration ---- */
static void test_awaited(void **state)
{
    (void)state;
    struct fake_host h;
    begin(&h);
    h.e.f.cluster.features.enabled[FEATURE_SchedulerAsyncPreemption] = false;
    fixture_load(&h.e.f, LOW("low", "2", "a"));
    fixture_load(&h.e.f, GROWS("1", "3", "a"));
    host_settle(&h);
    assert_non_null(h.e.engine.open.entry);
    evict(&h, "low");
    assert_null(h.e.engine.open.entry);
    assert_untouched(&h, 3000);
    host_pass(&h, 2 * SECOND);
    assert_place(&h, "grows", QUEUE_ERROR_BACKOFF);
    fixture_load(&h.e.f, LOW("new", "2", "a")); /* another scheduler's: the room is gone again */
    h.e.now_ns = queue_next_due(&h.e.engine.queue);
    assert_int_equal(decide(&h, "grows").victims_len, 1);
    fixture_load(&h.e.f, GROWN("2", "3")); /* while its victim is being deleted */
    host_answer(&h, host_wants_of(&h, EFFECT_POD_STATUS, "new"), ANSWER_DONE);
    host_answer(&h, host_wants_of(&h, EFFECT_DELETE_POD, "new"), ANSWER_DONE);
    assert_null(h.e.engine.open.entry);
    assert_int_equal(h.e.engine.queue.entries.len, 0);
    assert_untouched(&h, 5000);
    host_end(&h);
}

static void retired(void *context, void *config)
{
    (void)context;
    if (config)
        config_release(config);
}

static void test_profile_goes(void **state)
{
    (void)state;
    static const char text[] =
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{schedulerName: another}]\n";
    struct fake_host h;
    struct scheduler_config config;
    struct error err;
    begin(&h);
    h.e.engine.host.retired = retired;
    fixture_load(&h.e.f, POD("equal", "2", ", nodeName: a, priority: 100"));
    fixture_load(&h.e.f, GROWS("1", "3", "a"));
    host_settle(&h);
    struct plugin_catalog catalog = registry_catalog(&builtin_plugins, &h.e.f.arena);
    const struct config_env env = { .catalog = &catalog, .features = &h.e.f.cluster.features };
    assert_int_equal(
        config_load_text("config", strdup(text), strlen(text), &env, &h.e.f.arena, &config, NULL, &err), 0);
    const struct engine_setup setup = { .config = &config, .registry = &builtin_plugins, .owner = &config };
    assert_int_equal(engine_reconfigure(&h.e.engine, &setup, h.e.now_ns, &err), 0);
    assert_int_equal(h.e.engine.queue.entries.len, 0);
    assert_untouched(&h, 5000); /* it runs on */
    fixture_load(&h.e.f, GROWS("2", "3", "a"));
    assert_place(&h, "grows", QUEUE_NOWHERE);
    host_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_preempts),       cmocka_unit_test(test_gate),
        cmocka_unit_test(test_comes_and_goes), cmocka_unit_test(test_not_decided),
        cmocka_unit_test(test_without_node),   cmocka_unit_test(test_hints),
        cmocka_unit_test(test_deletions),      cmocka_unit_test(test_policy),
        cmocka_unit_test(test_judged),         cmocka_unit_test(test_resources),
        cmocka_unit_test(test_awaited),        cmocka_unit_test(test_profile_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
