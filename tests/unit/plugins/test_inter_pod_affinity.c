/* InterPodAffinity: affinity and anti-affinity of the pod, and anti-affinity of existing pods. */
#include "support/fixture.h"

#include "plugins/inter_pod_affinity/args.h"

extern const struct plugin plugin_inter_pod_affinity;

#define NODE(name, zone) \
    "{kind: Node, metadata: {name: " name ", labels: {zone: " zone ", host: " name "}}}\n---\n"
/* a and b in z1, c in z2; d is in no zone. */
#define NODES \
    NODE("a", "z1") \
    NODE("b", "z1") NODE("c", "z2") "{kind: Node, metadata: {name: d, labels: {host: d}}}\n---\n"
#define REQUIRED(kind, terms) kind ": {requiredDuringSchedulingIgnoredDuringExecution: [" terms "]}"
#define PREFERRED(kind, terms) kind ": {preferredDuringSchedulingIgnoredDuringExecution: [" terms "]}"
#define NEAR(terms) REQUIRED("podAffinity", terms)
#define FAR(terms) REQUIRED("podAntiAffinity", terms)
#define TERM(key, app) "{topologyKey: " key ", labelSelector: {matchLabels: {app: " app "}}}"
#define WEIGHED(weight, key, app) "{weight: " weight ", podAffinityTerm: " TERM(key, app) "}"
#define RUNS(name, node, app, affinity) \
    "{kind: Pod, metadata: {name: " name ", labels: {app: " app "}}, spec: {nodeName: " node \
    ", affinity: {" affinity "}}}\n---\n"
#define POD(app, affinity) \
    "{kind: Pod, metadata: {name: p, labels: {app: " app "}}, spec: {affinity: {" affinity "}}}"

static const struct inter_pod_affinity_args usual = { .hard_pod_affinity_weight = 1 };

/* ---- filter ---- */
struct filter_case {
    const char *name, *running, *pod;
    const char
        *want; /* of a, b, c, d: y fits, n: affinity, x: anti-affinity, o: anti-affinity of existing pods */
};

static const struct filter_case filters[] = {
    { "no wishes", RUNS("r", "a", "db", ""), POD("web", ""), "yyyy" },
    { "near: the zone of the other", RUNS("r", "a", "db", ""), POD("web", NEAR(TERM("zone", "db"))), "yynn" },
    { "near: the very node", RUNS("r", "a", "db", ""), POD("web", NEAR(TERM("host", "db"))), "ynnn" },
    { "affinity to a pod that does not exist", RUNS("r", "a", "cache", ""),
      POD("web", NEAR(TERM("zone", "db"))), "nnnn" },
    { "near its own kind: the first may go anywhere with the key", RUNS("r", "a", "db", ""),
      POD("web", NEAR(TERM("zone", "web"))), "yyyn" },
    { "near its own kind: the second may not", RUNS("r", "c", "web", ""),
      POD("web", NEAR(TERM("zone", "web"))), "nnyn" },
    { "its own kind is where no zone is: that does not count", RUNS("r", "d", "web", ""),
      POD("web", NEAR(TERM("zone", "web"))), "yyyn" },
    { "all terms must select the same pod", RUNS("r", "a", "db", "") RUNS("s", "c", "cache", ""),
      POD("web", NEAR(TERM("zone", "db") ", " TERM("zone", "cache"))), "nnnn" },
    { "all terms, several keys", RUNS("r", "a", "db", ""),
      POD("web", NEAR(TERM("zone", "db") ", " TERM("host", "db"))), "ynnn" },
    { "far: the zone of the other", RUNS("r", "a", "db", ""), POD("web", FAR(TERM("zone", "db"))), "xxyy" },
    { "far: the very node", RUNS("r", "a", "db", ""), POD("web", FAR(TERM("host", "db"))), "xyyy" },
    { "far: each term on its own", RUNS("r", "a", "db", "") RUNS("s", "c", "cache", ""),
      POD("web", FAR(TERM("zone", "db") ", " TERM("host", "cache"))), "xxxy" },
    { "far from its own kind that is not there yet", RUNS("r", "a", "db", ""),
      POD("web", FAR(TERM("zone", "web"))), "yyyy" },
    { "others keep away", RUNS("r", "a", "db", FAR(TERM("zone", "web"))), POD("web", ""), "ooyy" },
    { "anti-affinity of an existing pod to other pods", RUNS("r", "a", "db", FAR(TERM("zone", "cache"))),
      POD("web", ""), "yyyy" },
    { "an existing pod on a node without the label", RUNS("r", "d", "db", FAR(TERM("zone", "web"))),
      POD("web", ""), "yyyy" },
    { "the first reason counts", RUNS("r", "a", "db", FAR(TERM("zone", "web"))),
      POD("web", FAR(TERM("host", "db")) ", " NEAR(TERM("zone", "db"))), "xonn" },
    { "in its own namespace only",
      "{kind: Pod, metadata: {name: r, namespace: other, labels: {app: db}}, spec: {nodeName: a}}\n---\n",
      POD("web", FAR(TERM("zone", "db"))), "yyyy" },
    { "in another namespace",
      "{kind: Pod, metadata: {name: r, namespace: other, labels: {app: db}}, spec: {nodeName: a}}\n---\n",
      POD("web", FAR("{topologyKey: zone, namespaces: [other], labelSelector: {matchLabels: {app: db}}}")),
      "xxyy" },
    { "pods on nodes that are not there do not count", RUNS("r", "ghost", "db", FAR(TERM("host", "web"))),
      POD("web", NEAR(TERM("zone", "db"))), "nnnn" },
};

