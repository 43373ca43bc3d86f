/* YAML as kubectl and kube-scheduler read it. The expected results are JSON; those of the tables below were compared
 * with sigs.k8s.io/yaml v1.6.0. */
#include "support/test.h"

#include "codec/doc.h"

static struct doc_stream stream_of(const char *text)
{
    size_t len = strlen(text);
    char *copy = calloc(1, len + YYJSON_PADDING_SIZE);
    assert_non_null(copy);
    memcpy(copy, text, len);
    struct doc_stream stream;
    doc_stream_init(&stream, "input", copy, len);
    assert_true(stream.yaml);
    return stream;
}

/* The only document of a text as JSON, or its error. */
static void convert(const char *text, struct strbuf *out)
{
    struct doc_stream stream = stream_of(text);
    struct doc doc;
    struct error err = { 0 };
    int r = doc_stream_next(&stream, &doc, &err);
    strbuf_clear(out);
    if (r < 0) {
        assert_int_equal(r, -EINVAL);
        strbuf_puts(out, err.text);
    } else if (r == 0) {
        strbuf_puts(out, "nothing");
    } else {
        char *json = yyjson_val_write(doc.root, YYJSON_WRITE_NOFLAG, NULL);
        assert_non_null(json);
        strbuf_puts(out, json);
        free(json);
        doc_release(&doc);
    }
    doc_stream_release(&stream);
}

static void assert_converts(const char *text, const char *want)
{
    struct strbuf got = { 0 };
    convert(text, &got);
    if (strcmp(got.text, want) != 0)
        fail_msg("%s\ngot  %s\nwant %s", text, got.text, want);
    strbuf_release(&got);
}

static const struct scalar_case {
    const char *yaml, *json;
} scalar_cases[] = {
    { "", "null" },
    { "~", "null" },
    { "null", "null" },
    { "Null", "null" },
    { "nULL", "\"nULL\"" },
    { "true", "true" },
    { "TRUE", "true" },
    { "tRue", "\"tRue\"" },
    { "y", "true" },
    { "Yes", "true" },
    { "on", "true" },
    { "n", "false" },
    { "NO", "false" },
    { "Off", "false" },
    { "'on'", "\"on\"" },
    { "\"12\"", "\"12\"" },
    { "12", "12" },
    { "+12", "12" },
    { "-12", "-12" },
    { "-0", "0" },
    { "1_000_000", "1000000" },
    { "0x1F", "31" },
    { "-0x10", "-16" },
    { "0o17", "15" },
    { "0777", "511" },
    { "08", "8" },
    { "0b101", "5" },
    { "0x", "\"0x\"" },
    { "0xg", "\"0xg\"" },
    { "9223372036854775807", "9223372036854775807" },
    { "-9223372036854775808", "-9223372036854775808" },
    { "18446744073709551615", "18446744073709551615" },
    { "0x1ffffffffffffffff", "\"0x1ffffffffffffffff\"" },
    { "0.5", "0.5" },
    { ".5", "0.5" },
    { "-.5", "-0.5" },
    { "1.", "1" },
    { "3.0", "3" },
    { "1e3", "1000" },
    { "1.5e-3", "0.0015" },
    { "1e999", "\"1e999\"" },
    { "1e-999", "0" },
    { ".", "\".\"" },
    { ".5_0", "\".5_0\"" },
    { "+", "\"+\"" },
    { "1e", "\"1e\"" },
    { "100m", "\"100m\"" },
    { "1.2.3", "\"1.2.3\"" },
    { "12:30", "\"12:30\"" },
    { "2024-01-31", "\"2024-01-31\"" },
    { "2024-01-31T10:00:00Z", "\"2024-01-31T10:00:00Z\"" },
    { "<<", "\"<<\"" },
    { "!!str 12", "\"12\"" },
    { "!!str", "\"\"" },
    { "!!int '12'", "12" },
    { "!!float 3", "3" },
    { "!!float 0x10", "16" },
    { "!!bool 'yes'", "true" },
    { "!!null ''", "null" },
    { "!!timestamp 2024-01-31", "\"2024-01-31\"" },
    { "!mine 12", "\"12\"" },
    { "! 12", "\"12\"" },
    { "\"\\u00e9\\t\\0\"", "\"é\\t\\u0000\"" },
    { "|\n  a\n   b\n", "\"a\\n b\\n\"" },
    { ">-\n  a\n  b\n", "\"a b\"" },
};

