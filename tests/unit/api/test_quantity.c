/* Quantities have the values of k8s.io/apimachinery, from which the first table was recorded; where its
 * 64-bit results wrap around (thousandths of more than 2^63/1000), ours stop at the largest number. */
#include "support/test.h"

#include "api/quantity.h"

static const struct spelling {
    const char *text;
    struct quantity amount;
    int64_t value, milli;
    bool bad;
} spellings[] = {
    { "0", { 0, 0 }, 0, 0 },
    { "1", { 1, 0 }, 1, 1000 },
    { "-1", { -1, 0 }, -1, -1000 },
    { "+1", { 1, 0 }, 1, 1000 },
    { "00001", { 1, 0 }, 1, 1000 },
    { "0.1", { 0, 100000000 }, 1, 100 },
    { ".1", { 0, 100000000 }, 1, 100 },
    { "1.", { 1, 0 }, 1, 1000 },
    { ".", { 0, 0 }, 0, 0 },
    { "+", { 0, 0 }, 0, 0 },
    { "-", { 0, 0 }, 0, 0 },
    { "-.", { 0, 0 }, 0, 0 },
    { "m", { 0, 0 }, 0, 0 },
    { "Ki", { 0, 0 }, 0, 0 },
    { "1.Gi", { 1073741824, 0 }, 1073741824, 1073741824000 },
    { ".5Gi", { 536870912, 0 }, 536870912, 536870912000 },
    { "100m", { 0, 100000000 }, 1, 100 },
    { "1500m", { 1, 500000000 }, 2, 1500 },
    { "0.0001", { 0, 100000 }, 1, 1 },
    { "1n", { 0, 1 }, 1, 1 },
    { "0.1n", { 0, 1 }, 1, 1 },
    { "1e-10", { 0, 1 }, 1, 1 },
    { "1u", { 0, 1000 }, 1, 1 },
    { "999u", { 0, 999000 }, 1, 1 },
    { "1000000n", { 0, 1000000 }, 1, 1 },
    { "1k", { 1000, 0 }, 1000, 1000000 },
    { "1M", { 1000000, 0 }, 1000000, 1000000000 },
    { "1G", { 1000000000, 0 }, 1000000000, 1000000000000 },
    { "1T", { 1000000000000, 0 }, 1000000000000, 1000000000000000 },
    { "1P", { 1000000000000000, 0 }, 1000000000000000, 1000000000000000000 },
    { "1E", { 1000000000000000000, 0 }, 1000000000000000000, INT64_MAX },
    { "1e3", { 1000, 0 }, 1000, 1000000 },
    { "1E3", { 1000, 0 }, 1000, 1000000 },
    { "1e+3", { 1000, 0 }, 1000, 1000000 },
    { "1E-3", { 0, 1000000 }, 1, 1 },
    { "1e0", { 1, 0 }, 1, 1000 },
    { "12e6", { 12000000, 0 }, 12000000, 12000000000 },
    { "0.5e1", { 5, 0 }, 5, 5000 },
    { "1Ki", { 1024, 0 }, 1024, 1024000 },
    { "1Mi", { 1048576, 0 }, 1048576, 1048576000 },
    { "1Gi", { 1073741824, 0 }, 1073741824, 1073741824000 },
    { "1Ti", { 1099511627776, 0 }, 1099511627776, 1099511627776000 },
    { "1Pi", { 1125899906842624, 0 }, 1125899906842624, 1125899906842624000 },
    { "1Ei", { 1152921504606846976, 0 }, 1152921504606846976, INT64_MAX },
    { "7Ei", { 8070450532247928832, 0 }, 8070450532247928832, INT64_MAX },
    { "8Ei", { INT64_MAX, 0 }, INT64_MAX, INT64_MAX },
    { "16Ei", { INT64_MAX, 0 }, INT64_MAX, INT64_MAX },
    { "1.5Gi", { 1610612736, 0 }, 1610612736, 1610612736000 },
    { "1.25Ki", { 1280, 0 }, 1280, 1280000 },
    { "0.000000001Ki", { 0, 1024 }, 1, 1 },
    { "0.0000000001Ki", { 0, 103 }, 1, 1 },
    { "0.1234567891234Ki", { 126, 419752063 }, 127, 126420 },
    { "1.1Ei", { 1268213655067531673, 600000000 }, 1268213655067531674, INT64_MAX },
    { "0Ei", { 0, 0 }, 0, 0 },
    { "-0.5", { -1, 500000000 }, -1, -500 },
    { "-1.5", { -2, 500000000 }, -2, -1500 },
    { "-1500m", { -2, 500000000 }, -2, -1500 },
    { "4294967296000m", { 4294967296, 0 }, 4294967296, 4294967296000 },
    { "128974848", { 128974848, 0 }, 128974848, 128974848000 },
    { "129e6", { 129000000, 0 }, 129000000, 129000000000 },
    { "123456789012345678901234567890e-20", { 1234567890, 123456790 }, 1234567891, 1234567890124 },
    { "9223372036854775807", { INT64_MAX, 0 }, INT64_MAX, INT64_MAX },
    { "9223372036854775.807k", { INT64_MAX, 0 }, INT64_MAX, INT64_MAX },
    { "0.000000000000000000000000000001", { 0, 1 }, 1, 1 },
    { "000000000000000000000000000000000000001", { 1, 0 }, 1, 1000 },
    { "1e4294967296", { 1, 0 }, 1, 1000 },
    { "1e4294967299", { 1000, 0 }, 1000, 1000000 },
    { "100000000000000000000n", { 100000000000, 0 }, 100000000000, 100000000000000 },
    { "9007199254740993", { 9007199254740993, 0 }, 9007199254740993, 9007199254740993000 },
    { "Ei", .bad = true },
    { "Pi", .bad = true },
    { ".Ei", .bad = true },
    { "+Ei", .bad = true },
    { "e-10", .bad = true },
    { ".e-10", .bad = true },
    { "1e", .bad = true },
    { "1K", .bad = true },
    { "1ki", .bad = true },
    { "1KI", .bad = true },
    { "1Kib", .bad = true },
    { "1mm", .bad = true },
    { "1i", .bad = true },
    { "1 ", .bad = true },
    { " 1", .bad = true },
    { "1 Gi", .bad = true },
    { "1_000", .bad = true },
    { "1,5", .bad = true },
    { "0x10", .bad = true },
    { "1e3m", .bad = true },
    { "1ee3", .bad = true },
    { "1e+", .bad = true },
    { "1e--3", .bad = true },
    { "1e99999999999999999999", .bad = true },
    { "1..2", .bad = true },
    { "1.2.3", .bad = true },
    { "--1", .bad = true },
    { "+-1", .bad = true },
    { "1-", .bad = true },
    { "1+1", .bad = true },
    { "abc", .bad = true },
    { "1.5.Gi", .bad = true },
    { "1e3.5", .bad = true },
    { "inf", .bad = true },
    { "NaN", .bad = true },
    { "\xd9\xa1", .bad = true },
};

