/* Which source of samples the arguments of plugins name. ImageLocality and SchedulingGates, which have no arguments of
 * their own, stand for plugins that do. */
#include "config/metric_provider.h"

#include "support/test.h"
#include "unit/config/catalog.h"

#define HEAD CONFIG_HEAD "profiles:\n- pluginConfig:\n"
#define ARGS(plugin, args) "  - {name: " plugin ", args: {" args "}}\n"
#define PROMETHEUS(more) "metricProvider: {type: Prometheus" more "}"

static const struct {
    const char *text, *plugin, *address, *token; /* plugin "": there is none; address "": not Prometheus */
    bool insecure;
} cases[] = {
    { CONFIG_HEAD, "", "", "", false },
    { HEAD ARGS("ImageLocality", "other: 1"), "", "", "", false },
    { HEAD ARGS("ImageLocality", PROMETHEUS("")), "ImageLocality", "http://prometheus-k8s:9090", "", false },
    { HEAD ARGS("ImageLocality", PROMETHEUS(", address: 'https://p', token: t, insecureSkipVerify: true")),
      "ImageLocality", "https://p", "t", true },
    { HEAD ARGS("ImageLocality", "metricProvider: {type: KubernetesMetricsServer, address: x}"),
      "ImageLocality", "", "", false },
    { HEAD ARGS("ImageLocality", "watcherAddress: w, " PROMETHEUS("")), "", "", "", false },
    { HEAD ARGS("PodGroupPodsCount", PROMETHEUS("")), "", "", "", false }, /* it is not enabled */
    { HEAD ARGS("ImageLocality", PROMETHEUS(", address: 'http://p'"))
          ARGS("SchedulingGates", PROMETHEUS(", address: 'http://p'")),
      "ImageLocality", "http://p", "", false },
    { HEAD ARGS("ImageLocality", "metricProvider: [1]"), "", "", "", false },
};

static void test_find(void **state _unused_)
{
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct loaded loaded;
        struct metric_provider found;
        struct error err = { 0 };
        assert_int_equal(loaded_from(&loaded, &stock_env, "", cases[i].text), 0);
        assert_int_equal(metric_provider_find(&loaded.config, &found, &err), 0);
        if (!str_is(found.plugin, cases[i].plugin) || !str_is(found.address, cases[i].address) ||
            !str_is(found.token, cases[i].token) || found.insecure_skip_verify != cases[i].insecure ||
            found.is_prometheus != (*cases[i].address != '\0'))
            fail_msg("%s: got " STR_FMT ", " STR_FMT, cases[i].text, STR_ARG(found.plugin),
                     STR_ARG(found.address));
        loaded_release(&loaded);
    }
}

static void test_differing(void **state _unused_)
{
    static const char *const others[] = { PROMETHEUS(", address: 'http://q'"),
                                          PROMETHEUS(", address: 'http://p', token: t"),
                                          "metricProvider: {type: KubernetesMetricsServer}" };
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        char text[1000];
        struct loaded loaded;
        struct metric_provider found;
        struct error err = { 0 };
        snprintf(text, sizeof(text),
                 HEAD ARGS("ImageLocality", PROMETHEUS(", address: 'http://p'"))
                     ARGS("SchedulingGates", "%s"),
                 others[i]);
        assert_int_equal(loaded_from(&loaded, &stock_env, "", text), 0);
        assert_true(metric_provider_find(&loaded.config, &found, &err) < 0);
        assert_non_null(strstr(err.text, "metricProvider of ImageLocality and of SchedulingGates differ"));
        loaded_release(&loaded);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_find), cmocka_unit_test(test_differing) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
