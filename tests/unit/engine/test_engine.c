/* The scheduling loop: which pod is decided, its node, its message, and which pods are requeued. */
#include "support/engine_fixture.h"

#define NODE(name, cpu) \
    "{kind: Node, metadata: {name: " name "}, status: {allocatable: {cpu: " cpu \
    ", memory: 8Gi, pods: 20}}}\n---\n"
#define POD(name, cpu, more) \
    "{kind: Pod, metadata: {name: " name ", uid: u-" name \
    "}, spec: {containers: [{name: c, resources: {requests: {cpu: " cpu "}}}]" more "}}"
#define FULL \
    "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are " \
    "available: 1 No " \
    "preemption victims found for incoming pod."

static const enum decision_path paths[] = { PATH_PLAIN, PATH_SCAN, PATH_INDEX };

static struct decision step(struct engine_fixture *e)
{
    return engine_fixture_step(e);
}

/* ---- pods in order ---- */
static void test_takes_resources(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        struct engine_fixture e;
        struct decision decision;
        engine_fixture_init(&e, NULL, &(struct engine_options){ .seed = 1, .slowest = paths[i] });
        fixture_load(&e.f, NODE("a", "2"));
        engine_fixture_add(&e, POD("p", "1", ""));
        engine_fixture_add(&e, POD("q", "1", ""));
        engine_fixture_add(&e, POD("r", "1", ""));
        for (int pod = 0; pod < 2; pod++) {
            decision = step(&e);
            assert_int_equal(decision.row, fixture_row(&e.f, "a"));
            assert_int_equal(decision.pod->row, decision.row);
            assert_int_equal(decision.feasible, 1);
            assert_false(decision.retry || decision.is_error);
            assert_int_equal(e.f.cluster.col.used[RES_CPU][decision.row], 1000 * (pod + 1));
        }
        decision = step(&e);
        assert_int_equal(decision.row, ROW_NONE);
        assert_str(decision.message, FULL);
        assert_int_equal(decision.victims_len, 0);
        assert_int_equal(decision.feasible, 0);
        assert_false(decision.is_error);
        assert_false(engine_step(&e.engine, e.now_ns, &decision)); /* each was tried once */
        uint64_t decided = 0;
        for (int path = 0; path < PATH_COUNT; path++)
            decided += e.engine.stats.decisions[path];
        assert_int_equal(decided, 3);
        assert_int_equal(e.engine.stats.decisions[PATH_PLAIN], paths[i] == PATH_PLAIN ? 3 : 0);
        engine_fixture_release(&e);
    }
}

static void test_priority_first(void **state)
{
    (void)state;
    struct engine_fixture e;
    engine_fixture_init(&e, NULL, &(struct engine_options){ .slowest = PATH_INDEX });
    fixture_load(&e.f, NODE("a", "1"));
    engine_fixture_add(&e, POD("low", "1", ""));
    const struct pod_info *high = engine_fixture_add(&e, POD("high", "1", ", priority: 5"));
    struct decision decision = step(&e);
    assert_ptr_equal(decision.pod, high);
    assert_str(cluster_node_name(&e.f.cluster, decision.row), "a");
    assert_str(step(&e).message, FULL);
    engine_fixture_release(&e);
}

static void test_no_nodes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        struct engine_fixture e;
        engine_fixture_init(&e, NULL, &(struct engine_options){ .slowest = paths[i] });
        fixture_load(&e.f,
                     "{kind: Pod, metadata: {name: running}, spec: {nodeName: ghost}}"); /* adds no node */
        engine_fixture_add(&e, POD("p", "1", ""));
        struct decision decision = step(&e);
        assert_int_equal(decision.row, ROW_NONE);
        assert_str(decision.message, "no nodes available to schedule pods");
        assert_false(decision.is_error);
        engine_fixture_release(&e);
    }
}

