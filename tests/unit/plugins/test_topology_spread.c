/* PodTopologySpread: the constraints of a pod, the nodes and pods that they count, the filter and the scores. */
#include "support/fixture.h"

#include "api/labels.h"
#include "plugins/pod_topology_spread/args.h"
#include "plugins/pod_topology_spread/constraints.h"

extern const struct plugin plugin_pod_topology_spread;

static const struct pod_topology_spread_args no_defaults = { .defaulting_type = STR("List") };
static const struct pod_topology_spread_args system_defaults = { .defaulting_type = STR("System") };

#define TOO_UNEVEN "node(s) didn't match pod topology spread constraints"
#define NODE(name, zone) \
    "{kind: Node, metadata: {name: " name ", labels: {zone: " zone ", host: " name "}}}\n---\n"
#define RUNS(name, node, app) \
    "{kind: Pod, metadata: {name: " name ", labels: {app: " app "}}, spec: {nodeName: " node "}}\n---\n"
#define SPREADS(constraints) \
    "{kind: Pod, metadata: {name: p, labels: {app: web, version: v1}}, spec: {topologySpreadConstraints: " \
    "[" constraints "]}}"
#define WEB "labelSelector: {matchLabels: {app: web}}"
#define HARD(skew, key, more) \
    "{maxSkew: " skew ", topologyKey: " key ", whenUnsatisfiable: DoNotSchedule, " more "}"
#define SOFT(skew, key, more) \
    "{maxSkew: " skew ", topologyKey: " key ", whenUnsatisfiable: ScheduleAnyway, " more "}"

/* Two zones: a and b in z1, c in z2; d is in none. Two pods in z1, one in z2. */
#define CLUSTER \
    NODE("a", "z1") \
    NODE("b", "z1") \
    NODE("c", "z2") \
    "{kind: Node, metadata: {name: d, labels: {host: d}}}\n---\n" RUNS("w1", "a", "web") \
        RUNS("w2", "b", "web") RUNS("w3", "c", "web") RUNS( \
            "other", "c", "db") "{kind: Pod, metadata: {name: w4, namespace: elsewhere, labels: {app: " \
                                "web}}, spec: {nodeName: c}}\n---\n" \
                                "{kind: Pod, metadata: {name: w5, labels: {app: web}, deletionTimestamp: " \
                                "'2026-01-01T00:00:00Z'}, spec: {nodeName: c}}\n---\n"

/* ---- filter ---- */
struct filter_case {
    const char *name, *pod;
    const char *want; /* of a, b, c, d: y fits, n exceeds the skew, m lacks the label */
};

static const struct filter_case filters[] = {
    { "no constraints", SPREADS(""), "yyyy" },
    { "only the emptier zone", SPREADS(HARD("1", "zone", WEB)), "nnym" },
    { "a skew of two", SPREADS(HARD("2", "zone", WEB)), "yyym" },
    { "by host: each has one but d", SPREADS(HARD("1", "host", WEB)), "nnny" },
    { "a selector that matches nothing", SPREADS(HARD("1", "zone", "")), "yyym" },
    { "a selector that matches other pods",
      SPREADS(HARD("1", "zone", "labelSelector: {matchLabels: {app: db}}")), "yyym" },
    { "other pods, none allowed to be more",
      SPREADS(HARD("1", "zone", "labelSelector: {matchExpressions: [{key: app, operator: Exists}]}")),
      "yyym" },
    { "soft ones do not filter", SPREADS(SOFT("1", "zone", WEB)), "yyyy" },
    { "both must hold", SPREADS(HARD("2", "zone", WEB) ", " HARD("1", "host", WEB)), "yyym" },
    { "all at once: nodes without all keys do not count",
      SPREADS(HARD("1", "zone", WEB) ", " HARD("1", "host", WEB)), "nnym" },
    { "too few domains: the emptiest is empty", SPREADS(HARD("2", "zone", WEB ", minDomains: 3")), "nnym" },
    { "domains enough", SPREADS(HARD("2", "zone", WEB ", minDomains: 2")), "yyym" },
    { "the values of these labels are required",
      SPREADS(HARD("1", "zone", WEB ", matchLabelKeys: [version]")), "yyym" },
    { "labels that the pod has not are passed over",
      SPREADS(HARD("1", "zone", WEB ", matchLabelKeys: [nothing]")), "nnym" },
};

