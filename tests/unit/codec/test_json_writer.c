/* The exact output, and that any string and number can be read back. */
#include "base/quote.h"
#include "support/test.h"

#include <math.h>
#include <yyjson.h>

#include "codec/json_writer.h"

static void write_tree(struct json_writer *json)
{
    json_begin_object(json);
    json_member_str(json, "name", STR("a"));
    json_key(json, STR("items"));
    json_begin_array(json);
    json_int(json, -1);
    json_begin_object(json);
    json_end_object(json);
    json_begin_array(json);
    json_end_array(json);
    json_begin_object(json);
    json_member_int(json, "n", 7);
    json_member_double(json, "d", 0.5);
    json_member_bool(json, "b", true);
    json_key(json, STR("z"));
    json_null(json);
    json_end_object(json);
    json_end_array(json);
    json_key(json, STR("raw"));
    json_raw(json, STR("[1]"));
    json_end_object(json);
}

static void test_compact(void **state)
{
    (void)state;
    struct strbuf out = { 0 };
    struct json_writer json = json_writer(&out, JSON_COMPACT);
    write_tree(&json);
    assert_string_equal(out.text,
                        "{\"name\":\"a\",\"items\":[-1,{},[],{\"n\":7,\"d\":0.5,\"b\":true,\"z\":null}],"
                        "\"raw\":[1]}");
    json_begin_array(&json);
    json_end_array(&json);
    assert_non_null(strstr(out.text, "[1]}\n[]"));
    strbuf_release(&out);
}

static void test_pretty(void **state)
{
    (void)state;
    struct strbuf out = { 0 };
    struct json_writer json = json_writer(&out, JSON_PRETTY);
    write_tree(&json);
    assert_string_equal(out.text, "{\n"
                                  "  \"name\": \"a\",\n"
                                  "  \"items\": [\n"
                                  "    -1,\n"
                                  "    {},\n"
                                  "    [],\n"
                                  "    {\n"
                                  "      \"n\": 7,\n"
                                  "      \"d\": 0.5,\n"
                                  "      \"b\": true,\n"
                                  "      \"z\": null\n"
                                  "    }\n"
                                  "  ],\n"
                                  "  \"raw\": [1]\n"
                                  "}");
    strbuf_release(&out);
}

#define BAD "\xef\xbf\xbd" /* U+FFFD */

static const struct string_case {
    struct str text;
    const char *want;
} string_cases[] = {
    { { NULL, 0 }, "\"\"" },
    { { "plain", 5 }, "\"plain\"" },
    { { "q\"b\\s/", 6 }, "\"q\\\"b\\\\s/\"" },
    { { "\b\f\n\r\t", 5 }, "\"\\b\\f\\n\\r\\t\"" },
    { { "a\0b\x1f\x7f", 5 }, "\"a\\u0000b\\u001f\x7f\"" },
    { { "é€😀", 9 }, "\"é€😀\"" },
    { { "\xff", 1 }, "\"" BAD "\"" },
    { { "a\xc3", 2 }, "\"a" BAD "\"" },                       /* truncated */
    { { "\xc0\xaf", 2 }, "\"" BAD BAD "\"" },                 /* overlong */
    { { "\xe0\x80\xaf", 3 }, "\"" BAD BAD BAD "\"" },         /* overlong */
    { { "\xed\xa0\x80", 3 }, "\"" BAD BAD BAD "\"" },         /* a surrogate */
    { { "\xf4\x90\x80\x80", 4 }, "\"" BAD BAD BAD BAD "\"" }, /* beyond the last character */
    { { "\xf4\x8f\xbf\xbf", 4 }, "\"\xf4\x8f\xbf\xbf\"" },    /* the last character */
    { { "\xe2\x82(\x80x", 5 }, "\"" BAD BAD "(" BAD "x\"" },
};

static void test_strings(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(string_cases); i++) {
        struct strbuf out = { 0 };
        quote_json(&out, string_cases[i].text, QUOTE_JSON);
        assert_string_equal(out.text, string_cases[i].want);
        strbuf_release(&out);
    }
}

/* The texts are those of Go's encoding/json. */
static const struct number_case {
    double value;
    const char *want;
} number_cases[] = {
    { 0, "0" },
    { -0.0, "-0" },
    { 1, "1" },
    { -1.5, "-1.5" },
    { 100, "100" },
    { 0.1, "0.1" },
    { 0.1 + 0.2, "0.30000000000000004" },
    { 1.0 / 3, "0.3333333333333333" },
    { 123456789.125, "123456789.125" },
    { 1e20, "100000000000000000000" },
    { 1e21, "1e+21" },
    { 1.5e300, "1.5e+300" },
    { 0.000001, "0.000001" },
    { 0.0000001, "1e-7" },
    { 1.25e-10, "1.25e-10" },
    { 5e-324, "5e-324" },
    { 1.7976931348623157e308, "1.7976931348623157e+308" },
    { 9007199254740993.0, "9007199254740992" },
    { INFINITY, "null" },
    { -INFINITY, "null" },
    { NAN, "null" },
};

static void test_doubles(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(number_cases); i++) {
        struct strbuf out = { 0 };
        struct json_writer json = json_writer(&out, JSON_COMPACT);
        json_double(&json, number_cases[i].value);
        assert_string_equal(out.text, number_cases[i].want);
        strbuf_release(&out);
    }
}

static void test_integers(void **state)
{
    (void)state;
    struct strbuf out = { 0 };
    struct json_writer json = json_writer(&out, JSON_COMPACT);
    json_begin_array(&json);
    json_int(&json, 0);
    json_int(&json, INT64_MIN);
    json_int(&json, INT64_MAX);
    json_uint(&json, UINT64_MAX);
    json_bool(&json, false);
    json_end_array(&json);
    assert_string_equal(out.text, "[0,-9223372036854775808,9223372036854775807,18446744073709551615,false]");
    strbuf_release(&out);
}

/* Random bits as numbers and random bytes as strings: the output can be parsed, numbers exactly. */
static void test_round_trip(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    for (int round = 0; round < 20000; round++) {
        uint64_t bits = rng_next(&rng);
        double value;
        memcpy(&value, &bits, sizeof(value));
        if (!isfinite(value))
            continue;
        struct strbuf out = { 0 };
        struct json_writer json = json_writer(&out, round % 2 ? JSON_PRETTY : JSON_COMPACT);
        json_begin_array(&json);
        json_double(&json, value);
        json_str(&json, (struct str){ (const char *)&bits, sizeof(bits) });
        json_end_array(&json);
        yyjson_doc *doc = yyjson_read(out.text, out.len, YYJSON_READ_NOFLAG);
        if (!doc)
            fail_msg("cannot be read: %s", out.text);
        double back = yyjson_get_num(yyjson_arr_get_first(yyjson_doc_get_root(doc)));
        if (memcmp(&back, &value, sizeof(value)) != 0)
            fail_msg("%.17g came back as %.17g", value, back);
        yyjson_doc_free(doc);
        strbuf_release(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compact), cmocka_unit_test(test_pretty),   cmocka_unit_test(test_strings),
        cmocka_unit_test(test_doubles), cmocka_unit_test(test_integers), cmocka_unit_test(test_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