static void test_scalars(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(scalar_cases); i++) {
        struct strbuf yaml = { 0 }, json = { 0 };
        strbuf_printf(&yaml, "k: %s", scalar_cases[i].yaml);
        strbuf_printf(&json, "{\"k\":%s}", scalar_cases[i].json);
        assert_converts(yaml.text, json.text);
        strbuf_release(&yaml);
        strbuf_release(&json);
    }
}

static const struct tree_case {
    const char *name, *yaml, *json;
} tree_cases[] = {
    { "keys become text", "1: a\n0x10: b\nyes: c\n1.50: d\n1e6: e\n\"on\": f\n0.00001: g\n-7: h\n",
      "{\"1\":\"a\",\"16\":\"b\",\"true\":\"c\",\"1.5\":\"d\",\"1e+06\":\"e\",\"on\":\"f\",\"1e-05\":\"g\","
      "\"-7\":\"h\"}" },
    { "empty containers", "a: {}\nb: []\nc:\n", "{\"a\":{},\"b\":[],\"c\":null}" },
    { "a list below its key", "a:\n- b: 1\n  c: 2\n- [d, {e: f}]\n",
      "{\"a\":[{\"b\":1,\"c\":2},[\"d\",{\"e\":\"f\"}]]}" },
    { "a scalar aliased", "a: &x 5\nb: *x\n*x : c\n", "{\"a\":5,\"b\":5,\"5\":\"c\"}" },
    { "a key aliased", "&k 1.0: a\nb: *k\n", "{\"1\":\"a\",\"b\":1}" },
    { "containers aliased", "a: &x {p: [1, 2], q: {}}\nb: [*x, *x]\n",
      "{\"a\":{\"p\":[1,2],\"q\":{}},\"b\":[{\"p\":[1,2],\"q\":{}},{\"p\":[1,2],\"q\":{}}]}" },
    { "an alias of aliases", "a: &x [1]\nb: &y [*x, *x]\nc: *y\n",
      "{\"a\":[1],\"b\":[[1],[1]],\"c\":[[1],[1]]}" },
    { "the last anchor of a name counts", "a: &x 1\nb: &x [&x 2, *x]\nc: *x\n",
      "{\"a\":1,\"b\":[2,2],\"c\":2}" },
    { "merge, then override", "a: &x {p: 1, q: 2}\nb:\n  <<: *x\n  p: 3\n",
      "{\"a\":{\"p\":1,\"q\":2},\"b\":{\"q\":2,\"p\":3}}" },
    { "a later merge wins", "a: &x {p: 1, q: 2}\nb:\n  p: 3\n  <<: *x\n",
      "{\"a\":{\"p\":1,\"q\":2},\"b\":{\"p\":1,\"q\":2}}" },
    { "the first of several maps wins", "b:\n  <<: [{p: 1}, {p: 2, q: [3, {r: 4}]}]\n  s: 5\n",
      "{\"b\":{\"q\":[3,{\"r\":4}],\"p\":1,\"s\":5}}" },
    { "merge of a merge", "a: &x {p: 1}\nb: &y\n  <<: *x\n  p: 2\n  q: 3\nc:\n  <<: *y\n  d: *y\n",
      "{\"a\":{\"p\":1},\"b\":{\"p\":2,\"q\":3},\"c\":{\"p\":2,\"q\":3,\"d\":{\"p\":2,\"q\":3}}}" },
    { "merge of nothing", "b:\n  <<: {}\n  <<: []\n", "{\"b\":{}}" },
    { "a quoted << is a key", "'<<': {p: 1}\n", "{\"<<\":{\"p\":1}}" },
    { "anchors end with their document", "a: &x 1\n---\nb: *x\n", "{\"a\":1}" },
    { "only the first document", "- 1\n---\n- 2\n", "[1]" },
    { "a word", "hello\n", "\"hello\"" },
    { "many keys, two by merge",
      "x: &x {a: 0, m: 0}\nv:\n  <<: *x\n  a: 1\n  b: 1\n  c: 1\n  d: 1\n  e: 1\n  f: 1\n  g: 1\n  h: 1\n  "
      "i: 1\n  j: 1\n"
      "  k: 1\n  l: 1\n  o: 1\n",
      "{\"x\":{\"a\":0,\"m\":0},\"v\":{\"m\":0,\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":"
      "1,\"i\":1,"
      "\"j\":1,\"k\":1,\"l\":1,\"o\":1}}" },
};

