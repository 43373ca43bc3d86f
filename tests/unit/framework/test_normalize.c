/* Raw scores become 0 to 100, rounded down, as the reference's DefaultNormalizeScore() does it. */
#include "support/test.h"

#include "framework/normalize.h"

struct normalize_case {
    const char *name;
    int64_t scores[4], want[4], want_reversed[4];
};

static const struct normalize_case cases[] = {
    { "all zero", { 0, 0, 0, 0 }, { 0, 0, 0, 0 }, { 100, 100, 100, 100 } },
    { "in proportion", { 0, 1, 2, 4 }, { 0, 25, 50, 100 }, { 100, 75, 50, 0 } },
    { "rounded down", { 1, 2, 3, 3 }, { 33, 66, 100, 100 }, { 67, 34, 0, 0 } },
    { "all equal", { 7, 7, 7, 7 }, { 100, 100, 100, 100 }, { 0, 0, 0, 0 } },
    { "large", { 1000000000000, 1, 0, 500000000000 }, { 100, 0, 0, 50 }, { 0, 100, 100, 50 } },
};

static void check(const struct normalize_case *test, bool reverse)
{
    const int64_t *want = reverse ? test->want_reversed : test->want;
    int64_t got[4];
    memcpy(got, test->scores, sizeof(got));
    (reverse ? normalize_lowest_best : normalize_highest_best)(NULL, got, 4);
    for (int i = 0; i < 4; i++)
        if (got[i] != want[i])
            fail_msg("%s%s: score %d: got %lld, want %lld", test->name, reverse ? ", reversed" : "", i,
                     (long long)got[i], (long long)want[i]);
}

static void test_normalize(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        check(&cases[i], false);
        check(&cases[i], true);
    }
    normalize_lowest_best(NULL, NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_normalize) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
