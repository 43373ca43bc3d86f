/* Selectors of devices follow the rules of CEL that the release has, and the gate DRAListTypeAttributes. */
#include "support/test.h"

#include "cel/library/device.h"
#include "config/features.h"
#include "plugins/device_selectors.h"

static const struct {
    const char *name, *expression;
    int minor;
    bool lists; /* the gate */
    bool compiles;
} cases[] = {
    { "an int is no duration", "duration(1) == duration(1)", 36, false, false },
    { "a duration of an attribute",
      "device.attributes['d'].x == 1 || duration(device.attributes['d'].x) == "
      "duration('1s')",
      37, false, true },
    { "an attribute is no range", "device.attributes['d'].x.all(v, true)", 36, false, false },
    { "an attribute may be a range", "device.attributes['d'].x.all(v, true)", 37, false, true },
    { "with the gate it may be one before", "device.attributes['d'].x.all(v, true)", 36, true, true },
    { "no dyn", "dyn(true)", 36, false, false },
    { "dyn", "dyn(true)", 37, false, true },
    { "dyn with the gate", "dyn(true)", 36, true, true },
    { "a quoted field", "device.`driver` == 'd'", 36, false, false },
    { "a quoted field in 1.37", "device.`driver` == 'd'", 37, false, true },
};

static void test_rules(void **state _unused_)
{
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct features features;
        struct selectors selectors = { 0 };
        struct arena arena = { 0 };
        struct str why = { 0 };
        features_default(&features, release_of(cases[i].minor), 0);
        features.enabled[FEATURE_DRAListTypeAttributes] = cases[i].lists;
        selectors_prepare(&selectors, &features);
        const struct device device = { .name = STR("x") };
        const struct cel_value *seen =
            selectors_device(&device, STR("d"), (struct device_sight){ true, true }, &arena, &why);
        selectors_match(&selectors, str_from(cases[i].expression), seen, &arena, &why);
        bool compiles = !str_starts_with(why, STR("CEL compile error: "));
        if (compiles != cases[i].compiles)
            print_error("%s: " STR_FMT "\n", cases[i].name, STR_ARG(why));
        assert_int_equal(compiles, cases[i].compiles);
        selectors_release(&selectors);
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_rules) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