/* ---- admission ---- */
static void test_gated(void **state)
{
    (void)state;
    struct engine_fixture e;
    struct status gate;
    struct error err;
    struct decision decision;
    engine_fixture_init(&e, NULL, &(struct engine_options){ .slowest = PATH_INDEX });
    fixture_load(&e.f, NODE("a", "2") POD("p", "1", ", schedulingGates: [{name: one}, {name: two}]"));
    assert_int_equal(engine_add_pod(&e.engine, e.f.last_pod, e.now_ns, &gate, &err), 0);
    assert_status(gate, STATUS_UNRESOLVABLE, "waiting for scheduling gates: [one two]");
    assert_string_equal(gate.plugin->name, "SchedulingGates");
    assert_false(engine_step(&e.engine, e.now_ns, &decision));
    engine_remove_pod(&e.engine, e.f.last_pod, e.now_ns);
    assert_int_equal(e.engine.queue.counts[QUEUE_GATED], 0);
    engine_fixture_release(&e);
}

static void test_other_scheduler(void **state)
{
    (void)state;
    struct engine_fixture e;
    struct status gate;
    struct error err;
    struct decision decision;
    engine_fixture_init(&e, NULL, &(struct engine_options){ .slowest = PATH_INDEX });
    fixture_load(&e.f, POD("p", "1", ", schedulerName: someone-else"));
    assert_int_equal(engine_add_pod(&e.engine, e.f.last_pod, e.now_ns, &gate, &err), -ENOENT);
    assert_string_equal(err.text, "pod default/p: no profile for scheduler name \"someone-else\"");
    assert_null(engine_profile(&e.engine, e.f.last_pod->api));
    assert_false(engine_step(&e.engine, e.now_ns, &decision));
    engine_fixture_release(&e);
}

#define CONFIG(fields) \
    "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration, " fields "}"

/* Each pod is decided by the plugins of its own profile. */
static void test_profiles(void **state)
{
    (void)state;
    struct engine_fixture e;
    engine_fixture_init(
        &e,
        CONFIG("profiles: [{schedulerName: default-scheduler}, {schedulerName: careless, plugins: "
               "{multiPoint: {disabled: [{name: NodeResourcesFit}, {name: DefaultPreemption}]}}}]"),
        &(struct engine_options){ .slowest = PATH_INDEX });
    fixture_load(&e.f, NODE("a", "1"));
    engine_fixture_add(&e, POD("p", "9", ", schedulerName: careless"));
    engine_fixture_add(&e, POD("q", "9", ""));
    assert_str(engine_fixture_next(&e), "a");
    assert_str(step(&e).message,
               "0/1 nodes are available: 1 Insufficient cpu. "
               "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.");
    /* One class of pods for both profiles, many times: their tables are not mixed up. */
    for (int i = 0; i < 5; i++) {
        char text[256];
        snprintf(text, sizeof(text), POD("r%d", "9", ", schedulerName: %s"), i, i,
                 i % 2 ? "careless" : "default-scheduler");
        engine_fixture_add(&e, text);
        assert_int_equal(step(&e).row != ROW_NONE, i % 2);
    }
    engine_fixture_release(&e);
}

/* ---- preemption ---- */
static void test_preemption(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        struct engine_fixture e;
        engine_fixture_init(&e, NULL, &(struct engine_options){ .slowest = paths[i] });
        fixture_load(&e.f, NODE("a", "2") NODE("b", "1") POD("victim", "2", ", nodeName: a, priority: 1"));
        struct pod_info *victim = e.f.last_pod, *pod = engine_fixture_add(&e, POD("p", "2", ", priority: 5"));
        struct decision decision = step(&e);
        assert_int_equal(decision.row, ROW_NONE);
        assert_int_equal(decision.nominated_row, fixture_row(&e.f, "a"));
        assert_int_equal(decision.victims_len, 1);
        assert_ptr_equal(decision.victims[0], victim);
        assert_true(decision.retry);
        assert_str(
            decision.message,
            "0/2 nodes are available: 2 Insufficient cpu. preemption: found a potential placement for pod "
            "on node a, preempting 1 victims");
        assert_int_equal(pod->nominated_row, decision.nominated_row);
        engine_preemption_done(&e.engine, pod, false, e.now_ns);
        engine_remove_pod(&e.engine, victim, e.now_ns);
        /* A pod of the same priority arrives in between and does not get the resources. */
        engine_fixture_add(&e, POD("late", "2", ", priority: 5"));
        assert_int_equal(step(&e).row, ROW_NONE);
        decision = step(&e);
        assert_ptr_equal(decision.pod, pod);
        assert_str(cluster_node_name(&e.f.cluster, decision.row), "a");
        assert_int_equal(e.f.cluster.nominations, 0);
        engine_fixture_release(&e);
    }
}

