/* Pods on rows: after any sequence of changes the sums, lists and counters are those of the current pods. */
#include "support/fixture.h"

/* ---- single operations ---- */
#define NODES "{kind: Node, metadata: {name: a}}\n---\n{kind: Node, metadata: {name: b}}\n---\n"
#define POD(name, fields) "{kind: Pod, metadata: {name: " name "}, " fields "}\n---\n"
#define WANTS(cpu, more) "spec: {containers: [{name: c, resources: {requests: {cpu: " cpu "}}" more "}]}"

static void test_known(void **state)
{
    (void)state;
    struct fixture f;
    FIXTURE_BARE(&f);
    fixture_load(&f, NODES POD("p", "spec: {priority: -3, nodeName: a}"));
    struct pod_info *first = f.last_pod;
    assert_int_equal(first->priority, -3);
    assert_false(first->terminating);
    assert_int_equal(first->row, fixture_row(&f, "a"));
    assert_null(cluster_find_pod(&f.cluster, STR("other"), STR("p")));
    /* The same name again: the old pod leaves its row. */
    fixture_load(
        &f,
        "{kind: Pod, metadata: {name: p, deletionTimestamp: '2026-01-01T00:00:00Z'}, spec: {nodeName: b}}");
    assert_ptr_equal(fixture_pod(&f, "p"), f.last_pod);
    assert_true(f.last_pod->terminating);
    assert_int_equal(f.cluster.col.used[RES_PODS][fixture_row(&f, "a")], 0);
    assert_int_equal(f.cluster.col.used[RES_PODS][fixture_row(&f, "b")], 1);
    assert_int_equal(f.cluster.pods.len, 1);
    fixture_release(&f);
}

/* A reference keeps a pod alive after it left the cluster, and its class: whether it is the sample of its class or
 * not, and also if classes are told apart by other fields meanwhile. Nothing is left when the references are gone. */
static void test_references(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        bool first_is_kept = i & 1, second_is_kept = i & 2, is_renewed = i & 4;
        struct fixture f;
        FIXTURE_BARE(&f);
        fixture_load(&f, NODES POD("p", "spec: {nodeName: a}"));
        struct pod_info *first = f.last_pod;
        fixture_load(&f, POD("q", "spec: {nodeName: a}"));
        struct pod_info *second = f.last_pod;
        assert_ptr_equal(first->class, second->class);
        pod_info_ref(first);
        pod_info_ref(second);
        if (!first_is_kept)
            cluster_remove_pod(&f.cluster, first);
        if (!second_is_kept)
            cluster_remove_pod(&f.cluster, second);
        if (is_renewed)
            pod_classes_renew(&f.cluster);
        assert_non_null(first->class);
        assert_non_null(second->class);
        assert_str(first->api->meta.name, "p");
        assert_int_equal(first->row == ROW_NONE, !first_is_kept);
        pod_info_unref(&f.cluster, first);
        pod_info_unref(&f.cluster, second);
        if (first_is_kept)
            cluster_remove_pod(&f.cluster, first);
        if (second_is_kept)
            cluster_remove_pod(&f.cluster, second);
        assert_int_equal(f.cluster.classes.len, 0);
        assert_int_equal(f.cluster.label_owners.len, 0);
        fixture_release(&f);
    }
}

/* A row that is held means the same node, though nothing is left of it; then the number is free again. */
static void test_held_rows(void **state)
{
    (void)state;
    struct fixture f;
    FIXTURE_BARE(&f);
    fixture_load(&f, NODES POD("p", "spec: {nodeName: a}"));
    uint32_t row = f.last_pod->row;
    cluster_hold_row(&f.cluster, row);
    cluster_remove_node(&f.cluster, STR("a"));
    cluster_remove_pod(&f.cluster, f.last_pod);
    assert_str(cluster_node_name(&f.cluster, row), "a");
    fixture_load(&f, "{kind: Node, metadata: {name: other}}");
    assert_int_not_equal(fixture_row(&f, "other"), row);
    fixture_load(&f, POD("q", "spec: {nodeName: a}"));
    assert_int_equal(f.last_pod->row, row);
    cluster_remove_pod(&f.cluster, f.last_pod);
    cluster_unhold_row(&f.cluster, row);
    fixture_load(&f, "{kind: Node, metadata: {name: next}}");
    assert_int_equal(fixture_row(&f, "next"), row);
    fixture_release(&f);
}

