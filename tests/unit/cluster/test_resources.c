/* Columns are for resources that nodes have: names that only pods ask for cost nothing for long, and sums are right
 * whichever comes first. */
#include "support/fixture.h"

static void add_greedy_pod(struct fixture *f, const char *name, int names)
{
    struct strbuf text = { 0 };
    strbuf_printf(
        &text,
        "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\"},\"spec\":{\"containers\":[{\"name\":\"c\","
        "\"resources\":{\"requests\":{\"cpu\":\"1\"",
        name);
    for (int i = 0; i < names; i++)
        strbuf_printf(&text, ",\"example.com/n%d\":\"1\"", i);
    strbuf_puts(&text, "}}}]}}");
    fixture_load(f, text.text);
    strbuf_release(&text);
}

/* What a pod asks for and no node has gets no column, and leaves with the pod. */
static void test_pods_make_no_columns(void **state)
{
    (void)state;
    enum { NAMES = 10000 };
    struct fixture f;
    FIXTURE_BARE(&f);
    fixture_load(&f, "{kind: Node, metadata: {name: a}, status: {allocatable: {cpu: 4}}}");
    uint32_t columns = f.cluster.col.resources;
    for (int round = 0; round < 3; round++) {
        add_greedy_pod(&f, "greedy", NAMES);
        assert_int_equal(f.cluster.col.resources, columns);
        assert_int_equal(f.cluster.absent_resources.len, NAMES);
        assert_int_equal(f.last_pod->class->fit_absent.len, NAMES);
        cluster_remove_pod(&f.cluster, f.last_pod);
        assert_int_equal(f.cluster.absent_resources.len, 0);
    }
    fixture_release(&f);
}

/* The columns of resources that left with their node are used again. */
static void test_columns_are_used_again(void **state)
{
    (void)state;
    struct fixture f;
    FIXTURE_BARE(&f);
    fixture_load(&f, "{kind: Node, metadata: {name: a}, status: {allocatable: {cpu: 4}}}");
    fixture_load(&f, "{kind: Pod, metadata: {name: p}, spec: {nodeName: a, containers: [{name: c, resources: "
                     "{requests: {example.com/x3-1: 5}}}]}}");
    uint32_t columns = 0, number;
    for (int round = 0; round < 20; round++) {
        fixture_loadf(&f,
                      "{kind: Node, metadata: {name: odd}, status: {allocatable: {example.com/x%d-0: 1, "
                      "example.com/x%d-1: 2, example.com/x%d-2: 3}}}",
                      round, round, round);
        columns = round ? columns : f.cluster.col.resources;
        assert_int_equal(f.cluster.col.resources, columns);
        uint32_t a = fixture_row(&f, "a"), odd = fixture_row(&f, "odd");
        for (int i = 0; i < 3; i++) {
            char name[32];
            snprintf(name, sizeof(name), "example.com/x%d-%d", round, i);
            assert_true(cluster_resource_find(&f.cluster, str_from(name), &number));
            assert_int_equal(f.cluster.col.alloc[number][odd], i + 1);
            assert_int_equal(f.cluster.col.alloc[number][a], 0);
            assert_int_equal(f.cluster.col.used[number][a], round == 3 && i == 1 ? 5 : 0);
        }
        if (round % 2)
            cluster_remove_node(&f.cluster, STR("odd"));
    }
    fixture_release(&f);
}

/* ---- any history ---- */
enum { NAMES = 12, NODES = 4, PODS = 8, STEPS = 4000 };

struct history {
    struct fixture f;
    struct rng rng;
    int64_t offered[NODES][NAMES], taken[PODS][NAMES];
    bool live[NODES];
    struct pod_info *pods[PODS];
    uint32_t node_of[PODS];
};

static void put_amounts(struct history *h, struct strbuf *out, int64_t *amounts)
{
    strbuf_puts(out, "{cpu: 1");
    for (int i = 0; i < NAMES; i++) {
        amounts[i] = rng_below(&h->rng, 5) ? 0 : 1 + (int64_t)rng_below(&h->rng, 9);
        if (amounts[i] || !rng_below(&h->rng, 6))
            strbuf_printf(out, ", example.com/r%d: %lld", i, (long long)amounts[i]);
    }
    strbuf_puts(out, "}");
}

