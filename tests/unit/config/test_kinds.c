/* A configuration is read strictly: every kind of field, null and absent values, errors and their places. */
#include "support/test.h"

#include "codec/record_rows.h"
#include "config/kinds.h"

struct inner {
    struct str name;
    int32_t weight;
};

struct all {
    struct str text, bytes;
    bool flag;
    int32_t small;
    int64_t big, duration;
    double number;
    struct opt_bool opt_flag;
    struct opt_int32 opt_small;
    struct opt_int64 opt_big, opt_duration;
    struct str_list names;
    struct str_map map;
    struct inner inner, *pointer;
    LIST(struct inner) list;
    yyjson_val *raw;
};

#define T struct inner
static const struct record_field inner_fields[] = {
    F("name", 0, STR, name),
    F("weight", 0, INT32, weight),
};
TYPE(inner)
#undef T

#define T struct all
static const struct record_field all_fields[] = {
    F("text", 0, STR, text),
    F("bytes", 0, BYTES, bytes),
    F("flag", 0, BOOL, flag),
    F("small", 0, INT32, small),
    F("big", 0, INT64, big),
    F("duration", 0, DURATION, duration),
    F("number", 0, FLOAT, number),
    F("optFlag", 0, OPT_BOOL, opt_flag),
    F("optSmall", 0, OPT_INT32, opt_small),
    F("optBig", 0, OPT_INT64, opt_big),
    F("optDuration", 0, OPT_DURATION, opt_duration),
    F("names", 0, STRS, names),
    F("map", 0, PAIRS, map),
    F_STRUCT("inner", 0, inner, inner),
    F_PTR("pointer", 0, pointer, inner),
    F_LIST("list", 0, list, inner),
    F("raw", 0, VALUE, raw),
};
TYPE(all)
#undef T

struct decoded {
    struct doc_stream stream;
    struct doc doc;
    struct arena arena;
    struct error err;
};

static int decode(struct decoded *decoded, const char *text, struct all *ret)
{
    size_t len = strlen(text);
    char *copy = xcalloc(len + YYJSON_PADDING_SIZE, 1);
    memcpy(copy, text, len);
    *decoded = (struct decoded){ 0 };
    doc_stream_init(&decoded->stream, "args", copy, len);
    if (doc_stream_next(&decoded->stream, &decoded->doc, &decoded->err) != 1)
        fail_msg("%s", decoded->err.text);
    return config_read(&decoded->doc, decoded->doc.root, &all_type, NULL, &decoded->arena, ret,
                       &decoded->err);
}

static void decoded_release(struct decoded *decoded)
{
    doc_release(&decoded->doc);
    doc_stream_release(&decoded->stream);
    arena_release(&decoded->arena);
}

static void test_every_kind(void **state)
{
    (void)state;
    _cleanup_(decoded_release) struct decoded decoded;
    struct all all = { 0 };
    int r = decode(&decoded,
                   "text: hello\n"
                   "bytes: aGVsbG8gd29ybGQ=\n"
                   "flag: true\n"
                   "small: -2147483648\n"
                   "big: 9223372036854775807\n"
                   "duration: 1h\n"
                   "number: 2.5\n"
                   "optFlag: false\n"
                   "optSmall: 0\n"
                   "optBig: -9223372036854775808\n"
                   "optDuration: -1ns\n"
                   "names: [b, a, null]\n"
                   "map: {z: 1z, a: 2a, m: null}\n"
                   "inner: {name: i}\n"
                   "pointer: {weight: 3}\n"
                   "list: [{name: x, weight: 1}, null, {}]\n"
                   "raw: {any: [thing]}\n",
                   &all);
    if (r < 0)
        fail_msg("%s", decoded.err.text);
    assert_str(all.text, "hello");
    assert_str(all.bytes, "hello world");
    assert_true(all.flag);
    assert_int_equal(all.small, INT32_MIN);
    assert_int_equal(all.big, INT64_MAX);
    assert_int_equal(all.duration, INT64_C(3600000000000));
    assert_true(all.number == 2.5);
    assert_true(all.opt_flag.set && !all.opt_flag.value);
    assert_true(all.opt_small.set && all.opt_small.value == 0);
    assert_true(all.opt_big.set && all.opt_big.value == INT64_MIN);
    assert_true(all.opt_duration.set && all.opt_duration.value == -1);
    assert_int_equal(all.names.len, 3);
    assert_str(all.names.items[0], "b");
    assert_str(all.names.items[2], "");
    assert_int_equal(all.map.len, 3);
    assert_str(all.map.items[0].key, "a");
    assert_str(all.map.items[1].value, "");
    assert_str(all.map.items[2].value, "1z");
    assert_str(all.inner.name, "i");
    assert_int_equal(all.pointer->weight, 3);
    assert_int_equal(all.list.len, 3);
    assert_int_equal(all.list.items[0].weight, 1);
    assert_true(yyjson_is_obj(all.raw));
}