static void test_spellings(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(spellings); i++) {
        const struct spelling *want = &spellings[i];
        struct quantity got = { 77, 7 };
        int r = quantity_parse(str_from(want->text), &got);
        if (r != (want->bad ? -EINVAL : 0))
            fail_msg("\"%s\": got %d", want->text, r);
        if (want->bad) {
            assert_true(got.units == 77 && got.nano == 7);
            continue;
        }
        if (got.units != want->amount.units || got.nano != want->amount.nano)
            fail_msg("\"%s\": got %lld and %u nano", want->text, (long long)got.units, got.nano);
        if (quantity_value(got) != want->value || quantity_milli_value(got) != want->milli)
            fail_msg("\"%s\": got value %lld, milli value %lld", want->text, (long long)quantity_value(got),
                     (long long)quantity_milli_value(got));
    }
    assert_int_equal(quantity_parse((struct str){ 0 }, &(struct quantity){ 0 }), -EINVAL);
}

static struct quantity parse(const char *text)
{
    struct quantity q;
    if (quantity_parse(str_from(text), &q) < 0)
        fail_msg("\"%s\" is no quantity", text);
    return q;
}

/* Beyond 64 bits apimachinery's results are accidental; berth returns the nearest representable number. */
static void test_saturation(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value, milli;
    } cases[] = {
        { "10E", INT64_MAX, INT64_MAX },
        { "1e30", INT64_MAX, INT64_MAX },
        { "1e2147483647", INT64_MAX, INT64_MAX },
        { "99999999999999999999999999999999999999999999999999", INT64_MAX, INT64_MAX },
        { "99999999999999999999999999999999Ki", INT64_MAX, INT64_MAX },
        { "9223372036854775807.5", INT64_MAX, INT64_MAX },
        { "-9223372036854775808", INT64_MIN, INT64_MIN },
        { "-16Ei", -INT64_MAX, INT64_MIN },
        { "-1e30", INT64_MIN, INT64_MIN },
        { "1e-2147483648", 1, 1 },
        { "0e2147483647", 0, 0 },
        { "-0.1n", -1, -1 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct quantity q = parse(cases[i].text);
        if (quantity_value(q) != cases[i].value || quantity_milli_value(q) != cases[i].milli)
            fail_msg("\"%s\": got %lld, %lld", cases[i].text, (long long)quantity_value(q),
                     (long long)quantity_milli_value(q));
    }
}

