/* The table of metrics gives a registry that shows what the flags select. */
#include "support/test.h"

#include <time.h>
#include <unistd.h>

#include "observe/families.h"

static struct metrics *families(const char *first, const char *second, struct error *err)
{
    char *argv[] = { (char *)(uintptr_t)"x", (char *)(uintptr_t)first, (char *)(uintptr_t)second };
    struct scheduler_flags flags;
    struct features features;
    assert_int_equal(flags_parse(&flags, 1 + !!first + !!second, argv, err), 0);
    assert_int_equal(flags_check(&flags, &features, NULL, err), 0);
    struct metrics *metrics = families_new(&flags, &features, err);
    flags_release(&flags);
    return metrics;
}

static void assert_shown(struct metrics *metrics, const char *line, bool want)
{
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    metrics_write(metrics, &out);
    if (!!strstr(out.text, line) != want)
        fail_msg("%s %s", line, want ? "is missing" : "is there");
}

static void the_table_is_sound(void **state _unused_)
{
    const struct metric_info *infos = families_table();
    for (size_t i = 0; i < FAMILY_COUNT; i++) {
        struct str name = str_from(infos[i].name);
        bool counter = infos[i].type == METRIC_COUNTER || infos[i].type == METRIC_REAL_COUNTER;
        bool old = str_is(name, "authenticated_user_requests") || str_is(name, "authentication_attempts");
        assert_int_equal(counter && !old, str_ends_with(name, STR("_total")));
        assert_int_equal(infos[i].type == METRIC_HISTOGRAM, infos[i].buckets_len > 1);
        for (size_t j = 1; j < infos[i].buckets_len; j++)
            assert_true(infos[i].buckets[j - 1] < infos[i].buckets[j]);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(infos[i].name, infos[j].name);
    }
}

/* As kube-scheduler v1.37.1 shows them after its start. */
static void starts_as_kube_scheduler_does(void **state _unused_)
{
    struct error err;
    struct metrics *metrics = families(NULL, NULL, &err);
    static const char *const lines[] = {
        "# HELP scheduler_preemption_victims [STABLE] Number of selected preemption victims for preemption "
        "initiated by a single pod\n",
        "# TYPE scheduler_preemption_victims histogram\n",
        "scheduler_preemption_victims_bucket{le=\"1\"} 0\n",
        "scheduler_preemption_victims_bucket{le=\"64\"} 0\n",
        "scheduler_preemption_victims_bucket{le=\"+Inf\"} 0\n",
        "scheduler_scheduling_algorithm_duration_seconds_bucket{le=\"16.384\"} 0\n",
        "scheduler_pod_scheduling_attempts_count 0\n",
        "kubernetes_feature_enabled{name=\"DynamicResourceAllocation\",stage=\"\"} 1\n",
        "kubernetes_feature_enabled{name=\"GenericWorkload\",stage=\"BETA\"} 0\n",
        "version_info{binary=\"1.37.1\",component=\"kube\",emulation=\"1.37\",min_compat=\"1.36\"} 1\n",
        "rest_client_exec_plugin_ttl_seconds +Inf\n",
        "# HELP process_open_fds Number of open file descriptors.\n",
    };
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
        assert_shown(metrics, lines[i], true);
    assert_shown(metrics, "scheduler_podgroup", false);
    assert_shown(metrics, "scheduler_schedule_attempts_total", false);
    metrics_free(metrics);
}

/* The page with at least one metric of each family. */
static void write_all(struct metrics *metrics, struct strbuf *out)
{
    struct str labels[METRIC_LABELS_MAX];
    for (size_t i = 0; i < METRIC_LABELS_MAX; i++)
        labels[i] = STR("x");
    for (size_t i = 0; i < FAMILY_COUNT; i++)
        metric_get(metrics, i, labels);
    metrics_write(metrics, out);
}

/* data/: the heads of the families that kube-scheduler shows after its start, without an API server and without those
 * of Go's runtime. */
