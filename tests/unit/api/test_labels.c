/* Selectors match as in Kubernetes, and invalid ones give its errors. */
#include "unit/api/decoded.h"

#include "api/labels.h"

/* One pod per case: its labels are matched, its affinity has the selector. */
#define POD_WITH(labels, affinity) \
    "{apiVersion: v1, kind: Pod, metadata: {name: n1, labels: " labels "}, spec: {affinity: " affinity "}}"
#define LABEL_CASE(labels, selector) \
    POD_WITH(labels, \
             "{podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: " selector \
             "}]}}")
#define NODE_CASE(labels, terms) \
    POD_WITH(labels, \
             "{nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: " terms \
             "}}}")

static const struct match_case {
    const char *text;
    bool matches;
    const char *problem; /* NULL: none */
} label_cases[] = {
    { LABEL_CASE("{a: x}", "null"), false, NULL },
    { LABEL_CASE("{a: x}", "{}"), true, NULL },
    { LABEL_CASE("{}", "{}"), true, NULL },
    { LABEL_CASE("{a: x, b: z}", "{matchLabels: {a: x, b: z}}"), true, NULL },
    { LABEL_CASE("{a: x}", "{matchLabels: {a: x, b: z}}"), false, NULL },
    { LABEL_CASE("{a: ''}", "{matchLabels: {a: ''}}"), true, NULL },
    { LABEL_CASE("{}", "{matchLabels: {a: ''}}"), false, NULL },
    { LABEL_CASE("{a: x}", "{matchExpressions: [{key: a, operator: In, values: [z, x]}]}"), true, NULL },
    { LABEL_CASE("{}", "{matchExpressions: [{key: a, operator: In, values: [x]}]}"), false, NULL },
    { LABEL_CASE("{a: x}", "{matchExpressions: [{key: a, operator: NotIn, values: [x]}]}"), false, NULL },
    { LABEL_CASE("{}", "{matchExpressions: [{key: a, operator: NotIn, values: [x]}]}"), true, NULL },
    { LABEL_CASE("{a: x}", "{matchExpressions: [{key: a, operator: Exists}]}"), true, NULL },
    { LABEL_CASE("{a: x}", "{matchExpressions: [{key: a, operator: DoesNotExist}]}"), false, NULL },
    { LABEL_CASE("{}", "{matchExpressions: [{key: a, operator: DoesNotExist}]}"), true, NULL },
    { LABEL_CASE("{a: x}", "{matchLabels: {a: x}, matchExpressions: [{key: b, operator: Exists}]}"), false,
      NULL },
    { LABEL_CASE("{a: '5'}", "{matchExpressions: [{key: a, operator: Gt, values: ['4']}]}"), false,
      "\"Gt\" is not a valid label selector operator" },
    { LABEL_CASE("{a: x}", "{matchExpressions: [{key: a, operator: in, values: [x]}]}"), false,
      "\"in\" is not a valid label selector operator" },
    { LABEL_CASE("{a: x}", "{matchExpressions: [{key: a, operator: In}]}"), false,
      "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty" },
    { LABEL_CASE("{a: x}", "{matchExpressions: [{key: a, operator: Exists, values: [x]}]}"), false,
      "values: Invalid value: [\"x\"]: values set must be empty for exists and does not exist" },
    { LABEL_CASE("{}", "{matchLabels: {-a: x}}"), false,
      "key: Invalid value: \"-a\": name part must consist of alphanumeric characters, '-', '_' or '.', and "
      "must start "
      "and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
      "validation "
      "is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')" },
    { LABEL_CASE("{}", "{matchLabels: {/a: x}}"), false,
      "key: Invalid value: \"/a\": prefix part must be non-empty" },
    { LABEL_CASE("{}", "{matchLabels: {a: 'b c'}}"), false,
      "values[0][a]: Invalid value: \"b c\": a valid label must be an empty string or consist of "
      "alphanumeric "
      "characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  "
      "or "
      "'my_value',  or '12345', regex used for validation is "
      "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')" },
};

