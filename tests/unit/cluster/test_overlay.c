/* Overlays: a copy of a node's mutable parts adds and removes pods without changing the cluster. */
#include "support/fixture.h"

enum { PODS = 12 };

static void load(struct fixture *f)
{
    fixture_load(f, "{kind: Node, metadata: {name: a}, status: {allocatable: {cpu: 4}}}");
    for (int i = 0; i < PODS; i++)
        fixture_loadf(
            f,
            "{kind: Pod, metadata: {name: p%d}, spec: {%s containers: [{name: c, resources: {requests: {cpu: "
            "%d, example.com/r%d: 1}}, ports: [{containerPort: 1, hostPort: %d}]}]}}",
            i, i < PODS / 2 ? "nodeName: a, " : "", i + 1, i % 3, 80 + i);
}

static struct pod_info *pod_at(const struct fixture *f, int i)
{
    char name[16];
    snprintf(name, sizeof(name), "p%d", i);
    return fixture_pod(f, name);
}

/* The view shows the sums of the set of pods. */
static void check_view(const struct fixture *f, struct node_view view, uint64_t present)
{
    int64_t used[16] = { 0 }, nonzero_cpu = 0, nonzero_memory = 0;
    struct pod_span pods = node_pods(view);
    for (int i = 0; i < PODS; i++) {
        const struct pod_info *pod = pod_at(f, i);
        const struct pod_class *cls = pod->class;
        bool there = present >> i & 1, listed = false;
        for (size_t k = 0; k < pods.len; k++)
            listed |= pods.items[k] == pod;
        assert_int_equal(listed, there);
        assert_int_equal(host_port_is_taken(node_ports(view), &cls->ports[0],
                                            intern_find(&f->cluster.syms, STR("0.0.0.0"))),
                         there);
        for (uint32_t k = 0; there && k < cls->used.len; k++)
            used[cls->used.items[k].resource] += cls->used.items[k].value;
        used[RES_PODS] += there;
        nonzero_cpu += there ? cls->used.nonzero_cpu_milli : 0;
        nonzero_memory += there ? cls->used.nonzero_memory : 0;
    }
    for (uint32_t r = 0; r < f->cluster.col.resources; r++)
        assert_int_equal(node_used(view, r), used[r]);
    assert_int_equal(pods.len, __builtin_popcountll(present));
    assert_int_equal(node_nonzero_cpu(view), nonzero_cpu);
    assert_int_equal(node_nonzero_memory(view), nonzero_memory);
}

static void test_any_sequence(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    struct fixture f;
    struct node_overlay overlay;
    FIXTURE_BARE(&f);
    load(&f);
    uint64_t present = (1 << PODS / 2) - 1, seq = cluster_seq(&f.cluster);
    const uint64_t bound = present;
    struct node_view real = fixture_view(&f, "a"), view = real;
    overlay_init(&overlay, &f.cluster, real.row, &f.arena);
    view.overlay = &overlay;
    for (int step = 0; step < 2000; step++) {
        int i = (int)rng_below(&rng, PODS);
        if (present >> i & 1)
            overlay_remove(&overlay, pod_at(&f, i));
        else
            overlay_add(&overlay, pod_at(&f, i));
        present ^= (uint64_t)1 << i;
        check_view(&f, view, present);
    }
    check_view(&f, real, bound);
    assert_int_equal(cluster_seq(&f.cluster), seq);
    overlay_release(&overlay);
    fixture_release(&f);
}

/* Immutable parts are read from the cluster. */
static void test_fixed_parts(void **state)
{
    (void)state;
    struct fixture f;
    struct node_overlay overlay;
    FIXTURE_BARE(&f);
    load(&f);
    struct node_view view = fixture_view(&f, "a");
    overlay_init(&overlay, &f.cluster, view.row, &f.arena);
    view.overlay = &overlay;
    assert_int_equal(node_alloc(view, RES_CPU), 4000);
    assert_str(node_name(view), "a");
    assert_ptr_equal(node_api(view), cluster_node(&f.cluster, view.row)->api);
    /* A resource that the cluster does not know: none allocatable and none in use. */
    assert_int_equal(node_alloc(view, 999), 0);
    assert_int_equal(node_used(view, 999), 0);
    overlay_release(&overlay);
    overlay_release(&overlay);
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_sequence),
        cmocka_unit_test(test_fixed_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
