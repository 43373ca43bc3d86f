/* Which evictions violate a PodDisruptionBudget. */
#include "support/fixture.h"

#include "preempt/budgets.h"

static const char pods[] = "{kind: Pod, metadata: {name: web-1, labels: {app: web}}}\n---\n"
                           "{kind: Pod, metadata: {name: web-2, labels: {app: web, tier: front}}}\n---\n"
                           "{kind: Pod, metadata: {name: db-1, labels: {app: db}}}\n---\n"
                           "{kind: Pod, metadata: {name: bare}}\n---\n"
                           "{kind: Pod, metadata: {name: web-1, namespace: prod, labels: {app: web}}}";
static const char *const pod_names[][2] = { { "default", "web-1" },
                                            { "default", "web-2" },
                                            { "default", "db-1" },
                                            { "default", "bare" },
                                            { "prod", "web-1" } };

struct budget_case {
    const char *name;
    const char *budgets;
    const char *want, *want_37; /* per pod: v violates a budget, . does not; want_37 is NULL: the same */
};

#define PDB(name, namespace, selector, status) \
    "{kind: PodDisruptionBudget, metadata: {name: " name \
    ", namespace: " namespace "}, spec: {" selector "}, status: {" status "}}\n---\n"
#define WEB "selector: {matchLabels: {app: web}}"

static const struct budget_case cases[] = {
    { "no budgets", "", ".....", NULL },
    { "nothing allowed", PDB("a", "default", WEB, "disruptionsAllowed: 0"), "vv...", NULL },
    { "one allowed", PDB("a", "default", WEB, "disruptionsAllowed: 1"), ".v...", NULL },
    { "all allowed", PDB("a", "default", WEB, "disruptionsAllowed: 2"), ".....", NULL },
    { "allowed is negative", PDB("a", "default", WEB, "disruptionsAllowed: -2147483648"), "vv...", NULL },
    { "no selector", PDB("a", "default", "", "disruptionsAllowed: 0"), ".....", NULL },
    { "empty selector", PDB("a", "default", "selector: {}", "disruptionsAllowed: 0"), ".....", NULL },
    { "malformed selector",
      PDB("a", "default", "selector: {matchExpressions: [{key: app, operator: NotIn}]}",
          "disruptionsAllowed: 0"),
      ".....", NULL },
    { "a negative selector, but a pod without labels is never protected",
      PDB("a", "default", "selector: {matchExpressions: [{key: app, operator: NotIn, values: [web]}]}",
          "disruptionsAllowed: 0"),
      "..v..", NULL },
    { "other namespace", PDB("a", "prod", WEB, "disruptionsAllowed: 0"), "....v", NULL },
    { "already counted as disrupted",
      PDB("a", "default", WEB,
          "disruptionsAllowed: 0, disruptedPods: {x: null, web-1: '2026-01-01T00:00:00Z'}"),
      ".v...", NULL },
    { "a disrupted pod does not use up the allowance",
      PDB("a", "default", WEB, "disruptionsAllowed: 1, disruptedPods: {web-1: '2026-01-01T00:00:00Z'}"),
      ".....", NULL },
    { "every matching budget counts down",
      PDB("a", "default", WEB, "disruptionsAllowed: 1")
          PDB("b", "default", "selector: {matchExpressions: [{key: app, operator: Exists}]}",
              "disruptionsAllowed: 2")
              PDB("c", "prod", "selector: {matchLabels: {app: db}}", "disruptionsAllowed: 0"),
      ".vv..", ".v..." },
    /* web-1 is charged to a; web-2 breaks a, and in 1.37 is not charged to b: so the third pod may go. */
    { "what comes after a broken budget",
      PDB("b", "default", "selector: {matchExpressions: [{key: app, operator: Exists}]}",
          "disruptionsAllowed: 2") PDB("a", "default", WEB, "disruptionsAllowed: 1"),
      ".vv..", ".v..." },
    { "the budget that breaks comes last by name",
      PDB("a", "default", "selector: {matchExpressions: [{key: app, operator: Exists}]}",
          "disruptionsAllowed: 2") PDB("b", "default", WEB, "disruptionsAllowed: 1"),
      ".vv..", NULL },
};

static void check_case(const struct budget_case *c, int minor)
{
    const char *want = minor == 37 && c->want_37 ? c->want_37 : c->want;
    struct fixture f;
    FIXTURE_BARE_AS(&f, minor);
    fixture_load(&f, pods);
    fixture_load(&f, c->budgets);
    struct pod_info *infos[ARRAY_SIZE(pod_names)];
    for (size_t i = 0; i < ARRAY_SIZE(infos); i++)
        infos[i] = cluster_find_pod(&f.cluster, str_from(pod_names[i][0]), str_from(pod_names[i][1]));
    struct budgets budgets;
    budgets_init(&budgets, &f.cluster, &f.arena);
    for (int round = 0; round < 2; round++) { /* every node begins with the full allowance */
        bool violating[ARRAY_SIZE(infos)];
        budgets_check(&budgets, infos, ARRAY_SIZE(infos), violating);
        for (size_t i = 0; i < ARRAY_SIZE(infos); i++)
            if (violating[i] != (want[i] == 'v'))
                fail_msg("1.%d, %s: pod %zu: got %d, want %c", minor, c->name, i, violating[i], want[i]);
    }
    budgets_release(&budgets);
    fixture_release(&f);
}

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        for (int minor = 36; minor <= 37; minor++)
            check_case(&cases[i], minor);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_cases) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
