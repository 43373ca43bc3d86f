/* Times of RFC 3339, in and out. */
#include "base/timestamp.h"
#include "support/test.h"

#include <time.h>

static void test_parse(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t seconds;
        int32_t nanos;
    } good[] = {
        { "1970-01-01T00:00:00Z", 0, 0 },
        { "2024-05-06T07:08:09Z", 1714979289, 0 },
        { "2024-02-29T23:59:59Z", 1709251199, 0 },
        { "2000-02-29T00:00:00Z", 951782400, 0 },
        { "1969-12-31T23:59:59Z", -1, 0 },
        { "0001-01-01T00:00:00Z", -62135596800, 0 },
        { "9999-12-31T23:59:59Z", 253402300799, 0 },
        { "2024-05-06T07:08:09.5Z", 1714979289, 500000000 },
        { "2024-05-06T07:08:09.123456Z", 1714979289, 123456000 },
        { "2024-05-06T07:08:09.1234567899Z", 1714979289, 123456789 },
        { "2024-05-06T09:08:09+02:00", 1714979289, 0 },
        { "2024-05-06T01:38:09-05:30", 1714979289, 0 },
        /* Go accepts these as well. */
        { "2024-05-06T7:08:09Z", 1714979289, 0 },
        { "2024-05-06T07:08:09,5Z", 1714979289, 500000000 },
        { "2024-05-07T07:08:09+24:00", 1714979289, 0 },
        { "2024-05-07T08:08:09+24:60", 1714979289, 0 },
        { "0000-01-01T00:00:00Z", -62167219200, 0 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        struct timestamp got = { 0 };
        if (!timestamp_parse(str_from(good[i].text), &got))
            fail_msg("%s is a time", good[i].text);
        if (got.seconds != good[i].seconds || got.nanos != good[i].nanos)
            fail_msg("%s: got %lld.%09d", good[i].text, (long long)got.seconds, got.nanos);
    }
    static const char *const bad[] = {
        "",
        "now",
        "2024-05-06",
        "2024-05-06T07:08:09",
        "2024-05-06 07:08:09Z",
        "2024-13-06T07:08:09Z",
        "2024-00-06T07:08:09Z",
        "2024-02-30T07:08:09Z",
        "2023-02-29T07:08:09Z",
        "1900-02-29T07:08:09Z",
        "2024-05-06T24:08:09Z",
        "2024-05-06T07:60:09Z",
        "2024-05-06T07:08:60Z",
        "2024-05-06T07:08:09.Z",
        "2024-05-06T07:08:09z",
        "2024-05-06T07:08:09Z ",
        "2024-05-06T07:08:09+2:00",
        "2024-05-06T07:08:09+25:00",
        "2024-05-06T07:08:09+00:61",
        "24-05-06T07:08:09Z",
        "2024-5-06T07:08:09Z",
        "+024-05-06T07:08:09Z",
        "2024-05-06T07:08:09+02:0",
    };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct timestamp got = { 0 };
        if (timestamp_parse(str_from(bad[i]), &got) || got.seconds)
            fail_msg("\"%s\" is no time", bad[i]);
    }
}

/* Compared with the calendar of the C library. */
static void test_format(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    char buf[TIMESTAMP_LEN + 1], want[64];
    for (int i = 0; i < 20000; i++) {
        int64_t seconds = (int64_t)rng_below(&rng, 315537897600) - 62135596800; /* the years 1 to 9999 */
        time_t when = (time_t)seconds;
        struct tm parts;
        gmtime_r(&when, &parts);
        snprintf(want, sizeof(want), "%04d-%02d-%02dT%02d:%02d:%02dZ", parts.tm_year + 1900, parts.tm_mon + 1,
                 parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
        assert_str(timestamp_format(seconds, buf), want);
        struct timestamp back;
        assert_true(timestamp_parse(str_from(want), &back));
        assert_int_equal(back.seconds, seconds);
    }
    assert_str(timestamp_format(INT64_MAX, buf), "9999-12-31T23:59:59Z");
    assert_str(timestamp_format(INT64_MIN, buf), "0000-01-01T00:00:00Z");
    char fraction[TIMESTAMP_LEN_MAX + 1];
    assert_str(timestamp_format_fraction(1, 1234567, 6, fraction), "1970-01-01T00:00:01.001234Z");
    assert_str(timestamp_format_fraction(1, 999999999, 3, fraction), "1970-01-01T00:00:01.999Z");
    assert_str(timestamp_format_fraction(1, 1, 9, fraction), "1970-01-01T00:00:01.000000001Z");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_parse), cmocka_unit_test(test_format) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
