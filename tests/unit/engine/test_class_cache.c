/* The cache of classes: a scan over the nodes for the first pod, an index that is kept and repaired for the following
 * pods, a bounded number of indexes, and none for a class that is gone. */
#include "support/engine_fixture.h"

#include "engine/class_cache.h"

#define NODE(name, fields) \
    "{kind: Node, metadata: {name: " name \
    "}, status: {allocatable: {cpu: 64, memory: 64Gi, pods: 5000}}" fields "}"

static struct pod_info *add(struct engine_fixture *e, const char *name, const char *app)
{
    char text[256];
    snprintf(text, sizeof(text),
             "{kind: Pod, metadata: {name: %s, labels: {app: %s}}, spec: {containers: [{name: c, "
             "resources: {requests: {cpu: 10m}}}]}}",
             name, app);
    return engine_fixture_add(e, text);
}

static enum decision_path decide(struct engine_fixture *e, const char *name, const char *app)
{
    add(e, name, app);
    struct decision decision = engine_fixture_step(e);
    assert_int_not_equal(decision.row, ROW_NONE);
    return decision.path;
}

static void init(struct engine_fixture *e, int nodes)
{
    engine_fixture_init(e, NULL, &(struct engine_options){ .seed = 1, .slowest = PATH_INDEX });
    for (int i = 0; i < nodes; i++)
        fixture_loadf(&e->f, NODE("n%d", ""), i);
}

static void test_scan_then_index(void **state)
{
    (void)state;
    struct engine_fixture e;
    const struct engine_stats *stats = &e.engine.stats;
    init(&e, 100);
    assert_int_equal(decide(&e, "p0", "web"), PATH_SCAN);
    assert_int_equal(class_cache_len(e.engine.classes), 0);
    assert_int_equal(decide(&e, "p1", "web"), PATH_INDEX);
    assert_int_equal(class_cache_len(e.engine.classes), 1);
    uint64_t built = stats->tables_built;
    for (int i = 2; i < 50; i++) {
        char name[16];
        snprintf(name, sizeof(name), "p%d", i);
        assert_int_equal(decide(&e, name, "web"), PATH_INDEX);
    }
    assert_int_equal(stats->tables_built,
                     built); /* built once: each decision repairs the row of the previous one */
    assert_int_equal(stats->rows_repaired, 48);
    assert_int_equal(decide(&e, "q0", "db"), PATH_SCAN);
    assert_int_equal(stats->decisions[PATH_INDEX], 49);
    engine_fixture_release(&e);
}

/* A port of all addresses takes it from pods that want one address, also if no pod had wanted such a port before the
 * index was built. */
static void test_any_address(void **state)
{
    (void)state;
    struct engine_fixture e;
    init(&e, 4);
    static const char *const addresses[] = { "hostIP: 10.0.0.1", "hostIP: 10.0.0.1", "name: any",
                                             "hostIP: 10.0.0.1" };
    for (size_t i = 0; i <= ARRAY_SIZE(addresses); i++) {
        char text[256];
        snprintf(text, sizeof(text),
                 "{kind: Pod, metadata: {name: p%zu}, spec: {containers: [{name: c, ports: [{hostPort: 80, "
                 "%s}]}]}}",
                 i, addresses[i % ARRAY_SIZE(addresses)]);
        engine_fixture_add(&e, text);
        uint32_t row = engine_fixture_step(&e).row;
        assert_int_equal(row == ROW_NONE, i == ARRAY_SIZE(addresses)); /* all four nodes have one */
    }
    engine_fixture_release(&e);
}

/* Nodes change in between: the index is repaired or rebuilt, and never stale. */
static void test_follows_nodes(void **state)
{
    (void)state;
    struct engine_fixture e;
    init(&e, 3);
    decide(&e, "p0", "web");
    decide(&e, "p1", "web");
    for (int i = 0; i < 3; i++)
        fixture_loadf(&e.f, NODE("n%d", ", spec: {unschedulable: true}"), i);
    fixture_load(&e.f, NODE("fresh", ""));
    add(&e, "p2", "web");
    assert_str(engine_fixture_next(&e), "fresh");
    cluster_remove_node(&e.f.cluster, STR("fresh"));
    add(&e, "p3", "web");
    assert_str(engine_fixture_next(&e), "");
    fixture_loadf(&e.f, NODE("n1", ""));
    add(&e, "p4", "web");
    assert_str(engine_fixture_next(&e), "n1");
    for (int i = 0; i < 200; i++) /* more rows than the capacity of the columns */
        fixture_loadf(&e.f, NODE("m%d", ", spec: {taints: [{key: k, effect: NoSchedule}]}"), i);
    fixture_load(&e.f, NODE("n1", ", spec: {unschedulable: true}"));
    fixture_load(&e.f, NODE("last", ""));
    add(&e, "p5", "web");
    assert_str(engine_fixture_next(&e), "last");
    engine_fixture_release(&e);
}

