/* Importance of pods: priority, then running time; ties as in kube-scheduler. */
#include "support/fixture.h"

#include "preempt/importance.h"

struct order_case {
    const char *name;
    struct {
        const char *name;
        int32_t priority;
        int64_t start; /* seconds; 0: not started */
    } pods[6];
    const char *want, *want_37; /* NULL: the same */
};

static const struct order_case cases[] = {
    { "priority first", { { "a", 1, 5 }, { "b", 3, 9 }, { "c", 2, 1 } }, "b c a", NULL },
    { "the older one matters more", { { "a", 1, 9 }, { "b", 1, 5 }, { "c", 1, 7 } }, "b c a", NULL },
    { "not started is the youngest", { { "a", 1, 0 }, { "b", 1, 5 } }, "b a", NULL },
    { "equals keep their order", { { "a", 1, 5 }, { "b", 1, 5 }, { "c", 1, 5 } }, "a b c", NULL },
    { "equals that have not started turn around",
      { { "a", 1, 0 }, { "b", 1, 0 }, { "c", 1, 0 } },
      "c b a",
      "a b c" },
    { "some have not started",
      { { "a", 1, 0 }, { "b", 1, 7 }, { "c", 2, 0 }, { "d", 1, 0 } },
      "c b d a",
      "c b a d" },
    { "negative priorities", { { "a", -5, 1 }, { "b", INT32_MIN, 1 }, { "c", 0, 1 } }, "c a b", NULL },
};

static void test_order(void **state)
{
    (void)state;
    for (size_t at = 0; at < 2 * ARRAY_SIZE(cases); at++) {
        size_t c = at / 2;
        int minor = at % 2 ? 37 : 36;
        const char *want = minor == 37 && cases[c].want_37 ? cases[c].want_37 : cases[c].want;
        _cleanup_(strbuf_release) struct strbuf got = { 0 };
        struct pod api[6] = { 0 };
        struct pod_info infos[6] = { 0 }, *pods[6];
        uint32_t len = 0;
        for (; len < 6 && cases[c].pods[len].name; len++) {
            api[len].meta.name = str_from(cases[c].pods[len].name);
            api[len].status.start_time =
                (struct opt_time){ cases[c].pods[len].start != 0, cases[c].pods[len].start, 0 };
            infos[len] =
                (struct pod_info){ .api = &api[len], .priority = cases[c].pods[len].priority, .slot = len };
            pods[len] = &infos[len];
        }
        sort_by_importance(pods, len, release_of(minor));
        for (uint32_t i = 0; i < len; i++)
            strbuf_printf(&got, "%s" STR_FMT, i ? " " : "", STR_ARG(pods[i]->api->meta.name));
        if (strcmp(got.text, want))
            fail_msg("1.%d, %s: got %s, want %s", minor, cases[c].name, got.text, want);
    }
}

static void test_start_times_saturate(void **state)
{
    (void)state;
    struct pod api = { .status.start_time = { true, 1, 500 } };
    struct pod_info info = { .api = &api };
    assert_int_equal(pod_start_ns(&info), 1000000500);
    api.status.start_time.seconds = INT64_MAX;
    assert_true(pod_start_ns(&info) == INT64_MAX - 1);
    api.status.start_time.seconds = INT64_MIN;
    assert_true(pod_start_ns(&info) == INT64_MIN);
    api.status.start_time.set = false;
    assert_true(pod_start_ns(&info) == INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_start_times_saturate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