/* Resources of a nominated pod are not given to a pod of lower priority that would fit. */
static void test_nominated_resources(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        struct engine_fixture e;
        engine_fixture_init(&e, NULL, &(struct engine_options){ .slowest = paths[i] });
        fixture_load(
            &e.f,
            NODE("a", "2") "{kind: Pod, metadata: {name: next, uid: u-next}, spec: {priority: 5, containers: "
                           "[{name: c, resources: {requests: {cpu: 2}}}]}, status: {nominatedNodeName: a}}");
        struct pod_info *next = e.f.last_pod;
        engine_fixture_add(&e, POD("p", "1", ""));
        assert_int_equal(step(&e).row, ROW_NONE);
        engine_remove_pod(&e.engine, next, e.now_ns); /* deleted: waiting pods are requeued */
        assert_str(engine_fixture_next(&e), "a");
        engine_fixture_release(&e);
    }
}

/* The node that a pod is nominated to is tried first and counts as examined, also where the search ends before it. */
static void test_own_nomination_is_full(void **state)
{
    (void)state;
    enum { NODES = 120, ENOUGH = 100 };
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        struct engine_fixture e;
        engine_fixture_init(
            &e, NULL,
            &(struct engine_options){ .slowest = paths[i], .percentage = { .set = true, .value = 1 } });
        for (int node = 0; node < NODES; node++)
            fixture_loadf(
                &e.f, "{kind: Node, metadata: {name: n%d}, status: {allocatable: {cpu: 2, pods: 20}}}", node);
        fixture_load(&e.f, POD("full", "2", ", nodeName: n90"));
        engine_fixture_add(&e, POD("first", "1", ""));
        assert_int_equal(step(&e).examined, ENOUGH + 1); /* n90 does not fit */
        struct pod_info *pod = engine_fixture_add(&e, POD("p", "1", ""));
        cluster_nominate(&e.f.cluster, pod, fixture_row(&e.f, "n90"));
        struct decision decision = step(&e);
        assert_int_equal(decision.path, paths[i] == PATH_PLAIN ? PATH_PLAIN : PATH_INDEX);
        assert_int_equal(decision.feasible, ENOUGH);
        assert_int_equal(decision.examined, ENOUGH + 1);
        assert_int_equal(e.engine.next_start, 2 * (ENOUGH + 1) % NODES);
        engine_fixture_release(&e);
    }
}

/* ---- requeueing ---- */
static void test_remove_requeues(void **state)
{
    (void)state;
    struct engine_fixture e;
    struct decision decision;
    engine_fixture_init(&e, NULL, &(struct engine_options){ .slowest = PATH_INDEX });
    fixture_load(&e.f, NODE("a", "1") POD("running", "1", ", nodeName: a"));
    struct pod_info *running = e.f.last_pod;
    struct pod_info *first = engine_fixture_add(&e, POD("p", "1", ""));
    struct pod_info *second = engine_fixture_add(&e, POD("q", "1", ""));
    assert_str(step(&e).message, FULL);
    assert_str(step(&e).message, FULL);
    assert_false(engine_step(&e.engine, e.now_ns, &decision));
    engine_remove_pod(&e.engine, first, e.now_ns); /* no longer queued; frees no resources */
    assert_false(engine_step(&e.engine, e.now_ns, &decision));
    engine_remove_pod(&e.engine, running, e.now_ns);
    decision = step(&e);
    assert_ptr_equal(decision.pod, second);
    assert_str(cluster_node_name(&e.f.cluster, decision.row), "a");
    assert_false(engine_step(&e.engine, e.now_ns, &decision));
    engine_fixture_release(&e);
}

