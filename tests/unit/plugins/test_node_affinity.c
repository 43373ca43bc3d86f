/* Node selectors, required and preferred node affinity, affinity from the configuration. */
#include "support/fixture.h"

#include "plugins/node_affinity_args.h"

extern const struct plugin plugin_node_affinity;

#define POD_REASON "node(s) didn't match Pod's node affinity/selector"
#define ENFORCED_REASON "node(s) didn't match scheduler-enforced node affinity"

static const char nodes[] = "{kind: Node, metadata: {name: a, labels: {zone: z1, cpus: '8', ssd: ''}}}\n---\n"
                            "{kind: Node, metadata: {name: b, labels: {zone: z2, cpus: '16'}}}\n---\n"
                            "{kind: Node, metadata: {name: c}}";

#define POD(spec) "{kind: Pod, metadata: {name: p}, spec: {" spec "}}"
#define REQUIRED(terms) \
    POD("affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: " \
        "[" terms "]}}}")
#define PREFERRED(terms) \
    POD("affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [" terms "]}}")

struct filter_case {
    const char *name, *pod;
    const char *want; /* of a, b, c: y fits, n does not */
};

static const struct filter_case filters[] = {
    { "no wishes", POD(""), "yyy" },
    { "selector", POD("nodeSelector: {zone: z1}"), "ynn" },
    { "selector with an empty value", POD("nodeSelector: {ssd: ''}"), "ynn" },
    { "two labels", POD("nodeSelector: {zone: z2, cpus: '8'}"), "nnn" },
    { "In", REQUIRED("{matchExpressions: [{key: zone, operator: In, values: [z1, z3]}]}"), "ynn" },
    { "NotIn holds where the label is missing",
      REQUIRED("{matchExpressions: [{key: zone, operator: NotIn, values: [z1]}]}"), "nyy" },
    { "Exists", REQUIRED("{matchExpressions: [{key: ssd, operator: Exists}]}"), "ynn" },
    { "DoesNotExist", REQUIRED("{matchExpressions: [{key: ssd, operator: DoesNotExist}]}"), "nyy" },
    { "Gt", REQUIRED("{matchExpressions: [{key: cpus, operator: Gt, values: ['8']}]}"), "nyn" },
    { "Lt", REQUIRED("{matchExpressions: [{key: cpus, operator: Lt, values: ['9']}]}"), "ynn" },
    { "expressions of a term all hold",
      REQUIRED("{matchExpressions: [{key: zone, operator: Exists}, {key: ssd, operator: DoesNotExist}]}"),
      "nyn" },
    { "terms are alternatives",
      REQUIRED(
          "{matchExpressions: [{key: ssd, operator: Exists}]}, {matchExpressions: [{key: zone, operator: In, "
          "values: [z2]}]}"),
      "yyn" },
    { "an empty term matches nothing", REQUIRED("{}"), "nnn" },
    { "no terms match nothing", REQUIRED(""), "nnn" },
    { "an unknown operator matches nothing, other terms do",
      REQUIRED(
          "{matchExpressions: [{key: zone, operator: Near, values: [z1]}]}, {matchExpressions: [{key: zone, "
          "operator: In, values: [z2]}]}"),
      "nyn" },
    { "a field", REQUIRED("{matchFields: [{key: metadata.name, operator: NotIn, values: [a]}]}"), "nyy" },
};

static void check_filter(struct fixture *f, const char *name, const char *want, const char *reason)
{
    static const char *const names[] = { "a", "b", "c" };
    for (size_t i = 0; i < 3; i++) {
        struct status status = fixture_filter(f, names[i]);
        if (status_ok(status) != (want[i] == 'y'))
            fail_msg("%s: node %s: got %s", name, names[i], status_code_name(status.code));
        if (!status_ok(status))
            assert_status(status, STATUS_UNRESOLVABLE, reason);
    }
}

static void test_filter(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
        struct fixture f;
        FIXTURE(&f, NULL, &plugin_node_affinity);
        fixture_load(&f, nodes);
        fixture_cycle(&f, filters[i].pod);
        check_filter(&f, filters[i].name, filters[i].want, POD_REASON);
        fixture_release(&f);
    }
}

struct narrow_case {
    const char *name, *pod;
    const char *want; /* node names; "*": all; "!": conflict */
};

#define FIELD(op, values) "{key: metadata.name, operator: " op ", values: [" values "]}"

static const struct narrow_case narrows[] = {
    { "no field", REQUIRED("{matchExpressions: [{key: zone, operator: Exists}]}"), "*" },
    { "one node", REQUIRED("{matchFields: [" FIELD("In", "b") "]}"), "b" },
    { "alternatives, sorted, each once",
      REQUIRED("{matchFields: [" FIELD("In", "c") "]}, {matchFields: [" FIELD(
          "In", "a") "]}, {matchFields: [" FIELD("In", "c") "]}"),
      "a c" },
    { "one alternative leaves all open",
      REQUIRED("{matchFields: [" FIELD("In", "c") "]}, {matchExpressions: [{key: ssd, operator: Exists}]}"),
      "*" },
    { "both must hold", REQUIRED("{matchFields: [" FIELD("In", "a") ", " FIELD("In", "a") "]}"), "a" },
    { "a conflict", REQUIRED("{matchFields: [" FIELD("In", "a") ", " FIELD("In", "b") "]}"), "!" },
    { "a conflict in one alternative",
      REQUIRED("{matchFields: [" FIELD("In", "a") ", " FIELD("In", "b") "]}, {matchFields: [" FIELD(
          "In", "c") "]}"),
      "c" },
    { "NotIn names no node", REQUIRED("{matchFields: [" FIELD("NotIn", "a") "]}"), "*" },
    { "nodes that are not there", REQUIRED("{matchFields: [" FIELD("In", "nowhere") "]}"), "nowhere" },
};

