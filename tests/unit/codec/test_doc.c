/* Streams of JSON and YAML: the documents, the places of their values, and the error for hostile or broken input. */
#include "support/test.h"

#include <unistd.h>

#include "codec/doc.h"

/* A stream over a copy of these bytes. */
static struct doc_stream stream_of(const char *bytes, size_t len)
{
    char *text = calloc(1, len + YYJSON_PADDING_SIZE);
    assert_non_null(text);
    if (len)
        memcpy(text, bytes, len);
    struct doc_stream stream;
    doc_stream_init(&stream, "input", text, len);
    return stream;
}

static struct doc next_doc(struct doc_stream *stream)
{
    struct doc doc = { 0 };
    struct error err = { 0 };
    if (doc_stream_next(stream, &doc, &err) != 1)
        fail_msg("expected a document: %s", err.text);
    return doc;
}

/* The number of documents before the end (ret_error empty) or the error. */
static size_t drain(struct doc_stream *stream, struct error *ret_error)
{
    struct doc doc;
    size_t count = 0;
    int r;
    *ret_error = (struct error){ 0 };
    while ((r = doc_stream_next(stream, &doc, ret_error)) > 0) {
        assert_non_null(doc.root);
        doc_release(&doc);
        count++;
    }
    if (r < 0)
        assert_int_equal(doc_stream_next(stream, &doc, NULL), 0); /* nothing follows an error */
    return count;
}

#define BYTES(literal) (literal), sizeof(literal) - 1

static const struct count_case {
    const char *text;
    size_t len;
    size_t docs;
    bool yaml;
} count_cases[] = {
    { BYTES(""), 0, true },
    { BYTES(" \n\t\r\n"), 0, true },
    { BYTES("# only words\n"), 0, true },
    { BYTES("{}"), 1, false },
    { BYTES("[]"), 1, false },
    { BYTES("{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n"), 3, false },
    { BYTES("{}{}[][1]"), 4, false },
    { BYTES("{}\n---\n{}\n--- \n[]\n---"), 3, false },
    { BYTES("# a comment\n\n  # another\n{\"a\": 1} # behind\n"), 1, false },
    { BYTES("\xef\xbb\xbf{\"a\": 1}"), 1, false },
    { BYTES("\xef\xbb\xbf"
            "a: 1"),
      1, true },
    { BYTES("{a: b}"), 1, true },
    { BYTES("[a, b]"), 1, true },
    { BYTES("a: 1\n---\nb: 2\n---\nc: 3\n"), 3, true },
    { BYTES("---\n---\n# nothing\n---\na: 1\n---\n"), 1, true },
    { BYTES("null\n---\n~\n---\nword\n"), 1, true },
    { BYTES("---\n{\"a\": 1}\n---\n{\"b\": 2}\n"), 2, true },
};

static void test_counts(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(count_cases); i++) {
        const struct count_case *c = &count_cases[i];
        struct doc_stream stream = stream_of(c->text, c->len);
        struct error err;
        size_t docs = drain(&stream, &err);
        if (docs != c->docs || stream.yaml != c->yaml || err.text[0])
            fail_msg("%s: %zu documents, yaml %d, error '%s'", c->text, docs, stream.yaml, err.text);
        doc_stream_release(&stream);
    }
}