static void test_trees(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(tree_cases); i++)
        assert_converts(tree_cases[i].yaml, tree_cases[i].json);
}

static const struct tree_case error_cases[] = {
    { "twice", "a: 1\nb: 2\na: 3\n", "input:3:1: the key \"a\" is there twice, first on line 1" },
    { "twice after a merge", "x: &x {a: 1}\ny:\n  a: 1\n  <<: *x\n  a: 2\n",
      "input:5:3: the key \"a\" is there twice, first on line 3" },
    { "twice as text", "k:\n  1: a\n  '1': b\n", "input:3:3: the key \"1\" is there twice, first on line 2" },
    { "a list as a key", "? [a]\n: b\n", "input:1:3: a key of a map must be a scalar" },
    { "a list as a key by alias", "x: &x [a]\n*x : b\n", "input:2:1: a key of a map must be a scalar" },
    { "null as a key", "a: 1\n~: 2\n", "input:2:1: a key of a map may not be null" },
    { "infinity", "a: .inf\n", "input:1:4: .inf is not a number that JSON can hold" },
    { "not a number", "a: [1, .NaN]\n", "input:1:8: .NaN is not a number that JSON can hold" },
    { "tagged infinity", "a: !!float -.inf\n", "input:1:4: -.inf is not a number that JSON can hold" },
    { "a wrong tag", "a: !!int x\n", "input:1:4: expected an integer below the tag !!int" },
    { "another wrong tag", "a: !!null x\n", "input:1:4: expected null below the tag !!null" },
    { "a float is no int", "a: !!int 1.5\n", "input:1:4: expected an integer below the tag !!int" },
    { "binary", "a: !!binary aGk=\n",
      "input:1:4: the tag !!binary is not supported, write the base64 text without it" },
    { "an unknown anchor", "a: *nope\n", "input:1:4: unknown anchor 'nope'" },
    { "an alias in itself", "a: &x [1, *x]\n", "input:1:11: the value of anchor 'x' contains itself" },
    { "a merge of a word", "a:\n  <<: word\n", "input:2:3: a merge (<<) takes a map or a list of maps" },
    { "a merge of words", "a:\n  <<: [{b: 1}, word]\n",
      "input:2:3: a merge (<<) takes a map or a list of maps" },
    { "a tab", "a:\n\tb: 1\n", "input:2:1: a tab, but YAML is indented with spaces" },
};

static void test_errors(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(error_cases); i++)
        assert_converts(error_cases[i].yaml, error_cases[i].json);
}

