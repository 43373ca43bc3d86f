/* Encoding, decoding, and invalid base64. */
#include "support/test.h"

#include "base/base64.h"

static const struct {
    const char *bytes, *text;
} pairs[] = { { "", "" },
              { "f", "Zg==" },
              { "fo", "Zm8=" },
              { "foo", "Zm9v" },
              { "foob", "Zm9vYg==" },
              { "fooba", "Zm9vYmE=" },
              { "foobar", "Zm9vYmFy" },
              { "\xff\xfe\xfd", "//79" } };

static void test_pairs(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
        struct strbuf out = { 0 };
        char bytes[16];
        base64_encode(&out, str_from(pairs[i].bytes));
        assert_str(strbuf_slice(&out), pairs[i].text);
        ptrdiff_t len = base64_decode(strbuf_slice(&out), bytes);
        assert_int_equal(len, strlen(pairs[i].bytes));
        assert_memory_equal(bytes, pairs[i].bytes, (size_t)len);
        strbuf_release(&out);
    }
}

static void test_line_breaks(void **state)
{
    (void)state;
    char bytes[16];
    assert_int_equal(base64_decode(STR("Zm9v\r\nYg=\n=\n"), bytes), 4);
    assert_memory_equal(bytes, "foob", 4);
}

static void test_invalid(void **state)
{
    (void)state;
    static const char *const bad[] = { "Z",    "Zg",    "Zg=",      "=",     "====", "Zg==Zg==",
                                       "Z===", "Zm9v=", "Zg==\nZg", "Zm 9v", "Zm9-", "Zm9_",
                                       "Zg=v", "Zm8==", "\x80===",  "Zm9v!" };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        char bytes[32];
        if (base64_decode(str_from(bad[i]), bytes) != -1)
            fail_msg("%s was accepted", bad[i]);
    }
}

static void test_random(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    for (int round = 0; round < 2000; round++) {
        char bytes[64], back[96];
        uint32_t len = (uint32_t)rng_below(&rng, sizeof(bytes));
        for (uint32_t i = 0; i < len; i++)
            bytes[i] = (char)rng_below(&rng, 256);
        struct strbuf out = { 0 };
        base64_encode(&out, (struct str){ bytes, len });
        assert_true(base64_bytes_max(out.len) >= len);
        assert_int_equal(base64_decode(strbuf_slice(&out), back), len);
        assert_memory_equal(back, bytes, len);
        strbuf_release(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_line_breaks),
        cmocka_unit_test(test_invalid),
        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
