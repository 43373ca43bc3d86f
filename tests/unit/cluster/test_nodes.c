/* Nodes are added, changed and removed: their rows, columns, counters and order, and the change log names every row
 * that changed. */
#include "api/names.h"
#include "support/fixture.h"

/* ---- rows ---- */
static uint32_t remove_and_add(struct fixture *f, const char *gone, const char *text)
{
    uint32_t row = fixture_row(f, gone);
    cluster_remove_node(&f->cluster, str_from(gone));
    assert_int_equal(cluster_row(&f->cluster, str_from(gone)), ROW_NONE);
    fixture_load(f, text);
    return row;
}

static void test_rows_are_reused(void **state)
{
    (void)state;
    struct fixture f;
    FIXTURE_BARE(&f);
    fixture_load(
        &f,
        "{kind: Node, metadata: {name: a}}\n---\n"
        "{kind: Node, metadata: {name: b, labels: {zone: z}}, spec: {unschedulable: true, taints: [{key: k, "
        "effect: NoSchedule}]}, status: {allocatable: {cpu: 4, example.com/gpu: 2}, images: [{names: "
        "[x], sizeBytes: 5}]}}\n---\n"
        "{kind: Node, metadata: {name: c}}");
    uint32_t row = remove_and_add(&f, "b", "{kind: Node, metadata: {name: d}}");
    assert_int_equal(fixture_row(&f, "d"), row);
    assert_int_equal(f.cluster.nodes.len, 3);
    assert_int_equal(f.cluster.live_nodes, 3);
    /* Nothing of the old node is left on the row. */
    for (uint32_t r = 0; r < f.cluster.col.resources; r++)
        assert_int_equal(f.cluster.col.alloc[r][row], 0);
    assert_int_equal(f.cluster.col.taints[row], 0);
    assert_int_equal(f.cluster.col.unschedulable[row], 0);
    assert_int_equal(cluster_node(&f.cluster, row)->labels.len, 0);
    assert_int_equal(cluster_node(&f.cluster, row)->images.len, 0);
    assert_int_equal(f.cluster.tainted_nodes, 0);
    assert_int_equal(f.cluster.unschedulable_nodes, 0);
    cluster_remove_node(&f.cluster, STR("never there"));
    fixture_release(&f);
}

/* A pod on an unknown node: the row exists and has the pod's requests, but no node. */
static void test_row_without_node(void **state)
{
    (void)state;
    struct fixture f;
    FIXTURE_BARE(&f);
    struct cluster *cluster = &f.cluster;
    uint32_t len;
    fixture_load(&f,
                 "{kind: Pod, metadata: {name: p}, spec: {nodeName: late, containers: [{name: c, resources: "
                 "{requests: {cpu: 1}}}], affinity: {podAntiAffinity: "
                 "{requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone}]}}}}");
    uint32_t row = f.last_pod->row;
    assert_int_equal(cluster_row(cluster, STR("late")), ROW_NONE);
    (void)cluster_order(cluster, &len);
    assert_int_equal(len, 0);
    assert_int_equal(cluster->live_nodes, 0);
    assert_int_equal(cluster->col.live[row], 0);
    assert_int_equal(cluster->pods_with_anti, 0);

    fixture_load(&f, "{kind: Node, metadata: {name: late}, status: {allocatable: {cpu: 4}}}");
    assert_int_equal(fixture_row(&f, "late"), row);
    assert_int_equal(cluster->col.used[RES_CPU][row], 1000);
    assert_int_equal(cluster->col.used[RES_PODS][row], 1);
    assert_int_equal(cluster->pods_with_anti, 1);
    assert_int_equal(cluster->pods_with_affinity, 1);

    /* The node is removed first: its pod and the requests stay. */
    cluster_remove_node(cluster, STR("late"));
    assert_int_equal(f.last_pod->row, row);
    assert_int_equal(cluster->col.used[RES_CPU][row], 1000);
    assert_int_equal(cluster->col.alloc[RES_CPU][row], 0);
    assert_int_equal(cluster->pods_with_anti, 0);
    assert_int_equal(cluster->pods_with_affinity, 0);
    fixture_load(&f, "{kind: Node, metadata: {name: other}}");
    assert_int_not_equal(fixture_row(&f, "other"), row);

    /* The pod is removed too: the row is free. */
    cluster_remove_pod(cluster, f.last_pod);
    fixture_load(&f, "{kind: Node, metadata: {name: next}}");
    assert_int_equal(fixture_row(&f, "next"), row);
    assert_int_equal(cluster->col.used[RES_CPU][row], 0);
    assert_int_equal(cluster->col.nonzero_memory[row], 0);
    fixture_release(&f);
}