static char mark_of(struct status status)
{
    static const struct {
        const char *reason;
        enum status_code code;
        char mark;
    } reasons[] = {
        { "node(s) didn't match pod affinity rules", STATUS_UNRESOLVABLE, 'n' },
        { "node(s) didn't match pod anti-affinity rules", STATUS_UNSCHEDULABLE, 'x' },
        { "node(s) didn't satisfy existing pods anti-affinity rules", STATUS_UNSCHEDULABLE, 'o' },
    };
    for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
        if (status.code == reasons[i].code && str_is(status.reasons[0], reasons[i].reason))
            return reasons[i].mark;
    return status_ok(status) ? 'y' : '?';
}

static void test_filter(void **state)
{
    (void)state;
    static const char *const names[] = { "a", "b", "c", "d" };
    for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
        struct fixture f;
        struct node_names narrow;
        uint64_t blamed;
        FIXTURE(&f, &usual, &plugin_inter_pod_affinity);
        fixture_load(&f, NODES);
        fixture_load(&f, filters[i].running);
        fixture_cycle(&f, filters[i].pod);
        assert_true(status_ok(run_pre_filter(&f.cycle, &narrow, &blamed)));
        for (size_t n = 0; n < ARRAY_SIZE(names); n++) {
            char got = mark_of(run_filters(&f.cycle, fixture_view(&f, names[n])));
            if (got != filters[i].want[n])
                fail_msg("%s: node %s: got %c, want %c", filters[i].name, names[n], got, filters[i].want[n]);
        }
        fixture_release(&f);
    }
}

/* The plugin skips a pod that no term concerns. */
static void test_skips(void **state)
{
    (void)state;
    struct fixture f;
    struct node_names narrow;
    uint64_t blamed;
    FIXTURE(&f, &usual, &plugin_inter_pod_affinity);
    fixture_load(&f, NODES RUNS("r", "a", "db", FAR(TERM("zone", "cache"))));
    fixture_cycle(&f, POD("web", ""));
    (void)run_pre_filter(&f.cycle, &narrow, &blamed);
    assert_int_equal(f.cycle.skip_filter, 1);
    fixture_cycle(&f, POD("cache", ""));
    (void)run_pre_filter(&f.cycle, &narrow, &blamed);
    assert_int_equal(f.cycle.skip_filter, 0);
    fixture_release(&f);
}

/* ---- scores ---- */
struct score_case {
    const char *name;
    struct inter_pod_affinity_args args;
    const char *running, *pod;
    int64_t want[4]; /* of a, b, c, d; -1: skipped */
};

