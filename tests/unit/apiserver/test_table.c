/* Cells of tables, as kubectl shows them. */
#include "support/test.h"

#include "apiserver/table.h"
#include "apiserver/table_cells.h"

static const struct {
    const char *group, *plural, *object, *cells;
} cases[] = {
    { "", "pods",
      "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"containers\":[{},{}],\"nodeName\":\"n\"},\"status\":{"
      "\"phase\":"
      "\"Running\",\"podIPs\":[{\"ip\":\"10.0.0.1\"}],\"containerStatuses\":[{\"ready\":true,"
      "\"restartCount\":2,"
      "\"state\":{\"running\":{}}},{\"state\":{\"waiting\":{\"reason\":\"CrashLoopBackOff\"}}}]}}",
      "[\"a\",\"1/2\",\"CrashLoopBackOff\",\"2\",\"<unknown>\",\"10.0.0.1\",\"n\",\"<none>\",\"<none>\"]" },
    { "", "pods",
      "{\"metadata\":{\"name\":\"a\",\"deletionTimestamp\":\"x\"},\"spec\":{\"containers\":[{}]},\"status\":{"
      "\"phase\":"
      "\"Pending\"}}",
      "[\"a\",\"0/1\",\"Terminating\",\"0\",\"<unknown>\",\"<none>\",\"<none>\",\"<none>\",\"<none>\"]" },
    { "", "nodes",
      "{\"metadata\":{\"name\":\"n\",\"labels\":{\"node-role.kubernetes.io/"
      "b\":\"\",\"node-role.kubernetes.io/a\":\"\"}},"
      "\"spec\":{\"unschedulable\":true},\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}"
      "]}}",
      "[\"n\",\"Ready,SchedulingDisabled\",\"a,b\",\"<unknown>\",\"\",\"<none>\",\"<none>\",\"<unknown>\",\"<"
      "unknown>\","
      "\"<unknown>\"]" },
    { "apps", "deployments",
      "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"replicas\":3},\"status\":{\"readyReplicas\":1}}",
      "[\"d\",\"1/3\",\"0\",\"0\",\"<unknown>\",\"\",\"\",\"<none>\"]" },
    { "scheduling.k8s.io", "priorityclasses", "{\"metadata\":{\"name\":\"p\"},\"value\":7}",
      "[\"p\",7,false,\"<unknown>\",\"\"]" },
    { "", "pods", "{}",
      "[\"\",\"0/0\",\"\",\"0\",\"<unknown>\",\"<none>\",\"<none>\",\"<none>\",\"<none>\"]" },
};

static void test_cells(void **state _unused_)
{
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(strbuf_release) struct strbuf out = { 0 };
        yyjson_doc *doc = yyjson_read(cases[i].object, strlen(cases[i].object), 0);
        table_write_cells(resource_named(cases[i].group, cases[i].plural), yyjson_doc_get_root(doc), &out);
        assert_string_equal(out.text, cases[i].cells);
        yyjson_doc_free(doc);
    }
}

/* Whatever a client stored, cells are JSON. */
static void test_odd_objects(void **state _unused_)
{
    static const char *const odd[] = {
        "{}", "[]", "null", "{\"metadata\":3,\"spec\":[],\"status\":\"x\"}",
        "{\"status\":{\"conditions\":{},\"containerStatuses\":[3,null]},\"subsets\":[1]}"
    };
    for (uint32_t i = 0; i < resources_max(); i++)
        for (size_t j = 0; resource_at(i) && j < ARRAY_SIZE(odd); j++) {
            _cleanup_(strbuf_release) struct strbuf cells = { 0 }, columns = { 0 };
            yyjson_doc *doc = yyjson_read(odd[j], strlen(odd[j]), 0);
            table_write_cells(resource_at(i), yyjson_doc_get_root(doc), &cells);
            table_write_columns(resource_at(i), &columns);
            yyjson_doc *a = yyjson_read(cells.text, cells.len, 0),
                       *b = yyjson_read(columns.text, columns.len, 0);
            assert_true(a && b);
            assert_int_equal(yyjson_arr_size(yyjson_doc_get_root(a)),
                             yyjson_arr_size(yyjson_doc_get_root(b)));
            yyjson_doc_free(a);
            yyjson_doc_free(b);
            yyjson_doc_free(doc);
        }
}

static void test_durations(void **state _unused_)
{
    static const struct {
        int64_t s;
        const char *text;
    } durations[] = { { -5, "<invalid>" },
                      { 0, "0s" },
                      { 119, "119s" },
                      { 120, "2m" },
                      { 121, "2m1s" },
                      { 3600, "60m" },
                      { 4 * 3600 + 60, "4h1m" },
                      { 10 * 3600, "10h" },
                      { 3 * 86400 + 3600, "3d1h" },
                      { 30 * 86400, "30d" },
                      { 800 * 86400, "2y70d" } };
    for (size_t i = 0; i < ARRAY_SIZE(durations); i++) {
        _cleanup_(strbuf_release) struct strbuf out = { 0 };
        cell_write_duration(durations[i].s, &out);
        assert_string_equal(out.text, durations[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_cells), cmocka_unit_test(test_odd_objects),
                                        cmocka_unit_test(test_durations) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