static void test_nominations(void **state)
{
    (void)state;
    struct fixture f;
    FIXTURE_BARE(&f);
    fixture_load(&f, NODES POD("p", "status: {nominatedNodeName: a}"));
    uint32_t a = fixture_row(&f, "a"), b = fixture_row(&f, "b");
    struct pod_info *pod = f.last_pod;
    assert_int_equal(pod->nominated_row, a);
    assert_int_equal(f.cluster.nominations, 1);
    cluster_nominate(&f.cluster, pod, b);
    assert_int_equal(f.cluster.nominations, 1);
    assert_int_equal(cluster_node(&f.cluster, a)->nominated.len, 0);
    assert_ptr_equal(cluster_node(&f.cluster, b)->nominated.items[0], pod);
    assert_int_equal(f.cluster.col.used[RES_PODS][b], 0); /* a nomination uses no resources */
    cluster_denominate(&f.cluster, pod);
    cluster_denominate(&f.cluster, pod);
    assert_int_equal(f.cluster.nominations, 0);
    cluster_nominate(&f.cluster, pod, a);
    cluster_place(&f.cluster, pod, b); /* it is placed on another node */
    assert_int_equal(f.cluster.nominations, 0);
    assert_int_equal(pod->nominated_row, ROW_NONE);
    /* A pod with a node is not nominated, even if its status has a nominated node. */
    fixture_load(&f, POD("q", "spec: {nodeName: a}, status: {nominatedNodeName: b}"));
    assert_int_equal(f.last_pod->nominated_row, ROW_NONE);
    fixture_load(&f, POD("r", "status: {nominatedNodeName: b}"));
    cluster_remove_pod(&f.cluster, f.last_pod);
    assert_int_equal(f.cluster.nominations, 0);
    fixture_release(&f);
}

/* Copies count as pods of their own in sums and lists, also where classes are made anew, and leave in reverse order. */
static void test_copies(void **state)
{
    (void)state;
    struct fixture f;
    FIXTURE_BARE(&f);
    fixture_load(&f, NODES POD("p", WANTS("2", ", ports: [{containerPort: 1, hostPort: 80}]")));
    uint32_t a = fixture_row(&f, "a"), b = fixture_row(&f, "b");
    struct pod_info *p = f.last_pod;
    fixture_load(&f, POD("q", WANTS("2", ", ports: [{containerPort: 1, hostPort: 80}]")));
    struct pod_info *q = f.last_pod;
    const struct node_entry *node = cluster_node(&f.cluster, a);
    cluster_place(&f.cluster, p, a);
    cluster_place_copy(&f.cluster, p);
    cluster_place(&f.cluster, q, b);
    cluster_place_copy(&f.cluster, p);
    assert_int_equal(f.cluster.col.used[RES_PODS][a], 3);
    assert_int_equal(f.cluster.col.used[RES_CPU][a], 6000);
    assert_int_equal(node->pods.len, 3);
    assert_int_equal(p->class->labels->placed.len, 4);
    assert_int_equal(f.cluster.placed_pods, 4);
    assert_int_equal(f.cluster.pods.len, 2);

    pod_classes_renew(&f.cluster);
    assert_int_equal(f.cluster.col.used[RES_CPU][a], 6000);
    assert_int_equal(p->class->labels->placed.len, 4);

    cluster_displace_copy(&f.cluster, p);
    cluster_displace(&f.cluster, q);
    cluster_displace_copy(&f.cluster, p);
    assert_int_equal(f.cluster.col.used[RES_CPU][a], 2000);
    assert_int_equal(p->row, a);
    assert_int_equal(cluster_node(&f.cluster, a)->ports.len, 1); /* the pod's own */
    cluster_displace_copy(&f.cluster, p);
    assert_int_equal(p->row, ROW_NONE);
    assert_int_equal(f.cluster.col.used[RES_PODS][a], 0);
    assert_int_equal(cluster_node(&f.cluster, a)->ports.len, 0);
    assert_int_equal(p->class->labels->placed.len, 0);
    fixture_release(&f);
}

