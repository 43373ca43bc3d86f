/* Which pods an affinity term selects: by labels, and by namespaces in every form. */
#include "support/fixture.h"

#define NAMESPACES \
    "{kind: Namespace, metadata: {name: default, labels: {team: red}}}\n---\n" \
    "{kind: Namespace, metadata: {name: blue, labels: {team: blue}}}\n---\n" \
    "{kind: Namespace, metadata: {name: bare}}\n---\n"
/* Namespace "lost" has no object. */
static const char *const spaces[] = { "default", "blue", "bare", "lost" };

struct term_case {
    const char *name, *term;
    const char *existing; /* per namespace above: y if the term of a running pod selects a pod there */
    const char *incoming; /* the same for the term of the incoming pod */
};

#define WEB "labelSelector: {matchLabels: {app: web}}"

static const struct term_case terms[] = {
    { "its own namespace", WEB, "ynnn", "ynnn" },
    { "no selector", "labelSelector: null", "nnnn", "nnnn" },
    { "an empty selector", "labelSelector: {}", "ynnn", "ynnn" },
    { "other labels", "labelSelector: {matchLabels: {app: db}}", "nnnn", "nnnn" },
    { "named namespaces", WEB ", namespaces: [blue, lost]", "nyny", "nyny" },
    { "all namespaces", WEB ", namespaceSelector: {}", "yyyy", "yyyy" },
    { "all namespaces and some named", WEB ", namespaces: [blue], namespaceSelector: {}", "yyyy", "yyyy" },
    { "namespaces by label", WEB ", namespaceSelector: {matchLabels: {team: blue}}", "nynn", "nynn" },
    { "by a label that no namespace has", WEB ", namespaceSelector: {matchLabels: {team: green}}", "nnnn",
      "nnnn" },
    { "by a label or by name", WEB ", namespaces: [bare], namespaceSelector: {matchLabels: {team: blue}}",
      "nyyn", "nyyn" },
    { "by a label that is there",
      WEB ", namespaceSelector: {matchExpressions: [{key: team, operator: Exists}]}", "yynn", "yynn" },
    /* For an incoming pod's term the namespaces are listed: there is none without an object. */
    { "by a label that is not there",
      WEB ", namespaceSelector: {matchExpressions: [{key: team, operator: DoesNotExist}]}", "nnyy", "nnyn" },
    { "by a value that is another",
      WEB ", namespaceSelector: {matchExpressions: [{key: team, operator: NotIn, values: [blue]}]}", "ynyy",
      "ynyn" },
};

static void check(const struct fixture *f, const struct term_case *test, const struct pod_term *term,
                  bool incoming)
{
    for (size_t i = 0; i < ARRAY_SIZE(spaces); i++) {
        const struct pod_info *pod = cluster_find_pod(&f->cluster, str_from(spaces[i]), STR("target"));
        bool want = (incoming ? test->incoming : test->existing)[i] == 'y';
        if (pod_term_matches(&f->cluster, term, pod->class->labels, incoming) != want)
            fail_msg("%s: a pod in %s, %s: want %d", test->name, spaces[i],
                     incoming ? "incoming" : "existing", want);
    }
}

static void test_terms(void **state)
{
    (void)state;
    struct fixture f;
    FIXTURE_BARE(&f);
    fixture_load(&f, NAMESPACES);
    for (size_t i = 0; i < ARRAY_SIZE(spaces); i++)
        fixture_loadf(&f, "{kind: Pod, metadata: {name: target, namespace: %s, labels: {app: web}}}",
                      spaces[i]);
    for (size_t i = 0; i < ARRAY_SIZE(terms); i++) {
        fixture_loadf(&f,
                      "{kind: Pod, metadata: {name: source}, spec: {affinity: {podAffinity: "
                      "{requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: t, %s}]}}}}",
                      terms[i].term);
        check(&f, &terms[i], &f.last_pod->class->affinity.items[0], false);
        check(&f, &terms[i], &f.last_pod->class->affinity.items[0], true);
    }
    fixture_release(&f);
}

/* Labels of namespaces are read when they are needed: a change takes effect at once. */
static void test_namespace_changes(void **state)
{
    (void)state;
    struct fixture f;
    FIXTURE_BARE(&f);
    fixture_load(
        &f, NAMESPACES
        "{kind: Pod, metadata: {name: target, namespace: bare, labels: {app: web}}}\n---\n"
        "{kind: Pod, metadata: {name: source}, spec: {affinity: {podAffinity: "
        "{requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: t, labelSelector: {}, "
        "namespaceSelector: {matchExpressions: [{key: team, operator: NotIn, values: [blue]}]}}]}}}}");
    const struct pod_term *term = &f.last_pod->class->affinity.items[0];
    const struct label_owner *target =
        cluster_find_pod(&f.cluster, STR("bare"), STR("target"))->class->labels;
    assert_true(pod_term_matches(&f.cluster, term, target, false));
    fixture_load(&f, "{kind: Namespace, metadata: {name: bare, labels: {team: blue}}}");
    assert_false(pod_term_matches(&f.cluster, term, target, false));
    fixture_load(&f, "{kind: Namespace, metadata: {name: bare, labels: {team: unknown}}}");
    assert_true(pod_term_matches(&f.cluster, term, target, false));
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_terms),
        cmocka_unit_test(test_namespace_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