static const struct score_case scores[] = {
    { "no preferred terms",
      { .hard_pod_affinity_weight = 1 },
      RUNS("r", "a", "db", ""),
      POD("web", ""),
      { -1 } },
    { "near others",
      { 0 },
      RUNS("r", "a", "db", ""),
      POD("web", PREFERRED("podAffinity", WEIGHED("5", "zone", "db"))),
      { 100, 100, 0, 0 } },
    { "far from others",
      { 0 },
      RUNS("r", "a", "db", ""),
      POD("web", PREFERRED("podAntiAffinity", WEIGHED("5", "zone", "db"))),
      { 0, 0, 100, 100 } },
    { "weights add up, pod by pod",
      { 0 },
      RUNS("r", "a", "db", "") RUNS("s", "b", "db", "") RUNS("t", "c", "db", ""),
      POD("web", PREFERRED("podAffinity", WEIGHED("5", "zone", "db"))),
      { 100, 100, 50, 0 } },
    { "several terms",
      { 0 },
      RUNS("r", "a", "db", "") RUNS("s", "c", "cache", ""),
      POD("web", PREFERRED("podAffinity", WEIGHED("4", "zone", "db") ", " WEIGHED("1", "host", "cache"))),
      { 100, 100, 25, 0 } },
    { "both kinds",
      { 0 },
      RUNS("r", "a", "db", "") RUNS("s", "c", "cache", ""),
      POD("web", PREFERRED("podAffinity", WEIGHED("4", "zone", "db")) ", " PREFERRED(
                     "podAntiAffinity", WEIGHED("4", "zone", "cache"))),
      { 100, 100, 0, 50 } },
    { "others prefer it near",
      { 0 },
      RUNS("r", "c", "db", PREFERRED("podAffinity", WEIGHED("3", "zone", "web"))),
      POD("web", ""),
      { 0, 0, 100, 0 } },
    { "others prefer it far",
      { 0 },
      RUNS("r", "c", "db", PREFERRED("podAntiAffinity", WEIGHED("3", "zone", "web"))),
      POD("web", ""),
      { 100, 100, 0, 100 } },
    { "others require it near: that counts as a preference",
      { .hard_pod_affinity_weight = 10 },
      RUNS("r", "a", "db", NEAR(TERM("zone", "web")))
          RUNS("s", "c", "db", PREFERRED("podAffinity", WEIGHED("5", "zone", "web"))),
      POD("web", ""),
      { 100, 100, 50, 0 } },
    { "unless that weighs nothing",
      { .hard_pod_affinity_weight = 0 },
      RUNS("r", "a", "db", NEAR(TERM("zone", "web")))
          RUNS("s", "c", "db", PREFERRED("podAffinity", WEIGHED("5", "zone", "web"))),
      POD("web", ""),
      { 0, 0, 100, 0 } },
    { "preferences of others may be ignored",
      { .ignore_preferred_terms_of_existing_pods = true },
      RUNS("r", "c", "db", PREFERRED("podAffinity", WEIGHED("3", "zone", "web"))),
      POD("web", ""),
      { -1 } },
    { "equal nodes get nothing",
      { 0 },
      RUNS("r", "a", "db", "") RUNS("s", "c", "db", ""),
      POD("web", PREFERRED("podAffinity", WEIGHED("5", "nowhere", "db"))),
      { -1 } },
};

static void test_score(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(scores); i++) {
        struct fixture f;
        int64_t got[4];
        FIXTURE(&f, &scores[i].args, &plugin_inter_pod_affinity);
        fixture_load(&f, NODES);
        fixture_load(&f, scores[i].running);
        fixture_cycle(&f, scores[i].pod);
        bool scored = fixture_scores(&f, (const char *const[]){ "a", "b", "c", "d", NULL }, got);
        if (scored != (scores[i].want[0] != -1))
            fail_msg("%s: %s", scores[i].name, scored ? "scored" : "skipped");
        for (int n = 0; n < 4 && scored; n++)
            if (got[n] != scores[i].want[n])
                fail_msg("%s: node %d: got %lld, want %lld", scores[i].name, n, (long long)got[n],
                         (long long)scores[i].want[n]);
        fixture_release(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filter),
        cmocka_unit_test(test_skips),
        cmocka_unit_test(test_score),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