/* ---- ties ---- */
enum { EQUAL_NODES = 40, EQUAL_PODS = 60 };

static void run_equal(uint64_t seed, enum decision_path path, uint32_t *ret_rows)
{
    struct engine_fixture e;
    engine_fixture_init(&e, NULL, &(struct engine_options){ .seed = seed, .slowest = path });
    for (int i = 0; i < EQUAL_NODES; i++)
        fixture_loadf(&e.f, NODE("n%d", "8"), i);
    for (int i = 0; i < EQUAL_PODS; i++) {
        char text[256];
        snprintf(text, sizeof(text), POD("p%d", "1", ""), i, i);
        engine_fixture_add(&e, text);
        struct decision decision = step(&e);
        ret_rows[i] = decision.row;
        assert_int_equal(decision.ties, i < EQUAL_NODES ? EQUAL_NODES - i : 2 * EQUAL_NODES - i);
    }
    engine_fixture_release(&e);
}

static void test_seeds(void **state)
{
    (void)state;
    uint32_t want[EQUAL_PODS], got[EQUAL_PODS];
    run_equal(7, PATH_PLAIN, want);
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        run_equal(7, paths[i], got); /* the same random numbers on every path */
        assert_memory_equal(got, want, sizeof(want));
    }
    run_equal(8, PATH_INDEX, got);
    assert_memory_not_equal(got, want, sizeof(want));
    /* Every node gets one pod before one gets a second. */
    bool seen[EQUAL_NODES] = { 0 };
    for (int i = 0; i < EQUAL_NODES; i++) {
        assert_false(seen[want[i]]);
        seen[want[i]] = true;
    }
}

/* ---- percentage of nodes to score ---- */
static void test_percentage(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        struct engine_fixture e;
        engine_fixture_init(
            &e, CONFIG("percentageOfNodesToScore: 100, profiles: [{percentageOfNodesToScore: 90}]"),
            &(struct engine_options){ .slowest = paths[i], .percentage = { true, 10 } });
        for (int n = 0; n < 150; n++)
            fixture_loadf(&e.f, NODE("n%d", "8"), n);
        engine_fixture_add(&e, POD("p", "1", ""));
        engine_fixture_add(&e, POD("q", "1", ""));
        struct decision decision = step(&e);
        assert_int_equal(decision.examined, 100);
        assert_int_equal(decision.feasible, 100);
        assert_true(decision.row < 100);
        assert_int_equal(e.engine.next_start, 100); /* the next search starts there */
        decision = step(&e);
        assert_int_equal(e.engine.next_start, 50);
        assert_true(decision.row >= 100 || decision.row < 50);
        engine_fixture_release(&e);
    }
}

/* ---- plugins that fail ---- */
extern const struct plugin plugin_priority_sort, plugin_default_binder, plugin_node_name;

static struct status broken_filter(struct cycle *cycle, struct node_view node)
{
    (void)cycle, (void)node;
    return reject(STATUS_ERROR, "broken");
}

static enum status_code reserve_code;
static int unreserved;

static struct status broken_reserve(struct cycle *cycle, uint32_t row)
{
    (void)row;
    return reserve_code ? status_printf(cycle->arena, reserve_code, "taken") : STATUS_OK;
}

static void count_unreserve(struct cycle *cycle, uint32_t row)
{
    (void)cycle, (void)row;
    unreserved++;
}

static int broken_init(const struct plugin_env *env, void **ret_self, struct error *err)
{
    (void)env, (void)ret_self;
    return error_set(err, -EINVAL, "no good");
}

static const struct plugin plugin_broken = { .name = "Broken", .filter = broken_filter };
static const struct plugin plugin_reserver = { .name = "Reserver",
                                               .reserve = broken_reserve,
                                               .unreserve = count_unreserve };
static const struct plugin plugin_hopeless = { .name = "Hopeless",
                                               .init = broken_init,
                                               .filter = broken_filter };
