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

/* As kube-scheduler v1.36.4 shows them after its start. */
static void starts_as_kube_scheduler_does(void **state _unused_)
{
    struct error err;
    struct metrics *metrics = families(NULL, NULL, &err);
    static const char *const lines[] = {
        "# HELP scheduler_preemption_victims [STABLE] Number of selected preemption victims\n",
        "# TYPE scheduler_preemption_victims histogram\n",
        "scheduler_preemption_victims_bucket{le=\"1\"} 0\n",
        "scheduler_preemption_victims_bucket{le=\"64\"} 0\n",
        "scheduler_preemption_victims_bucket{le=\"+Inf\"} 0\n",
        "scheduler_scheduling_algorithm_duration_seconds_bucket{le=\"16.384\"} 0\n",
        "scheduler_pod_scheduling_attempts_count 0\n",
        "kubernetes_feature_enabled{name=\"APIServerTracing\",stage=\"\"} 1\n",
        "kubernetes_feature_enabled{name=\"GangScheduling\",stage=\"ALPHA\"} 0\n",
        "version_info{binary=\"1.36.4\",component=\"kube\",emulation=\"1.36\",min_compat=\"1.35\"} 1\n",
        "rest_client_exec_plugin_ttl_seconds +Inf\n",
        "# HELP process_open_fds Number of open file descriptors.\n",
    };
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
        assert_shown(metrics, lines[i], true);
    assert_shown(metrics, "scheduler_podgroup", false);
    assert_shown(metrics, "scheduler_schedule_attempts_total", false);
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
        cmocka_unit_test(the_table_is_sound),           cmocka_unit_test(starts_as_kube_scheduler_does),
        cmocka_unit_test(the_process_is_looked_up),     cmocka_unit_test(flags_choose_what_is_shown),
        cmocka_unit_test(a_manifest_allows_values_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