static const struct error_case {
    const char *text;
    size_t len;
    const char *want;
} error_cases[] = {
    { BYTES("{\"a\": {\n\"b\": [1, 2"), "input:2:11: unexpected end of data" },
    { BYTES("{\"a\": \"b"), "input:1:9: unexpected end of data" },
    { BYTES("{\"a\":\n  x}"), "input:2:3: unexpected character, expected a valid JSON value" },
    { BYTES("\xef\xbb\xbf{\"a\": x}"), "input:1:7: unexpected character, expected a valid JSON value" },
    { BYTES("{\"a\": 1,}"), "input:1:8: trailing comma is not allowed" },
    { BYTES("{\"a\": \"1\\n2\\n3\",\n \"b\": ?}"),
      "input:2:7: unexpected character, expected a valid JSON value" },
    { BYTES("{\"a\": \"1\\n2\\n3\"}\n{?}"),
      "input:2:2: unexpected character, expected a string for object key" },
    { BYTES("{}\n{}\nfoo"), "input:3:1: expected an object or a list" },
    { BYTES("{} 5"), "input:1:4: expected an object or a list" },
    { BYTES("{\"a\": 1\0}"), "input:1:8: unexpected character, expected a comma or a closing brace" },
    { BYTES("{\"a\": \"b\0c\"}"), "input:1:9: unexpected control character in string" },
    { BYTES("{}\0"), "input:1:3: expected an object or a list" },
    { BYTES("{\n\"a\": \"\xff\"}"), "input:2:7: invalid UTF-8 encoding in string" },
    { BYTES("\xff\xfe{\0}\0"),
      "input:1:1: the text is UTF-16 or UTF-32, expected UTF-8; `iconv -f UTF-16 -t UTF-8` converts it" },
    { BYTES("\xfe\xff\0{\0}"),
      "input:1:1: the text is UTF-16 or UTF-32, expected UTF-8; `iconv -f UTF-16 -t UTF-8` converts it" },
    { BYTES("a: b\0c"), "input:1:5: control characters are not allowed" },
    { BYTES("a:\n  b: \xff"), "input:2:6: invalid leading UTF-8 octet" },
    { BYTES("a:\n  b: 1\n c: 2\n"),
      "input:3:2: did not find expected key while parsing a block mapping that begins on line 1" },
    { BYTES("a: \"b\n"),
      "input:2:1: found unexpected end of stream while scanning a quoted scalar that begins on line 1" },
};

static void test_errors(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(error_cases); i++) {
        struct doc_stream stream = stream_of(error_cases[i].text, error_cases[i].len);
        struct error err;
        drain(&stream, &err);
        assert_string_equal(err.text, error_cases[i].want);
        doc_stream_release(&stream);
    }
}

/* Adds one text `count` times. */
static void repeat(struct strbuf *out, const char *text, size_t count)
{
    for (size_t i = 0; i < count; i++)
        strbuf_puts(out, text);
}