static void heads_are_those_of_the_release(void **state _unused_)
{
    static const struct {
        const char *flag, *file;
    } cases[] = {
        { "--emulated-version=1.36", "tests/unit/observe/data/families-1.36.txt" },
        { "--emulated-version=1.37", "tests/unit/observe/data/families-1.37.txt" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error err;
        struct metrics *metrics = families(cases[i].flag, "--client-ca-file=ca.crt", &err);
        _cleanup_(strbuf_release) struct strbuf out = { 0 };
        write_all(metrics, &out);
        FILE *file = fopen(cases[i].file, "r");
        assert_non_null(file);
        char *line = NULL;
        size_t cap = 0, count = 0;
        for (; getline(&line, &cap, file) > 0; count++)
            if (!strstr(out.text, line))
                fail_msg("%s: %s is missing", cases[i].flag, line);
        assert_true(count > 100);
        free(line);
        fclose(file);
        metrics_free(metrics);
    }
}

static void releases_differ(void **state _unused_)
{
    static const struct {
        const char *text;
        bool in_36, in_37;
    } cases[] = {
        { "aggregator_discovery_nopeer_requests_total ", true, false },
        { "# TYPE scheduler_resourceclaim_creates_total ", true, false },
        { "# TYPE dynamic_resource_allocation_resourceclaim_creates_total ", false, true },
        { "scheduler_preemption_goroutines_duration_seconds", true, false },
        { "hidden_metrics_total 0\n", true, false },
        { "hidden_metrics_total 1\n", false, true },
        { "# TYPE scheduler_queued_entities gauge\n", false, true },
        { "# TYPE scheduler_queue_incoming_entities_total counter\n", false, true },
        { "scheduler_pending_pods{queue=\"incomplete\"} 0\n", false, true },
        { "apiserver_client_certificate_expiration_seconds_count", true, false },
        { "registered_metrics_total{deprecated_version=\"1.37.0\",stability_level=\"ALPHA\"} 1\n", false,
          false },
    };
    struct error err;
    for (int minor = 36; minor <= 37; minor++) {
        struct metrics *metrics =
            families(minor == 36 ? "--emulated-version=1.36" : "--emulated-version=1.37", NULL, &err);
        _cleanup_(strbuf_release) struct strbuf out = { 0 };
        write_all(metrics, &out);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
            if (!!strstr(out.text, cases[i].text) != (minor == 36 ? cases[i].in_36 : cases[i].in_37))
                fail_msg("1.%d: %s", minor, cases[i].text);
        metrics_free(metrics);
    }
}

static void hidden_families_are_shown_on_request(void **state _unused_)
{
    struct error err;
    struct metrics *metrics =
        families("--emulated-version=1.37", "--show-hidden-metrics-for-version=1.36", &err);
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    write_all(metrics, &out);
    static const char *const lines[] = {
        "# HELP scheduler_preemption_goroutines_duration_seconds [ALPHA] (Deprecated since 1.37.0) Duration "
        "in "
        "seconds for running goroutines for the preemption.\n",
        "hidden_metrics_total 0\n",
        "registered_metrics_total{deprecated_version=\"1.37.0\",stability_level=\"ALPHA\"} 1\n",
    };
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
        assert_non_null(strstr(out.text, lines[i]));
    metrics_free(metrics);
}

static void the_process_is_looked_up(void **state _unused_)
{
    struct error err;
    struct metrics *metrics = families(NULL, NULL, &err);
    process_metrics_update(metrics);
    static const enum family positive[] = { FAMILY_PROCESS_CPU_SECONDS_TOTAL,
                                            FAMILY_PROCESS_MAX_FDS,
                                            FAMILY_PROCESS_OPEN_FDS,
                                            FAMILY_PROCESS_RESIDENT_MEMORY_BYTES,
                                            FAMILY_PROCESS_START_TIME_SECONDS,
                                            FAMILY_PROCESS_VIRTUAL_MEMORY_BYTES,
                                            FAMILY_PROCESS_VIRTUAL_MEMORY_MAX_BYTES };
    for (size_t i = 0; i < ARRAY_SIZE(positive); i++)
        assert_true(gauge_value(metric_get(metrics, positive[i], NULL)) > 0);
    double started = gauge_value(metric_get(metrics, FAMILY_PROCESS_START_TIME_SECONDS, NULL));
    assert_true(started <= (double)time(NULL) + 1 && started > (double)time(NULL) - 3600);
    metrics_free(metrics);
}

static void flags_choose_what_is_shown(void **state _unused_)
{
    struct error err;
    struct metrics *metrics = families("--disabled-metrics=scheduler_preemption_victims",
                                       "--allow-metric-labels=scheduler_cache_size,type=nodes", &err);
    assert_shown(metrics, "scheduler_preemption_victims", false);
    assert_shown(metrics, "disabled_metrics_total 1\n", true);
    gauge_set(metric_get(metrics, FAMILY_CACHE_SIZE, &STR("nodes")), 3);
    gauge_set(metric_get(metrics, FAMILY_CACHE_SIZE, &STR("pods")), 4);
    assert_shown(metrics,
                 "scheduler_cache_size{type=\"nodes\"} 3\nscheduler_cache_size{type=\"unexpected\"} 4\n",
                 true);
    assert_shown(metrics, "cardinality_enforcement_unexpected_categorizations_total 1\n", true);
    metrics_free(metrics);
}

static void a_manifest_allows_values_too(void **state _unused_)
{
    static const struct {
        const char *text;
        const char *want; /* of the error; NULL: none */
    } cases[] = {
        { "\"scheduler_cache_size,type\": \"nodes\"\n", NULL },
        { "scheduler_cache_size: x\n", "\"scheduler_cache_size\": expected \"metric,label\"" },
        { "- a\n", "expected lines of \"metric,label\"" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char path[] = "/tmp/test_families.XXXXXX", flag[100];
        struct error err;
        int fd = mkstemp(path);
        assert_true(write(fd, cases[i].text, strlen(cases[i].text)) == (ssize_t)strlen(cases[i].text));
        close(fd);
        snprintf(flag, sizeof(flag), "--allow-metric-labels-manifest=%s", path);
        struct metrics *metrics = families(flag, NULL, &err);
        unlink(path);
        assert_int_equal(metrics == NULL, cases[i].want != NULL);
        if (cases[i].want) {
            assert_non_null(strstr(err.text, cases[i].want));
            continue;
        }
        metric_get(metrics, FAMILY_CACHE_SIZE, &STR("pods"));
        assert_shown(metrics, "scheduler_cache_size{type=\"unexpected\"} 0\n", true);
        metrics_free(metrics);
    }
    struct error err;
    assert_null(families("--allow-metric-labels-manifest=/nowhere", NULL, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_is_sound),
        cmocka_unit_test(starts_as_kube_scheduler_does),
        cmocka_unit_test(the_process_is_looked_up),
        cmocka_unit_test(flags_choose_what_is_shown),
        cmocka_unit_test(a_manifest_allows_values_too),
        cmocka_unit_test(heads_are_those_of_the_release),
        cmocka_unit_test(releases_differ),
        cmocka_unit_test(hidden_families_are_shown_on_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
