/* Paths of printer columns. */
#include "support/test.h"

#include "apiserver/json_path.h"
#include "apiserver/tree.h"

static const char object[] =
    "{\"spec\":{\"size\":\"big\",\"n\":3,\"items\":[{\"name\":\"a\"},{\"name\":\"b\",\"on\":true}]},"
    "\"metadata\":{\"labels\":{\"a.b/c\":\"dotted\"}},"
    "\"status\":{\"conditions\":[{\"type\":\"Live\",\"status\":\"False\"},{\"type\":\"Ready\",\"status\":"
    "\"True\"}]}}";

static const struct {
    const char *path, *want; /* JSON; NULL: nothing */
} cases[] = {
    { ".spec.size", "\"big\"" },
    { "$.spec.n", "3" },
    { ".spec.none", NULL },
    { ".spec.size.more", NULL },
    { ".spec.items[0].name", "\"a\"" },
    { ".spec.items[-1].name", "\"b\"" },
    { ".spec.items[2].name", NULL },
    { ".spec.items[*].name", "\"a\"" },
    { ".spec.items[*].on", "true" },
    { ".spec['size']", "\"big\"" },
    { ".metadata.labels.a\\.b/c", "\"dotted\"" },
    { ".metadata.labels['a\\.b/c']", "\"dotted\"" },
    { ".status.conditions[?(@.type==\"Ready\")].status", "\"True\"" },
    { ".status.conditions[?(@.type=='Ready')].status", "\"True\"" },
    { ".status.conditions[?(@.type!=\"Live\")].status", "\"True\"" },
    { ".spec.items[?(@.on==true)].name", "\"b\"" },
    { ".spec.items[?(@.on)].name", "\"b\"" },
    { ".status.conditions[?(@.type==\"None\")].status", NULL },
    { ".status.conditions[?(@.type", NULL },
    { ".spec.items[", NULL },
    { ".spec.items[]", NULL },
    { "spec", NULL },
    { "", NULL },
};

static void test_paths(void **state)
{
    (void)state;
    yyjson_doc *doc = yyjson_read(object, strlen(object), 0);
    assert_non_null(doc);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct strbuf text = { 0 };
        yyjson_val *val = json_path_first(yyjson_doc_get_root(doc), str_from(cases[i].path));
        if (val)
            tree_write(val, &text);
        if (!str_is(strbuf_slice(&text), cases[i].want ? cases[i].want : ""))
            fail_msg("%s: %.*s", cases[i].path, STR_ARG(strbuf_slice(&text)));
        strbuf_release(&text);
    }
    yyjson_doc_free(doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_paths) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
