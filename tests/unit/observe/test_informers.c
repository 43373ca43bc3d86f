/* What is known of each kind of objects, as kube-scheduler counts it for its informers. */
#include "support/test.h"

#include "observe/informers.h"

#define OF(name, group, resource) \
    "informer_" name "{group=\"" group "\",name=\"kube-scheduler\",resource=\"" resource "\",version=" \
    "\"v1\"} "

static struct metrics *make(const char *release, struct informers **ret)
{
    char *argv[] = { (char *)(uintptr_t)"x", (char *)(uintptr_t)release };
    struct scheduler_flags flags;
    struct features features;
    struct error err;
    assert_int_equal(flags_parse(&flags, 2, argv, &err), 0);
    assert_int_equal(flags_check(&flags, &features, NULL, &err), 0);
    struct metrics *metrics = families_new(&flags, &features, &err);
    assert_non_null(metrics);
    flags_release(&flags);
    *ret = informers_new(metrics, &features);
    return metrics;
}

static void assert_line(struct metrics *metrics, const char *line, bool want)
{
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    metrics_write(metrics, &out);
    if (!!strstr(out.text, line) != want)
        fail_msg("%s %s", line, want ? "is missing" : "is there");
}

static size_t waiting(void *context, enum api_kind kind)
{
    return kind == KIND_POD ? *(const size_t *)context : 0;
}

static void test_values(void **state _unused_)
{
    struct informers *informers;
    struct metrics *metrics = make("--emulated-version=1.37", &informers);
    size_t pods = 7;
    assert_line(metrics, OF("queued_items", "storage.k8s.io", "storageclasss") "0\n", true);
    assert_line(metrics, OF("store_resource_version", "resource.k8s.io", "devicetaintrules") "0\n", true);
    informers_version(informers, KIND_POD, STR("4711"));
    informers_version(informers, KIND_NODE, STR("91234567890123456"));
    informers_version(informers, KIND_NODE, STR("not a number"));
    informers_applied(informers, KIND_POD, 2000000);
    informers_publish(informers, waiting, &pods);
    assert_line(metrics, OF("store_resource_version", "", "pods") "4711\n", true);
    assert_line(metrics, OF("store_resource_version", "", "nodes") "2.34567890123456e+14\n", true);
    assert_line(metrics, OF("processing_latency_seconds_count", "", "pods") "1\n", true);
    assert_line(metrics, OF("queued_items", "", "pods") "7\n", true);
    informers_free(informers);
    metrics_free(metrics);
}

static void test_older_releases_have_none(void **state _unused_)
{
    struct informers *informers;
    struct metrics *metrics = make("--emulated-version=1.36", &informers);
    assert_null(informers);
    informers_version(informers, KIND_POD, STR("4711"));
    informers_applied(informers, KIND_POD, 1);
    informers_publish(informers, waiting, NULL);
    assert_line(metrics, "informer_", false);
    metrics_free(metrics);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_older_releases_have_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