/* The same for an unknown node to which a pod is nominated. */
static void test_nominated_row_without_node(void **state)
{
    (void)state;
    struct fixture f;
    FIXTURE_BARE(&f);
    fixture_load(&f, "{kind: Pod, metadata: {name: p}, status: {nominatedNodeName: late}}");
    uint32_t row = f.last_pod->nominated_row;
    assert_int_not_equal(row, ROW_NONE);
    cluster_nominate(&f.cluster, f.last_pod, row); /* again, although nothing else uses the row */
    assert_int_equal(f.cluster.nominations, 1);
    fixture_load(&f, "{kind: Node, metadata: {name: late}}");
    assert_int_equal(fixture_row(&f, "late"), row);
    assert_int_equal(cluster_node(&f.cluster, row)->nominated.len, 1);
    cluster_remove_node(&f.cluster, STR("late"));
    cluster_place(&f.cluster, f.last_pod, row); /* the nomination becomes a placement */
    assert_int_equal(f.cluster.nominations, 0);
    assert_int_equal(cluster_node(&f.cluster, row)->pods.len, 1);
    fixture_load(&f, "{kind: Node, metadata: {name: other}}");
    assert_int_not_equal(fixture_row(&f, "other"), row);
    fixture_release(&f);
}

/* ---- columns ---- */
struct column_case {
    const char *name, *node; /* replaces the node */
    int64_t cpu, memory, pods, gpu;
    bool unschedulable, tainted;
    uint32_t lacking_gpu; /* of two nodes */
};

#define NODE_N(spec, allocatable) \
    "{kind: Node, metadata: {name: sized}, spec: {" spec "}, status: {allocatable: {" allocatable \
    "}, capacity: {cpu: 99}}}"

static const struct column_case columns[] = {
    { "amounts", NODE_N("", "cpu: 1500m, memory: 1Ki, pods: 9, example.com/gpu: 2"), 1500, 1024, 9, 2,
      .lacking_gpu = 1 },
    { "less than a milli of cpu is a milli", NODE_N("", "cpu: 100u, example.com/gpu: 1"), 1, 0, 0, 1,
      .lacking_gpu = 1 },
    { "a resource goes", NODE_N("", "cpu: 2, memory: 5"), 2000, 5, 0, 0, .lacking_gpu = 2 },
    { "cordoned", NODE_N("unschedulable: true", "cpu: 2"), 2000, 0, 0, 0, true, false, 2 },
    { "open, tainted", NODE_N("taints: [{key: k, effect: NoSchedule}]", "cpu: 2"), 2000, 0, 0, 0, false, true,
      2 },
    { "no longer tainted", NODE_N("", "example.com/gpu: 3"), 0, 0, 0, 3, .lacking_gpu = 1 },
    { "resource names that are not counted", NODE_N("", "cpu: 1, made-up: 7"), 1000, 0, 0, 0,
      .lacking_gpu = 2 },
};

