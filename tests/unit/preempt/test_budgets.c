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
    const char *want; /* one character per pod: v violates a budget, . does not */
};

#define PDB(name, namespace, selector, status) \
    "{kind: PodDisruptionBudget, metadata: {name: " name \
    ", namespace: " namespace "}, spec: {" selector "}, status: {" status "}}\n---\n"
#define WEB "selector: {matchLabels: {app: web}}"

static const struct budget_case cases[] = {
    { "no budgets", "", "....." },
    { "nothing allowed", PDB("a", "default", WEB, "disruptionsAllowed: 0"), "vv..." },
    { "one allowed", PDB("a", "default", WEB, "disruptionsAllowed: 1"), ".v..." },
    { "all allowed", PDB("a", "default", WEB, "disruptionsAllowed: 2"), "....." },
    { "allowed is negative", PDB("a", "default", WEB, "disruptionsAllowed: -2147483648"), "vv..." },
    { "no selector", PDB("a", "default", "", "disruptionsAllowed: 0"), "....." },
    { "empty selector", PDB("a", "default", "selector: {}", "disruptionsAllowed: 0"), "....." },
    { "malformed selector",
      PDB("a", "default", "selector: {matchExpressions: [{key: app, operator: NotIn}]}",
          "disruptionsAllowed: 0"),
      "....." },
    { "a negative selector, but a pod without labels is never protected",
      PDB("a", "default", "selector: {matchExpressions: [{key: app, operator: NotIn, values: [web]}]}",
          "disruptionsAllowed: 0"),
      "..v.." },
    { "other namespace", PDB("a", "prod", WEB, "disruptionsAllowed: 0"), "....v" },
    { "already counted as disrupted",
      PDB("a", "default", WEB,
          "disruptionsAllowed: 0, disruptedPods: {x: null, web-1: '2026-01-01T00:00:00Z'}"),
      ".v..." },
    { "a disrupted pod does not use up the allowance",
      PDB("a", "default", WEB, "disruptionsAllowed: 1, disruptedPods: {web-1: '2026-01-01T00:00:00Z'}"),
      "....." },
    { "every matching budget counts down",
      PDB("a", "default", WEB, "disruptionsAllowed: 1")
          PDB("b", "default", "selector: {matchExpressions: [{key: app, operator: Exists}]}",
              "disruptionsAllowed: 2")
              PDB("c", "prod", "selector: {matchLabels: {app: db}}", "disruptionsAllowed: 0"),
      ".vv.." },
};

static void check_case(const struct budget_case *c)
{
    struct fixture f;
    fixture_init(&f, (const struct plugin *const[]){ NULL }, NULL);
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
            if (violating[i] != (c->want[i] == 'v'))
                fail_msg("%s: pod %zu: got %d, want %c", c->name, i, violating[i], c->want[i]);
    }
    budgets_release(&budgets);
    fixture_release(&f);
}

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        check_case(&cases[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_cases) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