/* More changes than the change log keeps. */
static void test_change_log_overflow(void **state)
{
    (void)state;
    struct engine_fixture e;
    init(&e, 2);
    decide(&e, "p0", "web");
    decide(&e, "p1", "web");
    fixture_load(&e.f, NODE("n0", ", spec: {unschedulable: true}"));
    fixture_load(&e.f, "{kind: Pod, metadata: {name: busy}}");
    struct pod_info *busy = e.f.last_pod;
    for (int i = 0; i < 10000; i++) {
        cluster_place(&e.f.cluster, busy, fixture_row(&e.f, "n1"));
        cluster_displace(&e.f.cluster, busy);
    }
    assert_true(e.f.cluster.log_base > 0);
    add(&e, "p2", "web");
    assert_str(engine_fixture_next(&e), "n1");
    engine_fixture_release(&e);
}

/* The first pod of a class represents it in its table, and may be gone when the table is built. */
static void test_sample_is_gone(void **state)
{
    (void)state;
    struct engine_fixture e;
    init(&e, 5);
    struct pod_info *first = add(&e, "p0", "web");
    add(&e, "p1", "web");
    engine_fixture_step(&e);
    engine_remove_pod(&e.engine, first, e.now_ns);
    assert_int_equal(engine_fixture_step(&e).path, PATH_INDEX);
    assert_int_equal(decide(&e, "p2", "web"), PATH_INDEX);
    engine_fixture_release(&e);
}

static void test_freed_with_its_class(void **state)
{
    (void)state;
    struct engine_fixture e;
    init(&e, 5);
    decide(&e, "p0", "web");
    decide(&e, "p1", "web");
    decide(&e, "q0", "db");
    decide(&e, "q1", "db");
    assert_int_equal(class_cache_len(e.engine.classes), 2);
    engine_remove_pod(&e.engine, fixture_pod(&e.f, "p0"), e.now_ns);
    assert_int_equal(class_cache_len(e.engine.classes), 2);
    engine_remove_pod(&e.engine, fixture_pod(&e.f, "p1"), e.now_ns);
    assert_int_equal(class_cache_len(e.engine.classes), 1);
    assert_int_equal(decide(&e, "p2", "web"), PATH_SCAN); /* a new class */
    engine_fixture_release(&e);
}

/* More classes than tables: the least recently used table is freed. */
static void test_bounded(void **state)
{
    (void)state;
    enum { CLASSES = 1100, TABLES_MOST = 1024 };
    struct engine_fixture e;
    char name[32], app[32];
    init(&e, 3);
    for (int i = 0; i < CLASSES; i++) {
        for (int k = 0; k < 2; k++) {
            snprintf(name, sizeof(name), "p%d-%d", i, k);
            snprintf(app, sizeof(app), "a%d", i);
            decide(&e, name, app);
        }
        assert_true(class_cache_len(e.engine.classes) <= TABLES_MOST);
    }
    assert_int_equal(class_cache_len(e.engine.classes), TABLES_MOST);
    uint64_t built = e.engine.stats.tables_built;
    assert_int_equal(decide(&e, "again-late", app), PATH_INDEX); /* still cached */
    assert_int_equal(e.engine.stats.tables_built, built);
    assert_int_equal(decide(&e, "again-early", "a0"), PATH_INDEX); /* built again */
    assert_int_equal(e.engine.stats.tables_built, built + 1);
    assert_int_equal(class_cache_len(e.engine.classes), TABLES_MOST);
    engine_fixture_release(&e);
}

/* Pods of always new classes come and go: memory stays bounded. */
static void test_churn(void **state)
{
    (void)state;
    enum { ROUNDS = 60, KINDS = 5 };
    struct engine_fixture e;
    size_t symbols = 0, entries = 0;
    init(&e, 10);
    for (int round = 0; round < ROUNDS; round++) {
        struct pod_info *pods[KINDS * 3];
        for (int i = 0; i < KINDS * 3; i++) {
            char text[512];
            snprintf(text, sizeof(text),
                     "{kind: Pod, metadata: {name: p%d-%d, labels: {app: a%d-%d}}, spec: {nodeSelector: "
                     "{}, affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: "
                     "[{weight: 1, podAffinityTerm: {topologyKey: zone, labelSelector: {matchLabels: {app: "
                     "a%d-%d}}}}]}}, containers: [{name: c}]}}",
                     round, i, round, i % KINDS, round, i % KINDS);
            pods[i] = engine_fixture_add(&e, text);
            assert_int_not_equal(engine_fixture_step(&e).row, ROW_NONE);
        }
        for (int i = 0; i < KINDS * 3; i++)
            engine_remove_pod(&e.engine, pods[i], e.now_ns);
        assert_int_equal(class_cache_len(e.engine.classes), 0);
        assert_int_equal(e.f.cluster.classes.len, 0);
        if (round == 1) {
            symbols = e.f.cluster.syms.by_name.len;
            entries = e.f.cluster.syms.entries.len;
        } else if (round > 1) {
            assert_int_equal(e.f.cluster.syms.by_name.len, symbols);
            assert_int_equal(e.f.cluster.syms.entries.len, entries);
        }
    }
    engine_fixture_release(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scan_then_index), cmocka_unit_test(test_any_address),
        cmocka_unit_test(test_follows_nodes),   cmocka_unit_test(test_change_log_overflow),
        cmocka_unit_test(test_sample_is_gone),  cmocka_unit_test(test_freed_with_its_class),
        cmocka_unit_test(test_bounded),         cmocka_unit_test(test_churn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