static void test_filter(void **state)
{
    (void)state;
    static const char *const names[] = { "a", "b", "c", "d" };
    for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
        struct fixture f;
        FIXTURE(&f, &no_defaults, &plugin_pod_topology_spread);
        fixture_load(&f, CLUSTER);
        fixture_cycle(&f, filters[i].pod);
        for (size_t n = 0; n < ARRAY_SIZE(names); n++) {
            struct status status;
            struct node_names narrow;
            uint64_t blamed;
            status = run_pre_filter(&f.cycle, &narrow, &blamed);
            assert_true(status_ok(status));
            status = run_filters(&f.cycle, fixture_view(&f, names[n]));
            char got = status_ok(status) ? 'y' : status.code == STATUS_UNRESOLVABLE ? 'm' : 'n';
            if (got != filters[i].want[n])
                fail_msg("%s: node %s: got %c, want %c", filters[i].name, names[n], got, filters[i].want[n]);
            if (got != 'y')
                assert_str(status.reasons[0],
                           got == 'm' ? TOO_UNEVEN " (missing required label)" : TOO_UNEVEN);
            cycle_reset(&f.cycle);
        }
        fixture_release(&f);
    }
}

/* Without the gate matchLabelKeys say nothing. */
static void test_label_keys_ignored(void **state _unused_)
{
    for (int on = 0; on < 2; on++) {
        struct fixture f;
        FIXTURE(&f, &no_defaults, &plugin_pod_topology_spread);
        f.cluster.features.enabled[FEATURE_MatchLabelKeysInPodTopologySpread] = on;
        fixture_load(&f, CLUSTER);
        fixture_cycle(&f, SPREADS(HARD("1", "zone", WEB ", matchLabelKeys: [version]")));
        assert_int_equal(status_ok(fixture_filter(&f, "a")), on);
        fixture_release(&f);
    }
}

/* ---- which nodes count ---- */
struct policy_case {
    const char *name, *policies;
    const char *want; /* of a (z1, 2 pods in the zone) */
};

/* Zone z2 has one pod less; c is tainted, and the pod selects z1 only. */
static const struct policy_case policies[] = {
    { "by default: what the pod selects counts, taints do not", "", "y" },
    { "selection ignored", "nodeAffinityPolicy: Ignore", "n" },
    { "both ignored", "nodeAffinityPolicy: Ignore, nodeTaintsPolicy: Ignore", "n" },
    { "taints honored", "nodeAffinityPolicy: Ignore, nodeTaintsPolicy: Honor", "y" },
};

static void test_policies(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
        struct fixture f;
        char pod[512];
        FIXTURE(&f, &no_defaults, &plugin_pod_topology_spread);
        fixture_load(
            &f, CLUSTER
            "{kind: Node, metadata: {name: c, labels: {zone: z2, host: c}}, spec: {taints: [{key: k, effect: "
            "NoSchedule}]}}");
        snprintf(pod, sizeof(pod),
                 "{kind: Pod, metadata: {name: p, labels: {app: web}}, spec: {nodeSelector: {zone: z1}, "
                 "topologySpreadConstraints: [" HARD("1", "zone", WEB ", %s") "]}}",
                 policies[i].policies);
        fixture_cycle(&f, pod);
        if (status_ok(fixture_filter(&f, "a")) != (policies[i].want[0] == 'y'))
            fail_msg("%s: want %s", policies[i].name, policies[i].want);
        fixture_release(&f);
    }
}

/* ---- scores ---- */
struct score_case {
    const char *name, *pod;
    int64_t want[4]; /* -1: skipped */
};

