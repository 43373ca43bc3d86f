/* Metrics: the exposition has the counted values. */
#include "support/test.h"

#include <pthread.h>

#include "base/metrics.h"

enum { REQUESTS, DEPTH, SECONDS, PLAIN, GONE, FAMILIES };

static const double bounds[] = { 0.001, 0.5, 1, 2500000 };

static const struct metric_info infos[FAMILIES] = {
    [REQUESTS] = { .name = "requests_total",
                   .help = "Requests by verb\nand \"code\" \\ so on.",
                   .type = METRIC_COUNTER,
                   .stability = METRIC_STABLE,
                   .labels = { "verb", "code" } },
    [DEPTH] = { .name = "depth",
                .help = "Depth.",
                .type = METRIC_GAUGE,
                .stability = METRIC_ALPHA,
                .labels = { "queue" } },
    [SECONDS] = { .name = "b_seconds",
                  .help = "Time.",
                  .type = METRIC_HISTOGRAM,
                  .stability = METRIC_BETA,
                  .labels = { "what" },
                  .buckets = bounds,
                  .buckets_len = ARRAY_SIZE(bounds) },
    [PLAIN] = { .name = "a_plain", .help = "Plain.", .type = METRIC_COUNTER, .stability = METRIC_INTERNAL },
    [GONE] = { .name = "gone",
               .help = "Old.",
               .type = METRIC_GAUGE,
               .stability = METRIC_ALPHA,
               .deprecated = "1.34.0",
               .hidden = true },
};

static struct metric *get(struct metrics *metrics, size_t family, const char *first, const char *second)
{
    return metric_get(metrics, family, (const struct str[]){ str_from(first), str_from(second) });
}

static void assert_written(struct metrics *metrics, const char *want)
{
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    metrics_write(metrics, &out);
    assert_string_equal(out.text, want);
}

/* Two families, out of order, with labels out of order. */
static struct metrics *filled(void)
{
    struct metrics *metrics = metrics_new(infos, FAMILIES);
    counter_add(get(metrics, REQUESTS, "GET", "200"), 1234567);
    counter_add(get(metrics, REQUESTS, "GET", "200"), 1);
    counter_add(get(metrics, REQUESTS, "A\"\\\n\xc3\xa9\xff", "404"), 1);
    get(metrics, REQUESTS, "AB", "200");
    gauge_set(get(metrics, DEPTH, "x", NULL), -0.25);
    gauge_add(get(metrics, DEPTH, "x", NULL), 12);
    struct metric *seconds = get(metrics, SECONDS, "y", NULL);
    static const double values[] = { 0.0005, 0.001, 0.0011, 1, 7, 3e6 };
    for (size_t i = 0; i < ARRAY_SIZE(values); i++)
        histogram_observe(seconds, values[i]);
    return metrics;
}

static void text_is_what_prometheus_reads(void **state _unused_)
{
    struct metrics *metrics = filled();
    assert_written(metrics, "# HELP a_plain [INTERNAL] Plain.\n"
                            "# TYPE a_plain counter\n"
                            "a_plain 0\n"
                            "# HELP b_seconds [BETA] Time.\n"
                            "# TYPE b_seconds histogram\n"
                            "b_seconds_bucket{what=\"y\",le=\"0.001\"} 2\n"
                            "b_seconds_bucket{what=\"y\",le=\"0.5\"} 3\n"
                            "b_seconds_bucket{what=\"y\",le=\"1\"} 4\n"
                            "b_seconds_bucket{what=\"y\",le=\"2.5e+06\"} 5\n"
                            "b_seconds_bucket{what=\"y\",le=\"+Inf\"} 6\n"
                            "b_seconds_sum{what=\"y\"} 3.0000080026e+06\n"
                            "b_seconds_count{what=\"y\"} 6\n"
                            "# HELP depth [ALPHA] Depth.\n"
                            "# TYPE depth gauge\n"
                            "depth{queue=\"x\"} 11.75\n"
                            "# HELP requests_total [STABLE] Requests by verb\\nand \"code\" \\\\ so on.\n"
                            "# TYPE requests_total counter\n"
                            "requests_total{code=\"200\",verb=\"AB\"} 0\n"
                            "requests_total{code=\"200\",verb=\"GET\"} 1.234568e+06\n"
                            "requests_total{code=\"404\",verb=\"A\\\"\\\\\\n\xc3\xa9\xef\xbf\xbd\"} 1\n");
    metrics_free(metrics);
}