static void test_claim_users(void **state)
{
    (void)state;
    struct fixture f;
    FIXTURE_BARE(&f);
#define CLAIMS(name, ns, volumes) \
    "{kind: Pod, metadata: {name: " name ", namespace: " ns "}, spec: {nodeName: a, volumes: [" volumes \
    "]}}\n---\n"
#define CLAIM(claim) "{name: v, persistentVolumeClaim: {claimName: " claim "}}"
    fixture_load(&f, NODES CLAIMS("p", "ns", CLAIM("c")) CLAIMS("q", "ns", CLAIM("c") ", " CLAIM("d"))
                         CLAIMS("r", "other", CLAIM("c")));
    assert_int_equal(cluster_claim_users(&f.cluster, STR("ns"), STR("c")), 2);
    assert_int_equal(cluster_claim_users(&f.cluster, STR("ns"), STR("d")), 1);
    assert_int_equal(cluster_claim_users(&f.cluster, STR("other"), STR("c")), 1);
    assert_int_equal(cluster_claim_users(&f.cluster, STR("other"), STR("d")), 0);
    struct pod_info *pod = cluster_find_pod(&f.cluster, STR("ns"), STR("q"));
    cluster_displace(&f.cluster, pod); /* only pods with a node use it */
    assert_int_equal(cluster_claim_users(&f.cluster, STR("ns"), STR("c")), 1);
    assert_int_equal(cluster_claim_users(&f.cluster, STR("ns"), STR("d")), 0);
    assert_int_equal(f.cluster.pvc_users.len, 2);
    /* Nor does a pod on an unknown node. */
    cluster_remove_node(&f.cluster, STR("a"));
    assert_int_equal(cluster_claim_users(&f.cluster, STR("ns"), STR("c")), 0);
    fixture_load(&f, NODES);
    assert_int_equal(cluster_claim_users(&f.cluster, STR("ns"), STR("c")), 1);
    fixture_release(&f);
}

/* ---- ports ---- */
struct port_case {
    const char *used, *wanted; /* protocol, address, port */
    bool conflicts;
};

static const struct port_case ports[] = {
    { "hostPort: 80", "hostPort: 80", true },
    { "hostPort: 80", "hostPort: 81", false },
    { "hostPort: 80", "hostPort: 80, protocol: UDP", false },
    { "hostPort: 80", "hostPort: 80, hostIP: 10.0.0.1", true },
    { "hostPort: 80, hostIP: 10.0.0.1", "hostPort: 80", true },
    { "hostPort: 80, hostIP: 10.0.0.1", "hostPort: 80, hostIP: 10.0.0.1", true },
    { "hostPort: 80, hostIP: 10.0.0.1", "hostPort: 80, hostIP: 10.0.0.2", false },
    { "hostPort: 80, hostIP: 0.0.0.0", "hostPort: 80, hostIP: 10.0.0.2", true },
};

static void test_ports(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(ports); i++) {
        struct fixture f;
        FIXTURE_BARE(&f);
        fixture_loadf(&f,
                      NODES
                      "{kind: Pod, metadata: {name: p}, spec: {nodeName: a, containers: [{name: c, ports: "
                      "[{containerPort: 1, %s}]}]}}",
                      ports[i].used);
        fixture_loadf(
            &f,
            "{kind: Pod, metadata: {name: q}, spec: {containers: [{name: c, ports: [{containerPort: 1, "
            "%s}]}]}}",
            ports[i].wanted);
        const struct host_port *want = &f.last_pod->class->ports[0];
        if (host_port_is_taken(node_ports(fixture_view(&f, "a")), want,
                               intern_find(&f.cluster.syms, STR("0.0.0.0"))) != ports[i].conflicts)
            fail_msg("%s with %s: want %d", ports[i].used, ports[i].wanted, ports[i].conflicts);
        assert_false(host_port_is_taken(node_ports(fixture_view(&f, "b")), want,
                                        intern_find(&f.cluster.syms, STR("0.0.0.0"))));
        cluster_remove_pod(&f.cluster, fixture_pod(&f, "p"));
        assert_false(host_port_is_taken(node_ports(fixture_view(&f, "a")), want,
                                        intern_find(&f.cluster.syms, STR("0.0.0.0"))));
        fixture_release(&f);
    }
}

