/* Answers of a Prometheus, and what is none: series and points that can be read, sentences for the rest. */
#include "sync/prometheus_answer.h"

#include "support/test.h"

#define DATA(type, result) \
    "{\"status\":\"success\",\"data\":{\"resultType\":\"" type "\",\"result\":" result "}}"
#define SERIES(value) "{\"metric\":{\"node\":\"a\"},\"value\":" value "}"

static int init(struct prometheus_answer *answer, enum prometheus_type type, int status, const char *kind,
                const char *text, struct error *err)
{
    struct strbuf body = { 0 };
    strbuf_puts(&body, text);
    struct http_response response = {
        .outcome = HTTP_ANSWERED, .status = status, .content_type = str_from(kind), .body = &body
    };
    int r = prometheus_answer_init(answer, type, &response, err);
    strbuf_release(&body);
    return r;
}

/* ---- numbers ---- */
static const struct {
    const char *point;
    double value; /* negative: it cannot be read */
    int64_t at_ns;
} points[] = {
    { "[1700000000.5,\"0.25\"]", 0.25, 1700000000500000000 },
    { "[1700000000,\"1e+06\"]", 1e6, 1700000000000000000 },
    { "[1700000000.781,\"0\"]", 0, 1700000000781000000 },
    { "[1700000000,\"+Inf\"]", __builtin_inf(), 1700000000000000000 },
    { "[1700000000,\"\"]", -1, 0 },
    { "[1700000000,\" 1\"]", -1, 0 },
    { "[1700000000,\"1x\"]", -1, 0 },
    { "[1700000000,\"one\"]", -1, 0 },
    { "[1700000000,1]", -1, 0 },
    { "[1700000000]", -1, 0 },
    { "[]", -1, 0 },
    { "[\"1700000000\",\"1\"]", -1, 0 },
    { "[-5,\"1\"]", -1, 0 },
    { "[1e300,\"1\"]", -1, 0 },
    { "[1700000000,\"1111111111111111111111111111111111111111111111111111111111111111111\"]", -1, 0 },
};

static void test_points(void **state _unused_)
{
    for (size_t i = 0; i < ARRAY_SIZE(points); i++) {
        char text[400];
        struct prometheus_answer answer;
        struct prometheus_series series;
        struct prometheus_point point = { 0 };
        struct error err = { 0 };
        snprintf(text, sizeof(text), DATA("vector", "[" SERIES("%s") "]"), points[i].point);
        assert_int_equal(init(&answer, PROMETHEUS_VECTOR, 200, "application/json", text, &err), 0);
        assert_true(prometheus_answer_next(&answer, &series));
        assert_str(prometheus_label(&series, "node"), "a");
        assert_int_equal(prometheus_label(&series, "instance").len, 0);
        bool is_there = prometheus_series_next(&series, &point);
        if (is_there != (points[i].value >= 0) ||
            (is_there && (point.value != points[i].value || point.at_ns != points[i].at_ns)))
            fail_msg("%s: got %g at %lld", points[i].point, point.value, (long long)point.at_ns);
        assert_false(prometheus_series_next(&series, &point));
        assert_false(prometheus_answer_next(&answer, &series));
        prometheus_answer_release(&answer);
    }
}

static void test_matrix(void **state _unused_)
{
    struct prometheus_answer answer;
    struct prometheus_series series;
    struct prometheus_point point;
    struct error err = { 0 };
    assert_int_equal(
        init(&answer, PROMETHEUS_MATRIX, 200, "application/json; charset=utf-8",
             DATA("matrix", "[5,{\"metric\":{\"node\":\"a\"},\"histograms\":[]},{\"metric\":{\"node\":"
                            "\"b\"},\"values\":[[1,\"2\"],7,[3,\"x\"],[5,\"6\"]]}]"),
             &err),
        0);
    assert_true(prometheus_answer_next(&answer, &series)); /* what is no series is passed over */
    assert_str(prometheus_label(&series, "node"), "b");
    assert_true(prometheus_series_next(&series, &point));
    assert_true(point.value == 2 && point.at_ns == 1000000000);
    assert_true(prometheus_series_next(&series, &point));
    assert_true(point.value == 6);
    assert_false(prometheus_series_next(&series, &point));
    assert_false(prometheus_answer_next(&answer, &series));
    prometheus_answer_release(&answer);
}

/* ---- no answer ---- */
static const struct {
    int status;
    const char *kind, *text, *sentence;
} failures[] = {
    { 200, "text/html", "<html></html>", "expected the JSON of a Prometheus" },
    { 200, "application/json", "", "the answer is empty" },
    { 200, "application/json", "{\"status\":\"succ", "answer:" },
    { 200, "application/json", "[]", "status 200" },
    { 200, "application/json", "{}", "status 200" },
    { 200, "application/json", "{\"status\":\"success\"}", "expected the JSON of a Prometheus" },
    { 200, "application/json", DATA("scalar", "[1,\"2\"]"), "gives a vector, got a scalar" },
    { 200, "application/json", DATA("matrix", "[]"), "gives a vector, got a matrix" },
    { 200, "application/json", DATA("vector", "{}"), "gives a vector" },
    { 200, "application/json", "{\"status\":\"error\",\"errorType\":\"timeout\",\"error\":\"slow\\nquery\"}",
      "refuses the query: timeout: slow?query" },
    { 400, "application/json", "{\"status\":\"error\",\"errorType\":\"bad_data\",\"error\":\"no\"}",
      "refuses the query: bad_data: no" },
    { 400, "application/json", "{", "status 400" },
    { 502, "text/html", "<html></html>", "status 502" },
    { 403, "text/plain", "no", "status 403: the token is not accepted" },
};

static void test_failures(void **state _unused_)
{
    for (size_t i = 0; i < ARRAY_SIZE(failures); i++) {
        struct prometheus_answer answer;
        struct error err = { 0 };
        int r =
            init(&answer, PROMETHEUS_VECTOR, failures[i].status, failures[i].kind, failures[i].text, &err);
        if (r >= 0 || !strstr(err.text, failures[i].sentence))
            fail_msg("%s: got %d, \"%s\"", failures[i].text, r, err.text);
        prometheus_answer_release(&answer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_points), cmocka_unit_test(test_matrix),
                                        cmocka_unit_test(test_failures) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