static const struct plugin *const own_plugins[] = { &plugin_priority_sort, &plugin_node_name,
                                                    &plugin_broken,        &plugin_reserver,
                                                    &plugin_hopeless,      &plugin_default_binder };
static const struct registry own_registry = { own_plugins, ARRAY_SIZE(own_plugins) };

#define OWN(plugin) \
    CONFIG("profiles: [{plugins: {multiPoint: {disabled: [{name: '*'}], enabled: [{name: PrioritySort}, " \
           "{name: NodeName}, " \
           "{name: " plugin "}, {name: DefaultBinder}]}}}]")

static void test_failing_filter(void **state)
{
    (void)state;
    struct engine_fixture e;
    struct decision decision;
    engine_fixture_init(&e, OWN("Broken"),
                        &(struct engine_options){ .slowest = PATH_INDEX, .registry = &own_registry });
    fixture_load(&e.f, NODE("a", "1") POD("running", "1", ", nodeName: a"));
    struct pod_info *running = e.f.last_pod;
    engine_fixture_add(&e, POD("p", "1", ""));
    decision = step(&e);
    assert_true(decision.is_error);
    assert_int_equal(decision.row, ROW_NONE);
    assert_str(decision.message, "running \"Broken\" filter plugin: broken");
    engine_remove_pod(&e.engine, running, e.now_ns);
    assert_false(engine_step(&e.engine, e.now_ns, &decision)); /* it stays in backoff, whatever happens */
    assert_int_equal(queue_next_due(&e.engine.queue), e.now_ns + 2 * NS_PER_SECOND);
    e.now_ns += 2 * NS_PER_SECOND;
    assert_true(engine_step(&e.engine, e.now_ns, &decision));
    engine_fixture_release(&e);
}

static void test_failing_reserve(void **state)
{
    (void)state;
    static const struct {
        enum status_code code;
        bool is_error;
        const char *message;
    } cases[] = {
        { STATUS_UNSCHEDULABLE, false, "0/1 nodes are available: 1 taken." },
        { STATUS_ERROR, true, "running Reserve plugin \"Reserver\": taken" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct engine_fixture e;
        engine_fixture_init(&e, OWN("Reserver"),
                            &(struct engine_options){ .slowest = PATH_INDEX, .registry = &own_registry });
        fixture_load(&e.f, NODE("a", "1"));
        engine_fixture_add(&e, POD("p", "1", ""));
        reserve_code = cases[i].code;
        unreserved = 0;
        struct decision decision = step(&e);
        assert_int_equal(decision.row, ROW_NONE);
        assert_int_equal(decision.is_error, cases[i].is_error);
        assert_str(decision.message, cases[i].message);
        assert_int_equal(unreserved, 1);
        assert_int_equal(decision.pod->row, ROW_NONE); /* it uses no resources */
        assert_int_equal(e.f.cluster.col.used[RES_CPU][fixture_row(&e.f, "a")], 0);
        engine_fixture_release(&e);
    }
    reserve_code = STATUS_SUCCESS;
}

static void test_failing_init(void **state)
{
    (void)state;
    struct engine_fixture e;
    struct error err;
    int r =
        engine_fixture_try(&e, OWN("Hopeless"), &(struct engine_options){ .registry = &own_registry }, &err);
    assert_int_equal(r, -EINVAL);
    assert_string_equal(err.text, "initializing plugin \"Hopeless\": no good");
    engine_fixture_release(&e); /* releases the plugins that were created */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_takes_resources),
        cmocka_unit_test(test_priority_first),
        cmocka_unit_test(test_no_nodes),
        cmocka_unit_test(test_gated),
        cmocka_unit_test(test_other_scheduler),
        cmocka_unit_test(test_profiles),
        cmocka_unit_test(test_preemption),
        cmocka_unit_test(test_nominated_resources),
        cmocka_unit_test(test_own_nomination_is_full),
        cmocka_unit_test(test_remove_requeues),
        cmocka_unit_test(test_seeds),
        cmocka_unit_test(test_percentage),
        cmocka_unit_test(test_failing_filter),
        cmocka_unit_test(test_failing_reserve),
        cmocka_unit_test(test_failing_init),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