static void test_columns(void **state)
{
    (void)state;
    struct fixture f;
    FIXTURE_BARE(&f);
    uint32_t gpu;
    const struct columns *col = &f.cluster.col;
    assert_true(cluster_resource(&f.cluster, STR("example.com/gpu"), &gpu));
    fixture_load(&f, "{kind: Node, metadata: {name: other}, status: {allocatable: {cpu: 1}}}");
    for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
        const struct column_case *want = &columns[i];
        fixture_load(&f, want->node);
        uint32_t row = fixture_row(&f, "sized");
        bool same = col->alloc[RES_CPU][row] == want->cpu && col->alloc[RES_MEMORY][row] == want->memory &&
                    col->alloc[RES_PODS][row] == want->pods && col->alloc[gpu][row] == want->gpu &&
                    col->unschedulable[row] == want->unschedulable && !!col->taints[row] == want->tainted;
        if (!same)
            fail_msg("%s: wrong columns", want->name);
        if (f.cluster.unschedulable_nodes != want->unschedulable ||
            f.cluster.tainted_nodes != want->tainted || col->lacking[gpu] != want->lacking_gpu ||
            f.cluster.live_nodes != 2)
            fail_msg("%s: wrong counters", want->name);
        /* The bits of a column include every value it ever held. */
        assert_int_equal(col->alloc[RES_CPU][row] & ~(int64_t)col->bits[RES_CPU], 0);
    }
    /* A resource that appears later is lacking on all other nodes. */
    uint32_t late;
    assert_true(cluster_resource(&f.cluster, STR("example.com/late"), &late));
    assert_int_equal(col->lacking[late], 2);
    cluster_remove_node(&f.cluster, STR("sized"));
    assert_int_equal(col->lacking[late], 1);
    fixture_release(&f);
}

struct resource_case {
    const char *name;
    bool known, extended;
};

static const struct resource_case resources[] = {
    { "cpu", true, false },
    { "memory", true, false },
    { "ephemeral-storage", true, false },
    { "pods", true, false },
    { "hugepages-2Mi", true, false },
    { "attachable-volumes-csi-x", true, false },
    { "example.com/gpu", true, true },
    { "kubernetes.io/thing", true, false },
    { "storage", false, false },
    { "requests.example.com/gpu", false, false },
    { "example.com/", false, false },
    { "example.com/a/b", false, false },
    { "Example.com/gpu", false, false },
    { "example.com/gpu_", false, false },
    { "exam..ple/gpu", false, false },
};

static void test_resource_names(void **state)
{
    (void)state;
    struct fixture f;
    FIXTURE_BARE(&f);
    for (size_t i = 0; i < ARRAY_SIZE(resources); i++) {
        uint32_t first, again;
        struct str name = str_from(resources[i].name);
        bool known = cluster_resource(&f.cluster, name, &first);
        if (known != resources[i].known || name_is_extended_resource(name) != resources[i].extended)
            fail_msg("%s: wrong", resources[i].name);
        if (known) {
            assert_true(cluster_resource(&f.cluster, name, &again));
            assert_int_equal(first, again);
            assert_str(f.cluster.resource_names.items[first], resources[i].name);
        }
    }
    fixture_release(&f);
}

/* More rows than the initial capacity: old values stay, new ones are empty. */
static void test_columns_grow(void **state)
{
    (void)state;
    struct fixture f;
    FIXTURE_BARE(&f);
    sym zone = intern_get(&f.cluster.syms, STR("zone"));
    struct topology *topo = cluster_topology(&f.cluster, zone);
    for (int i = 0; i < 300; i++)
        fixture_loadf(
            &f, "{kind: Node, metadata: {name: n%d, labels: {zone: z%d}}, status: {allocatable: {cpu: %d}}}",
            i, i % 7, i);
    for (int i = 0; i < 300; i++) {
        char name[16], value[16];
        snprintf(name, sizeof(name), "n%d", i);
        snprintf(value, sizeof(value), "z%d", i % 7);
        uint32_t row = fixture_row(&f, name);
        assert_int_equal(f.cluster.col.alloc[RES_CPU][row], i * 1000);
        assert_int_equal(f.cluster.col.used[RES_PODS][row], 0);
        assert_int_equal(topo->domain_of[row],
                         topology_find(topo, intern_find(&f.cluster.syms, str_from(value))));
    }
    intern_unref(&f.cluster.syms, zone);
    fixture_release(&f);
}

