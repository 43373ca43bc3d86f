/* Go's error messages for malformed JSON. The expected texts were recorded from Go's decoder. */
#include "support/test.h"

#include "extender/syntax.h"

static const struct {
    const char *text, *want; /* NULL: it begins with a complete value */
} cases[] = {
    { "{}", NULL },
    { " [1, -0.5e+7, \"\\u00e9\\n\", true, false, null, {\"a\": {}}] and more", NULL },
    { "5", NULL },
    { "\"text\"", NULL },
    { "", "EOF" },
    { " \r\n\t", "EOF" },
    { "{", "unexpected EOF" },
    { "{\"a\":[\"b", "unexpected EOF" },
    { "{\"a\":1", "unexpected EOF" },
    { "nul", "unexpected EOF" },
    { "-", "unexpected EOF" },
    { "<html>", "invalid character '<' looking for beginning of value" },
    { "[1,]", "invalid character ']' looking for beginning of value" },
    { "]", "invalid character ']' looking for beginning of value" },
    { "{a:1}", "invalid character 'a' looking for beginning of object key string" },
    { "{\"a\":1,}", "invalid character '}' looking for beginning of object key string" },
    { "{'a'}", "invalid character '\\'' looking for beginning of object key string" },
    { "{\"a\" \"b\"}", "invalid character '\"' after object key" },
    { "{\"a\":01}", "invalid character '1' after object key:value pair" },
    { "[1 2]", "invalid character '2' after array element" },
    { "[1}", "invalid character '}' after array element" },
    { "\"a\nb\"", "invalid character '\\n' in string literal" },
    { "\"\\q\"", "invalid character 'q' in string escape code" },
    { "\"\\u12g4\"", "invalid character 'g' in \\u hexadecimal character escape" },
    { "[-x]", "invalid character 'x' in numeric literal" },
    { "[1.x]", "invalid character 'x' after decimal point in numeric literal" },
    { "[1e]", "invalid character ']' in exponent of numeric literal" },
    { "[nulx]", "invalid character 'x' in literal null (expecting 'l')" },
    { "[trve]", "invalid character 'v' in literal true (expecting 'u')" },
    { "[\\]", "invalid character '\\\\' looking for beginning of value" },
    { "\x01", "invalid character '\\x01' looking for beginning of value" },
    { "\x7f", "invalid character '\\x7f' looking for beginning of value" },
    { "\xe9", "invalid character '\xc3\xa9' looking for beginning of value" },
    { "\x80", "invalid character '\\u0080' looking for beginning of value" },
};

static void test_messages(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error err = { "" };
        int r = syntax_check(str_from(cases[i].text), &err);
        if ((r < 0) != (cases[i].want != NULL) || (r < 0 && strcmp(err.text, cases[i].want) != 0))
            fail_msg("%s: %d: %s", cases[i].text, r, err.text);
    }
}

static void test_depth(void **state)
{
    (void)state;
    static char text[2 * 10001];
    for (size_t depth = 9999; depth <= 10001; depth++) {
        struct error err;
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        int r = syntax_check((struct str){ text, (uint32_t)(2 * depth) }, &err);
        assert_int_equal(r < 0, depth > 10000);
    }
}

static void test_repair(void **state)
{
    static const struct {
        const char *text, *want;
    } texts[] = {
        { "caf\xe9!", "caf\xef\xbf\xbd!" },
        { "caf\\udce9!", "caf\xef\xbf\xbd!" },
        { "\\ud800\\ud83d\\ude00\\ud83d", "\xef\xbf\xbd\\ud83d\\ude00\xef\xbf\xbd" },
        { "\\\\ud800 \\u00e9 \\n\\", "\\\\ud800 \\u00e9 \\n\\" },
        { "\\ud8", "\\ud8" },
        { "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80" },
        { "\xc3", "\xef\xbf\xbd" },
        { "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
        { "", "" },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct strbuf out = { 0 };
        syntax_repair(str_from(texts[i].text), &out);
        assert_true(str_eq(strbuf_slice(&out), str_from(texts[i].want)));
        strbuf_release(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_repair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
