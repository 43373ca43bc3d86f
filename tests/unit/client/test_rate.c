/* The token bucket with a simulated clock; the expected waits are those of client-go's limiter. */
#include "support/test.h"

#include "client/rate.h"

#define MS INT64_C(1000000)

struct step {
    int64_t at_ms;
    int64_t want_wait_ms; /* -1: RATE_FOREVER */
};

static const struct rate_case {
    const char *name;
    double qps;
    int32_t burst;
    struct step steps[8];
    size_t count;
} cases[] = {
    { "a burst, then the rate",
      10,
      3,
      { { 0, 0 }, { 0, 0 }, { 0, 0 }, { 0, 100 }, { 0, 200 }, { 50, 250 } },
      6 },
    { "refills up to the burst", 10, 2, { { 0, 0 }, { 0, 0 }, { 1000, 0 }, { 1000, 0 }, { 1000, 100 } }, 5 },
    { "half a token is half the wait", 10, 1, { { 0, 0 }, { 50, 50 }, { 200, 0 } }, 3 },
    { "defaults: 5 and 10",
      0,
      0,
      { { 0, 0 }, { 0, 0 }, { 0, 0 }, { 0, 0 }, { 0, 0 }, { 0, 0 }, { 0, 0 }, { 0, 0 } },
      8 },
    { "slow", 0.5, 1, { { 0, 0 }, { 0, 2000 }, { 2000, 2000 } }, 3 },
    { "unlimited", -1, 1, { { 0, 0 }, { 0, 0 }, { 0, 0 } }, 3 },
    { "a bucket without capacity", 10, -1, { { 0, -1 }, { 5000, -1 } }, 2 },
    { "a clock that steps back", 10, 1, { { 1000, 0 }, { 500, 100 }, { 1100, 0 } }, 3 },
};

static void test_reserve(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct rate_case *c = &cases[i];
        struct rate rate;
        rate_init(&rate, c->qps, c->burst);
        for (size_t j = 0; j < c->count; j++) {
            int64_t want = c->steps[j].want_wait_ms < 0 ? RATE_FOREVER : c->steps[j].want_wait_ms * MS;
            int64_t got = rate_reserve(&rate, c->steps[j].at_ms * MS);
            if (got > want ? got - want > 1000 : want - got > 1000) /* a microsecond of rounding */
                fail_msg("%s, step %zu: %lld ns, want %lld", c->name, j, (long long)got, (long long)want);
        }
        rate_release(&rate);
    }
}

static void test_cancel(void **state)
{
    (void)state;
    struct rate rate;
    rate_init(&rate, 10, 1);
    assert_int_equal(rate_reserve(&rate, 0), 0);
    int64_t at = rate_reserve(&rate, 0);
    assert_int_equal(at, 100 * MS);
    rate_cancel(&rate, 0, at);
    assert_int_equal(rate_reserve(&rate, 0), 100 * MS); /* the next reservation gets its token */
    /* A reservation with later ones frees nothing: their times stay. */
    int64_t next = rate_reserve(&rate, 0);
    assert_int_equal(next, 200 * MS);
    rate_cancel(&rate, 0, 100 * MS);
    assert_int_equal(rate_reserve(&rate, 0), 300 * MS);
    /* A reservation that is due counts as used. */
    rate_cancel(&rate, 400 * MS, 300 * MS);
    rate_release(&rate);
}

/* Over a long time, never more than burst + rate * time. */
static void test_long_run(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    struct rate rate;
    rate_init(&rate, 50, 100);
    const int64_t end = 60 * INT64_C(1000000000);
    int64_t now = 0;
    int64_t count = 0;
    while (now + rate_reserve(&rate, now) <= end) {
        count++;
        now += (int64_t)rng_below(&rng, 10 * MS);
    }
    assert_true(count <= 100 + 60 * 50 + 1);
    assert_true(count >= 60 * 50);
    rate_release(&rate);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reserve),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_long_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
