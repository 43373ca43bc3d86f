/* Percent-encoding and decoding; a broken escape is named. */
#include "support/test.h"

#include "base/percent.h"

static void test_encode(void **state _unused_)
{
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    percent_encode(&out, STR("aZ09-._~:@/ \xc3\xa9%"), "-._~:@");
    assert_string_equal(out.text, "aZ09-._~:@%2F%20%C3%A9%25");
    strbuf_clear(&out);
    percent_encode(&out, STR("a\0b"), "-");
    assert_string_equal(out.text, "a%00b");
}

static void test_decode(void **state _unused_)
{
    _cleanup_(arena_release) struct arena arena = { 0 };
    struct str got;
    assert_true(percent_decode(STR("a%2Fb%c3%A9+c"), false, &arena, &got));
    assert_str(got, "a/b\xc3\xa9+c");
    assert_true(percent_decode(STR("a+b%2B"), true, &arena, &got));
    assert_str(got, "a b+");
    assert_true(percent_decode(STR("%00"), false, &arena, &got));
    assert_int_equal(got.len, 1);
    assert_true(percent_decode((struct str){ 0 }, false, &arena, &got));
    assert_int_equal(got.len, 0);
    assert_false(percent_decode(STR("ab%2"), false, &arena, &got));
    assert_str(got, "%2");
    assert_false(percent_decode(STR("%zz9"), false, &arena, &got));
    assert_str(got, "%zz");
    assert_false(percent_decode(STR("%"), false, &arena, &got));
    assert_str(got, "%");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_encode), cmocka_unit_test(test_decode) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
