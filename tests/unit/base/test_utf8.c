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

static void test_width(void **state _unused_)
{
    static const struct {
        uint32_t rune;
        unsigned width;
    } cases[] = {
        { 0, 0 },       { '\n', 0 },    { 'a', 1 },     { 0xAD, 1 },     { 0xE9, 1 },   { 0x301, 0 },
        { 0x1100, 2 },  { 0x1160, 0 },  { 0x200B, 0 },  { 0x2588, 1 },   { 0x3000, 2 }, { 0x4E00, 2 },
        { 0x9FFF, 2 },  { 0xAC00, 2 },  { 0xFE0F, 0 },  { 0xFF01, 2 },   { 0xFF61, 1 }, { RUNE_ERROR, 1 },
        { 0x1F600, 2 }, { 0x20000, 2 }, { 0xE0001, 0 }, { RUNE_MAX, 1 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        if (utf8_rune_width(cases[i].rune) != cases[i].width)
            fail_msg("U+%04X: %u columns", cases[i].rune, utf8_rune_width(cases[i].rune));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runes),
        cmocka_unit_test(test_trim),
        cmocka_unit_test(test_mended),
        cmocka_unit_test(test_width),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
