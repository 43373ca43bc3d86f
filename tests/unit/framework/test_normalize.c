/* Raw scores become 0 to 100. */
#include "support/test.h"

#include "framework/normalize.h"

struct normalize_case {
    const char *name;
    bool reverse;
    int64_t scores[4], want[4];
};

static const struct normalize_case cases[] = {
    { "the highest is 100, others in proportion, rounded down", false, { 0, 1, 2, 3 }, { 0, 33, 66, 100 } },
    { "the less the better", true, { 0, 1, 2, 3 }, { 100, 67, 34, 0 } },
    { "nobody has any", false, { 0, 0, 0, 0 }, { 0, 0, 0, 0 } },
    { "nobody has any, and that is good", true, { 0, 0, 0, 0 }, { 100, 100, 100, 100 } },
    { "all the same", false, { 7, 7, 7, 7 }, { 100, 100, 100, 100 } },
    { "large numbers", false, { 1, 40000000000000000, 20000000000000000, 0 }, { 0, 100, 50, 0 } },
};

static void test_cases(void **state)
{
    (void)state;
    for (size_t c = 0; c < ARRAY_SIZE(cases); c++) {
        int64_t scores[4];
        memcpy(scores, cases[c].scores, sizeof(scores));
        normalize_scores(scores, 4, cases[c].reverse);
        for (int i = 0; i < 4; i++)
            if (scores[i] != cases[c].want[i])
                fail_msg("%s: score %d: got %lld, want %lld", cases[c].name, i, (long long)scores[i],
                         (long long)cases[c].want[i]);
    }
}

static void test_no_nodes(void **state)
{
    (void)state;
    normalize_scores(NULL, 0, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_cases), cmocka_unit_test(test_no_nodes) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