/* ---- order ---- */
struct order_case {
    const char *name;
    const char *steps; /* +node@zone or +node@region/zone: adds or changes; -node: removes */
    const char *want;
};

static const struct order_case orders[] = {
    { "no zones: as they came", "+a +b +c", "a b c" },
    { "one of each zone in turn", "+a1@A +a2@A +b1@B +a3@A +b2@B +c1@C", "a1 b1 c1 a2 b2 a3" },
    { "nodes without a zone have a turn too", "+m +a1@A +o +a2@A", "m a1 o a2" },
    { "a region makes another zone of it", "+a1@R/A +b1@S/A +a2@R/A", "a1 b1 a2" },
    { "an update keeps the place", "+a1@A +b1@B +a2@A +a1@A +b1@B", "a1 b1 a2" },
    { "gone and back comes last", "+a +b -a +a", "b a" },
    { "a zone keeps its turn when its first node goes", "+a1@A +b1@B +a2@A -a1", "a2 b1" },
    { "a zone that was empty comes last", "+a1@A +b1@B -a1 +a2@A", "b1 a2" },
    { "another zone: last of that zone", "+a1@A +b1@B +a2@A +a1@B", "a2 b1 a1" },
    { "another zone that is new", "+a1@A +b1@B +a1@C", "b1 a1" },
    { "an earlier zone keeps its turn", "+a1@A +b1@B +b2@B +a2@A +a1@B", "a2 b1 b2 a1" },
    { "all are removed", "+a@A +b@B -a -b", "" },
};

static void order_step(struct fixture *f, struct str step)
{
    struct str rest = str_slice(step, 1, step.len), name = next_part(&rest, '@');
    if (step.ptr[0] == '-') {
        cluster_remove_node(&f->cluster, name);
        return;
    }
    bool has_region = str_find(rest, '/') >= 0;
    struct str region = has_region ? next_part(&rest, '/') : (struct str){ 0 };
    _cleanup_(strbuf_release) struct strbuf labels = { 0 };
    strbuf_puts(&labels, "");
    if (has_region)
        strbuf_printf(&labels,
                      "topology.kubernetes.io/region: " STR_FMT
                      ", failure-domain.beta.kubernetes.io/zone: " STR_FMT,
                      STR_ARG(region), STR_ARG(rest));
    else if (rest.len)
        strbuf_printf(&labels, "topology.kubernetes.io/zone: " STR_FMT, STR_ARG(rest));
    fixture_loadf(f, "{kind: Node, metadata: {name: " STR_FMT ", labels: {%s}}}", STR_ARG(name),
                  labels.len ? labels.text : "");
}

static void test_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
        struct fixture f;
        _cleanup_(strbuf_release) struct strbuf got = { 0 };
        FIXTURE_BARE(&f);
        struct str rest = str_from(orders[i].steps);
        for (struct str step; (step = next_part(&rest, ' ')).ptr;)
            order_step(&f, step);
        uint32_t len;
        const uint32_t *rows = cluster_order(&f.cluster, &len);
        strbuf_puts(&got, "");
        for (uint32_t n = 0; n < len; n++)
            strbuf_printf(&got, "%s" STR_FMT, n ? " " : "", STR_ARG(cluster_node_name(&f.cluster, rows[n])));
        if (strcmp(got.len ? got.text : "", orders[i].want))
            fail_msg("%s: got %s, want %s", orders[i].name, got.text, orders[i].want);
        fixture_release(&f);
    }
}

/* The deprecated zone labels take precedence where both exist. */
static void test_order_by_beta_labels(void **state)
{
    (void)state;
    struct fixture f;
    FIXTURE_BARE(&f);
    uint32_t len;
    fixture_load(&f, "{kind: Node, metadata: {name: a, labels: {failure-domain.beta.kubernetes.io/zone: A, "
                     "topology.kubernetes.io/zone: X}}}\n---\n"
                     "{kind: Node, metadata: {name: b, labels: {topology.kubernetes.io/zone: A}}}\n---\n"
                     "{kind: Node, metadata: {name: c, labels: {topology.kubernetes.io/zone: X}}}");
    const uint32_t *rows = cluster_order(&f.cluster, &len);
    assert_int_equal(len, 3);
    assert_str(cluster_node_name(&f.cluster, rows[1]), "c");
    assert_str(cluster_node_name(&f.cluster, rows[2]), "b");
    fixture_release(&f);
}