static const struct match_case node_cases[] = {
    { NODE_CASE("{a: x}", "[]"), false, NULL },
    { NODE_CASE("{a: x}", "[{}]"), false, NULL },
    { NODE_CASE("{a: x}", "[{}, {matchExpressions: [{key: a, operator: Exists}]}]"), true, NULL },
    { NODE_CASE("{a: '10'}", "[{matchExpressions: [{key: a, operator: Gt, values: ['9']}]}]"), true, NULL },
    { NODE_CASE("{a: '9'}", "[{matchExpressions: [{key: a, operator: Gt, values: ['9']}]}]"), false, NULL },
    { NODE_CASE("{a: '8'}", "[{matchExpressions: [{key: a, operator: Lt, values: ['9']}]}]"), true, NULL },
    { NODE_CASE("{a: '-8'}", "[{matchExpressions: [{key: a, operator: Lt, values: ['9']}]}]"), true, NULL },
    { NODE_CASE("{a: x8}", "[{matchExpressions: [{key: a, operator: Lt, values: ['9']}]}]"), false, NULL },
    { NODE_CASE("{}", "[{matchExpressions: [{key: a, operator: Lt, values: ['9']}]}]"), false, NULL },
    { NODE_CASE("{}", "[{matchFields: [{key: metadata.name, operator: In, values: [n1]}]}]"), true, NULL },
    { NODE_CASE("{}", "[{matchFields: [{key: metadata.name, operator: In, values: [n2]}]}]"), false, NULL },
    { NODE_CASE("{}", "[{matchFields: [{key: metadata.name, operator: NotIn, values: [n2]}]}]"), true, NULL },
    { NODE_CASE("{}", "[{matchFields: [{key: spec.x, operator: In, values: ['']}]}]"), true, NULL },
    { NODE_CASE("{}", "[{matchExpressions: [{key: a, operator: Exists}],"
                      " matchFields: [{key: metadata.name, operator: In, values: [n1]}]}]"),
      false, NULL },
    /* A term that cannot be parsed matches nothing; the others still count. */
    { NODE_CASE(
          "{a: x}",
          "[{matchExpressions: [{key: a, operator: Is}]}, {matchExpressions: [{key: a, operator: Exists}]}]"),
      true,
      "nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: \"Is\": supported values: "
      "\"In\", "
      "\"NotIn\", \"Exists\", \"DoesNotExist\", \"Gt\", \"Lt\"" },
    { NODE_CASE("{a: '1'}", "[{matchExpressions: [{key: a, operator: Gt, values: [x]}]}]"), false,
      "nodeSelectorTerms[0].matchExpressions[0].values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, "
      "the value "
      "must be an integer" },
    { NODE_CASE("{a: '1'}", "[{matchExpressions: [{key: a, operator: Gt, values: ['1', '2']}]}]"), false,
      "nodeSelectorTerms[0].matchExpressions[0].values: Invalid value: [\"1\",\"2\"]: for 'Gt', 'Lt' "
      "operators, exactly "
      "one value is required" },
    { NODE_CASE("{}", "[{matchFields: [{key: metadata.name, operator: In, values: [n1, n2]}]}]"), false,
      "nodeSelectorTerms[0].matchFields[0].values: Invalid value: [\"n1\",\"n2\"]: must have one element" },
    { NODE_CASE("{}", "[{matchFields: [{key: metadata.name, operator: Exists}]}]"), false,
      "nodeSelectorTerms[0].matchFields[0].operator: Unsupported value: \"Exists\": supported values: "
      "\"In\", \"NotIn\"" },
    { NODE_CASE("{}", "[{matchExpressions: [{key: a, operator: In}]}, {matchFields: [{key: metadata.name, "
                      "operator: ''}]}]"),
      false,
      "[nodeSelectorTerms[0].matchExpressions[0].values: Invalid value: null: for 'in', 'notin' operators, "
      "values set "
      "can't be empty, nodeSelectorTerms[1].matchFields[0].operator: Unsupported value: \"\": supported "
      "values: \"In\", "
      "\"NotIn\"]" },
};