static void test_arithmetic(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b, *sum, *difference;
        int order;
    } cases[] = {
        { "1", "1000m", "2", "0", 0 },
        { "0.1", "0.2", "0.3", "-0.1", -1 },
        { "1Gi", "1G", "2073741824", "73741824", 1 },
        { "-0.5", "0.25", "-0.25", "-0.75", -1 },
        { "1n", "999999999n", "1", "-999999998n", -1 },
        { "-1n", "0", "-1n", "-1n", -1 },
        { "9223372036854775807", "1", "9223372036854775807", "9223372036854775806", 1 },
        { "-9223372036854775808", "1", "-9223372036854775807", "-9223372036854775808", -1 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct quantity a = parse(cases[i].a), b = parse(cases[i].b);
        assert_int_equal(quantity_cmp(a, b), cases[i].order);
        assert_int_equal(quantity_cmp(b, a), -cases[i].order);
        assert_int_equal(quantity_cmp(quantity_add(a, b), parse(cases[i].sum)), 0);
        assert_int_equal(quantity_cmp(quantity_sub(a, b), parse(cases[i].difference)), 0);
    }
    static const char *const products[][3] = {
        { "2", "3", "6" },
        { "1500m", "2", "3" },
        { "8Gi", "0.1", "858993459.2" },
        { "-1.5", "0.5", "-0.75" },
        { "1n", "500m", "1n" },
        { "-1n", "500m", "-1n" },
        { "0", "8Ei", "0" },
        { "8Ei", "8Ei", "9223372036854775807" },
        { "-0.5", "-0.5", "0.25" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(products); i++) {
        struct quantity product = quantity_mul(parse(products[i][0]), parse(products[i][1]));
        if (quantity_cmp(product, parse(products[i][2])) != 0)
            fail_msg("%s x %s is not %s", products[i][0], products[i][1], products[i][2]);
    }
    assert_true(quantity_mul(parse("1Gi"), parse("2")).binary);
    assert_true(quantity_is_zero(parse("-0.0")));
    assert_false(quantity_is_zero(parse("1n")));
}

static void test_round_to_milli(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "1", "1" },          { "0.0001", "1m" },
        { "1.0005", "1001m" }, { "-1.0005", "-1001m" },
        { "-0.0001", "-1m" },  { "999999u", "1" },
        { "0", "0" },          { "9223372036854775807", "9223372036854775807" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct quantity rounded = quantity_round_to_milli(parse(cases[i][0]));
        assert_int_equal(quantity_cmp(rounded, parse(cases[i][1])), 0);
    }
    assert_int_equal(quantity_cmp(quantity_from_int(-3), parse("-3")), 0);
}

/* Random digits and suffixes, compared with a computation in nano units. */
static void test_random_decimals(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    static const struct {
        const char *suffix;
        int64_t nano;
    } units[] = { { "n", 1 }, { "u", 1000 }, { "m", 1000000 }, { "", 1000000000 }, { "e-6", 1000 } };
    for (int i = 0; i < 20000; i++) {
        size_t unit = rng_below(&rng, ARRAY_SIZE(units));
        int64_t integer = (int64_t)rng_below(&rng, 1000000);
        int64_t thousandths = (int64_t)rng_below(&rng, 1000);
        char text[64];
        snprintf(text, sizeof(text), "%lld.%03lld%s", (long long)integer, (long long)thousandths,
                 units[unit].suffix);
        int64_t exact = (integer * 1000 + thousandths) * units[unit].nano; /* thousandths of a nano */
        int64_t want = exact / 1000 + (exact % 1000 != 0);
        struct quantity got = parse(text);
        if (got.units * 1000000000 + got.nano != want)
            fail_msg("%s: got %lld and %u nano", text, (long long)got.units, got.nano);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spellings),       cmocka_unit_test(test_saturation),
        cmocka_unit_test(test_arithmetic),      cmocka_unit_test(test_round_to_milli),
        cmocka_unit_test(test_random_decimals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
