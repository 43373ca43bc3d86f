/* The pause between two looks for a server that does not answer: it grows, and stays short. */
#include "support/test.h"

#include "sync/gate.h"

static int64_t longest(uint32_t failures, int64_t min_ms, int64_t max_ms)
{
    struct rng rng;
    rng_seed(&rng, 1);
    const struct gate gate = {
        .rng = &rng, .failures = failures, .backoff_ms_min = min_ms, .backoff_ms_max = max_ms
    };
    int64_t ms = 0;
    for (int i = 0; i < 1000; i++) {
        int64_t pause_ms = gate_pause_ms(&gate);
        ms = MAX(ms, pause_ms);
    }
    return ms;
}

static void test_pauses(void **state _unused_)
{
    static const int64_t want[] = { 0, 50, 100, 200, 200, 200 };
    for (uint32_t failures = 0; failures < ARRAY_SIZE(want); failures++)
        assert_int_equal(longest(failures, 50, 500), want[failures]);
    assert_int_equal(longest(1000, 50, 500), 200);
    assert_int_equal(longest(1000, 50, 100), 100); /* a shorter one that is wanted */
    assert_in_range(longest(1000, 60000, 60000), 30000, 60000);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_pauses) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