/* ---- the log ---- */
/* Each row's last change is the last entry that names it; older entries may be gone. */
static void check_log(const struct cluster *cluster)
{
    for (uint32_t row = 0; row < cluster->nodes.len; row++) {
        uint64_t last = UINT64_MAX;
        for (size_t i = 0; i < cluster->log.len; i++)
            if (cluster->log.items[i] == row)
                last = cluster->log_base + i;
        uint64_t changed = cluster->nodes.items[row].changed_seq;
        if (last == UINT64_MAX)
            assert_true(changed < cluster->log_base);
        else
            assert_int_equal(changed, last);
    }
}

/* New entries exist, and all of them name this row. */
static void check_logged(const struct cluster *cluster, uint64_t *since, uint32_t row)
{
    assert_true(cluster_seq(cluster) > *since);
    for (uint64_t seq = *since; seq < cluster_seq(cluster); seq++)
        assert_int_equal(cluster->log.items[seq - cluster->log_base], row);
    *since = cluster_seq(cluster);
}

static void test_log(void **state)
{
    (void)state;
    struct fixture f;
    FIXTURE_BARE(&f);
    uint64_t seq = cluster_seq(&f.cluster);
    fixture_load(&f, "{kind: Node, metadata: {name: a}}");
    check_logged(&f.cluster, &seq, fixture_row(&f, "a"));
    fixture_load(&f, "{kind: Node, metadata: {name: b}}");
    uint32_t b = fixture_row(&f, "b");
    check_logged(&f.cluster, &seq, b);
    fixture_load(&f, "{kind: Node, metadata: {name: a, labels: {k: v}}}");
    check_logged(&f.cluster, &seq, fixture_row(&f, "a"));
    fixture_load(&f, "{kind: Pod, metadata: {name: p}, spec: {nodeName: b}}");
    check_logged(&f.cluster, &seq, b);
    cluster_displace(&f.cluster, f.last_pod);
    check_logged(&f.cluster, &seq, b);
    cluster_displace(&f.cluster, f.last_pod); /* has no node already */
    assert_int_equal(cluster_seq(&f.cluster), seq);
    cluster_place(&f.cluster, f.last_pod, b);
    check_logged(&f.cluster, &seq, b);
    cluster_remove_node(&f.cluster, STR("b"));
    check_logged(&f.cluster, &seq, b);
    cluster_remove_pod(&f.cluster, f.last_pod);
    check_logged(&f.cluster, &seq, b);
    check_log(&f.cluster);
    fixture_release(&f);
}

static void test_log_is_bounded(void **state)
{
    (void)state;
    struct fixture f;
    FIXTURE_BARE(&f);
    fixture_load(&f, "{kind: Node, metadata: {name: still}}\n---\n{kind: Node, metadata: {name: busy}}\n---\n"
                     "{kind: Pod, metadata: {name: p}}");
    uint64_t seq = cluster_seq(&f.cluster);
    uint32_t row = fixture_row(&f, "busy");
    for (int i = 0; i < 50000; i++) {
        cluster_place(&f.cluster, f.last_pod, row);
        cluster_displace(&f.cluster, f.last_pod);
    }
    assert_int_equal(cluster_seq(&f.cluster), seq + 100000);
    assert_true(f.cluster.log.len < 20000);
    assert_true(f.cluster.log.len >= 2 * f.cluster.nodes.len);
    check_log(&f.cluster);
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_reused),
        cmocka_unit_test(test_row_without_node),
        cmocka_unit_test(test_nominated_row_without_node),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_resource_names),
        cmocka_unit_test(test_columns_grow),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_order_by_beta_labels),
        cmocka_unit_test(test_log),
        cmocka_unit_test(test_log_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