/* Ports in use are a set, as in kube-scheduler: the first pod that leaves frees the port. */
static void test_ports_are_a_set(void **state)
{
    (void)state;
    struct fixture f;
    FIXTURE_BARE(&f);
#define PORT(name) \
    POD(name, "spec: {nodeName: a, containers: [{name: c, ports: [{containerPort: 1, hostPort: 80}]}]}")
    fixture_load(&f, NODES PORT("p") PORT("q"));
    const struct host_port want = f.last_pod->class->ports[0];
    assert_int_equal(cluster_node(&f.cluster, f.last_pod->row)->ports.len, 1);
    cluster_displace(&f.cluster, f.last_pod);
    assert_false(host_port_is_taken(node_ports(fixture_view(&f, "a")), &want,
                                    intern_find(&f.cluster.syms, STR("0.0.0.0"))));
    fixture_release(&f);
}

/* ---- random changes, compared with a recount ---- */
enum { NODE_NAMES = 6, POD_NAMES = 40, STEPS = 3000 };

static void random_name(struct rng *rng, char ret[16], char prefix, int names)
{
    snprintf(ret, 16, "%c%d", prefix, (int)rng_below(rng, (uint64_t)names));
}

static void set_random_pod(struct fixture *f, struct rng *rng, const char *name)
{
    static const char *const affinities[] = {
        "",
        "affinity: {podAffinity: {}}, ",
        "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: t}]}}, ",
    };
    char node[16];
    random_name(rng, node, 'h', NODE_NAMES + 2); /* two of them do not exist */
    uint64_t place = rng_below(rng, 3);
    fixture_loadf(
        f,
        "{kind: Pod, metadata: {name: %s, labels: {app: a%d}}, spec: {%s%s%s%s containers: [{name: c, "
        "resources: {requests: {cpu: %dm, example.com/r%d: %d}}}]}, status: {%s%s}}",
        name, (int)rng_below(rng, 4), affinities[rng_below(rng, ARRAY_SIZE(affinities))],
        place == 0 ? "nodeName: " : "", place == 0 ? node : "", place == 0 ? "," : "",
        (int)rng_below(rng, 900), (int)rng_below(rng, 3), (int)rng_below(rng, 5),
        place == 1 ? "nominatedNodeName: " : "", place == 1 ? node : "");
}

static void change(struct fixture *f, struct rng *rng)
{
    struct cluster *cluster = &f->cluster;
    char pod_name[16], node_name[16];
    random_name(rng, pod_name, 'p', POD_NAMES);
    random_name(rng, node_name, 'h', NODE_NAMES);
    struct pod_info *pod = cluster_find_pod(cluster, STR("default"), str_from(pod_name));
    uint32_t row = cluster_row(cluster, str_from(node_name));
    switch (rng_below(rng, 8)) {
    case 0:
        fixture_loadf(f, "{kind: Node, metadata: {name: %s}, status: {allocatable: {cpu: %d}}}", node_name,
                      (int)rng_below(rng, 9));
        break;
    case 1:
        cluster_remove_node(cluster, str_from(node_name));
        break;
    case 2:
        if (pod)
            cluster_remove_pod(cluster, pod);
        break;
    case 3:
        if (pod)
            cluster_displace(cluster, pod);
        break;
    case 4:
        if (pod && pod->row == ROW_NONE && row != ROW_NONE)
            cluster_nominate(cluster, pod, row);
        break;
    case 5:
        if (pod && pod->row == ROW_NONE && row != ROW_NONE)
            cluster_place(cluster, pod, row);
        break;
    default:
        set_random_pod(f, rng, pod_name);
    }
}

/* The expected sums of one row. */
struct sums {
    int64_t used[16], nonzero_cpu, nonzero_memory;
    uint32_t pods, affinity, anti, nominated;
};

static struct sums sum_row(const struct cluster *cluster, uint32_t row)
{
    struct sums sums = { 0 };
    map_for(&cluster->pods, slot) {
        const struct pod_info *pod = slot->value;
        sums.nominated += pod->nominated_row == row;
        if (pod->row != row)
            continue;
        for (uint32_t i = 0; i < pod->class->used.len; i++)
            sums.used[pod->class->used.items[i].resource] += pod->class->used.items[i].value;
        sums.used[RES_PODS]++;
        sums.nonzero_cpu += pod->class->used.nonzero_cpu_milli;
        sums.nonzero_memory += pod->class->used.nonzero_memory;
        sums.pods++;
        sums.affinity += pod->class->has_affinity_section;
        sums.anti += pod->class->anti.len > 0;
    }
    return sums;
}