/* Absent and null fields keep their value; an empty list is a value. */
static void test_defaults(void **state)
{
    (void)state;
    static const char *const nothing[] = {
        "{}",
        "null",
        "{\"text\": null, \"flag\": null, \"small\": null, \"optSmall\": null, \"list\": "
        "null,"
        " \"pointer\": null, \"raw\": null}",
    };
    for (size_t i = 0; i < ARRAY_SIZE(nothing); i++) {
        _cleanup_(decoded_release) struct decoded decoded = { 0 };
        struct all all = { .text = STR("t"), .flag = true, .small = 7 };
        if (strcmp(nothing[i], "null") == 0)
            assert_int_equal(config_read(NULL, NULL, &all_type, NULL, &decoded.arena, &all, NULL), 0);
        else
            assert_int_equal(decode(&decoded, nothing[i], &all), 0);
        assert_str(all.text, "t");
        assert_true(all.flag && all.small == 7 && !all.opt_small.set);
        assert_true(!all.pointer && !all.raw && !all.list.items);
    }
    _cleanup_(decoded_release) struct decoded decoded;
    struct all all = { 0 };
    assert_int_equal(decode(&decoded, "{\"list\": [], \"names\": [], \"pointer\": {}, \"text\": \"\"}", &all),
                     0);
    assert_true(all.list.items && all.list.len == 0 && all.names.items && all.pointer && all.text.ptr);
}

static const struct {
    const char *text, *want;
} refused[] = {
    { "quota: x\n", "args:1:1: quota: unknown field" },
    { "nammes: []\n", "args:1:1: nammes: unknown field; did you mean \"names\"?" },
    { "TEXT: x\n", "args:1:1: TEXT: unknown field; did you mean \"text\"?" },
    { "inner:\n  wait: 1\n", "args:2:3: inner.wait: unknown field" },
    { "list:\n- name: a\n- wieght: 1\n",
      "args:3:3: list[1].wieght: unknown field; did you mean \"weight\"?" },
    { "text: 5\n", "args:1:7: text: expected a string, got the number 5" },
    { "text: -5\n", "args:1:7: text: expected a string, got the number -5" },
    { "text: 1.5e300\n", "args:1:7: text: expected a string, got the number 1.5e+300" },
    { "text: [a]\n", "args:1:7: text: expected a string, got a list" },
    { "text: {}\n", "args:1:7: text: expected a string, got an object" },
    { "bytes: abc\n", "args:1:8: bytes: expected base64 text, got the string \"abc\"" },
    { "bytes: YQ=a\n", "args:1:8: bytes: expected base64 text, got the string \"YQ=a\"" },
    { "bytes: YQ==YQ==\n", "args:1:8: bytes: expected base64 text, got the string \"YQ==YQ==\"" },
    { "flag: 1\n", "args:1:7: flag: expected true or false, got the number 1" },
    { "optFlag: 'true'\n", "args:1:10: optFlag: expected true or false, got the string \"true\"" },
    { "small: 2147483648\n",
      "args:1:8: small: expected a whole number from -2147483648 to 2147483647, got the number 2147483648" },
    { "small: 0.5\n", "args:1:8: small: expected a whole number, got the number 0.5" },
    { "big: 9223372036854775808\n",
      "args:1:6: big: expected a whole number of 64 bits, got the number 9223372036854775808" },
    { "number: true\n", "args:1:9: number: expected a number that fits 32 bits, got true" },
    { "number: 1e39\n", "args:1:9: number: expected a number that fits 32 bits, got the number 1e+39" },
    { "duration: 1d\n", "args:1:11: duration: expected a duration such as \"1m30s\", got the string \"1d\"" },
    { "duration: null\n", "args:1:11: duration: expected a duration such as \"1m30s\", got null" },
    { "optDuration: 5\n", "args:1:14: optDuration: expected a duration such as \"1m30s\", got the number 5" },
    { "names: a\n", "args:1:8: names: expected a list of strings, got the string \"a\"" },
    { "names: [a, 1]\n", "args:1:12: names[1]: expected a string, got the number 1" },
    { "map: [a]\n", "args:1:6: map: expected an object with strings, got a list" },
    { "map: {a: 1}\n", "args:1:10: map[a]: expected a string, got the number 1" },
    { "inner: x\n", "args:1:8: inner: expected an object, got the string \"x\"" },
    { "pointer: []\n", "args:1:10: pointer: expected an object, got a list" },
    { "list: {}\n", "args:1:7: list: expected a list, got an object" },
    { "list: [1]\n", "args:1:8: list[0]: expected an object, got the number 1" },
    { "[]", "args:1:1: expected an object, got a list" },
    { "{\"text\": \"a\",\n \"text\": \"b\"}", "args:2:2: text: the field is given twice" },
    { "{\"map\": {\"a\": \"\",\n \"a\": \"\"}}", "args:1:2: map: the key \"a\" is given twice" },
    { "text: [0123456789012345678901234567890123456789012345]\n",
      "args:1:7: text: expected a string, got a list" },
    { "flag: abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz\n",
      "args:1:7: flag: expected true or false, got the string "
      "\"abcdefghijklmnopqrstuvwxyzabcdefghijklmn...\"" },
};

static void test_rejected(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        _cleanup_(decoded_release) struct decoded decoded;
        struct all all = { 0 };
        if (decode(&decoded, refused[i].text, &all) != -EINVAL)
            fail_msg("was not refused: %s", refused[i].text);
        assert_string_equal(decoded.err.text, refused[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
