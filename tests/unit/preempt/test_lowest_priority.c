/* The table of lowest priorities follows the cluster through any sequence of changes. */
#include "support/fixture.h"

#include "preempt/lowest_priority.h"

enum { NODES = 20, PODS = 60, STEPS = 3000 };

static void check_all(const struct cluster *cluster, const struct lowest_priority *lowest)
{
    assert_int_equal(lowest->rows, cluster->nodes.len);
    for (uint32_t row = 0; row < lowest->rows; row++) {
        int32_t want = INT32_MAX;
        vec_for(&cluster->nodes.items[row].pods, pod)
            want = MIN(want, (*pod)->priority);
        assert_int_equal(lowest->priority[row], want);
    }
}

static void test_follows(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    struct fixture f;
    FIXTURE_BARE(&f);
    static struct node nodes[NODES];
    static struct pod pods[PODS];
    static char names[PODS][8];
    uint32_t rows[NODES];
    size_t known_nodes = 0;
    struct pod_info *infos[PODS];
    for (size_t i = 0; i < PODS; i++) {
        snprintf(names[i], sizeof(names[i]), "p%zu", i);
        pods[i] = (struct pod){ .meta = { .namespace = STR("default"), .name = str_from(names[i]) },
                                .spec.priority = { true, (int32_t)rng_below(&rng, 100) - 50 } };
        infos[i] = cluster_add_pod(&f.cluster, &pods[i]);
    }
    struct lowest_priority lowest = { .arena = &f.arena };
    for (int step = 0; step < STEPS; step++) {
        if (known_nodes < NODES && (!known_nodes || rng_below(&rng, 100) == 0)) {
            nodes[known_nodes].meta.name = str_from(names[known_nodes]);
            cluster_set_node(&f.cluster, &nodes[known_nodes]);
            rows[known_nodes] = fixture_row(&f, names[known_nodes]);
            known_nodes++;
        }
        size_t i = rng_below(&rng, PODS);
        if (infos[i]->row != ROW_NONE)
            cluster_displace(&f.cluster, infos[i]);
        else
            cluster_place(&f.cluster, infos[i], rows[rng_below(&rng, known_nodes)]);
        /* Sometimes far behind, sometimes one step. */
        if (rng_below(&rng, step < STEPS / 2 ? 2 : 100) == 0) {
            lowest_priority_update(&lowest, &f.cluster);
            check_all(&f.cluster, &lowest);
        }
    }
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_follows) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