static void numbers_have_the_fewest_digits(void **state _unused_)
{
    static const struct {
        double value;
        const char *want;
    } cases[] = {
        { 0, "0" },
        { 1, "1" },
        { -1, "-1" },
        { 0.1, "0.1" },
        { 100000, "100000" },
        { 999999, "999999" },
        { 1e6, "1e+06" },
        { 1e21, "1e+21" },
        { 123456789, "1.23456789e+08" },
        { 0.0001, "0.0001" },
        { 1e-5, "1e-05" },
        { 1.5e-7, "1.5e-07" },
        { 0.30000000000000004, "0.30000000000000004" },
        { NAN, "NaN" },
        { INFINITY, "+Inf" },
        { -INFINITY, "-Inf" },
        { 4.9e-324, "5e-324" },
        { 0.016384, "0.016384" },
        { 524.288, "524.288" },
    };
    static const struct metric_info info = { .name = "g", .help = "", .type = METRIC_GAUGE };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct metrics *metrics = metrics_new(&info, 1);
        char want[100];
        gauge_set(metric_get(metrics, 0, NULL), cases[i].value);
        snprintf(want, sizeof(want), "# HELP g [INTERNAL] \n# TYPE g gauge\ng %s\n", cases[i].want);
        assert_written(metrics, want);
        metrics_free(metrics);
    }
}

static void hidden_families_show_on_request(void **state _unused_)
{
    struct metrics *metrics = metrics_new(&infos[GONE], 1);
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    metrics_write(metrics, &out);
    assert_int_equal(out.len, 0);
    metrics_show_hidden(metrics);
    assert_written(metrics,
                   "# HELP gone [ALPHA] (Deprecated since 1.34.0) Old.\n# TYPE gone gauge\ngone 0\n");
    metrics_disable(metrics, STR("gone"));
    metrics_write(metrics, &out);
    assert_int_equal(out.len, 0);
    metrics_free(metrics);
}

static void count_call(void *context)
{
    ++*(int *)context;
}

static void other_values_of_a_label_are_unexpected(void **state _unused_)
{
    struct metrics *metrics = metrics_new(infos, FAMILIES);
    int calls = 0;
    metrics_on_unexpected(metrics, count_call, &calls);
    metrics_allow(metrics, STR("requests_total"), STR("verb"), STR("GET,PUT"));
    metrics_allow(metrics, STR("nothing"), STR("verb"), STR("x"));
    struct metric *get_200 = get(metrics, REQUESTS, "GET", "200");
    struct metric *post = get(metrics, REQUESTS, "POST", "200"),
                  *patch = get(metrics, REQUESTS, "PATCH", "200");
    assert_ptr_equal(post, patch);
    assert_ptr_not_equal(post, get_200);
    assert_ptr_equal(get(metrics, REQUESTS, "GET,PUT", "200"), post);
    assert_ptr_equal(get(metrics, REQUESTS, "unexpected", "200"), post);
    assert_int_equal(calls, 4);
    metrics_free(metrics);
}

static void same_labels_are_the_same_metric(void **state _unused_)
{
    struct metrics *metrics = metrics_new(infos, FAMILIES);
    struct metric *a = get(metrics, REQUESTS, "GET", "200");
    assert_ptr_equal(get(metrics, REQUESTS, "GET", "200"), a);
    /* Label values are not just concatenated. */
    assert_ptr_not_equal(get(metrics, REQUESTS, "GET2", "00"), a);
    assert_ptr_not_equal(get(metrics, REQUESTS, "", "GET200"), a);
    counter_add(a, 5);
    assert_int_equal(counter_value(a), 5);
    metrics_free(metrics);
}

