/* Memory stays flat while nodes and pods come and go: symbols, classes, owners, rows, lists and
 * numbers return to their initial counts. */
#include "support/fixture.h"

enum { ROUNDS = 40, NODES = 20, PODS = 60 };

/* Everything that could grow. */
struct sizes {
    size_t symbols, classes, label_owners, term_owners, pods, claims, images, zones, taint_numbers,
        owners_by_label, terms_by_label, all_owners, loose_terms, nominations;
    size_t capacity[8]; /* of arrays that are kept and reused */
};

static struct sizes measure(const struct cluster *cluster)
{
    return (struct sizes){
        .symbols = cluster->syms.by_name.len,
        .classes = cluster->classes.len,
        .label_owners = cluster->label_owners.len,
        .term_owners = cluster->term_owners.len,
        .pods = cluster->pods.len,
        .claims = cluster->pvc_users.len,
        .images = cluster->images.len,
        .zones = cluster->zones.len,
        .taint_numbers = cluster->taint_numbers.len,
        .owners_by_label = cluster->matches.owners.len,
        .terms_by_label = cluster->matches.terms.len,
        .all_owners = cluster->matches.all_owners.len,
        .loose_terms = cluster->matches.loose_terms.len,
        .nominations = cluster->nominations,
        .capacity = { cluster->syms.entries.len, cluster->nodes.len, cluster->rows_cap,
                      cluster->taint_lists.len, cluster->label_numbers.next, cluster->term_numbers.next,
                      cluster->topologies.len, cluster->col.resources },
    };
}

static void add_objects(struct fixture *f, int round)
{
    for (int i = 0; i < NODES; i++)
        fixture_loadf(f,
                      "{kind: Node, metadata: {name: n%d-%d, labels: {zone: z%d-%d, host: h%d-%d, "
                      "topology.kubernetes.io/zone: z%d-%d}}, spec: {taints: [{key: k%d-%d, effect: "
                      "NoSchedule}]}, status: "
                      "{images: [{names: [i%d-%d, common], sizeBytes: 5}], allocatable: {cpu: 4}}}",
                      round, i, round, i % 3, round, i, round, i % 3, round, i % 5, round, i);
    for (int i = 0; i < PODS; i++)
        fixture_loadf(
            f,
            "{kind: Pod, metadata: {name: p%d-%d, namespace: s%d, labels: {app: a%d-%d, l%d: v}}, spec: {%s: "
            "n%d-%d, containers: [{name: c, ports: [{containerPort: 1, hostPort: %d, hostIP: 10.0.0.%d}]}], "
            "volumes: [{name: v, persistentVolumeClaim: {claimName: c%d-%d}}], affinity: {podAntiAffinity: "
            "{requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: host, labelSelector: "
            "{matchLabels: "
            "{app: a%d-%d}}}, {topologyKey: zone, namespaces: [s%d], namespaceSelector: {matchLabels: {a: "
            "b%d}}, "
            "labelSelector: {matchExpressions: [{key: x%d, operator: Exists}]}}]}}}, status: "
            "{nominatedNodeName: n%d-%d}}",
            round, i, round, round, i % 7, round, i % 4 ? "nodeName" : "unknown", round,
            (i * 7) % (NODES + 3), 1000 + round, i, round, i, round, i % 9, round, round, round, round,
            i % NODES);
}

static void remove_objects(struct fixture *f, struct rng *rng)
{
    struct cluster *cluster = &f->cluster;
    VEC(struct pod_info *) pods = { 0 };
    map_for(&cluster->pods, slot)
        *vec_push(&pods) = slot->value;
    while (pods.len || cluster->live_nodes) {
        if (pods.len && (!cluster->live_nodes || rng_below(rng, 4))) {
            size_t i = rng_below(rng, pods.len);
            cluster_remove_pod(cluster, pods.items[i]);
            vec_swap_remove(&pods, i);
            continue;
        }
        uint32_t row = (uint32_t)rng_below(rng, cluster->nodes.len);
        if (cluster_node(cluster, row)->api)
            cluster_remove_node(cluster, cluster_node_name(cluster, row));
    }
    vec_release(&pods);
}

static void test_flat(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    struct fixture f;
    FIXTURE_BARE(&f);
    struct cluster *cluster = &f.cluster;
    /* Label columns stay; these are used all the time. */
    sym zone = intern_get(&cluster->syms, STR("zone")), host = intern_get(&cluster->syms, STR("host"));
    cluster_topology(cluster, zone);
    cluster_topology(cluster, host);
    struct sizes empty = measure(cluster), used = { 0 };
    for (int round = 0; round < ROUNDS; round++) {
        add_objects(&f, round);
        if (round == 0)
            used = measure(cluster);
        else
            assert_memory_equal(measure(cluster).capacity, used.capacity, sizeof(used.capacity));
        assert_int_equal(measure(cluster).symbols, used.symbols);
        remove_objects(&f, &rng);
        struct sizes now = measure(cluster);
        assert_memory_equal(&now, &empty, offsetof(struct sizes, capacity));
        assert_int_equal(cluster->free_rows.len, cluster->nodes.len);
        vec_for(&cluster->topologies, topo)
            assert_int_equal((*topo)->by_value.len, 0);
    }
    intern_unref(&cluster->syms, zone);
    intern_unref(&cluster->syms, host);
    fixture_release(&f);
}

/* One node that changes repeatedly, and one pod that is replaced repeatedly. */
static void test_updates(void **state)
{
    (void)state;
    struct fixture f;
    FIXTURE_BARE(&f);
    struct sizes first = { 0 };
    for (int round = 0; round < 500; round++) {
        fixture_loadf(&f,
                      "{kind: Node, metadata: {name: a, labels: {l: v%d, topology.kubernetes.io/zone: z%d}}, "
                      "spec: {taints: "
                      "[{key: t%d, effect: NoSchedule}]}, status: {images: [{names: [i%d], sizeBytes: 1}]}}",
                      round, round, round, round);
        fixture_loadf(&f, "{kind: Pod, metadata: {name: p, labels: {app: v%d}}, spec: {nodeName: a}}", round);
        struct sizes now = measure(&f.cluster);
        if (round == 1)
            first = now;
        else if (round > 1)
            assert_memory_equal(&now, &first, sizeof(now));
    }
    fixture_release(&f);
}

/* A pod with thousands of host ports leaves no room for as many behind. */
static void test_many_ports(void **state)
{
    (void)state;
    enum { PORTS = 3000 };
    struct fixture f;
    FIXTURE_BARE(&f);
    _cleanup_(strbuf_release) struct strbuf ports = { 0 };
    for (int i = 1; i <= PORTS; i++)
        strbuf_printf(&ports, "{containerPort: 1, hostPort: %d}, ", i);
    fixture_load(&f, "{kind: Node, metadata: {name: a}}");
    fixture_loadf(
        &f, "{kind: Pod, metadata: {name: p}, spec: {nodeName: a, containers: [{name: c, ports: [%s]}]}}",
        ports.text);
    const struct node_entry *node = cluster_node(&f.cluster, fixture_row(&f, "a"));
    assert_int_equal(node->ports.len, PORTS);
    cluster_remove_pod(&f.cluster, f.last_pod);
    assert_int_equal(node->ports.len, 0);
    assert_true(node->ports.cap < 100);
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flat),
        cmocka_unit_test(test_many_ports),
        cmocka_unit_test(test_updates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
