/* Which evictions break a disruption budget. */
#include "support/world.h"

#include "preempt/budgets.h"

#define POD(ns, pod_name, ...) \
    { \
        .meta = { .namespace = STR(ns), .name = STR(pod_name), .labels = __VA_ARGS__ } \
    }
#define SELECT_APP(value) (&(struct label_selector){ .match_labels = LABELS({ STR("app"), STR(value) }) })

static const struct pod pods[] = {
    POD("default", "web-1", LABELS({ STR("app"), STR("web") })),
    POD("default", "web-2", LABELS({ STR("app"), STR("web") }, { STR("tier"), STR("front") })),
    POD("default", "db-1", LABELS({ STR("app"), STR("db") })),
    POD("default", "bare", { 0 }),
    POD("prod", "web-1", LABELS({ STR("app"), STR("web") })),
};

struct budget_case {
    const char *name;
    struct pdb budgets[3];
    const char *want; /* one letter per pod: v breaks a budget, . does not */
};

#define PDB(pdb_name, ns, allowed, ...) \
    { \
        .meta = { .namespace = STR(ns), .name = STR(pdb_name) }, .disruptions_allowed = (allowed), __VA_ARGS__ \
    }

static const struct budget_case cases[] = {
    { "no budgets", { { 0 } }, "....." },
    { "nothing allowed", { PDB("a", "default", 0, .selector = SELECT_APP("web")) }, "vv..." },
    { "one allowed", { PDB("a", "default", 1, .selector = SELECT_APP("web")) }, ".v..." },
    { "all allowed", { PDB("a", "default", 2, .selector = SELECT_APP("web")) }, "....." },
    { "allowed is negative", { PDB("a", "default", INT32_MIN, .selector = SELECT_APP("web")) }, "vv..." },
    { "no selector", { PDB("a", "default", 0) }, "....." },
    { "empty selector", { PDB("a", "default", 0, .selector = &(struct label_selector){ 0 }) }, "....." },
    { "malformed selector",
      { PDB("a", "default", 0, .selector = &(struct label_selector){ .match_labels = LABELS({ STR("app"), STR("web") }), .invalid = true }) },
      "....." },
    { "negative selector matches, but not a pod without labels",
      { PDB("a", "default", 0,
            .selector = &(struct label_selector){
                .match_expressions = ITEMS(struct selector_requirement, { .key = STR("app"), .op = OP_NOT_IN, .values = STRS(STR("web")) }) }) },
      "..v.." },
    { "other namespace", { PDB("a", "prod", 0, .selector = SELECT_APP("web")) }, "....v" },
    { "already counted as disrupted",
      { PDB("a", "default", 0, .selector = SELECT_APP("web"), .disrupted_pods = STRS(STR("x"), STR("web-1"))) },
      ".v..." },
    { "a disrupted pod does not use up the allowance",
      { PDB("a", "default", 1, .selector = SELECT_APP("web"), .disrupted_pods = STRS(STR("web-1"))) },
      "....." },
    { "every matching budget counts down",
      { PDB("a", "default", 1, .selector = SELECT_APP("web")),
        PDB("b", "default", 5,
            .selector = &(struct label_selector){
                .match_expressions = ITEMS(struct selector_requirement, { .key = STR("app"), .op = OP_EXISTS }) }),
        PDB("c", "prod", 0, .selector = SELECT_APP("db")) },
      ".v..." },
};

static void check_case(const struct budget_case *c)
{
    struct world world;
    world_init(&world, NULL, 0, NULL);
    struct pod_info *infos[ARRAY_SIZE(pods)];
    for (size_t i = 0; i < ARRAY_SIZE(pods); i++)
        infos[i] = world_pod(&world, &pods[i]);
    for (size_t i = 0; i < ARRAY_SIZE(c->budgets); i++)
        if (c->budgets[i].meta.name.len)
            cluster_set_object(&world.cluster, KIND_PDB, &c->budgets[i], &c->budgets[i].meta);
    struct budgets budgets;
    budgets_init(&budgets, &world.cluster, &world.arena);
    for (int round = 0; round < 2; round++) { /* every node begins with full allowances */
        bool violating[ARRAY_SIZE(pods)];
        budgets_check(&budgets, infos, ARRAY_SIZE(pods), violating);
        for (size_t i = 0; i < ARRAY_SIZE(pods); i++)
            if (violating[i] != (c->want[i] == 'v'))
                fail_msg("%s: pod %zu: got %d, want %c", c->name, i, violating[i], c->want[i]);
    }
    budgets_release(&budgets);
    world_release(&world);
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
