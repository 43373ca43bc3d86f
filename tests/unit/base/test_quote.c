/* Texts in quotes, as Go, its JSON encoder and the JSON format of Kubernetes' logs write them. */
#include "support/test.h"

#include "base/quote.h"

static void test_go_and_logs(void **state _unused_)
{
    /* As Go's strconv.Quote, and as the encoder of kube-scheduler's JSON logs. */
    static const struct {
        const char *text;
        uint32_t len;
        const char *quoted, *json;
    } cases[] = {
        { "plain", 5, "\"plain\"", "\"plain\"" },
        { "\a\b\f\v\x01\x7f", 6, "\"\\a\\b\\f\\v\\x01\\x7f\"",
          "\"\\u0007\\u0008\\u000c\\u000b\\u0001\x7f\"" },
        { "\xc3\xa4\xe2\x82\xac", 5, "\"\xc3\xa4\xe2\x82\xac\"", "\"\xc3\xa4\xe2\x82\xac\"" },
        { "a\xff\xc3", 3, "\"a\\xff\\xc3\"", "\"a\\ufffd\\ufffd\"" },
        { "\xc2\xa0\xe2\x80\xa8", 5, "\"\\u00a0\\u2028\"", "\"\xc2\xa0\xe2\x80\xa8\"" },
        { "\xf3\xb0\x80\x80", 4, "\"\\U000f0000\"", "\"\xf3\xb0\x80\x80\"" },
        { "\xf0\x9f\x98\x80", 4, "\"\xf0\x9f\x98\x80\"", "\"\xf0\x9f\x98\x80\"" },
        { "\xed\xa0\x80", 3, "\"\\xed\\xa0\\x80\"", "\"\\ufffd\\ufffd\\ufffd\"" },
        { "a\0b", 3, "\"a\\x00b\"", "\"a\\u0000b\"" },
        { NULL, 0, "\"\"", "\"\"" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(strbuf_release) struct strbuf quoted = { 0 }, json = { 0 };
        struct str text = { cases[i].text, cases[i].len };
        quote_go(&quoted, text);
        quote_json(&json, text, QUOTE_JSON_LOGS);
        assert_string_equal(quoted.text, cases[i].quoted);
        assert_string_equal(json.text, cases[i].json);
    }
}

/* The expected texts are those of Go's encoding/json. */
static void test_json(void **state _unused_)
{
    static const struct {
        struct str text;
        const char *json, *go;
    } cases[] = {
        { STR(""), "\"\"", "\"\"" },
        { STR("a\b\f\v\a\x01"), "\"a\\b\\f\\u000b\\u0007\\u0001\"", "\"a\\b\\f\\u000b\\u0007\\u0001\"" },
        { STR("<&>\"\\\n"), "\"<&>\\\"\\\\\\n\"", "\"\\u003c\\u0026\\u003e\\\"\\\\\\n\"" },
        { STR("\xe2\x80\xa8\xff"), "\"\xe2\x80\xa8\xef\xbf\xbd\"", "\"\\u2028\\ufffd\"" },
        { STR("\xef\xbf\xbd"), "\"\xef\xbf\xbd\"", "\"\xef\xbf\xbd\"" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(strbuf_release) struct strbuf json = { 0 }, go = { 0 };
        quote_json(&json, cases[i].text, QUOTE_JSON);
        quote_json(&go, cases[i].text, QUOTE_JSON_GO);
        assert_string_equal(json.text, cases[i].json);
        assert_string_equal(go.text, cases[i].go);
    }
}

static void test_arena(void **state _unused_)
{
    _cleanup_(arena_release) struct arena arena = { 0 };
    assert_true(str_is(quote_go_arena(&arena, STR("a\"b")), "\"a\\\"b\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_go_and_logs),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
