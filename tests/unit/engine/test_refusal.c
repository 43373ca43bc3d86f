/* Pods of a class that fits nowhere are searched for once, until the model changes; the result is the same for each. */
#include "fake_host.h"

enum { PODS = 40 };

#define FULL ", nodeName: a, priority: 5"

static void add_waiting(struct fake_host *h, int from, int to, const char *priority)
{
    for (int i = from; i < to; i++)
        fixture_loadf(
            &h->e.f,
            "{kind: Pod, metadata: {name: w%d, uid: uw%d}, spec: {priority: %s, containers: [{name: c, "
            "resources: {requests: {cpu: 1}}}]}}",
            i, i, priority);
}

/* Decides all pods that are to be decided; returns how many needed a search. Their messages are equal. */
static uint64_t decide_all(struct fake_host *h, uint32_t *ret_decisions, uint32_t *ret_victims)
{
    uint64_t before = h->e.engine.stats.refusals_repeated;
    char message[512] = "";
    struct decision decision;
    uint32_t decisions = 0;
    *ret_victims = 0;
    while (engine_step(&h->e.engine, h->e.now_ns, &decision)) {
        decisions++;
        *ret_victims += decision.victims_len;
        if (decision.row != ROW_NONE || decision.victims_len)
            continue;
        assert_non_null(decision.diagnosis);
        assert_true(decision.preemption_tried);
        assert_int_equal(decision.nomination, NOMINATION_CLEAR);
        assert_true(decision.unschedulable_plugins != 0);
        if (message[0])
            assert_str(decision.message, message);
        snprintf(message, sizeof(message), STR_FMT, STR_ARG(decision.message));
    }
    *ret_decisions = decisions;
    return decisions - (h->e.engine.stats.refusals_repeated - before);
}

static void begin(struct fake_host *h)
{
    host_begin(h, NULL, NULL);
    fixture_load(&h->e.f, NODE("a", "2"));
    fixture_load(&h->e.f, NODE("b", "1"));
    fixture_load(&h->e.f, POD("full1", "1", FULL));
    fixture_load(&h->e.f, POD("full2", "1", FULL));
    fixture_load(&h->e.f, POD("full3", "1", ", nodeName: b, priority: 5"));
}

static void test_one_search_for_all(void **state)
{
    (void)state;
    struct fake_host h;
    uint32_t decisions, victims;
    begin(&h);
    add_waiting(&h, 0, PODS, "5");
    /* One pod before the class has a table, and one with it. */
    assert_int_equal(decide_all(&h, &decisions, &victims), 2);
    assert_int_equal(decisions, PODS);

    h.e.now_ns += 20 * SECOND; /* after any backoff */
    engine_remove_pod(&h.e.engine, fixture_pod(&h.e.f, "full3"), h.e.now_ns);
    assert_int_equal(decide_all(&h, &decisions, &victims), 2); /* the one that fits, and the next one */
    assert_int_equal(decisions, PODS);
    assert_int_equal(engine_bindings(&h.e.engine), 1);
    assert_int_equal(victims, 0);
    host_end(&h);
}