static void check(const struct match_case *want, bool matches, int r, const struct error *err)
{
    if (matches != want->matches)
        fail_msg("%s: got %s", want->text, matches ? "a match" : "no match");
    assert_int_equal(r, want->problem ? -EINVAL : 0);
    if (want->problem)
        assert_string_equal(err->text, want->problem);
}

static void test_label_selectors(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(label_cases); i++) {
        struct decoded decoded;
        const struct pod *pod = decode_pod(&decoded, label_cases[i].text);
        const struct label_selector *sel = pod->spec.affinity->pod->required.items[0].selector;
        struct error err;
        int r = label_selector_check(sel, &err);
        assert_int_equal(sel && sel->invalid, r < 0);
        check(&label_cases[i], label_selector_matches(sel, &pod->meta.labels), r, &err);
        decoded_release(&decoded);
    }
}

static void test_node_selectors(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(node_cases); i++) {
        struct decoded decoded;
        const struct pod *pod = decode_pod(&decoded, node_cases[i].text);
        const struct node_selector *sel = pod->spec.affinity->node->required;
        struct error err;
        int r = node_selector_check(sel, &err);
        check(&node_cases[i], node_selector_matches(sel, pod->meta.name, &pod->meta.labels), r, &err);
        decoded_release(&decoded);
    }
    assert_false(node_selector_matches(NULL, STR("n1"), &(struct str_map){ 0 }));
    assert_int_equal(node_selector_check(NULL, NULL), 0);
}

static void test_preferred_terms(void **state)
{
    (void)state;
    struct decoded decoded;
    const struct pod *pod = decode_pod(
        &decoded,
        POD_WITH("{}", "{nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: ["
                       "{weight: 0, preference: {matchExpressions: [{key: a, operator: Is}]}},"
                       "{weight: 1, preference: {matchExpressions: [{key: '', operator: Exists}]}}]}}"));
    struct preferred_node_term *terms = pod->spec.affinity->node->preferred.items;
    struct error err;
    assert_int_equal(preferred_node_terms_check(terms, 1, &err), 0);
    assert_int_equal(preferred_node_terms_check(terms, 2, &err), -EINVAL);
    assert_true(str_starts_with(str_from(err.text),
                                STR("[1].matchExpressions[0].key: Invalid value: \"\": name part must "
                                    "be non-empty; name part must consist of ")));
    decoded_release(&decoded);
}

/* A selector with a million problems costs a bounded text. */
static void test_many_problems(void **state)
{
    (void)state;
    enum { COUNT = 100000 };
    struct str *values = xcalloc(COUNT, sizeof(*values));
    for (size_t i = 0; i < COUNT; i++)
        values[i] = i % 2 ? STR("bad value") : STR("\n\"\\\x7f<");
    struct selector_requirement req = { STR("a"), STR("In"), OP_IN, { values, COUNT } };
    struct node_selector_term term = { .match_expressions = { &req, 1 } };
    struct error err;
    assert_int_equal(node_selector_term_check(&term, &err), -EINVAL);
    assert_null(strchr(err.text, '\n'));
    free(values);
}

static void test_maps(void **state)
{
    (void)state;
    struct pair pairs[] = {
        { STR("a"), STR("1") }, { STR("b"), STR("") }, { STR("bb"), STR("3") }, { STR("c"), STR("4") }
    };
    struct str_map map = { pairs, ARRAY_SIZE(pairs) };
    for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
        assert_ptr_equal(str_map_get(&map, pairs[i].key), &pairs[i].value);
    assert_null(str_map_get(&map, STR("")));
    assert_null(str_map_get(&map, STR("d")));
    assert_null(str_map_get(&(struct str_map){ 0 }, STR("a")));
    struct str_map some = { pairs + 1, 2 }, none = { 0 };
    assert_true(str_map_contains_all(&map, &some));
    assert_true(str_map_contains_all(&map, &none));
    assert_false(str_map_contains_all(&some, &map));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_label_selectors),
        cmocka_unit_test(test_node_selectors),
        cmocka_unit_test(test_preferred_terms),
        cmocka_unit_test(test_many_problems),
        cmocka_unit_test(test_maps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
