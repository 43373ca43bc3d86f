/* A toleration matches a taint with its key, value and effect; empty fields match any. */
#include "support/test.h"

#include "api/taints.h"

#define S(text) { text, sizeof(text) - 1 }
#define TAINT(k, v, e) { S(k), S(v), S(e) }
#define TOLERATION(k, op, v, e) { S(k), S(op), S(v), S(e), { 0 } }

static const struct {
    struct toleration toleration;
    struct taint taint;
    bool tolerates, with_comparison;
} cases[] = {
    { TOLERATION("a", "Equal", "x", "NoSchedule"), TAINT("a", "x", "NoSchedule"), true, true },
    { TOLERATION("a", "", "x", "NoSchedule"), TAINT("a", "x", "NoSchedule"), true, true },
    { TOLERATION("a", "Equal", "y", "NoSchedule"), TAINT("a", "x", "NoSchedule"), false, false },
    { TOLERATION("a", "Equal", "x", "NoExecute"), TAINT("a", "x", "NoSchedule"), false, false },
    { TOLERATION("a", "Equal", "x", ""), TAINT("a", "x", "NoSchedule"), true, true },
    { TOLERATION("b", "Exists", "", ""), TAINT("a", "x", "NoSchedule"), false, false },
    { TOLERATION("a", "Exists", "ignored", ""), TAINT("a", "x", "NoSchedule"), true, true },
    { TOLERATION("", "Exists", "", ""), TAINT("a", "x", "NoExecute"), true, true },
    { TOLERATION("", "Exists", "", "NoSchedule"), TAINT("a", "x", "NoExecute"), false, false },
    { TOLERATION("", "Equal", "x", ""), TAINT("a", "x", "NoExecute"), true, true },
    { TOLERATION("a", "equal", "x", ""), TAINT("a", "x", "NoExecute"), false, false },
    /* Comparing numbers is behind a gate. */
    { TOLERATION("a", "Gt", "5", ""), TAINT("a", "6", "NoExecute"), false, true },
    { TOLERATION("a", "Gt", "5", ""), TAINT("a", "5", "NoExecute"), false, false },
    { TOLERATION("a", "Lt", "5", ""), TAINT("a", "-6", "NoExecute"), false, true },
    { TOLERATION("a", "Lt", "5", ""), TAINT("a", "04", "NoExecute"), false, false },
    { TOLERATION("a", "Lt", "5", ""), TAINT("a", "+4", "NoExecute"), false, false },
    { TOLERATION("a", "Lt", "5", ""), TAINT("a", "-0", "NoExecute"), false, false },
    { TOLERATION("a", "Lt", "5", ""), TAINT("a", "0", "NoExecute"), false, true },
    { TOLERATION("a", "Lt", "5", ""), TAINT("a", "--4", "NoExecute"), false, false },
    { TOLERATION("a", "Lt", "5", ""), TAINT("a", "-", "NoExecute"), false, false },
    { TOLERATION("a", "Lt", "5", ""), TAINT("a", "", "NoExecute"), false, false },
    { TOLERATION("a", "Lt", "99999999999999999999", ""), TAINT("a", "4", "NoExecute"), false, false },
};

static void test_one(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        bool plain = toleration_tolerates_taint(&cases[i].toleration, &cases[i].taint, false);
        bool comparing = toleration_tolerates_taint(&cases[i].toleration, &cases[i].taint, true);
        if (plain != cases[i].tolerates || comparing != cases[i].with_comparison)
            fail_msg("case %zu: got %d, %d", i, plain, comparing);
    }
}

static void test_find(void **state)
{
    (void)state;
    const struct taint taints[] = { TAINT("soft", "", "PreferNoSchedule"), TAINT("a", "x", "NoSchedule"),
                                    TAINT("b", "y", "NoExecute") };
    const struct toleration both[] = { TOLERATION("b", "Exists", "", ""), TOLERATION("a", "", "x", "") };
    uint32_t len = ARRAY_SIZE(taints);
    assert_ptr_equal(taints_find_untolerated(taints, len, NULL, 0, NULL, false), &taints[0]);
    assert_ptr_equal(taints_find_untolerated(taints, len, NULL, 0, taint_is_hard, false), &taints[1]);
    assert_ptr_equal(taints_find_untolerated(taints, len, both + 1, 1, taint_is_hard, false), &taints[2]);
    assert_null(taints_find_untolerated(taints, len, both, 2, taint_is_hard, false));
    assert_ptr_equal(taints_find_untolerated(taints, len, both, 2, NULL, false), &taints[0]);
    assert_null(taints_find_untolerated(NULL, 0, both, 2, NULL, false));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_one), cmocka_unit_test(test_find) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