static void test_narrow(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(narrows); i++) {
        _cleanup_(strbuf_release) struct strbuf got = { 0 };
        struct fixture f;
        struct node_names names;
        uint64_t blamed;
        FIXTURE(&f, NULL, &plugin_node_affinity);
        fixture_load(&f, nodes);
        fixture_cycle(&f, narrows[i].pod);
        struct status status = run_pre_filter(&f.cycle, &names, &blamed);
        strbuf_puts(&got, status_ok(status) ? names.all ? "*" : "" : "!");
        for (uint32_t n = 0; status_ok(status) && n < names.len; n++)
            strbuf_printf(&got, "%s" STR_FMT, n ? " " : "", STR_ARG(names.items[n]));
        if (strcmp(got.text, narrows[i].want))
            fail_msg("%s: got %s, want %s", narrows[i].name, got.text, narrows[i].want);
        if (!status_ok(status))
            assert_status(status, STATUS_UNRESOLVABLE, "pod affinity terms conflict");
        fixture_release(&f);
    }
}

struct score_case {
    const char *name, *pod;
    int64_t want[3]; /* -1: skipped */
};

static const struct score_case scores[] = {
    { "no preference", POD(""), { -1 } },
    { "the best gets 100",
      PREFERRED("{weight: 3, preference: {matchExpressions: [{key: zone, operator: In, values: [z1]}]}}, "
                "{weight: 6, preference: {matchExpressions: [{key: zone, operator: In, values: [z2]}]}}"),
      { 50, 100, 0 } },
    { "weights add up",
      PREFERRED("{weight: 2, preference: {matchExpressions: [{key: zone, operator: Exists}]}}, "
                "{weight: 1, preference: {matchExpressions: [{key: ssd, operator: Exists}]}}"),
      { 100, 66, 0 } },
    { "weight 0 and an empty preference add nothing",
      PREFERRED("{weight: 0, preference: {matchExpressions: [{key: zone, operator: Exists}]}}, {weight: 5, "
                "preference: {}}"),
      { 0, 0, 0 } },
    { "a field", PREFERRED("{weight: 5, preference: {matchFields: [" FIELD("In", "c") "]}}"), { 0, 0, 100 } },
};

static void check_scores(struct fixture *f, const char *name, const int64_t *want)
{
    int64_t got[3];
    bool scored = fixture_scores(f, (const char *const[]){ "a", "b", "c", NULL }, got);
    if (!scored && want[0] != -1)
        fail_msg("%s: skipped", name);
    for (int i = 0; i < 3 && scored; i++)
        if (got[i] != want[i])
            fail_msg("%s: node %d: got %lld, want %lld", name, i, (long long)got[i], (long long)want[i]);
}

static void test_score(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(scores); i++) {
        struct fixture f;
        FIXTURE(&f, NULL, &plugin_node_affinity);
        fixture_load(&f, nodes);
        fixture_cycle(&f, scores[i].pod);
        check_scores(&f, scores[i].name, scores[i].want);
        fixture_release(&f);
    }
}

/* addedAffinity applies to every pod, in addition to the pod's own affinity. */
static void test_added_affinity(void **state)
{
    (void)state;
    struct selector_requirement zoned = { .key = STR("zone"), .operator= STR("Exists"), .op = OP_EXISTS };
    struct selector_requirement ssd = { .key = STR("ssd"), .operator= STR("Exists"), .op = OP_EXISTS };
    struct node_selector_term term = { .match_expressions = { &zoned, 1 } };
    struct node_selector required = { .terms = { &term, 1 } };
    struct preferred_node_term preferred = { .weight = 1,
                                             .preference = { .match_expressions = { &ssd, 1 } } };
    struct node_affinity added = { .required = &required, .preferred = { &preferred, 1 } };
    struct node_affinity_args args = { &added };
    struct fixture f;
    FIXTURE(&f, &args, &plugin_node_affinity);
    fixture_load(&f, nodes);
    fixture_cycle(&f, POD(""));
    check_filter(&f, "added", "yyn", ENFORCED_REASON);
    check_scores(&f, "added", (const int64_t[]){ 100, 0, 0 });
    fixture_cycle(
        &f,
        PREFERRED("{weight: 3, preference: {matchExpressions: [{key: zone, operator: In, values: [z2]}]}}"));
    check_scores(&f, "added and own", (const int64_t[]){ 33, 100, 0 });
    fixture_cycle(&f, POD("nodeSelector: {zone: z2}"));
    assert_status(fixture_filter(&f, "a"), STATUS_UNRESOLVABLE, POD_REASON);
    assert_status(fixture_filter(&f, "b"), STATUS_SUCCESS, "");
    assert_status(fixture_filter(&f, "c"), STATUS_UNRESOLVABLE, ENFORCED_REASON);
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filter),
        cmocka_unit_test(test_narrow),
        cmocka_unit_test(test_score),
        cmocka_unit_test(test_added_affinity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