static const struct score_case scores[] = {
    { "hard ones do not score", SPREADS(HARD("1", "zone", WEB)), { -1 } },
    /* Pods times log(domains + 2), rounded: 3 and 1 in two zones, 2 and 0 on four hosts; then
     * 100 * (most + least - own) / most. */
    { "fewer is better", SPREADS(SOFT("1", "zone", WEB)), { 33, 33, 100, 0 } },
    { "by host", SPREADS(SOFT("1", "host", WEB)), { 0, 0, 0, 100 } },
    { "nothing matches",
      SPREADS(SOFT("1", "zone", "labelSelector: {matchLabels: {app: none}}")),
      { 100, 100, 100, 0 } },
    { "keys that no node has", SPREADS(SOFT("1", "rack", WEB)), { 0, 0, 0, 0 } },
};

static void test_score(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(scores); i++) {
        struct fixture f;
        int64_t got[4];
        FIXTURE(&f, &no_defaults, &plugin_pod_topology_spread);
        fixture_load(&f, CLUSTER);
        fixture_cycle(&f, scores[i].pod);
        bool scored = fixture_scores(&f, (const char *const[]){ "a", "b", "c", "d", NULL }, got);
        assert_int_equal(scored, scores[i].want[0] != -1);
        for (int n = 0; n < 4 && scored; n++)
            if (got[n] != scores[i].want[n])
                fail_msg("%s: node %d: got %lld, want %lld", scores[i].name, n, (long long)got[n],
                         (long long)scores[i].want[n]);
        fixture_release(&f);
    }
}

/* ---- constraints of a pod ---- */
struct default_case {
    const char *name, *objects, *pod;
    const char
        *selects; /* labels of a pod that the default selector matches; NULL: there are no constraints */
    const char *rejects;
};

#define OWNED(kind, version) \
    "{kind: Pod, metadata: {name: p, labels: {app: web, tier: front}, ownerReferences: " \
    "[{apiVersion: " version ", kind: " kind ", name: it, controller: true}]}}"
#define PLAIN "{kind: Pod, metadata: {name: p, labels: {app: web, tier: front}}}"
#define SERVICE(name, selector) \
    "{kind: Service, metadata: {name: " name ", namespace: default}, spec: {selector: {" selector "}}}\n---" \
    "\n"
#define SET(kind, selector) \
    "{kind: " kind ", metadata: {name: it, namespace: default}, spec: {selector: {" selector "}}}\n---\n"

static const struct default_case defaults[] = {
    { "no controller selects it", "", PLAIN, NULL, NULL },
    { "a service", SERVICE("s", "app: web"), PLAIN, "app: web", "tier: front" },
    { "two services", SERVICE("s", "app: web") SERVICE("t", "tier: front"), PLAIN, "app: web, tier: front",
      "app: web" },
    { "a service of other pods", SERVICE("s", "app: db"), PLAIN, NULL, NULL },
    { "a service without selector", SERVICE("s", ""), PLAIN, NULL, NULL },
    { "a replica set", SET("ReplicaSet", "matchLabels: {app: web}"), OWNED("ReplicaSet", "apps/v1"),
      "app: web", "tier: front" },
    { "a stateful set", SET("StatefulSet", "matchExpressions: [{key: app, operator: Exists}]"),
      OWNED("StatefulSet", "apps/v1"), "app: any", "tier: front" },
    { "a controller of another group", SET("ReplicaSet", "matchLabels: {app: web}"),
      OWNED("ReplicaSet", "example.com/v1"), NULL, NULL },
    { "a controller that is not there", "", OWNED("ReplicaSet", "apps/v1"), NULL, NULL },
    { "a replication controller", SET("ReplicationController", "app: web"),
      OWNED("ReplicationController", "v1"), "app: web", "tier: front" },
    { "a set and a service", SET("ReplicaSet", "matchLabels: {app: web}") SERVICE("s", "tier: front"),
      OWNED("ReplicaSet", "apps/v1"), "app: web, tier: front", "app: web" },
};

static bool selects(struct fixture *f, const struct constraint *constraint, const char *labels)
{
    fixture_loadf(f, "{kind: Pod, metadata: {name: probe, labels: {%s}}}", labels);
    return label_selector_matches(constraint->selector, &f->last_pod->api->meta.labels);
}

