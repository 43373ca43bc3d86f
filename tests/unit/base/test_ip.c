/* Addresses are read as Go's net/netip reads them, without zones. */
#include "base/ip.h"
#include "support/test.h"

static void test_parse(void **state)
{
    (void)state;
    static const struct {
        struct str text;
        size_t want;
        uint8_t last;
    } cases[] = {
        { STR("10.0.0.7"), IPV4_BYTES, 7 },
        { STR("::"), IPV6_BYTES, 0 },
        { STR("1:2:3:4:5:6:7:8"), IPV6_BYTES, 8 },
        { STR("1:2:3:4:5:6:7::"), IPV6_BYTES, 0 },
        { STR("::ffff:10.0.0.7"), IPV6_BYTES, 7 },
        { STR("2001:db8::ff"), IPV6_BYTES, 0xff },
        { STR(""), 0, 0 },
        { STR("10.0.0"), 0, 0 },
        { STR("10.0.0.07"), 0, 0 },
        { STR("10.0.0.256"), 0, 0 },
        { STR("10.0.0.7\0"), 0, 0 },
        { STR("1:2:3:4:5:6:7::8"), 0, 0 },
        { STR("1::2::3"), 0, 0 },
        { STR("12345::"), 0, 0 },
        { STR("fe80::1%eth0"), 0, 0 },
        { STR("1:2:3:4:5:6:7:8:9:10:11:12:13:14:15:16:17:18:19:20"), 0, 0 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        uint8_t bytes[IPV6_BYTES];
        size_t len = ip_parse(cases[i].text, bytes);
        if (len != cases[i].want || (len && bytes[len - 1] != cases[i].last))
            fail_msg("%s: got %zu bytes", cases[i].text.ptr, len);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_parse) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