/* Whatever the answer depends on makes a search necessary. */
static void test_changes(void **state)
{
    (void)state;
    static const struct {
        const char *what, *object;
        uint64_t searches;
    } changes[] = {
        { "nothing", NULL, 0 },
        { "a pod that waits",
          "{kind: Pod, metadata: {name: other, uid: uo, labels: {a: b}}, spec: {schedulingGates: "
          "[{name: x}], containers: [{name: c}]}}",
          0 },
        { "a pod on a node",
          "{kind: Pod, metadata: {name: more, uid: um}, spec: {nodeName: b, containers: [{name: c}]}}", 1 },
        { "a node",
          "{kind: Node, metadata: {name: b, labels: {x: z}}, status: {allocatable: {cpu: 1, pods: 20}}}", 1 },
        { "a budget",
          "{kind: PodDisruptionBudget, metadata: {name: d}, spec: {selector: {matchLabels: {a: b}}}}", 1 },
        { "a nomination",
          "{kind: Pod, metadata: {name: promised, uid: up}, spec: {priority: 9, schedulingGates: [{name: "
          "x}], "
          "containers: [{name: c}]}, status: {nominatedNodeName: a}}",
          1 },
    };
    struct fake_host h;
    uint32_t decisions, victims;
    begin(&h);
    add_waiting(&h, 0, PODS, "5");
    decide_all(&h, &decisions, &victims);
    for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
        h.e.now_ns += 20 * SECOND;
        if (changes[i].object)
            fixture_load(&h.e.f, changes[i].object);
        for (int pod = 0; pod < PODS; pod++) {
            char name[16];
            snprintf(name, sizeof(name), "w%d", pod);
            queue_activate(&h.e.engine.queue, fixture_pod(&h.e.f, name), h.e.now_ns);
        }
        uint64_t searches = decide_all(&h, &decisions, &victims);
        if (decisions != PODS || searches != changes[i].searches)
            fail_msg("%s: %llu searches for %u decisions", changes[i].what, (unsigned long long)searches,
                     decisions);
    }
    host_end(&h);
}

/* Nodes on which no victims help are tried again only when they have changed. */
static void test_changed_nodes_only(void **state)
{
    (void)state;
    enum { NODES = 30 };
    static const char *const changes[] = {
        "{kind: Pod, metadata: {name: more, uid: um}, spec: {nodeName: n3, containers: [{name: c}]}}",
        "{kind: Node, metadata: {name: n4, labels: {x: z}}, status: {allocatable: {cpu: 2, pods: 20}}}",
        "{kind: Pod, metadata: {name: promised, uid: up}, spec: {priority: 9, schedulingGates: [{name: x}], "
        "containers: [{name: c}]}, status: {nominatedNodeName: n5}}",
    };
    struct fake_host h;
    uint32_t decisions, victims;
    host_begin(&h, NULL, NULL);
    for (int i = 0; i < NODES; i++) {
        fixture_loadf(&h.e.f,
                      "{kind: Node, metadata: {name: n%d}, status: {allocatable: {cpu: 2, pods: 20}}}", i);
        for (int priority = 1; priority < 10; priority += 8) /* the pod of lower priority is not in the way */
            fixture_loadf(
                &h.e.f,
                "{kind: Pod, metadata: {name: f%d-%d, uid: uf%d-%d}, spec: {priority: %d, nodeName: "
                "n%d, containers: [{name: c, resources: {requests: {cpu: %d}}}]}}",
                i, priority, i, priority, priority, i, priority == 9 ? 2 : 0);
    }
    add_waiting(&h, 0, 3, "5");
    decide_all(&h, &decisions, &victims);
    assert_int_equal(decisions, 3);
    for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
        uint64_t before = h.e.engine.stats.rows_remembered;
        fixture_load(&h.e.f, changes[i]);
        queue_activate(&h.e.engine.queue, fixture_pod(&h.e.f, "w0"), h.e.now_ns);
        decide_all(&h, &decisions, &victims);
        assert_int_equal(decisions, 1);
        assert_int_equal(victims, 0);
        assert_int_equal(h.e.engine.stats.rows_remembered - before, NODES - 1);
    }
    host_end(&h);
}

/* A pod of the same shape and a higher priority preempts. */
static void test_priorities(void **state)
{
    (void)state;
    struct fake_host h;
    uint32_t decisions, victims;
    begin(&h);
    add_waiting(&h, 0, 4, "5");
    decide_all(&h, &decisions, &victims);
    assert_int_equal(victims, 0);
    add_waiting(&h, 4, 5, "6");
    decide_all(&h, &decisions, &victims);
    assert_int_equal(victims, 1);
    host_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_search_for_all),
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_changed_nodes_only),
        cmocka_unit_test(test_priorities),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
