/* Durations are read and written as in Go. */
#include "support/test.h"

#include "base/duration.h"

static const struct {
    const char *text;
    bool good;
    int64_t ns;
    const char *written;
} cases[] = {
    { "0", true, 0, "0s" },
    { "-0", true, 0, "0s" },
    { "+0", true, 0, "0s" },
    { "5s", true, 5000000000, "5s" },
    { "30s", true, INT64_C(30000000000), "30s" },
    { "1478s", true, INT64_C(1478000000000), "24m38s" },
    { "-5s", true, -5000000000, "-5s" },
    { "+5s", true, 5000000000, "5s" },
    { "5.0s", true, 5000000000, "5s" },
    { "5.6s", true, 5600000000, "5.6s" },
    { "5.", false, 0, NULL },
    { "5.s", true, 5000000000, "5s" },
    { ".5s", true, 500000000, "500ms" },
    { "1.s", true, 1000000000, "1s" },
    { "-.5s", true, -500000000, "-500ms" },
    { "10ns", true, 10, "10ns" },
    { "11us", true, 11000, "11µs" },
    { "12µs", true, 12000, "12µs" },
    { "12μs", true, 12000, "12µs" },
    { "13ms", true, 13000000, "13ms" },
    { "14s", true, INT64_C(14000000000), "14s" },
    { "15m", true, INT64_C(900000000000), "15m0s" },
    { "16h", true, INT64_C(57600000000000), "16h0m0s" },
    { "3h30m", true, INT64_C(12600000000000), "3h30m0s" },
    { "10.5s4m", true, INT64_C(250500000000), "4m10.5s" },
    { "-2m3.4s", true, INT64_C(-123400000000), "-2m3.4s" },
    { "1h2m3s4ms5us6ns", true, INT64_C(3723004005006), "1h2m3.004005006s" },
    { "39h9m14.425s", true, INT64_C(140954425000000), "39h9m14.425s" },
    { "52763797000ns", true, INT64_C(52763797000), "52.763797s" },
    { "0.3333333333333333333h", true, INT64_C(1200000000000), "20m0s" },
    { "9007199254740993ns", true, INT64_C(9007199254740993), "2501h59m59.254740993s" },
    { "9223372036854775807ns", true, INT64_C(9223372036854775807), "2562047h47m16.854775807s" },
    { "9223372036854775.807us", true, INT64_C(9223372036854775807), "2562047h47m16.854775807s" },
    { "9223372036s854ms775us807ns", true, INT64_C(9223372036854775807), "2562047h47m16.854775807s" },
    { "-9223372036854775808ns", true, INT64_MIN, "-2562047h47m16.854775808s" },
    { "-9223372036854775.808us", true, INT64_MIN, "-2562047h47m16.854775808s" },
    { "-2562047h47m16.854775808s", true, INT64_MIN, "-2562047h47m16.854775808s" },
    { "0.100000000000000000000h", true, INT64_C(360000000000), "6m0s" },
    { "0.830103483285477580700h", true, INT64_C(2988372539827), "49m48.372539827s" },
    { "1m30s", true, INT64_C(90000000000), "1m30s" },
    { "1.5h1m0.25s", true, INT64_C(5460250000000), "1h31m0.25s" },
    { "999.5ms", true, 999500000, "999.5ms" },
    { "1500us", true, 1500000, "1.5ms" },
    { "1ns", true, 1, "1ns" },
    { "100us", true, 100000, "100µs" },
    { "", false, 0, NULL },
    { "3", false, 0, NULL },
    { "-", false, 0, NULL },
    { "s", false, 0, NULL },
    { ".", false, 0, NULL },
    { "-.", false, 0, NULL },
    { ".s", false, 0, NULL },
    { "+.s", false, 0, NULL },
    { "1d", false, 0, NULL },
    { "9223372036854775808ns", false, 0, NULL },
    { "9223372036854775.808us", false, 0, NULL },
    { "-9223372036854775809ns", false, 0, NULL },
    { "9223372036854ms775us808ns", false, 0, NULL },
    { "1 s", false, 0, NULL },
    { " 1s", false, 0, NULL },
    { "1s ", false, 0, NULL },
    { "--1s", false, 0, NULL },
    { "1e3s", false, 0, NULL },
    { "3000000h", false, 0, NULL },
    { "1h-5m", false, 0, NULL },
    { "0.9223372036854775807999999999s", true, 922337203, "922.337203ms" },
};

static void test_parse(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int64_t ns = 0;
        if (duration_parse(str_from(cases[i].text), &ns) != cases[i].good)
            fail_msg("\"%s\": read although bad, or not read although good", cases[i].text);
        if (cases[i].good && ns != cases[i].ns)
            fail_msg("\"%s\": got %lld, want %lld", cases[i].text, (long long)ns, (long long)cases[i].ns);
    }
}

static void test_format(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[DURATION_TEXT_MAX];
        if (!cases[i].good)
            continue;
        duration_format(cases[i].ns, text);
        assert_string_equal(text, cases[i].written);
    }
}

/* Written durations are read back unchanged. */
static void test_round_trip(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    for (int i = 0; i < 100000; i++) {
        int64_t ns = (int64_t)rng_next(&rng) >> rng_below(&rng, 64), back;
        char text[DURATION_TEXT_MAX];
        duration_format(ns, text);
        if (!duration_parse(str_from(text), &back) || back != ns)
            fail_msg("%lld became \"%s\"", (long long)ns, text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_format),
        cmocka_unit_test(test_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
