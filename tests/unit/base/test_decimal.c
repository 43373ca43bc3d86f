/* Numbers are written with the fewest digits, in Go's format. The expected texts are Go's. */
#include "support/test.h"

#include "base/decimal.h"
#include "base/rng.h"

static void test_forms(void **state _unused_)
{
    static const struct {
        double value;
        const char *go, *plain, *json;
    } cases[] = {
        { 0, "0", "0", "0" },
        { -0.5, "-0.5", "-0.5", "-0.5" },
        { 123456, "123456", "123456", "123456" },
        { 1e6, "1e+06", "1000000", "1000000" },
        { 1234567, "1.234567e+06", "1234567", "1234567" },
        { 1e-4, "0.0001", "0.0001", "0.0001" },
        { 1e-5, "1e-05", "0.00001", "0.00001" },
        { 1e-7, "1e-07", "0.0000001", "1e-7" },
        { 1e20, "1e+20", "100000000000000000000", "100000000000000000000" },
        { 1e21, "1e+21", "1000000000000000000000", "1e+21" },
        { 1700041524123.456, "1.700041524123456e+12", "1700041524123.456", "1700041524123.456" },
        { 0.1 + 0.2, "0.30000000000000004", "0.30000000000000004", "0.30000000000000004" },
        { __builtin_nan(""), "NaN", "NaN", "NaN" },
        { __builtin_inf(), "+Inf", "+Inf", "+Inf" },
        { -__builtin_inf(), "-Inf", "-Inf", "-Inf" },
    };
    char buf[DECIMAL_LEN_MAX];
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_str(decimal_format(cases[i].value, DECIMAL_GO, buf), cases[i].go);
        assert_str(decimal_format(cases[i].value, DECIMAL_PLAIN, buf), cases[i].plain);
        assert_str(decimal_format(cases[i].value, DECIMAL_JSON, buf), cases[i].json);
    }
    assert_str(decimal_single(0.1f, buf), "0.1");
    assert_str(decimal_single(1e6, buf), "1e+06");
    assert_str(decimal_single(1e300, buf), ".inf");
}

static void test_longest(void **state _unused_)
{
    static const double values[] = { -5e-324, -2.2250738585072011e-308, -1.7976931348623157e308 };
    char buf[DECIMAL_LEN_MAX];
    for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
        struct str text = decimal_format(values[i], DECIMAL_PLAIN, buf);
        assert_in_range(text.len, 300, DECIMAL_LEN_MAX - 1);
        buf[text.len] = '\0';
        assert_true(strtod(buf, NULL) == values[i]);
    }
}

static void test_back(void **state _unused_)
{
    struct rng rng = test_rng();
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = rng_next(&rng);
        double value, back;
        char buf[DECIMAL_LEN_MAX];
        memcpy(&value, &bits, sizeof(value));
        if (!__builtin_isfinite(value))
            continue;
        struct str text = decimal_format(value, (enum decimal_form)(i % 3), buf);
        buf[text.len] = '\0';
        back = strtod(buf, NULL);
        assert_memory_equal(&back, &value, sizeof(value));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_longest),
        cmocka_unit_test(test_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
