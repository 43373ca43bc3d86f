/* UTF-8 is decoded as in Go: an invalid byte counts as one character, and is never white space. */
#include "support/test.h"

#include "base/utf8.h"

static void test_runes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t rune;
        size_t bytes;
    } cases[] = {
        { "a", 'a', 1 },
        { "\xC3\xA9", 0xE9, 2 },
        { "\xE2\x82\xAC", 0x20AC, 3 },
        { "\xF0\x9F\x98\x80", 0x1F600, 4 },
        { "\xEF\xBF\xBD", RUNE_ERROR, 3 },
        { "\xC3", RUNE_ERROR, 1 },             /* truncated */
        { "\xA9", RUNE_ERROR, 1 },             /* the middle of a character */
        { "\xC0\x80", RUNE_ERROR, 1 },         /* an overlong NUL */
        { "\xED\xA0\x80", RUNE_ERROR, 1 },     /* a surrogate */
        { "\xF4\x90\x80\x80", RUNE_ERROR, 1 }, /* beyond the last character */
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        size_t bytes;
        struct str text = str_from(cases[i].text);
        assert_int_equal(utf8_rune_at(text, 0, &bytes), cases[i].rune);
        assert_int_equal(bytes, cases[i].bytes);
        char out[RUNE_BYTES_MAX];
        assert_int_equal(utf8_valid(text), bytes == text.len && utf8_rune_put(cases[i].rune, out) == bytes);
    }
    assert_int_equal(utf8_runes(STR("a\xC3\xA9\xFFz")), 4);
    assert_int_equal(utf8_offset(STR("a\xC3\xA9\xFFz"), 2), 3);
    assert_int_equal(utf8_find(STR("abcabc"), STR("bc"), 2), 4);
    assert_int_equal(utf8_find(STR("abcabc"), STR("x"), 0), -1);
}

static void test_trim(void **state)
{
    (void)state;
    static const struct {
        struct str text;
        const char *want;
    } cases[] = {
        { STR(""), "" },
        { STR(" \t\n\v\f\r"), "" },
        { STR(" a b\n"), "a b" },
        { STR("\xC2\xA0"
              "a\xE2\x80\x83\xE3\x80\x80"),
          "a" },                                   /* Unicode has more white space */
        { STR("\xC2\x85\xE2\x80\xA8"), "" },       /* the next line, the line separator */
        { STR(" \xE2\x80\x8B "), "\xE2\x80\x8B" }, /* a zero-width space is not white space */
        { STR("a\xA0 "), "a\xA0" },                /* the second byte of a space, alone */
        { STR("\xC2\xA0\xA0"), "\xA0" },           /* ... and behind one */
        { STR("\xE2\x80"), "\xE2\x80" },           /* truncated */
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct str got = utf8_trim(cases[i].text);
        if (!str_is(got, cases[i].want))
            fail_msg("case %zu: \"" STR_FMT "\"", i, STR_ARG(got));
    }
    assert_int_equal(utf8_trim(STR(" \0 ")).len, 1);
}

static void test_mended(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    struct str good = STR("a\xC3\xA9");
    assert_ptr_equal(utf8_mended(good, &arena).ptr, good.ptr);
    assert_true(str_is(utf8_mended(STR("a\xA3\xFFz"), &arena), "a\xEF\xBF\xBD\xEF\xBF\xBDz"));
    assert_true(str_is(utf8_mended(STR("\xC3"), &arena), "\xEF\xBF\xBD"));
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runes),
        cmocka_unit_test(test_trim),
        cmocka_unit_test(test_mended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