static void change_node(struct history *h, uint32_t node)
{
    struct strbuf text = { 0 };
    char name[8];
    snprintf(name, sizeof(name), "n%u", node);
    if (h->live[node] && rng_below(&h->rng, 3) == 0) {
        cluster_remove_node(&h->f.cluster, str_from(name));
        memset(h->offered[node], 0, sizeof(h->offered[node]));
        h->live[node] = false;
        return;
    }
    strbuf_printf(&text, "{kind: Node, metadata: {name: %s}, status: {allocatable: ", name);
    put_amounts(h, &text, h->offered[node]);
    strbuf_puts(&text, "}}");
    fixture_load(&h->f, text.text);
    h->live[node] = true;
    strbuf_release(&text);
}

static void change_pod(struct history *h, int pod)
{
    struct strbuf text = { 0 };
    if (h->pods[pod]) {
        cluster_remove_pod(&h->f.cluster, h->pods[pod]);
        memset(h->taken[pod], 0, sizeof(h->taken[pod]));
        h->pods[pod] = NULL;
        return;
    }
    h->node_of[pod] = (uint32_t)rng_below(&h->rng, NODES);
    strbuf_printf(
        &text,
        "{kind: Pod, metadata: {name: p%d}, spec: {nodeName: n%u, containers: [{name: c, resources: "
        "{requests: ",
        pod, h->node_of[pod]);
    put_amounts(h, &text, h->taken[pod]);
    strbuf_puts(&text, "}}]}}");
    fixture_load(&h->f, text.text);
    h->pods[pod] = h->f.last_pod;
    strbuf_release(&text);
}

static int64_t absent_use_of(const struct absent_uses *uses, const char *name)
{
    for (uint32_t i = 0; i < uses->len; i++)
        if (str_is(uses->items[i].name, name))
            return uses->items[i].value;
    return 0;
}

static void check_node(struct history *h, uint32_t node)
{
    const struct cluster *cluster = &h->f.cluster;
    uint32_t row = fixture_row(&h->f, ((const char *const[]){ "n0", "n1", "n2", "n3" })[node]);
    struct arena arena = { 0 };
    struct absent_uses absent = cluster_absent_used(cluster, row, &arena);
    for (int i = 0; i < NAMES; i++) {
        int64_t used = 0;
        for (int pod = 0; pod < PODS; pod++)
            used += h->pods[pod] && h->node_of[pod] == node ? h->taken[pod][i] : 0;
        char name[24];
        uint32_t number;
        snprintf(name, sizeof(name), "example.com/r%d", i);
        if (!cluster_resource_find(cluster, str_from(name), &number)) {
            assert_int_equal(h->offered[node][i], 0);
            assert_int_equal(absent_use_of(&absent, name), used);
            continue;
        }
        assert_int_equal(cluster->col.alloc[number][row], h->offered[node][i]);
        assert_int_equal(cluster->col.used[number][row], used);
        assert_int_equal(absent_use_of(&absent, name), 0);
    }
    arena_release(&arena);
}

static void test_any_history(void **state)
{
    (void)state;
    struct history h = { .rng = test_rng() };
    FIXTURE_BARE(&h.f);
    for (int step = 0; step < STEPS; step++) {
        if (rng_below(&h.rng, 3))
            change_pod(&h, (int)rng_below(&h.rng, PODS));
        else
            change_node(&h, (uint32_t)rng_below(&h.rng, NODES));
        if (step == STEPS / 2) { /* a number that is asked for stays */
            uint32_t number;
            assert_true(cluster_resource(&h.f.cluster, STR("example.com/r0"), &number));
            cluster_settle_resources(&h.f.cluster);
        }
        for (uint32_t node = 0; node < NODES; node++)
            if (h.live[node])
                check_node(&h, node);
        assert_true(h.f.cluster.col.resources <= RES_SCALAR_FIRST + NAMES);
    }
    fixture_release(&h.f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pods_make_no_columns),
        cmocka_unit_test(test_columns_are_used_again),
        cmocka_unit_test(test_any_history),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
