/* TaintToleration: the filter and the score by PreferNoSchedule taints. */
#include "support/fixture.h"

extern const struct plugin plugin_taint_toleration;

#define REASON "node(s) had untolerated taint(s)"
#define TAINTED(name, taints) "{kind: Node, metadata: {name: " name "}, spec: {taints: [" taints "]}}\n---\n"
#define TOLERATES(list) "{kind: Pod, metadata: {name: p}, spec: {tolerations: [" list "]}}"

struct filter_case {
    const char *name, *taints, *tolerations;
    bool fits;
};

static const struct filter_case filters[] = {
    { "no taints", "", "", true },
    { "NoSchedule", "{key: k, value: v, effect: NoSchedule}", "", false },
    { "NoExecute", "{key: k, value: v, effect: NoExecute}", "", false },
    { "PreferNoSchedule rejects no pod", "{key: k, value: v, effect: PreferNoSchedule}", "", true },
    { "Equal", "{key: k, value: v, effect: NoSchedule}",
      "{key: k, operator: Equal, value: v, effect: NoSchedule}", true },
    { "no operator is Equal", "{key: k, value: v, effect: NoSchedule}",
      "{key: k, value: v, effect: NoSchedule}", true },
    { "other value", "{key: k, value: v, effect: NoSchedule}", "{key: k, value: w, effect: NoSchedule}",
      false },
    { "other effect", "{key: k, value: v, effect: NoExecute}", "{key: k, value: v, effect: NoSchedule}",
      false },
    { "no effect means all", "{key: k, value: v, effect: NoExecute}", "{key: k, value: v}", true },
    { "Exists", "{key: k, value: v, effect: NoSchedule}", "{key: k, operator: Exists}", true },
    { "Exists without key tolerates all", "{key: k, value: v, effect: NoSchedule}", "{operator: Exists}",
      true },
    { "Equal without key compares the value alone", "{key: k, effect: NoSchedule}", "{operator: Equal}",
      true },
    { "Gt is switched off", "{key: k, value: '5', effect: NoSchedule}", "{key: k, operator: Gt, value: '3'}",
      false },
    { "unknown operator", "{key: k, value: v, effect: NoSchedule}", "{key: k, operator: Like, value: v}",
      false },
    { "every taint must be tolerated", "{key: k, value: v, effect: NoSchedule}, {key: l, effect: NoSchedule}",
      "{key: k, operator: Exists}", false },
};

static void test_filter(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
        const struct filter_case *c = &filters[i];
        char text[512];
        struct fixture f;
        FIXTURE(&f, NULL, &plugin_taint_toleration);
        snprintf(text, sizeof(text), TAINTED("a", "%s"), c->taints);
        fixture_load(&f, text);
        snprintf(text, sizeof(text), TOLERATES("%s"), c->tolerations);
        fixture_cycle(&f, text);
        struct status status = fixture_filter(&f, "a");
        if (status_ok(status) != c->fits)
            fail_msg("%s: got %s", c->name, status_code_name(status.code));
        if (!c->fits)
            assert_status(status, STATUS_UNRESOLVABLE, REASON);
        fixture_release(&f);
    }
}

#define SOFT(key) "{key: " key ", effect: PreferNoSchedule}"

struct score_case {
    const char *name, *tolerations;
    int64_t want[3];
};

/* a has no, b one, c three PreferNoSchedule taints. */
static const struct score_case scores[] = {
    { "fewer is better", "", { 100, 67, 0 } },
    { "tolerated ones do not count",
      "{key: k1, operator: Exists}, {key: k2, operator: Exists, effect: PreferNoSchedule}",
      { 100, 100, 0 } },
    { "a toleration of NoSchedule is none of PreferNoSchedule",
      "{operator: Exists, effect: NoSchedule}",
      { 100, 67, 0 } },
    { "all tolerated", "{operator: Exists}", { 100, 100, 100 } },
};

static void test_score(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(scores); i++) {
        char text[512];
        int64_t got[3];
        struct fixture f;
        FIXTURE(&f, NULL, &plugin_taint_toleration);
        fixture_load(&f, TAINTED("a", "{key: z, effect: NoSchedule}") TAINTED("b", SOFT("k1"))
                             TAINTED("c", SOFT("k1") ", " SOFT("k2") ", " SOFT("k3")));
        snprintf(text, sizeof(text), TOLERATES("%s"), scores[i].tolerations);
        fixture_cycle(&f, text);
        assert_true(fixture_scores(&f, (const char *const[]){ "a", "b", "c", NULL }, got));
        for (int n = 0; n < 3; n++)
            if (got[n] != scores[i].want[n])
                fail_msg("%s: node %d: got %lld", scores[i].name, n, (long long)got[n]);
        fixture_release(&f);
    }
}

/* The gate TaintTolerationComparisonOperators. */
static void test_comparisons(void **state _unused_)
{
    static const struct {
        const char *toleration;
        bool fits;
    } cases[] = {
        { "{key: k, operator: Gt, value: '3'}", true },
        { "{key: k, operator: Gt, value: '5'}", false },
        { "{key: k, operator: Lt, value: '6'}", true },
        { "{key: k, operator: Lt, value: many}", false },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        for (int soft = 0; soft < 2; soft++) {
            struct fixture f;
            int64_t totals[2];
            FIXTURE(&f, NULL, &plugin_taint_toleration);
            f.cluster.features.enabled[FEATURE_TaintTolerationComparisonOperators] = true;
            fixture_load(&f, soft ? TAINTED("a", "{key: k, value: '5', effect: PreferNoSchedule}")
                                        TAINTED("b", "")
                                  : TAINTED("a", "{key: k, value: '5', effect: NoSchedule}"));
            fixture_loadf(&f, "{kind: Node, metadata: {name: c}}");
            char text[256];
            snprintf(text, sizeof(text), TOLERATES("%s"), cases[i].toleration);
            fixture_cycle(&f, text);
            if (!soft) {
                assert_int_equal(status_ok(fixture_filter(&f, "a")), cases[i].fits);
            } else {
                assert_true(fixture_scores(&f, (const char *const[]){ "a", "b", NULL }, totals));
                assert_int_equal(totals[0] == totals[1], cases[i].fits);
            }
            fixture_release(&f);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_filter), cmocka_unit_test(test_score),
                                        cmocka_unit_test(test_comparisons) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
