/* The LeaseCandidate as text: tests/e2e/coordinated_test.go has it with a real API server. */
#include "support/test.h"

#include "live/candidate.h"

static void test_pings(void **state _unused_)
{
    static const struct {
        const char *object;
        bool want;
    } cases[] = {
        { "", false },
        { "no JSON", false },
        { "[]", false },
        { "{\"spec\":{}}", false },
        { "{\"spec\":{\"renewTime\":\"2026-01-01T00:00:00.000000Z\"}}", false },
        { "{\"spec\":{\"pingTime\":\"2026-01-01T00:00:00.000000Z\"}}", true },
        { "{\"spec\":{\"pingTime\":\"2026-01-01T00:00:00.000002Z\",\"renewTime\":\"2026-01-01T00:00:00."
          "000001Z\"}}",
          true },
        { "{\"spec\":{\"pingTime\":\"2026-01-01T00:00:00.000001Z\",\"renewTime\":\"2026-01-01T00:00:00."
          "000001Z\"}}",
          false },
        { "{\"spec\":{\"pingTime\":\"2026-01-01T01:00:00Z\",\"renewTime\":\"2026-01-01T00:30:00-01:00\"}}",
          false },
        { "{\"spec\":{\"pingTime\":7,\"renewTime\":null}}", false },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        if (candidate_is_pinged(str_from(cases[i].object)) != cases[i].want)
            fail_msg("%s", cases[i].object);
}

static void test_objects(void **state _unused_)
{
    const struct candidate_options options = { .namespace = STR("kube-system"),
                                               .identity = STR("host_uuid"),
                                               .lease_name = STR("kube-scheduler"),
                                               .binary_version = "1.37.1",
                                               .emulation_version = "1.37.0" };
    static const struct {
        const char *object, *want;
    } cases[] = {
        { "", "{\"apiVersion\":\"coordination.k8s.io/"
              "v1beta1\",\"kind\":\"LeaseCandidate\",\"metadata\":{\"name\":"
              "\"host_uuid\",\"namespace\":\"kube-system\"},\"spec\":{\"leaseName\":\"kube-scheduler\","
              "\"binaryVersion\":\"1.37.1\",\"emulationVersion\":\"1.37.0\",\"strategy\":"
              "\"OldestEmulationVersion\","
              "\"renewTime\":\"2023-11-14T22:13:20.000007Z\"}}" },
        { "{\"metadata\":{\"resourceVersion\":\"5\"},\"spec\":{\"renewTime\":\"x\",\"pingTime\":\"y\","
          "\"later\":[1]}}",
          "{\"metadata\":{\"resourceVersion\":\"5\"},\"spec\":{\"renewTime\":\"2023-11-14T22:13:20.000007Z\","
          "\"pingTime\":\"y\",\"later\":[1]}}" },
        { "{}", "{\"spec\":{\"renewTime\":\"2023-11-14T22:13:20.000007Z\"}}" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(strbuf_release) struct strbuf out = { 0 };
        candidate_write(&options, str_from(cases[i].object), INT64_C(1700000000000007), &out);
        assert_string_equal(out.text, cases[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pings),
        cmocka_unit_test(test_objects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
