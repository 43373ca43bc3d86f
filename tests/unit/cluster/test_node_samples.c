/* Measured use of nodes: the newest sample, statistics of the last ones, and what becomes of them. */
#include "cluster/node_samples.h"

#include "support/fixture.h"

#define NODE "{apiVersion: v1, kind: Node, metadata: {name: it}}"
#define SAMPLE(minute, cpu, more) \
    "{apiVersion: metrics.k8s.io/v1beta1, kind: NodeMetrics, metadata: {name: it}, timestamp: " \
    "'2026-01-01T00:" minute ":00Z', window: 30s, usage: {cpu: " cpu ", memory: 1Gi}" more "}"

static const struct node_sample *sample(struct fixture *f)
{
    uint32_t row = cluster_row(&f->cluster, STR("it"));
    return row == ROW_NONE ? NULL : cluster_node(&f->cluster, row)->sample;
}

static double cpu(struct fixture *f, enum sample_statistic statistic)
{
    return sample(f)->values[SAMPLE_CPU][statistic];
}

static void test_statistics(void **state _unused_)
{
    struct fixture f;
    FIXTURE_BARE(&f);
    fixture_load(&f, SAMPLE("00", "1", "")); /* before its node */
    fixture_load(&f, NODE);
    assert_true(cpu(&f, STATISTIC_LATEST) == 1000 && cpu(&f, STATISTIC_AVERAGE) == 1000);
    assert_true(cpu(&f, STATISTIC_DEVIATION) == 0);
    assert_true(sample(&f)->values[SAMPLE_MEMORY][STATISTIC_LATEST] == 1024.0 * 1024 * 1024);
    assert_int_equal(sample(&f)->window_ns, 30000000000);
    assert_int_equal(sample(&f)->at_ns, 1767225600000000000);
    fixture_load(&f, SAMPLE("01", "3", ""));
    assert_true(cpu(&f, STATISTIC_LATEST) == 3000 && cpu(&f, STATISTIC_AVERAGE) == 2000);
    assert_true(cpu(&f, STATISTIC_DEVIATION) == 1000);
    assert_true(cpu(&f, STATISTIC_P50) == 1000 && cpu(&f, STATISTIC_P99) == 3000);
    fixture_load(&f, SAMPLE("01", "3", "")); /* nothing was measured meanwhile */
    assert_true(cpu(&f, STATISTIC_AVERAGE) == 2000);
    fixture_load(&f, SAMPLE("16", "250000001n", "")); /* the others are older than a quarter of an hour */
    assert_true(cpu(&f, STATISTIC_LATEST) == 250.000001 && cpu(&f, STATISTIC_AVERAGE) == 250.000001);
    fixture_load(&f, SAMPLE("10", "2", "")); /* a source that goes back */
    assert_true(cpu(&f, STATISTIC_AVERAGE) == 2000);
    fixture_release(&f);
}

static void test_many(void **state _unused_)
{
    struct fixture f;
    FIXTURE_BARE(&f);
    fixture_load(&f, NODE);
    for (int i = 0; i < 3 * SAMPLES_MAX; i++) {
        char text[300];
        snprintf(text, sizeof(text),
                 "{apiVersion: metrics.k8s.io/v1beta1, kind: NodeMetrics, metadata: {name: it}, timestamp: "
                 "'2026-01-01T00:00:00.%03dZ', window: 1s, usage: {cpu: %d}}",
                 i, i);
        fixture_load(&f, text);
    }
    assert_int_equal(sample(&f)->history.len, SAMPLES_MAX);
    assert_true(cpu(&f, STATISTIC_LATEST) == 1000.0 * (3 * SAMPLES_MAX - 1));
    assert_true(cpu(&f, STATISTIC_AVERAGE) == 1000.0 * (2 * SAMPLES_MAX + (SAMPLES_MAX - 1) / 2.0));
    assert_true(sample(&f)->values[SAMPLE_MEMORY][STATISTIC_AVERAGE] < 0);
    fixture_release(&f);
}

static void test_given(void **state _unused_)
{
    struct fixture f;
    FIXTURE_BARE(&f);
    fixture_load(&f, NODE);
    fixture_load(
        &f, SAMPLE("00", "1",
                   ", statistics: [{name: Average, usage: {cpu: 700m}}, {name: P95, usage: {cpu: 1900m}}, "
                   "{name: Odd, usage: {cpu: 5}}]"));
    assert_true(cpu(&f, STATISTIC_AVERAGE) == 700 && cpu(&f, STATISTIC_P95) == 1900);
    assert_true(cpu(&f, STATISTIC_P90) == 1000);
    fixture_release(&f);
}

static void test_gone(void **state _unused_)
{
    struct fixture f;
    FIXTURE_BARE(&f);
    fixture_load(&f, NODE);
    fixture_load(&f, SAMPLE("00", "1", ""));
    cluster_remove_node(&f.cluster, STR("it"));
    fixture_load(&f, NODE); /* another row, perhaps */
    assert_true(cpu(&f, STATISTIC_LATEST) == 1000);
    uint64_t version = cluster_node(&f.cluster, cluster_row(&f.cluster, STR("it")))->changed_seq;
    cluster_remove_object(&f.cluster, KIND_NODE_METRICS, (struct str){ 0 }, STR("it"));
    assert_null(sample(&f));
    assert_true(cluster_node(&f.cluster, cluster_row(&f.cluster, STR("it")))->changed_seq != version);
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_statistics),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_given),
        cmocka_unit_test(test_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
