/* Which policy a pod gets. */
#include "read.h"

static const char *const policies[] = {
    POLICY("default-policy", "priorityClass: usual"),
    POLICY("blue", "priorityClass: blue"),
    POLICY("green", "priorityClass: green"),
    POLICY("m-batch", "podSelector: {matchLabels: {kind: batch}}"),
    POLICY("n-batch", "podSelector: {matchExpressions: [{key: kind, operator: Exists}]}"),
    POLICY("z-team", "namespaceSelector: {matchLabels: {team: z}}, podSelector: {matchLabels: {app: z}}"),
};

static struct policy_set *read_all(void)
{
    struct strbuf text = { 0 };
    for (size_t i = 0; i < ARRAY_SIZE(policies); i++)
        strbuf_printf(&text, "---\n%s", policies[i]);
    struct policy_set *set = must_read(text.text);
    strbuf_release(&text);
    return set;
}

static const struct {
    const char *name, *labels;
} namespaces[] = {
    { "plain", "" },
    { "labelled", "scheduling.berth.dev/policy: blue" },
    { "without", "scheduling.berth.dev/policy: ''" },
    { "team-z", "team: z" },
};

static const struct {
    const char *what, *namespace, *pod_labels, *want;
    enum policy_source by;
} cases[] = {
    { "none of it", "plain", "", "default-policy", POLICY_BY_DEFAULT },
    { "a label", "plain", "scheduling.berth.dev/policy: green", "green", POLICY_BY_POD_LABEL },
    { "before the namespace's", "labelled", "scheduling.berth.dev/policy: green", "green",
      POLICY_BY_POD_LABEL },
    { "a label of the namespace", "labelled", "", "blue", POLICY_BY_NAMESPACE_LABEL },
    { "before selectors", "labelled", "kind: batch", "blue", POLICY_BY_NAMESPACE_LABEL },
    { "an unknown name", "labelled", "scheduling.berth.dev/policy: pink", "blue", POLICY_BY_NAMESPACE_LABEL },
    { "no policy wanted", "labelled", "scheduling.berth.dev/policy: ''", NULL, 0 },
    { "a selector, the first by name", "plain", "kind: batch", "m-batch", POLICY_BY_SELECTOR },
    { "the second matches", "plain", "kind: other", "n-batch", POLICY_BY_SELECTOR },
    { "both selectors", "team-z", "app: z", "z-team", POLICY_BY_SELECTOR },
    { "one of two selectors", "plain", "app: z", "default-policy", POLICY_BY_DEFAULT },
    { "the other one", "team-z", "app: other", "default-policy", POLICY_BY_DEFAULT },
    { "a namespace without labels that are known", "missing", "app: z", "default-policy", POLICY_BY_DEFAULT },
    { "a policy for other namespaces", "plain", "scheduling.berth.dev/policy: z-team", "default-policy",
      POLICY_BY_DEFAULT },
    { "a policy for this one", "team-z", "scheduling.berth.dev/policy: z-team", "z-team",
      POLICY_BY_POD_LABEL },
    { "none for a namespace", "without", "kind: batch", NULL, 0 },
};

static void test_choice(void **state)
{
    (void)state;
    struct fixture f;
    FIXTURE_BARE(&f);
    for (size_t i = 0; i < ARRAY_SIZE(namespaces); i++)
        fixture_loadf(&f, "{kind: Namespace, metadata: {name: %s, labels: {%s}}}", namespaces[i].name,
                      namespaces[i].labels);
    struct policy_set *set = read_all();
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        enum policy_source by;
        fixture_loadf(&f, "{kind: Pod, metadata: {name: p%zu, namespace: %s, labels: {%s}}}", i,
                      cases[i].namespace, cases[i].pod_labels);
        const struct policy *found = policy_set_choose(set, &f.cluster, f.last_pod->api, &by);
        if (!cases[i].want) {
            assert_null(found);
            continue;
        }
        if (!found || !str_is(found->shown.name, cases[i].want) || by != cases[i].by)
            fail_msg("%s: want %s, got " STR_FMT, cases[i].what, cases[i].want,
                     STR_ARG(found ? found->shown.name : STR("none")));
    }
    policy_set_unref(set);
    fixture_release(&f);
}

static void test_default_with_selector(void **state)
{
    (void)state;
    struct fixture f;
    enum policy_source by;
    FIXTURE_BARE(&f);
    struct policy_set *set = must_read(POLICY("default-policy", "podSelector: {matchLabels: {a: b}}"));
    fixture_load(&f, "{kind: Pod, metadata: {name: p}}");
    assert_null(policy_set_choose(set, &f.cluster, f.last_pod->api, &by));
    policy_set_unref(set);
    fixture_release(&f);
}

static void test_equal(void **state)
{
    (void)state;
    struct policy_set *a = must_read(POLICY("p", "resourceWeights: {cpu: 1, memory: 2}")),
                      *b = must_read(POLICY("p", "resourceWeights: {memory: 2, cpu: 1}") "# the same\n"),
                      *c = must_read(POLICY("p", "resourceWeights: {memory: 2, cpu: 2}"));
    assert_true(policy_set_equal(a, b));
    assert_false(policy_set_equal(a, c));
    assert_false(policy_set_equal(a, NULL));
    assert_true(policy_set_equal(NULL, NULL));
    policy_set_unref(a);
    policy_set_unref(b);
    policy_set_unref(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_default_with_selector),
        cmocka_unit_test(test_equal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