static void test_defaults(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(defaults); i++) {
        const struct default_case *test = &defaults[i];
        struct fixture f;
        struct constraint_list list;
        FIXTURE(&f, &system_defaults, &plugin_pod_topology_spread);
        if (*test->objects)
            fixture_load(&f, test->objects);
        fixture_load(&f, test->pod);
        const struct pod *pod = f.last_pod->api;
        constraints_of(f.profile.plugins[0].self, &f.cluster, pod, true, &f.arena, &list);
        assert_int_equal(list.len, 0); /* the system defaults are soft */
        constraints_of(f.profile.plugins[0].self, &f.cluster, pod, false, &f.arena, &list);
        if (list.len != (test->selects ? 2 : 0))
            fail_msg("%s: %u constraints", test->name, list.len);
        for (uint32_t c = 0; c < list.len; c++)
            if (!selects(&f, &list.items[c], test->selects) || selects(&f, &list.items[c], test->rejects))
                fail_msg("%s: selects the wrong pods", test->name);
        if (list.len) {
            assert_str(list.items[0].topology_key, "kubernetes.io/hostname");
            assert_true(list.items[0].is_hostname && !list.items[1].is_hostname);
            assert_int_equal(list.items[0].max_skew, 3);
            assert_int_equal(list.items[1].max_skew, 5);
            assert_false(list.require_all_keys);
        }
        fixture_release(&f);
    }
}

/* Defaults from the configuration, hard ones too; a pod's own constraints replace them. */
static void test_configured_defaults(void **state)
{
    (void)state;
    struct spread_constraint given[] = {
        { .max_skew = 1, .topology_key = STR("zone"), .when_unsatisfiable = STR("DoNotSchedule") },
        { .max_skew = 2, .topology_key = STR("rack"), .when_unsatisfiable = STR("ScheduleAnyway") },
    };
    const struct pod_topology_spread_args args = { .defaulting_type = STR("List"),
                                                   .default_constraints = { given, 2 } };
    struct fixture f;
    struct constraint_list list;
    FIXTURE(&f, &args, &plugin_pod_topology_spread);
    fixture_load(&f, SERVICE("s", "app: web") PLAIN);
    const struct spread_self *self = f.profile.plugins[0].self;
    constraints_of(self, &f.cluster, f.last_pod->api, true, &f.arena, &list);
    assert_int_equal(list.len, 1);
    assert_str(list.items[0].topology_key, "zone");
    assert_true(list.require_all_keys);
    fixture_load(&f, SPREADS(SOFT("4", "host", WEB)));
    constraints_of(self, &f.cluster, f.last_pod->api, true, &f.arena, &list);
    assert_int_equal(list.len, 0);
    constraints_of(self, &f.cluster, f.last_pod->api, false, &f.arena, &list);
    assert_int_equal(list.len, 1);
    assert_int_equal(list.items[0].max_skew, 4);
    fixture_release(&f);
}

/* An empty selector matches the pod itself, but no running pod. */
static void test_empty_selector(void **state)
{
    (void)state;
    struct fixture f;
    FIXTURE(&f, &no_defaults, &plugin_pod_topology_spread);
    fixture_load(&f, CLUSTER);
    fixture_cycle(&f, SPREADS(HARD("1", "zone", "labelSelector: {}")));
    assert_true(status_ok(fixture_filter(&f, "a")));
    struct constraint_list list;
    constraints_of(f.profile.plugins[0].self, &f.cluster, f.last_pod->api, true, &f.arena, &list);
    assert_true(spread_selector_is_empty(list.items[0].selector));
    assert_true(label_selector_matches(list.items[0].selector, &f.last_pod->api->meta.labels));
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filter),         cmocka_unit_test(test_label_keys_ignored),
        cmocka_unit_test(test_policies),       cmocka_unit_test(test_score),
        cmocka_unit_test(test_defaults),       cmocka_unit_test(test_configured_defaults),
        cmocka_unit_test(test_empty_selector),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