/* Values from an alias or a merge have the place where they were written. */
static void test_places_after_merge(void **state)
{
    (void)state;
    struct doc_stream stream = stream_of("x: &x\n  p: 1\n  q: 2\nv:\n  q: 3\n  <<: *x\n  z: 4\n");
    struct doc doc;
    assert_int_equal(doc_stream_next(&stream, &doc, NULL), 1);
    yyjson_val *merged = yyjson_obj_get(doc.root, "v");
    static const struct {
        const char *key;
        size_t line, column;
    } want[] = { { "p", 2, 6 }, { "q", 3, 6 }, { "z", 7, 6 } };
    assert_int_equal(yyjson_obj_size(merged), 3);
    for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
        size_t line, column;
        doc_where(&doc, yyjson_obj_get(merged, want[i].key), &line, &column);
        assert_int_equal(line, want[i].line);
        assert_int_equal(column, want[i].column);
    }
    doc_release(&doc);
    doc_stream_release(&stream);
}

/* Nine aliases of nine aliases of ...: over a gigabyte without a limit. */
static void test_billion_laughs(void **state)
{
    (void)state;
    struct strbuf text = { 0 };
    strbuf_puts(&text, "a: &a {k: [x, x, x]}\n");
    for (char c = 'a'; c < 'o'; c++) {
        strbuf_printf(&text, "%c: &%c [", c + 1, c + 1);
        for (int i = 0; i < 9; i++)
            strbuf_printf(&text, "%s*%c", i ? ", " : "", c);
        strbuf_puts(&text, "]\n");
    }
    assert_converts(text.text, "input:6:40: aliases make the document too large");
    strbuf_clear(&text);
    strbuf_puts(&text, "b: &b {");
    for (int i = 0; i < 1000; i++)
        strbuf_printf(&text, "k%d: 1,", i);
    strbuf_puts(&text, "}\n");
    for (int i = 0; i < 1000; i++)
        strbuf_printf(&text, "m%d:\n  <<: *b\n", i);
    struct strbuf got = { 0 };
    convert(text.text, &got);
    assert_non_null(strstr(got.text, "aliases make the document too large"));
    strbuf_release(&got);
    strbuf_release(&text);
}

/* A long chain of aliases, each one level deeper. */
static void test_depth_by_alias(void **state)
{
    (void)state;
    struct strbuf text = { 0 };
    strbuf_puts(&text, "- &a0 [x]\n");
    for (int i = 1; i < DOC_DEPTH_MAX; i++)
        strbuf_printf(&text, "- &a%d [*a%d]\n", i, i - 1);
    assert_converts(text.text, "input:200:10: nested deeper than 200 levels");
    strbuf_release(&text);
}

/* libyaml alone would need minutes for this. */
static void test_many_directives(void **state)
{
    (void)state;
    struct strbuf text = { 0 };
    for (int i = 0; i < 100000; i++)
        strbuf_printf(&text, "%%TAG !a%d! x\n", i);
    strbuf_puts(&text, "--- a\n");
    assert_converts(text.text, "input:1002:1: more than 1000 directives");
    strbuf_release(&text);
}

static void test_many_keys(void **state)
{
    (void)state;
    struct strbuf text = { 0 };
    for (int i = 0; i < 100000; i++)
        strbuf_printf(&text, "k%d: v\n", i);
    struct doc_stream stream = stream_of(text.text);
    struct doc doc;
    assert_int_equal(doc_stream_next(&stream, &doc, NULL), 1);
    assert_int_equal(yyjson_obj_size(doc.root), 100000);
    doc_release(&doc);
    doc_stream_release(&stream);
    strbuf_puts(&text, "k0: v\n");
    assert_converts(text.text, "input:100001:1: the key \"k0\" is there twice, first on line 1");
    strbuf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scalars),         cmocka_unit_test(test_trees),
        cmocka_unit_test(test_errors),          cmocka_unit_test(test_places_after_merge),
        cmocka_unit_test(test_billion_laughs),  cmocka_unit_test(test_depth_by_alias),
        cmocka_unit_test(test_many_directives), cmocka_unit_test(test_many_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
