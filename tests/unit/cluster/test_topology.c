/* Domains of a label key: their nodes, their number, and when a domain becomes a single node. */
#include "support/fixture.h"

enum { ROWS = 24, VALUES = 6, FIRST_VALUE = 10 };

/* The reference for the column. */
struct model {
    sym value_of[ROWS];
};

static uint32_t nodes_with(const struct model *model, sym value)
{
    uint32_t count = 0;
    for (int row = 0; row < ROWS; row++)
        count += model->value_of[row] == value;
    return count;
}

static void check(const struct topology *topo, const struct model *model)
{
    uint32_t used = 0;
    for (uint32_t row = 0; row < ROWS; row++) {
        uint32_t domain = topo->domain_of[row];
        assert_int_equal(domain != 0, model->value_of[row] != SYM_NONE);
        if (domain)
            assert_int_equal(topo->domains.items[domain].value, model->value_of[row]);
    }
    for (sym value = FIRST_VALUE; value < FIRST_VALUE + VALUES; value++) {
        uint32_t domain = topology_find(topo, value), nodes = nodes_with(model, value);
        assert_int_equal(domain != 0, nodes != 0);
        if (domain)
            assert_int_equal(topo->domains.items[domain].nodes, nodes);
        used += nodes != 0;
    }
    assert_int_equal(topo->domains.len - 1 - topo->free.len, used);
}

static void test_against_model(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    struct model model = { 0 };
    struct topology topo;
    topology_init(&topo, 1);
    topology_reserve(&topo, ROWS / 2, NULL);
    topology_reserve(&topo, ROWS, NULL);
    for (int step = 0; step < 20000; step++) {
        uint32_t row = (uint32_t)rng_below(&rng, ROWS);
        sym value = rng_below(&rng, 3) ? FIRST_VALUE + (sym)rng_below(&rng, VALUES) : SYM_NONE,
            old = model.value_of[row];
        bool crosses = old != value &&
                       ((old && nodes_with(&model, old) == 2) || (value && nodes_with(&model, value) == 1));
        uint64_t shape = topo.shape;
        model.value_of[row] = value;
        topology_assign(&topo, row, value);
        check(&topo, &model);
        /* Changes if and only if a domain becomes a single node or stops being one. */
        assert_int_equal(topo.shape != shape, crosses);
    }
    assert_true(topo.domains.len <= VALUES + 1); /* numbers are reused */
    topology_release(&topo);
}

/* Through nodes: a column that is created late shows the existing nodes, and follows changes. */
static void test_follows_nodes(void **state)
{
    (void)state;
    struct fixture f;
    FIXTURE_BARE(&f);
    fixture_load(&f, "{kind: Node, metadata: {name: a, labels: {zone: z1}}}\n---\n"
                     "{kind: Node, metadata: {name: b, labels: {zone: z1}}}\n---\n"
                     "{kind: Node, metadata: {name: c, labels: {zone: ''}}}\n---\n"
                     "{kind: Node, metadata: {name: d}}\n---\n"
                     "{kind: Pod, metadata: {name: p}, spec: {nodeName: ghost}}");
    sym zone = intern_find(&f.cluster.syms, STR("zone"));
    struct topology *topo = cluster_topology(&f.cluster, zone);
    const uint32_t *domain_of = topo->domain_of;
    uint32_t a = fixture_row(&f, "a"), b = fixture_row(&f, "b"), c = fixture_row(&f, "c"),
             d = fixture_row(&f, "d");
    assert_ptr_equal(cluster_topology(&f.cluster, zone), topo);
    assert_int_equal(domain_of[a], domain_of[b]);
    assert_int_not_equal(domain_of[c], 0); /* an empty value is a value */
    assert_int_not_equal(domain_of[c], domain_of[a]);
    assert_int_equal(domain_of[d], 0);
    assert_int_equal(domain_of[f.last_pod->row], 0);

    fixture_load(&f, "{kind: Node, metadata: {name: b, labels: {zone: z2}}}");
    assert_int_not_equal(domain_of[a], domain_of[b]);
    fixture_load(&f, "{kind: Node, metadata: {name: ghost, labels: {zone: z2}}}");
    assert_int_equal(domain_of[f.last_pod->row], domain_of[b]);
    cluster_remove_node(&f.cluster, STR("ghost"));
    assert_int_equal(domain_of[f.last_pod->row], 0);
    fixture_load(&f, "{kind: Node, metadata: {name: a}}");
    assert_int_equal(domain_of[a], 0);
    assert_int_equal(topology_find(topo, intern_find(&f.cluster.syms, STR("z1"))), 0);
    fixture_release(&f);
}

/* Pods may bring an unlimited number of keys: unused columns are freed. */
static void test_unused_columns_are_freed(void **state)
{
    (void)state;
    struct fixture f;
    FIXTURE_BARE(&f);
    fixture_load(&f, "{kind: Node, metadata: {name: a, labels: {zone: z1}}}");
    struct topology *kept = cluster_topology(&f.cluster, intern_find(&f.cluster.syms, STR("zone")));
    kept->users++;
    for (int i = 0; i < 2000; i++) {
        char key[32];
        snprintf(key, sizeof(key), "key-%d", i);
        sym symbol = intern_get(&f.cluster.syms, str_from(key));
        cluster_topology(&f.cluster, symbol);
        intern_unref(&f.cluster.syms, symbol);
        assert_true(f.cluster.topologies.len <= 256);
    }
    assert_ptr_equal(cluster_topology(&f.cluster, kept->key), kept);
    assert_int_not_equal(kept->domain_of[fixture_row(&f, "a")], 0);
    fixture_release(&f);
}

/* Keys that no node has take no column: a pod may name thousands. The first node with the label makes one. */
static void test_columns_without_domains(void **state)
{
    (void)state;
    struct fixture f;
    FIXTURE_BARE(&f);
    fixture_load(&f, "{kind: Node, metadata: {name: a, labels: {zone: z1}}}");
    struct topology *topos[3];
    for (int i = 0; i < 3; i++) {
        char key[32];
        snprintf(key, sizeof(key), "key-%d", i);
        sym symbol = intern_get(&f.cluster.syms, str_from(key));
        topos[i] = cluster_topology(&f.cluster, symbol);
        intern_unref(&f.cluster.syms, symbol);
    }
    assert_ptr_equal(topos[0]->domain_of, topos[1]->domain_of);
    for (int i = 0; i < 200; i++) { /* more rows */
        fixture_loadf(&f, "{kind: Node, metadata: {name: n%d}}", i);
        assert_ptr_equal(topos[0]->domain_of, topos[1]->domain_of);
        assert_int_equal(topos[0]->domain_of[fixture_row(&f, "a")], 0);
    }
    fixture_load(&f, "{kind: Node, metadata: {name: a, labels: {key-1: x}}}");
    assert_ptr_not_equal(topos[0]->domain_of, topos[1]->domain_of);
    assert_ptr_equal(topos[0]->domain_of, topos[2]->domain_of);
    assert_int_not_equal(topos[1]->domain_of[fixture_row(&f, "a")], 0);
    assert_int_equal(topos[0]->domain_of[fixture_row(&f, "a")], 0);
    fixture_load(&f, "{kind: Node, metadata: {name: a}}");
    assert_int_equal(topos[1]->domain_of[fixture_row(&f, "a")], 0);
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_model),
        cmocka_unit_test(test_follows_nodes),
        cmocka_unit_test(test_unused_columns_are_freed),
        cmocka_unit_test(test_columns_without_domains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
