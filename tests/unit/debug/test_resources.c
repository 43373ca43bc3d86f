/* /metrics/resources: amounts in their units, without zeros, and finished pods too. */
#include "support/test.h"

#include "debug/resources.h"

static struct resource some[] = {
    { STR("attachable-volumes-x"), { .units = 3 } },     { STR("cpu"), { .units = 1, .nano = 1000000 } },
    { STR("example.com/gpu"), { .units = 2 } },          { STR("hugepages-2Mi"), { .units = 4194304 } },
    { STR("memory"), { .units = INT64_C(1073741824) } }, { STR("pods"), { 0 } },
};
static struct resource little[] = { { STR("cpu"), { .nano = 57000000 } } };

static const char *page_of(struct cluster *cluster, struct strbuf *out)
{
    strbuf_clear(out);
    resources_write(resources_gather(&(struct engine){ .cluster = cluster }, NULL, 0), out);
    return out->text;
}

static void assert_has(const char *page, const char *line)
{
    if (!strstr(page, line))
        fail_msg("no %s in\n%s", line, page);
}

static void shows_requests_and_limits(void **state _unused_)
{
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    struct container container = { .name = STR("c"),
                                   .resources = { .requests = { some, ARRAY_SIZE(some) },
                                                  .limits = { little, ARRAY_SIZE(little) } } };
    struct pod pods[] = {
        { .meta = { .namespace = STR("a"), .name = STR("waits") },
          .spec = { .scheduler_name = STR("s"), .priority = { true, -5 } } },
        { .meta = { .namespace = STR("a"), .name = STR("over") },
          .spec = { .node_name = STR("n") },
          .status = { .phase = STR("Succeeded") } },
    };
    struct cluster cluster;
    cluster_init(&cluster);
    for (size_t i = 0; i < ARRAY_SIZE(pods); i++) {
        pods[i].spec.containers.items = &container;
        pods[i].spec.containers.len = 1;
        cluster_add_pod(&cluster, &pods[i]);
    }
    const char *page = page_of(&cluster, &out);
#define OF(resource, unit) \
    "{namespace=\"a\",node=\"\",pod=\"waits\",priority=\"-5\",resource=\"" resource \
    "\",scheduler=\"s\",unit=\"" unit "\"} "
    assert_has(page, "kube_pod_resource_request" OF("attachable-volumes-x", "integer") "3\n");
    assert_has(page, "kube_pod_resource_request" OF("cpu", "cores") "1.0010000000000001\n"); /* 1001 * 1e-3 */
    assert_has(page, "kube_pod_resource_request" OF("example.com/gpu", "") "2\n");
    assert_has(page, "kube_pod_resource_request" OF("hugepages-2Mi", "bytes") "4.194304e+06\n");
    assert_has(page, "kube_pod_resource_request" OF("memory", "bytes") "1.073741824e+09\n");
    assert_has(page, "kube_pod_resource_limit" OF("cpu", "cores") "0.057\n");
#undef OF
    assert_null(strstr(page, "resource=\"pods\""));
    assert_null(strstr(page, "over"));
    cluster_release(&cluster);
}

static void no_pods_is_an_empty_page(void **state _unused_)
{
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    struct cluster cluster;
    cluster_init(&cluster);
    page_of(&cluster, &out);
    assert_int_equal(out.len, 0);
    cluster_release(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shows_requests_and_limits),
        cmocka_unit_test(no_pods_is_an_empty_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