static void test_depth(void **state)
{
    (void)state;
    static const struct {
        const char *open, *inside, *close;
        size_t count;
        const char *want; /* "": no error */
    } cases[] = {
        { "[", "", "]", DOC_DEPTH_MAX, "" },
        { "[", "", "]", DOC_DEPTH_MAX + 1, "input:1:1: nested deeper than 200 levels" },
        { "[{\"a\":\n", "0", "}]", DOC_DEPTH_MAX / 2, "" },
        { "[{\"a\":\n", "0", "}]", DOC_DEPTH_MAX / 2 + 1, "input:100:3: nested deeper than 200 levels" },
        { "[", "", "", 100000, "input:1:100001: unexpected end of data" },
        { "- ", "", "", DOC_DEPTH_MAX, "" },
        { "- ", "", "", DOC_DEPTH_MAX + 1, "input:1:401: nested deeper than 200 levels" },
        { "[a,", "", "]", DOC_DEPTH_MAX, "" },
        { "[a,", "", "]", DOC_DEPTH_MAX + 1, "input:1:601: nested deeper than 200 levels" },
        { "[a,", "", "", 100000, "input:1:601: nested deeper than 200 levels" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct strbuf text = { 0 };
        repeat(&text, cases[i].open, cases[i].count);
        strbuf_puts(&text, cases[i].inside);
        repeat(&text, cases[i].close, cases[i].count);
        struct doc_stream stream = stream_of(text.text, text.len);
        struct error err;
        assert_int_equal(drain(&stream, &err), !cases[i].want[0]);
        assert_string_equal(err.text, cases[i].want);
        doc_stream_release(&stream);
        strbuf_release(&text);
    }
}

/* Siblings do not add up to depth. */
static void test_depth_of_siblings(void **state)
{
    (void)state;
    struct strbuf text = { 0 };
    strbuf_puts(&text, "[");
    repeat(&text, "[{}],", 1000);
    strbuf_puts(&text, "[]]");
    struct doc_stream stream = stream_of(text.text, text.len);
    struct error err;
    assert_int_equal(drain(&stream, &err), 1);
    assert_string_equal(err.text, "");
    doc_stream_release(&stream);
    strbuf_release(&text);
}

static void assert_where(const struct doc *doc, const yyjson_val *val, size_t line, size_t column)
{
    size_t at_line, at_column;
    doc_where(doc, val, &at_line, &at_column);
    assert_int_equal(at_line, line);
    assert_int_equal(at_column, column);
}

static void test_where_json(void **state)
{
    (void)state;
    struct doc_stream stream = stream_of(BYTES("# comment\n"
                                               "{\"esc\": \"\\u00e9\\n\\\"\", \"x\": \"y\",\n"
                                               "  \"n\": 5,\n"
                                               "  \"list\": [1,\n"
                                               "    \"two\", {\"three\": null}]}\n"
                                               "\n [7]"));
    struct doc doc = next_doc(&stream);
    assert_true(doc_strings_stay(&doc));
    assert_where(&doc, doc.root, 2, 1);
    assert_where(&doc, NULL, 2, 1);
    assert_where(&doc, yyjson_obj_get(doc.root, "esc"), 2, 9);
    assert_where(&doc, yyjson_obj_get(doc.root, "x"), 2, 28);
    assert_where(&doc, yyjson_obj_get(doc.root, "n"), 3, 3); /* the place of its key */
    yyjson_val *list = yyjson_obj_get(doc.root, "list");
    assert_where(&doc, list, 4, 3);
    assert_where(&doc, yyjson_arr_get(list, 0), 4, 3);
    assert_where(&doc, yyjson_arr_get(list, 1), 5, 5);
    assert_where(&doc, yyjson_obj_get(yyjson_arr_get(list, 2), "three"), 5, 13);
    struct error err;
    assert_int_equal(doc_error(&doc, list, -EINVAL, &err, "expected %s", "more"), -EINVAL);
    assert_string_equal(err.text, "input:4:3: expected more");
    const char *stays = yyjson_get_str(yyjson_obj_get(doc.root, "x"));
    doc_release(&doc);
    assert_string_equal(stays, "y");

    doc = next_doc(&stream); /* a value without a string before it: the beginning of its document */
    assert_where(&doc, yyjson_arr_get_first(doc.root), 7, 2);
    doc_release(&doc);
    doc_stream_release(&stream);
}

static void test_where_yaml(void **state)
{
    (void)state;
    struct doc_stream stream = stream_of(BYTES("a: 1\n"
                                               "---\n"
                                               "# comment\n"
                                               "first: {k: v}\n"
                                               "list:\n"
                                               "- 1\n"
                                               "-   two\n"));
    struct doc doc = next_doc(&stream);
    doc_release(&doc);
    doc = next_doc(&stream);
    assert_false(doc_strings_stay(&doc));
    assert_where(&doc, doc.root, 4, 1);
    assert_where(&doc, NULL, 4, 1);
    assert_where(&doc, yyjson_obj_get(doc.root, "first"), 4, 8);
    assert_where(&doc, yyjson_obj_get(yyjson_obj_get(doc.root, "first"), "k"), 4, 12);
    yyjson_val *list = yyjson_obj_get(doc.root, "list");
    assert_where(&doc, list, 6, 1);
    assert_where(&doc, yyjson_arr_get(list, 0), 6, 3);
    assert_where(&doc, yyjson_arr_get(list, 1), 7, 5);
    doc_release(&doc);
    doc_stream_release(&stream);
}

static void test_numbers_of_any_size(void **state)
{
    (void)state;
    struct strbuf text = { 0 };
    strbuf_puts(&text, "{\"huge\": ");
    repeat(&text, "123456789", 10000);
    strbuf_puts(&text, "\n, \"far\": 1e999, \"u\": 18446744073709551615, \"next\": \"x\"}");
    struct doc_stream stream = stream_of(text.text, text.len);
    struct doc doc = next_doc(&stream);
    yyjson_val *huge = yyjson_obj_get(doc.root, "huge");
    assert_true(yyjson_is_raw(huge));
    assert_int_equal(yyjson_get_len(huge), 90000);
    assert_memory_equal(yyjson_get_raw(huge), text.text + strlen("{\"huge\": "), 90000);
    assert_string_equal(yyjson_get_raw(yyjson_obj_get(doc.root, "far")), "1e999");
    assert_true(yyjson_get_uint(yyjson_obj_get(doc.root, "u")) == UINT64_MAX);
    assert_string_equal(yyjson_get_str(yyjson_obj_get(doc.root, "next")), "x");
    assert_where(&doc, huge, 1, 10);
    assert_where(&doc, yyjson_obj_get(doc.root, "far"), 2, 10);
    doc_release(&doc);
    doc_stream_release(&stream);
    strbuf_release(&text);
}

/* In the second chunk that libyaml reads, lines are still counted from the first. */
static void test_error_far_into_yaml(void **state)
{
    (void)state;
    struct strbuf text = { 0 };
    repeat(&text, "- some words that fill the buffer\n", 100000);
    strbuf_puts(&text, "- \xff\n");
    struct doc_stream stream = stream_of(text.text, text.len);
    struct error err;
    drain(&stream, &err);
    assert_string_equal(err.text, "input:100001:3: invalid leading UTF-8 octet");
    doc_stream_release(&stream);
    strbuf_release(&text);
}

static void test_type_names(void **state)
{
    (void)state;
    static const char *const want[] = { "string",  "number", "number", "number",
                                        "boolean", "null",   "list",   "object" };
    struct doc_stream stream = stream_of(BYTES("[\"\", 1, -1.5, 1e999, true, null, [], {}]"));
    struct doc doc = next_doc(&stream);
    size_t i, count;
    yyjson_val *val;
    assert_int_equal(yyjson_arr_size(doc.root), ARRAY_SIZE(want));
    yyjson_arr_foreach(doc.root, i, count, val)
        assert_string_equal(doc_type_name(val), want[i]);
    doc_release(&doc);
    doc_stream_release(&stream);
}

static void test_open(void **state)
{
    (void)state;
    struct doc_stream stream = { 0 };
    struct error err;
    assert_int_equal(doc_stream_open(&stream, "/nonexistent/pods.yaml", &err), -ENOENT);
    assert_string_equal(err.text, "/nonexistent/pods.yaml: cannot be opened: No such file or directory");
    assert_int_equal(doc_stream_open(&stream, "/", &err), -EISDIR);
    assert_string_equal(err.text, "/: is a folder, expected a file");

    char path[] = "/tmp/test_doc_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    struct strbuf lines = { 0 };
    repeat(&lines, "{\"a\":1}\n", 50000);
    assert_int_equal(write(fd, lines.text, lines.len), lines.len);
    close(fd);
    assert_int_equal(doc_stream_open(&stream, path, &err), 0);
    assert_int_equal(drain(&stream, &err), 50000);
    assert_string_equal(err.text, "");
    doc_stream_release(&stream);
    unlink(path);
    strbuf_release(&lines);
}

static void test_open_standard_input(void **state)
{
    (void)state;
    int ends[2], saved = dup(STDIN_FILENO);
    static const char text[] = "a: 1\nb: [";
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], text, sizeof(text) - 1), sizeof(text) - 1);
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    struct doc_stream stream = { 0 };
    struct error err;
    assert_int_equal(doc_stream_open(&stream, "-", &err), 0);
    drain(&stream, &err);
    assert_ptr_equal(strstr(err.text, "standard input:3:1: "), err.text);
    doc_stream_release(&stream);
    dup2(saved, STDIN_FILENO);
    close(saved);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_depth_of_siblings),
        cmocka_unit_test(test_where_json),
        cmocka_unit_test(test_where_yaml),
        cmocka_unit_test(test_numbers_of_any_size),
        cmocka_unit_test(test_error_far_into_yaml),
        cmocka_unit_test(test_type_names),
        cmocka_unit_test(test_open),
        cmocka_unit_test(test_open_standard_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