static void check_row(const struct cluster *cluster, uint32_t row)
{
    const struct node_entry *node = cluster_node(cluster, row);
    struct sums want = sum_row(cluster, row);
    for (uint32_t r = 0; r < cluster->col.resources; r++)
        assert_int_equal(cluster->col.used[r][row], want.used[r]);
    assert_int_equal(cluster->col.nonzero_cpu[row], want.nonzero_cpu);
    assert_int_equal(cluster->col.nonzero_memory[row], want.nonzero_memory);
    assert_int_equal(node->pods.len, want.pods);
    assert_int_equal(node->with_affinity.len, want.affinity);
    assert_int_equal(node->with_anti.len, want.anti);
    assert_int_equal(node->nominated.len, want.nominated);
    assert_int_equal(node->name != SYM_NONE, node->api || want.pods || want.nominated);
    for (uint32_t i = 0; i < node->pods.len; i++) {
        assert_int_equal(node->pods.items[i]->slot, i);
        assert_int_equal(node->pods.items[i]->row, row);
    }
}

static void check_totals(const struct cluster *cluster)
{
    size_t affinity = 0, anti = 0, nominations = 0, rows = 0;
    uint32_t live = 0;
    for (uint32_t row = 0; row < cluster->nodes.len; row++) {
        const struct node_entry *node = cluster_node(cluster, row);
        check_row(cluster, row);
        live += node->api != NULL;
        rows += node->name != SYM_NONE;
        affinity += node->api ? node->with_affinity.len : 0;
        anti += node->api ? node->with_anti.len : 0;
        nominations += node->nominated.len;
    }
    assert_int_equal(cluster->live_nodes, live);
    assert_int_equal(cluster->nodes.len - cluster->free_rows.len, rows);
    assert_int_equal(cluster->pods_with_affinity, affinity);
    assert_int_equal(cluster->pods_with_anti, anti);
    assert_int_equal(cluster->nominations, nominations);
    map_for(&cluster->label_owners, slot) {
        const struct label_owner *owner = slot->value;
        for (uint32_t i = 0; i < owner->placed.len; i++) {
            assert_int_equal(owner->placed.items[i].pod->label_slot, i);
            assert_ptr_equal(owner->placed.items[i].pod->class->labels, owner);
            assert_int_not_equal(owner->placed.items[i].pod->row, ROW_NONE);
        }
    }
    map_for(&cluster->term_owners, slot) {
        const struct term_owner *owner = slot->value;
        for (uint32_t i = 0; i < owner->placed.len; i++) {
            assert_int_equal(owner->placed.items[i].pod->term_slot, i);
            assert_ptr_equal(owner->placed.items[i].pod->class->terms, owner);
        }
    }
}

static void check_placed(const struct cluster *cluster)
{
    size_t placed = 0, listed = 0;
    map_for(&cluster->pods, slot)
        placed += ((const struct pod_info *)slot->value)->row != ROW_NONE;
    map_for(&cluster->label_owners, slot)
        listed += ((const struct label_owner *)slot->value)->placed.len;
    assert_int_equal(placed, listed);
}

static void test_random_changes(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    struct fixture f;
    FIXTURE_BARE(&f);
    for (int step = 0; step < STEPS; step++) {
        change(&f, &rng);
        check_totals(&f.cluster);
        check_placed(&f.cluster);
    }
    fixture_release(&f);
}

/* Amounts that overflow wrap around and back, as in Go. */
static void test_huge_amounts(void **state)
{
    (void)state;
    struct fixture f;
    FIXTURE_BARE(&f);
    fixture_load(&f, NODES POD("p", WANTS("1", "")) POD("q", WANTS("9223372036854775", ""))
                         POD("r", WANTS("9223372036854775", "")));
    uint32_t row = fixture_row(&f, "a");
    static const char *const names[] = { "p", "q", "r" };
    for (int i = 0; i < 3; i++)
        cluster_place(&f.cluster, fixture_pod(&f, names[i]), row);
    for (int i = 2; i > 0; i--)
        cluster_displace(&f.cluster, fixture_pod(&f, names[i]));
    assert_int_equal(f.cluster.col.used[RES_CPU][row], 1000);
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),          cmocka_unit_test(test_references),
        cmocka_unit_test(test_held_rows),      cmocka_unit_test(test_nominations),
        cmocka_unit_test(test_copies),         cmocka_unit_test(test_claim_users),
        cmocka_unit_test(test_ports),          cmocka_unit_test(test_ports_are_a_set),
        cmocka_unit_test(test_random_changes), cmocka_unit_test(test_huge_amounts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