static void reset_restarts_counting(void **state _unused_)
{
    static const struct metric_info cpu = {
        .name = "cpu_total", .help = "Time.", .type = METRIC_REAL_COUNTER, .stability = METRIC_UNRATED
    };
    struct metrics *metrics = metrics_new(&cpu, 1), *others = filled();
    gauge_set(metric_get(metrics, 0, NULL), 0.25);
    assert_written(metrics, "# HELP cpu_total Time.\n# TYPE cpu_total counter\ncpu_total 0.25\n");
    metrics_reset(metrics);
    assert_written(metrics, "# HELP cpu_total Time.\n# TYPE cpu_total counter\ncpu_total 0\n");
    metrics_reset(others);
    assert_int_equal(counter_value(get(others, REQUESTS, "GET", "200")), 0);
    assert_int_equal(histogram_count(get(others, SECONDS, "y", NULL)), 0);
    assert_true(gauge_value(get(others, DEPTH, "x", NULL)) == 11.75);
    metrics_free(metrics);
    metrics_free(others);
}

static void set_depth(void *context)
{
    gauge_set(get(context, DEPTH, "now", NULL), 42);
}

static void callbacks_run_when_metrics_are_written(void **state _unused_)
{
    struct metrics *metrics = metrics_new(&infos[0], 2);
    metrics_on_write(metrics, set_depth, metrics);
    assert_written(metrics, "# HELP depth [ALPHA] Depth.\n# TYPE depth gauge\ndepth{queue=\"now\"} 42\n");
    metrics_free(metrics);
}

static void buckets_are_the_ones_of_prometheus(void **state _unused_)
{
    double got[20];
    buckets_exponential(0.001, 2, 20, got);
    assert_true(got[0] == 0.001 && got[1] == 0.002 && got[19] == 524.288);
}

enum { THREADS = 4, ROUNDS = 20000 };

static void *write_much(void *context)
{
    struct metrics *metrics = context;
    struct metric *seconds = get(metrics, SECONDS, "y", NULL), *depth = get(metrics, DEPTH, "x", NULL);
    for (int i = 0; i < ROUNDS; i++) {
        counter_add(get(metrics, REQUESTS, "GET", i % 2 ? "200" : "404"), 1);
        histogram_observe(seconds, 1);
        gauge_add(depth, i % 2 ? 1 : -1);
    }
    return NULL;
}

static void threads_lose_nothing(void **state _unused_)
{
    struct metrics *metrics = metrics_new(infos, FAMILIES);
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_much, metrics), 0);
    for (int i = 0; i < 50; i++) {
        _cleanup_(strbuf_release) struct strbuf out = { 0 };
        metrics_write(metrics, &out);
    }
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(counter_value(get(metrics, REQUESTS, "GET", "200")), THREADS * ROUNDS / 2);
    assert_int_equal(histogram_count(get(metrics, SECONDS, "y", NULL)), THREADS * ROUNDS);
    assert_true(histogram_sum(get(metrics, SECONDS, "y", NULL)) == THREADS * ROUNDS);
    assert_true(gauge_value(get(metrics, DEPTH, "x", NULL)) == 0);
    metrics_free(metrics);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_what_prometheus_reads),
        cmocka_unit_test(numbers_have_the_fewest_digits),
        cmocka_unit_test(hidden_families_show_on_request),
        cmocka_unit_test(other_values_of_a_label_are_unexpected),
        cmocka_unit_test(same_labels_are_the_same_metric),
        cmocka_unit_test(reset_restarts_counting),
        cmocka_unit_test(callbacks_run_when_metrics_are_written),
        cmocka_unit_test(buckets_are_the_ones_of_prometheus),
        cmocka_unit_test(threads_lose_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
